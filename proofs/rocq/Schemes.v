(* The drafting schemes of reference/drafting.py: (slot, prefix, elder siblings) -> declared law of the next sibling, *)
(* or None.  Definitions only.                                                                                        *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Schemes.
Variables (F : ops) (V : eqType) (vs : seq V).
Variable q : seq V -> V -> F.              (* the draft model *)
Local Notation law := (V -> F).

Definition point (x : V) : law := fun y => if y == x then o1 F else o0 F.
(* q conditioned on avoiding the tokens l; None when nothing is left *)
Definition without (l : seq V) (r : law) : option law :=
  let off y := if y \in l then o0 F else r y in
  let Z := osum [seq off y | y <- vs] in
  if oz Z then None else Some (fun y => odiv (off y) Z).
(* tokens of positive probability, most probable first, ties in vocabulary order *)
Definition ranked (r : law) : seq V := sort (fun x y => ole (r y) (r x)) [seq x <- vs | ~~ oz (r x)].

Definition with_replacement : scheme F V := fun t s elders => Some (q s).
Definition without_replacement : scheme F V := fun t s elders => without elders (q s).
Definition top_k : scheme F V := fun t s elders =>
  if drop (size elders) (take (size (below t)) (ranked (q s))) is x :: _ then Some (point x) else None.
Definition greedy : scheme F V := fun t s elders =>
  if without elders (q s) is Some r then
    if (size elders).+1 == size (below t) then Some r
    else if ranked r is x :: _ then Some (point x) else None
  else None.

(* a given tree: the paths below the root, siblings in the order in which they are listed *)
Variable tree : seq (seq V).
Definition children_of (s : seq V) : seq V :=
  flatten [seq (if u is x :: u' then if s == belast x u' then [:: last x u'] else [::] else [::]) | u <- tree].
Fixpoint topology (n : nat) (s : seq V) : slot :=
  Slot (if n is n'.+1 then [seq topology n' (rcons s x) | x <- children_of s] else [::]).
Definition fixed : scheme F V := fun t s elders =>
  if drop (size elders) (children_of s) is x :: _ then Some (point x) else None.
End Schemes.

Inductive scheme_name (V : Type) :=
  | With_replacement | Without_replacement | Top_k | Greedy | Fixed of seq (seq V).
Arguments With_replacement {V}.
Arguments Without_replacement {V}.
Arguments Top_k {V}.
Arguments Greedy {V}.
Definition scheme_of (F : ops) (V : eqType) (vs : seq V) (q : seq V -> V -> F) (n : scheme_name V) : scheme F V :=
  match n with
  | With_replacement => with_replacement q
  | Without_replacement => without_replacement vs q
  | Top_k => top_k vs q
  | Greedy => greedy vs q
  | Fixed tree => fixed F tree
  end.
