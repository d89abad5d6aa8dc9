(* k_seq: k independent drafts, each accepted with probability min(1, p/(rho q)), the bonus from what is still owed:       *)
(* lossless for every rho with 1 - (1 - beta)^k <= rho beta; if a rho will do, so will every larger one.                    *)
(* Python: reference/verifiers/k_seq.py.                                                                                   *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Verifiers Expectation Exact Prefixes Plans Two_phase Transport.
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
Local Notation kept := (kept (F := F) pt q rho).
Local Notation beta := (beta (F := F) vs pt q rho).
Local Notation power := (power (F := F) vs pt q rho).
Local Notation geometric := (geometric (F := F) vs pt q rho).
Local Notation rate := (rate (F := F) pt q rho).
Local Notation tested := (tested (F := F) pt q rho).
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
Lemma betaE : beta = \sum_(x <- vs) kept x. Proof. by rewrite /Plans.beta osumE big_map. Qed.
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

(* acceptance probability of a draft *)
Lemma rate01 x : 0 <= rate x <= 1.
Proof.
rewrite /Plans.rate -[oz _]/(q x == 0); case: ifPn => [_|qn]; first by rewrite ler01 lexx.
have qp : 0 < q x by rewrite lt_neqAle eq_sym qn q0.
by rewrite divr_ge0 ?kept_ge0 //= ler_pdivr_mulr // mul1r kept_q.
Qed.
Lemma q_rate x : q x * rate x = kept x.
Proof.
rewrite /Plans.rate -[oz _]/(q x == 0); case: ifPn => [/eqP qx|qn]; last by rewrite mulrCA divff // mulr1.
by rewrite qx mul0r; apply/esym/eqP; rewrite eq_le kept_ge0 -qx kept_q.
Qed.

Lemma tested_ok c (left : R) : 0 <= left -> (forall x, x \in tested c left -> (0 : R) <= x.2) /\ mass (tested c left) <= left.
Proof.
elim: c left => [|y c IH] left left0; first by rewrite massE big_nil.
have /andP[r0 r1] := rate01 y; have rest0 : 0 <= left * (1 - rate y) by rewrite mulr_ge0 // subr_ge0.
have [m0 m1] := IH _ rest0; split=> [x|].
  by rewrite inE => /orP[/eqP->|/m0]; first exact: mulr_ge0.
rewrite massE big_cons -massE /=; apply: (@le_trans _ _ (left * rate y + left * (1 - rate y))); first by rewrite ler_add2l.
by rewrite -mulrDr addrCA subrr addr0 mulr1.
Qed.

Lemma iid_mass j : E (iid (F := F) vs q j) (fun=> 1) = 1.
Proof.
elim: j => [|j IH] /=; first by rewrite E_ret.
rewrite E_bind E_draw -[RHS](proj2 qP); apply: eq_bigr => z _.
by rewrite E_bind; under E_ext do rewrite E_ret; rewrite IH mulr1.
Qed.

Lemma E_tested j (left : R) y : E (iid (F := F) vs q j) (fun c => given (tested c left) y) = left * (kept y * geometric j).
Proof.
elim: j left => [|j IH] left; first by rewrite /= E_ret givenE big_nil !mulr0.
rewrite [iid _ _ _]/= E_bind E_draw geometric_step.
transitivity (\sum_(x <- vs) (left * (if x == y then kept x else 0) + (q x - kept x) * (left * (kept y * geometric j)))).
  apply: eq_bigr => x _; rewrite E_bind; under E_ext do rewrite E_ret givenE big_cons -givenE /=.
  rewrite E_add IH; have -> (b : bool) (u : R) : E (iid (F := F) vs q j) (fun=> if b then u else 0) = if b then u else 0.
    by rewrite -[RHS]mulr1 -(iid_mass j) -E_scale; apply: E_ext => c; rewrite mulr1.
  rewrite mulrDr; congr (_ + _); first by case: ifP => _; rewrite ?mulr0 // mulrCA q_rate.
  by rewrite !mulrA [q x * left]mulrC -[left * q x * _]mulrA mulrBr mulr1 q_rate [left * _]mulrC.
rewrite big_split /= -big_distrr /= (bigD1_seq y) //= eqxx big1 ?addr0 => [|x /negPf-> //].
by rewrite -big_distrl sumrB /= (proj2 qP) -betaE; move: (kept y) (geometric j) beta => a b c; ring.
Qed.

Theorem k_seq_lossless : locally_lossless pt (k_seq_node (F := F) vs pt q rho k) 1.
Proof.
split=> [c _|y|y] /=; first exact: tested_ok ler01.
  by rewrite subr_ge0 kept_owed.
by rewrite E_tested !mul1r addrCA subrr addr0.
Qed.
End Node.
(* if rho will do, every larger rho will *)
Theorem rho_upward (pt q : V -> R) (rho rho' : R) k : pmf vs pt -> pmf vs q -> 0 < rho -> rho <= rho' ->
  rho_ok pt q rho k -> rho_ok pt q rho' k.
Proof.
move=> ptP qP r0 rr; have r0' : 0 < rho' by apply: lt_le_trans rr.
have bb : beta (F := F) vs pt q rho' <= beta (F := F) vs pt q rho.
  rewrite !betaE; apply: ler_sum => x _; rewrite !keptE le_minr le_minl lexx /= le_minl; apply/orP; right.
  by apply: ler_wpmul2l; [case: ptP | rewrite lef_pinv].
have pw : power (F := F) vs pt q rho k <= power (F := F) vs pt q rho' k.
  elim: k => [|j IH]; first exact: lexx.
  rewrite !powerS; apply: ler_pmul => //; [|exact: power_ge0|by rewrite ler_add2l ler_opp2].
  by rewrite subr_ge0; case/andP: (beta01 ptP qP r0).
rewrite /rho_ok => h; apply: le_trans (_ : 1 - power (F := F) vs pt q rho k <= _); first by rewrite ler_add2l ler_opp2.
apply: le_trans h _; rewrite !betaE !big_distrr; apply: ler_sum => x _ /=.
have e r : 0 < r -> r * kept (F := F) pt q r x = Num.min (r * q x) (pt x).
  by move=> rp; rewrite keptE minr_pmulr ?ltW // mulrCA divff ?mulr1 // gt_eqF.
rewrite !e // le_minr !le_minl lexx orbT andbT; apply/orP; left.
by apply: ler_wpmul2r => //; case: qP.
Qed.

(* whole trees, every node with its own number of drafts and its own rho, and the executable check of the condition *)
Definition rho_checked (F : ops) (pt q : V -> F) (rho : F) (k : nat) : bool :=
  ~~ ole rho (o0 F) && ole (osub (o1 F) (Plans.power vs pt q rho k)) (omul rho (Plans.beta vs pt q rho)).
Variables (p qd : seq V -> V -> R) (rho : nat -> seq V -> R).
Hypotheses (pP : forall s, pmf vs (p s)) (qP : forall s, pmf vs (qd s)).
Definition rho_checked_at t s := let k := size (below t) in rho_checked (F := F) (p s) (qd s) (rho k s) k.

Theorem k_seq_exact sch n t : everywhere vs rho_checked_at n t [::] ->
  exact vs p [::] (plan_law (F := F) vs p qd (K_seq (rho : nat -> seq V -> F)) sch n t).
Proof.
move=> ev; apply: token_level_exact => //; apply: (planned_token vs_all ev) => t' s; first exact: iid_mass.
rewrite /rho_checked_at /rho_checked !oleE -ltNge => /andP[rho0 ok].
exact: k_seq_lossless.
Qed.
End KSeq.
