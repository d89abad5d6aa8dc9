(* The order in which siblings are tried may depend on anything but the draws below them: on the capacity, the tokens of    *)
(* all siblings, the target and the declared laws below.  Whatever the order, the node stays locally lossless; so UniVer    *)
(* with the order that looks best one level below is lossless.  Python: reference/verifiers/univer_lookahead.py.            *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Schemes Verifiers Expectation Exact Prefixes Plans Two_phase Univer.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Lemma best_in (F : ops) (T : eqType) (value : T -> F) x l : best value x l \in x :: l.
Proof.
elim: l x => [|y l IH] x /=; first by rewrite inE.
have := IH (if ole (value y) (value x) then x else y); rewrite /best /= !inE => /orP[/eqP->|->]; last by rewrite !orbT.
by case: ifP; rewrite eqxx ?orbT.
Qed.

Section Orders.
Variables (F : ops) (T : eqType).
Lemma picks_perm (l : seq T) y : y \in picks l -> perm_eq (y.1 :: y.2) l.
Proof.
elim: l y => //= x l IH y; rewrite inE => /orP[/eqP-> //|/mapP[z /IH zl ->]] /=.
by rewrite -[z.1 :: x :: z.2]/([:: z.1] ++ [:: x] ++ z.2) perm_catCA /= perm_cons.
Qed.
Lemma orders_perm n (l o : seq T) : o \in orders n l -> perm_eq o l.
Proof.
elim: n l o => [|n IH] l o /=; first by rewrite inE => /eqP->.
case/flatten_mapP=> y yl /mapP[u /IH uy ->]; apply: perm_trans (picks_perm yl).
by rewrite perm_cons.
Qed.
Lemma best_order_perm (value : seq T -> F) l : perm_eq (best value l (orders (size l) l)) l.
Proof. by have := best_in value l (orders (size l) l); rewrite inE => /orP[/eqP->|/orders_perm]. Qed.
End Orders.

Section Univer_lookahead.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).

(* nothing but the masses of a node matters, not the order in which they come *)
Theorem any_order_lossless (pt : V -> R) (nd : node F V) (order : R -> seq V -> seq (V * R)) a :
  (forall c, perm_eq (order a c) (masses nd a c)) -> locally_lossless pt nd a ->
  locally_lossless pt (Node (tuples nd) order (owed nd)) a.
Proof.
move=> same [mP w0 avg]; split=> //= [c /mP[m0 m1]|y].
  split=> [x|]; first by rewrite (perm_mem (same c)); apply: m0.
  by apply: le_trans m1; rewrite !massE (perm_big _ (same c)).
by rewrite -avg; congr (_ + _); apply: E_ext => c; rewrite !givenE (perm_big _ (same c)).
Qed.

Variables (p q : seq V -> V -> R) (n : scheme_name V).
Hypotheses (pP : forall s, pmf vs (p s)) (qP : forall s, pmf vs (q s)) (nP : distinct n).

Theorem univer_lookahead_exact k t : exact vs p [::] (plan_law (F := F) vs p q (@Univer_lookahead F V) n k t).
Proof.
have ev : everywhere vs (fun _ _ => true) k t [::] by apply: everywhere_all.
apply: two_phase_exact => //; apply: (planned_ok vs_all ev) => [t' s|t' s a _ a01]; first exact: univer_node_drawn.
apply: any_order_lossless; last exact: univer_node_lossless.
by move=> c; apply: (@best_order_perm F (prod_eqType V R)).
Qed.
End Univer_lookahead.
