(* Verifiers driven by a transport plan (allocate, then decide): candidates drawn as a tuple, a plan that says how much of *)
(* the node's mass goes to which token given the tuple.  UniVer, its token-level form, greedy drafting, k_seq.  Definitions.  *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Schemes.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Plans.
Variables (F : ops) (V : eqType) (vs : seq V).
Notation "0" := (o0 F).
Notation "1" := (o1 F).
Infix "+" := (@oadd F).
Infix "-" := (@osub F).
Infix "*" := (@omul F).
Infix "/" := (@odiv F).
Definition divz (a b : F) : F := if oz b then 0 else a / b.

(* An expanded node: the law of its candidate tuple, a plan (capacity, tuple, token -> mass), the subtree below each
   candidate (it may depend on the whole tuple). *)
Inductive utree := ULeaf | UNode of dist F (seq V) & (F -> seq V -> V -> F) & (seq V -> V -> utree).

Variable p : seq V -> V -> F.

(* two phases in one pass: capacities from the plan on the way down, decisions in post-order on the way up *)
Fixpoint univer (t : utree) (a : F) (s : seq V) : dist F (option (seq V)) :=
  match t with
  | ULeaf => bind (flip a) (fun b =>
      if b then bind (draw vs (p s)) (fun x => ret F (Some [:: x])) else ret F None)
  | UNode D plan child => bind D (fun c =>
      let m := plan a c in
      (fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer (child c y) (divz (m y) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (left - m y) end)
        | [::] =>
          let off y := if y \in c then 0 else m y in
          let S := osum [seq off y | y <- vs] in
          bind (flip (divz S left)) (fun b =>
            if b then bind (draw vs (fun y => off y / S)) (fun y => ret F (Some [:: y])) else ret F None)
        end) c 1)
  end.

(* token level: the plan is used at capacity 1 and the choice is made at once (greedy_transport, k_seq) *)
Fixpoint token_level (t : utree) (s : seq V) : dist F (seq V) :=
  match t with
  | ULeaf => bind (draw vs (p s)) (fun x => ret F [:: x])
  | UNode D plan child => bind D (fun c => bind (draw vs (plan 1 c)) (fun y =>
      if y \in c then bind (token_level (child c y) (rcons s y)) (fun b => ret F (y :: b)) else ret F [:: y]))
  end.

(* greedy drafting: the retained tokens H, then one token drawn from ms (which vanishes on H) *)
Definition greedy_tuples (H : seq V) (ms : V -> F) : dist F (seq V) := [seq (ms b, rcons H b) | b <- vs & b \notin H].
(* UniVer's closed form for it: keep the sampled token as far as possible, share what is left in proportion to the
   residual; b is the last candidate of the tuple *)
Definition closed_form (pt ms : V -> F) (a : F) (c : seq V) (y : V) : F :=
  if c is x :: l then
    let b := last x l in
    let kept := acc a pt ms b in
    (if y == b then kept else 0) + (1 - kept) * (respi vs a pt ms * res vs a pt ms y)
  else 0.

(* k drafts drawn independently from q; each accepted with probability min(1, p/(rho q)) *)
Section KSeq.
Variables (pt q : V -> F) (rho : F).
Definition kseq_kept (x : V) : F := omin (q x) (pt x / rho).
Definition kseq_beta : F := osum [seq kseq_kept x | x <- vs].
Fixpoint power (k : nat) : F := if k is j.+1 then (1 - kseq_beta) * power j else 1.          (* (1 - beta)^k *)
Fixpoint geometric (k : nat) : F := if k is j.+1 then geometric j + power j else 0.
Definition kseq_residual (k : nat) (y : V) : F := divz (pt y - kseq_kept y * geometric k) (power k).
Fixpoint kseq_plan (k : nat) (c : seq V) (y : V) : F :=
  if c is x :: c' then
    let kept := if oz (q x) then 1 else kseq_kept x / q x in
    (if y == x then kept else 0) + (1 - kept) * kseq_plan k c' y
  else kseq_residual k y.
Fixpoint iid (k : nat) : dist F (seq V) :=
  if k is j.+1 then bind (draw vs q) (fun x => bind (iid j) (fun c => ret F (x :: c))) else ret F [::].
End KSeq.

(* greedy drafting from the draft model q, children.[d] siblings at depth d; a node whose support ends at H has no
   sampled child, and its plan is a p *)
Fixpoint greedy_drafted (p q : seq V -> V -> F) (children : seq nat) (s : seq V) : utree :=
  if children is k :: l then
    let H := take k.-1 (ranked vs (q s)) in
    let child (_ : seq V) y := greedy_drafted p q l (rcons s y) in
    if without vs H (q s) is Some ms then UNode (greedy_tuples H ms) (closed_form (p s) ms) child
    else UNode (ret F H) (fun a _ y => a * p s y) child
  else ULeaf.
End Plans.
