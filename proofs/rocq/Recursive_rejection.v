(* Recursive rejection is lossless: on every lazily drawn tree, on every predictable build, and a tree drawn up *)
(* front is the same as one drawn lazily.  Python: reference/verifiers/recursive_rejection.py.                 *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Verifiers Expectation Step Exact Populated.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Recursive_rejection.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Local Notation dtree := (dtree F V).
Local Notation ptree := (ptree F V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* trees drawn lazily *)
Lemma recursive_rejection_E d pt s m g : okd vs d -> pmf (R := R) vs pt ->
  E (recursive_rejection vs p d pt s) (fin vs p m s g) = \sum_(x <- vs) pt x * next vs p m s g x.
Proof.
elim: d pt s m g => [|q child IHc nxt IHn] pt s m g /=.
  move=> _ _; rewrite E_bind E_draw; apply: eq_bigr => x _.
  by rewrite E_ret fin1.
case=> qP okc okn ptP; rewrite E_bind E_draw -(step1 ptP qP).
apply: eq_bigr => x _; rewrite E_bind E_flip IHn //; last exact: res_pmf.
congr (_ * (_ * _ + _)); rewrite E_bind.
under E_ext do rewrite E_ret; apply: fin_step => // m' g'.
by rewrite IHc // E_AR.
Qed.

Theorem recursive_rejection_exact d s : okd vs d -> exact vs p s (recursive_rejection vs p d (p s) s).
Proof. by move=> ok m g; rewrite recursive_rejection_E // E_AR. Qed.
(* populated trees *)
Lemma recursive_rejection_on_nil pt s m g : E (recursive_rejection_on vs p (@PNil F V) pt s) (fin vs p m s g)
   = \sum_(x <- vs) pt x * next vs p m s g x.
Proof. by rewrite /= E_bind E_draw; apply: eq_bigr => x _; rewrite E_ret fin1. Qed.

Lemma recursive_rejection_on_slot x q c n pt s m g : E (recursive_rejection_on vs p (PSlot x q c n) pt s) (fin vs p m s g)
  = acc (F := F) 1 pt q x * E (recursive_rejection_on vs p c (p (rcons s x)) (rcons s x)) (fin vs p m.-1 (rcons s x) (shift m g x))
  + (1 - acc (F := F) 1 pt q x) * E (recursive_rejection_on vs p n (res (F := F) vs 1 pt q) s) (fin vs p m s g).
Proof.
rewrite /= E_bind E_flip; congr (_ * _ + _); rewrite E_bind.
by apply: E_ext => b; rewrite E_ret fin_shift.
Qed.

(* leaf lemma: a fresh last child, anywhere, changes nothing *)
Theorem recursive_rejection_leaf t a r pt s m g : okp vs t -> pmf vs r -> pmf vs pt ->
  \sum_(y <- vs) r y * E (recursive_rejection_on vs p (append y r t a) pt s) (fin vs p m s g)
  = E (recursive_rejection_on vs p t pt s) (fin vs p m s g).
Proof.
move=> + rP; elim: t a pt s m g => [|x q c IHc n IHn] a pt s m g.
  case: a => [|i a] _ ptP; last by apply: etrans (sum_const _ rP); apply: eq_bigr.
  rewrite recursive_rejection_on_nil -(step1 ptP rP); apply: eq_bigr => y _; congr (_ * _).
  rewrite [append _ _ _ _]/= recursive_rejection_on_slot recursive_rejection_on_nil next_shift -E_AR //.
  by rewrite recursive_rejection_on_nil.
case=> qP okc okn ptP; rewrite recursive_rejection_on_slot.
have rP' : pmf (R := R) vs (res (F := F) vs 1 pt q) by apply: res_pmf.
case: a => [|[|i] a].
- by under eq_bigr do rewrite [append _ _ _ _]/= recursive_rejection_on_slot; apply: sum_aff => //; apply: IHn.
- under eq_bigr do rewrite [append _ _ _ _]/= recursive_rejection_on_slot addrC.
  by rewrite [RHS]addrC; apply: sum_aff => //; apply: IHc.
by under eq_bigr do rewrite [append _ _ _ _]/= recursive_rejection_on_slot; apply: sum_aff => //; apply: IHn.
Qed.

Theorem recursive_rejection_build b t pt s m g : okb vs b -> okp vs t -> pmf vs pt ->
  E (grow vs b t) (fun t' => E (recursive_rejection_on vs p t' pt s) (fin vs p m s g)) = E (recursive_rejection_on vs p t pt s) (fin vs p m s g).
Proof.
move=> + + ptP; elim: b t => [|a r k IH] t /=; first by rewrite E_ret.
case=> rP okk okt; rewrite E_bind E_draw -[RHS](recursive_rejection_leaf a s m g okt rP ptP).
by apply: eq_bigr => y _; rewrite IH //; apply: okp_append.
Qed.
(* predictable builds are lossless *)
Theorem recursive_rejection_predictable_build b s : okb vs b -> exact vs p s (bind (grow vs b (@PNil F V)) (fun t => recursive_rejection_on vs p t (p s) s)).
Proof. by move=> ok m g; rewrite E_bind recursive_rejection_build // recursive_rejection_on_nil -E_AR. Qed.
(* drawn up front = drawn lazily *)
Theorem recursive_rejection_upfront (d : dtree) pt s g : okd vs d ->
  E (bind (populate vs d) (fun t => recursive_rejection_on vs p t pt s)) g = E (recursive_rejection (F := F) vs p d pt s) g.
Proof.
elim: d pt s g => [|q c IHc n IHn] pt s g; first by move=> _; rewrite E_bind E_ret.
case=> qP okc okn; rewrite E_bind populateE [in RHS]/= [RHS]E_bind E_draw.
apply: eq_bigr => x _; congr (_ * _); rewrite [RHS]E_bind E_flip -(IHn x _ _ _ (okn x)) [X in _ = _ + _ * X]E_bind.
rewrite [X in _ = _ * X + _]E_bind -(IHc x _ _ _ (okc x)) [X in _ = _ * X + _]E_bind -[in RHS]E_scale.
rewrite -[X in _ = _ + X](populate_const _ (okc x)) -E_add; apply: E_ext => tc.
under E_ext do rewrite [recursive_rejection_on _ _ _ _ _]/= E_bind E_flip.
by rewrite E_add (populate_const _ (okn x)) E_scale /= E_bind.
Qed.
End Recursive_rejection.
