(* The verifiers, as programs: each returns the emitted block, i.e. the accepted path and one bonus token. *)
(* Definitions only; names as in reference/verifiers.                                                        *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Verifiers.
Variable F : ops.
Notation "1" := (o1 F).
Infix "-" := (@osub F).
Variables (V : Type) (vs : seq V).
Variable p : seq V -> V -> F.              (* the target *)

(* Recursive rejection, root to leaf.  pt: what is still owed of the target at the current node. *)
Fixpoint recursive_rejection (d : dtree F V) (pt : V -> F) (s : seq V) : dist F (seq V) :=
  match d with
  | Leaf => bind (draw vs pt) (fun x => ret F [:: x])
  | Draft q child next =>
    bind (draw vs q) (fun x =>
    bind (flip (acc 1 pt q x)) (fun b =>
      if b then bind (recursive_rejection (child x) (p (rcons s x)) (rcons s x))
                     (fun t => ret F (x :: t))
      else recursive_rejection (next x) (res vs 1 pt q) s))
  end.
(* the same on a populated tree *)
Fixpoint recursive_rejection_on (t : ptree F V) (pt : V -> F) (s : seq V) : dist F (seq V) :=
  match t with
  | PNil => bind (draw vs pt) (fun x => ret F [:: x])
  | PSlot x q c n => bind (flip (acc 1 pt q x)) (fun b =>
      if b then bind (recursive_rejection_on c (p (rcons s x)) (rcons s x)) (fun u => ret F (x :: u))
      else recursive_rejection_on n (res vs 1 pt q) s)
  end.

(* Traversal, leaf to root.  pi: the capacity of the node; None: nothing accepted in this subtree. *)
Fixpoint traversal (d : dtree F V) (pi : F) (pt : V -> F) (s : seq V) : dist F (option (seq V)) :=
  match d with
  | Leaf =>
    bind (flip pi) (fun b =>
      if b then bind (draw vs pt) (fun x => ret F (Some [:: x])) else ret F None)
  | Draft q child next =>
    bind (draw vs q) (fun x =>
    bind (traversal (child x) (acc pi pt q x) (p (rcons s x)) (rcons s x)) (fun o =>
      match o with
      | Some b => ret F (Some (x :: b))
      | None => traversal (next x) (respi vs pi pt q) (res vs pi pt q) s
      end))
  end.
(* the same on a populated tree *)
Fixpoint traversal_on (t : ptree F V) (pi : F) (pt : V -> F) (s : seq V) : dist F (option (seq V)) :=
  match t with
  | PNil => bind (flip pi) (fun b =>
      if b then bind (draw vs pt) (fun x => ret F (Some [:: x])) else ret F None)
  | PSlot x q c n =>
    bind (traversal_on c (acc pi pt q x) (p (rcons s x)) (rcons s x)) (fun o =>
      match o with Some b => ret F (Some (x :: b))
      | None => traversal_on n (respi vs pi pt q) (res vs pi pt q) s end)
  end.

(* the blocks that are emitted; the root always accepts, so None has weight zero *)
Definition emitted (m : dist F (option (seq V))) : dist F (seq V) :=
  bind m (fun o => if o is Some b then ret F b else [::]).

(* Block verification of a chain of k drafts from qd, written directly. *)
Fixpoint block (qd : seq V -> V -> F) (k : nat) (pi : F) (s : seq V) : dist F (option (seq V)) :=
  if k is k'.+1 then
    bind (draw vs (qd s)) (fun x =>
    bind (block qd k' (acc pi (p s) (qd s) x) (rcons s x)) (fun o =>
      match o with
      | Some b => ret F (Some (x :: b))
      | None =>
        bind (flip (respi vs pi (p s) (qd s))) (fun b =>
          if b then bind (draw vs (res vs pi (p s) (qd s))) (fun y => ret F (Some [:: y]))
          else ret F None)
      end))
  else bind (flip pi) (fun b =>
      if b then bind (draw vs (p s)) (fun x => ret F (Some [:: x])) else ret F None).

(* Rules that read a fixed tree only through "T u: the string u is a node of the tree".  n bounds the depth. *)
Section Fixed.
Variable T : seq V -> bool.
(* follow the target's own draws while they are in the tree *)
Fixpoint predraw_follow (n : nat) (s : seq V) : dist F (seq V) :=
  if n is n'.+1 then
    bind (draw vs (p s)) (fun x =>
      if T (rcons s x) then bind (predraw_follow n' (rcons s x)) (fun t => ret F (x :: t))
      else ret F [:: x])
  else bind (draw vs (p s)) (fun x => ret F [:: x]).

Definition inside (s : seq V) (x : V) : F := if T (rcons s x) then p s x else o0 F.
Definition outside (s : seq V) (x : V) : F := if T (rcons s x) then o0 F else p s x.
Definition rho (s : seq V) : F := osum [seq outside s x | x <- vs].    (* chance of leaving the tree after s *)
Definition residual (s : seq V) (x : V) : F := odiv (outside s x) (rho s).
Fixpoint reach (s t : seq V) : F :=                                    (* target probability of t after s *)
  if t is x :: t' then omul (p s x) (reach (rcons s x) t') else 1.

(* one coin a level: leave here (bonus from the residual) or go to a child with the target's weights *)
Fixpoint pathwise (n : nat) (s : seq V) : dist F (seq V) :=
  bind (flip (rho s)) (fun out =>
    if out then bind (draw vs (residual s)) (fun x => ret F [:: x])
    else if n is n'.+1 then
      bind (draw vs (fun x => odiv (inside s x) (1 - rho s))) (fun x =>
      bind (pathwise n' (rcons s x)) (fun t => ret F (x :: t)))
    else ret F [::]).

(* Tree exit: one draw of the exit node among the nodes of the tree, one draw of the bonus token *)
Definition exit_law (nodes : seq (seq V)) : dist F (seq V) := [seq (omul (reach [::] v) (rho v), v) | v <- nodes].
Definition tree_exit (nodes : seq (seq V)) : dist F (seq V) :=
  bind (exit_law nodes) (fun v => bind (draw vs (residual v)) (fun x => ret F (rcons v x))).
End Fixed.
End Verifiers.

(* On a populated tree these rules see its strings only: same-token siblings are merged. *)
Section OnTree.
Variables (F : ops) (V : eqType) (vs : seq V) (p : seq V -> V -> F).
Definition height (l : seq (seq V)) : nat := foldr maxn 0 (map size l).
Definition predraw_follow_on (l : seq (seq V)) : dist F (seq V) :=
  predraw_follow vs p (fun u => u \in l) (height l) [::].
Definition tree_exit_on (l : seq (seq V)) : dist F (seq V) :=
  let l := undup l in tree_exit vs p (fun u => u \in l) ([::] :: l).
End OnTree.

(* The law of the emitted block over everything random: the draws that populate the tree from a drafting scheme, and
   the verifier's own (reference/blocks.py, block_law). *)
Inductive rule := Predraw_follow | Tree_exit | Recursive_rejection | Traversal.
Section BlockLaw.
Variables (F : ops) (V : eqType) (vs : seq V) (p : seq V -> V -> F).
Definition block_law (r : rule) (sch : scheme F V) (t : slot) : dist F (seq V) :=
  let d := drafted sch t [::] in
  match r with
  | Predraw_follow => bind (drawn vs d) (predraw_follow_on vs p)
  | Tree_exit => bind (drawn vs d) (tree_exit_on vs p)
  | Recursive_rejection => recursive_rejection vs p d (p [::]) [::]
  | Traversal => emitted (traversal vs p d (o1 F) (p [::]) [::])
  end.
End BlockLaw.
