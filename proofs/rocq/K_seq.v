(* k_seq: k independent drafts, each accepted with probability min(1, p/(rho q)), the rest from the residual: lossless for *)
(* every rho with 1 - (1 - beta)^k <= rho beta; if a rho will do, so will every larger one.                                *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes Plans Univer.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section KSeq.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).

Section Node.
Variables (pt q : V -> R) (rho : R) (k : nat).
Hypotheses (ptP : pmf vs pt) (qP : pmf vs q) (rho0 : 0 < rho).
Local Notation kept := (kseq_kept (F := F) pt q rho).
Local Notation beta := (kseq_beta (F := F) vs pt q rho).
Local Notation power := (power (F := F) vs pt q rho).
Local Notation geometric := (geometric (F := F) vs pt q rho).
Local Notation residual := (kseq_residual (F := F) vs pt q rho k).
Local Notation plan := (kseq_plan (F := F) vs pt q rho k).
(* the condition on rho *)
Definition rho_ok := 1 - power k <= rho * beta.

Let pt0 x : 0 <= pt x. Proof. by case: ptP. Qed.
Let q0 x : 0 <= q x. Proof. by case: qP. Qed.

Lemma keptE x : kept x = Num.min (q x) (pt x / rho). Proof. by []. Qed.
Lemma kept_ge0 x : 0 <= kept x.
Proof. by rewrite keptE le_minr q0 divr_ge0 // ltW. Qed.
Lemma kept_q x : kept x <= q x. Proof. by rewrite keptE le_minl lexx. Qed.
Lemma kept_p x : rho * kept x <= pt x.
Proof. by rewrite mulrC -ler_pdivl_mulr // keptE le_minl lexx orbT. Qed.
Lemma betaE : beta = \sum_(x <- vs) kept x. Proof. by rewrite /kseq_beta osumE big_map. Qed.
Lemma beta01 : 0 <= beta <= 1.
Proof.
rewrite betaE sumr_ge0 => [|x _] /=; last exact: kept_ge0.
by rewrite -(proj2 qP); apply: ler_sum => x _; apply: kept_q.
Qed.
Lemma powerS j : power j.+1 = (1 - beta) * power j. Proof. by []. Qed.
Lemma geometricS j : geometric j.+1 = geometric j + power j. Proof. by []. Qed.
Lemma power_ge0 j : 0 <= power j.
Proof. elim: j => [|j IH]; [exact: ler01 | by rewrite powerS mulr_ge0 // subr_ge0; case/andP: beta01]. Qed.
Lemma geometric_ge0 j : 0 <= geometric j.
Proof. elim: j => [|j IH]; [exact: lexx | by rewrite geometricS addr_ge0 ?power_ge0]. Qed.
Lemma geometric_power j : beta * geometric j = 1 - power j.
Proof.
elim: j => [|j IH]; first by rewrite mulr0 /= subrr.
by rewrite geometricS powerS mulrDr IH mulrBl mul1r opprB addrA addrAC.
Qed.
Lemma geometric_step j : geometric j.+1 = 1 + (1 - beta) * geometric j.
Proof. by rewrite geometricS mulrBl mul1r geometric_power; move: (geometric j) (power j) => a b; ring. Qed.

(* what has been kept of y never exceeds what it is owed *)
Lemma kept_owed y : rho_ok -> kept y * geometric k <= pt y.
Proof.
move=> ok; have [b0|bn0] := eqVneq beta 0.
  have -> : kept y = 0.
    apply/eqP; have := b0; rewrite betaE => /eqP; rewrite psumr_eq0 => [/allP/(_ _ (vs_all y))/=//|x _].
    exact: kept_ge0.
  by rewrite mul0r.
have bp : 0 < beta by rewrite lt_neqAle eq_sym bn0; case/andP: beta01.
apply: le_trans (kept_p y); rewrite mulrC; apply: ler_wpmul2r; first exact: kept_ge0.
by rewrite -(ler_pmul2l bp) geometric_power mulrC.
Qed.

Hypothesis ok : rho_ok.

Lemma residual_ge0 y : 0 <= residual y.
Proof.
rewrite /kseq_residual /divz; case: ifP => // _.
by apply: divr_ge0; [rewrite subr_ge0 kept_owed | exact: power_ge0].
Qed.

Lemma residual_num : \sum_(y <- vs) (pt y - kept y * geometric k) = power k.
Proof.
by rewrite sumrB -big_distrl /= -betaE geometric_power (proj2 ptP) opprB addrCA subrr addr0.
Qed.

Lemma power_residual y : power k * residual y = pt y - kept y * geometric k.
Proof.
rewrite /kseq_residual /divz; case: ifPn => [/eqP z|nz]; last by rewrite mulrCA divff // mulr1.
rewrite mulr0; apply/esym/eqP; have := residual_num; rewrite z => /eqP.
rewrite psumr_eq0 => [/allP/(_ _ (vs_all y))//|x _].
by rewrite subr_ge0 kept_owed.
Qed.

Lemma residual_le1 : \sum_(y <- vs) residual y <= 1.
Proof.
have [z|nz] := eqVneq (power k) 0.
  by rewrite big1 ?ler01 // => y _; rewrite /kseq_residual /divz -[oz _]/(power k == 0) z eqxx.
rewrite le_eqVlt; apply/orP; left; apply/eqP/(mulfI nz); rewrite big_distrr mulr1 /= -[RHS]residual_num.
by apply: eq_bigr => y _; apply: power_residual.
Qed.

(* acceptance probability of a draft *)
Definition rate (x : V) : R := if q x == 0 then 1 else kept x / q x.
Lemma rate01 x : 0 <= rate x <= 1.
Proof.
rewrite /rate; case: ifPn => [_|qn]; first by rewrite ler01 lexx.
have qp : 0 < q x by rewrite lt_neqAle eq_sym qn q0.
by rewrite divr_ge0 ?kept_ge0 //= ler_pdivr_mulr // mul1r kept_q.
Qed.
Lemma q_rate x : q x * rate x = kept x.
Proof.
rewrite /rate; case: ifPn => [/eqP qx|qn]; last by rewrite mulrCA divff // mulr1.
by rewrite qx mul0r; apply/esym/eqP; rewrite eq_le kept_ge0 -qx kept_q.
Qed.
Lemma planS x c y : plan (x :: c) y = (if y == x then rate x else 0) + (1 - rate x) * plan c y.
Proof. by []. Qed.

Lemma plan_ge0 c y : 0 <= plan c y.
Proof.
elim: c => [|x c IH]; first exact: residual_ge0.
have /andP[r0 r1] := rate01 x.
by rewrite planS addr_ge0 ?mulr_ge0 ?subr_ge0 //; case: ifP.
Qed.
Lemma plan_le1 c : \sum_(y <- vs) plan c y <= 1.
Proof.
elim: c => [|x c IH]; first exact: residual_le1.
have /andP[r0 r1] := rate01 x; under eq_bigr do rewrite planS.
rewrite big_split /= (bigD1_seq x) //= eqxx big1 ?addr0 => [|y /negPf-> //]; rewrite -big_distrr /=.
apply: (@le_trans _ _ (rate x + (1 - rate x) * 1)); last by rewrite mulr1 addrC subrK.
by rewrite ler_add2l ler_wpmul2l ?subr_ge0.
Qed.

Lemma E_plan j y : E (iid (F := F) vs q j) (fun c => plan c y) = kept y * geometric j + power j * residual y.
Proof.
elim: j => [|j IH]; first by rewrite /= E_ret mulr0 add0r mul1r.
rewrite [iid _ _ _]/= E_bind E_draw.
transitivity (\sum_(x <- vs) ((if y == x then kept x else 0) + (q x - kept x) * E (iid (F := F) vs q j) (fun c => plan c y))).
  apply: eq_bigr => x _; rewrite E_bind; under E_ext do rewrite E_ret planS.
  rewrite E_add E_scale; have -> : E (iid (F := F) vs q j) (fun=> if y == x then rate x else 0) = if y == x then rate x else 0.
    have m1 : E (iid (F := F) vs q j) (fun=> 1) = 1.
      elim: (j) => [|i IHi] /=; first by rewrite E_ret.
      rewrite E_bind E_draw -[RHS](proj2 qP); apply: eq_bigr => z _.
      by rewrite E_bind; under E_ext do rewrite E_ret; rewrite IHi mulr1.
    by rewrite -[RHS]mulr1 -m1 -E_scale; apply: E_ext => c; rewrite mulr1.
  rewrite mulrDr mulrA mulrBr mulr1 q_rate; congr (_ + _).
  by case: ifP => _; rewrite ?q_rate ?mulr0.
rewrite geometric_step powerS big_split /= (bigD1_seq y) //= eqxx big1 ?addr0 => [|x]; last by rewrite eq_sym => /negPf->.
rewrite -big_distrl sumrB /= (proj2 qP) -betaE IH.
have aux (a b c d e : R) : a + (1 - c) * (a * b + d * e) = a * (1 + (1 - c) * b) + (1 - c) * d * e by ring.
exact: aux.
Qed.

Theorem kseq_lossless a : a = 1 -> locally_lossless vs pt (iid (F := F) vs q k) (fun _ c y => plan c y) a.
Proof.
move=> ->; split=> [c _|y]; first by split=> [y|]; [exact: plan_ge0 | exact: plan_le1].
by rewrite E_plan power_residual mul1r addrCA subrr addr0.
Qed.
End Node.

(* if rho will do, every larger rho will *)
Theorem rho_upward (pt q : V -> R) (rho rho' : R) k : pmf vs pt -> pmf vs q -> 0 < rho -> rho <= rho' ->
  rho_ok pt q rho k -> rho_ok pt q rho' k.
Proof.
move=> ptP qP r0 rr; have r0' : 0 < rho' by apply: lt_le_trans rr.
have bb : kseq_beta (F := F) vs pt q rho' <= kseq_beta (F := F) vs pt q rho.
  rewrite !betaE; apply: ler_sum => x _; rewrite !keptE le_minr le_minl lexx /= le_minl; apply/orP; right.
  by apply: ler_wpmul2l; [case: ptP | rewrite lef_pinv].
have pw : power (F := F) vs pt q rho k <= power (F := F) vs pt q rho' k.
  elim: k => [|j IH]; first exact: lexx.
  rewrite !powerS; apply: ler_pmul => //; [|exact: power_ge0|by rewrite ler_add2l ler_opp2].
  by rewrite subr_ge0; case/andP: (beta01 ptP qP r0).
rewrite /rho_ok => h; apply: le_trans (_ : 1 - power (F := F) vs pt q rho k <= _); first by rewrite ler_add2l ler_opp2.
apply: le_trans h _; rewrite !betaE !big_distrr; apply: ler_sum => x _ /=.
have e r : 0 < r -> r * kseq_kept (F := F) pt q r x = Num.min (r * q x) (pt x).
  by move=> rp; rewrite keptE minr_pmulr ?ltW // mulrCA divff ?mulr1 // gt_eqF.
rewrite !e // le_minr !le_minl lexx orbT andbT; apply/orP; left.
by apply: ler_wpmul2r => //; case: qP.
Qed.

(* whole trees: k drafts a node, to depth n *)
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Variables (qd : seq V -> V -> R) (rho : seq V -> R) (k : nat).
Hypotheses (qP : forall s, pmf vs (qd s)) (rho0 : forall s, 0 < rho s) (rhoP : forall s, rho_ok (p s) (qd s) (rho s) k).
Fixpoint kseq_tree (n : nat) (s : seq V) : utree F V :=
  if n is n'.+1 then
    UNode (iid (F := F) vs (qd s) k) (fun _ => kseq_plan (F := F) vs (p s) (qd s) (rho s) k) (fun _ y => kseq_tree n' (rcons s y))
  else @ULeaf F V.

Theorem kseq_exact n s : exact vs p s (token_level vs p (kseq_tree n s) s).
Proof.
apply: token_level_exact => //; elim: n s => //= n IH s; split=> //.
exact: (kseq_lossless (pP s) (qP s) (rho0 s) (rhoP s)).
Qed.
End KSeq.
