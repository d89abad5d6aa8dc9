(* One accept/reject step with partial mass; speculative sampling of one token is lossless and accepts sum min(p, q), *)
(* the most any coupling can.                                                                                        *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Expectation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Step.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Local Notation acc := (@acc F V).
Local Notation excess := (@excess F V).
Local Notation exmass := (@exmass F V vs).
Local Notation res := (@res F V vs).
Local Notation respi := (@respi F V vs).
Local Notation pmf := (@pmf R V vs).

Variables (pi : R) (p q : V -> R).
Hypothesis pi01 : 0 <= pi <= 1.
Hypotheses (pP : pmf p) (qP : pmf q).

Let pi0 : 0 <= pi. Proof. by case/andP: pi01. Qed.
Let pi1 : pi <= 1. Proof. by case/andP: pi01. Qed.
Let p0 x : 0 <= p x. Proof. by case: pP. Qed.
Let q0 x : 0 <= q x. Proof. by case: qP. Qed.
Let pip0 x : 0 <= pi * p x. Proof. exact: mulr_ge0. Qed.

Lemma exmassE : exmass pi p q = \sum_(x <- vs) (pi * p x - Num.min (pi * p x) (q x)).
Proof. by rewrite /Programs.exmass osumE big_map. Qed.

Lemma excess_ge0 x : 0 <= excess pi p q x.
Proof. by rewrite /Programs.excess /= subr_ge0 le_minl lexx. Qed.

Lemma exmass_ge0 : 0 <= exmass pi p q.
Proof. by rewrite exmassE; apply: sumr_ge0 => x _; apply: excess_ge0. Qed.

Lemma acc01 x : 0 <= acc pi p q x <= 1.
Proof.
rewrite /Programs.acc /=; case: ifP => _; first by rewrite ler01 lexx.
by rewrite le_minl lexx /= andbT le_minr ler01 /= mulr_ge0 // invr_ge0.
Qed.

Lemma q_acc x : q x * acc pi p q x = Num.min (pi * p x) (q x).
Proof.
rewrite /Programs.acc /=; case: ifPn => [/eqP-> | qn0].
  by rewrite mul0r min_r.
by rewrite minr_pmulr // mulr1 mulrCA mulfV // mulr1 minC.
Qed.

(* mass rejected = (1 - pi) + excess mass *)
Lemma rej_mass :
  \sum_(x <- vs) q x * (1 - acc pi p q x) = exmass pi p q + (1 - pi).
Proof.
rewrite exmassE sumrB -big_distrr /= (proj2 pP) mulr1.
under eq_bigr do rewrite mulrBr mulr1 q_acc.
by rewrite sumrB (proj2 qP) [RHS]addrC addrA subrK.
Qed.

Lemma respi01 : 0 <= respi pi p q <= 1.
Proof.
rewrite /Programs.respi /=; have D0 := exmass_ge0; case: ifPn => [_|Dn0].
  by rewrite lexx ler01.
have Dp : 0 < exmass pi p q by rewrite lt_neqAle eq_sym Dn0.
have Sp : 0 < exmass pi p q + (1 - pi) by rewrite ltr_paddr // subr_ge0.
by rewrite divr_ge0 ?(ltW Sp) //= ler_pdivr_mulr // mul1r ler_addl subr_ge0.
Qed.

Lemma res_pmf : pmf (res pi p q).
Proof.
rewrite /Programs.res /=; case: ifPn => [_|Dn0] //.
split=> [x|]; first by rewrite divr_ge0 ?excess_ge0 ?exmass_ge0.
rewrite -big_distrl /= exmassE divff // -exmassE //.
Qed.

(* THE step lemma: accept x with probability acc and continue with a value G x;
   otherwise continue with partial mass respi and target res. *)
Lemma step (G : V -> R) :
  \sum_(x <- vs) q x * (acc pi p q x * G x + (1 - acc pi p q x) *
     (respi pi p q * \sum_(y <- vs) res pi p q y * G y))
  = pi * \sum_(x <- vs) p x * G x.
Proof.
set K := _ * \sum_(y <- vs) res pi p q y * G y.
have -> : \sum_(x <- vs) q x * (acc pi p q x * G x + (1 - acc pi p q x) * K)
   = \sum_(x <- vs) Num.min (pi * p x) (q x) * G x
     + (exmass pi p q + (1 - pi)) * K.
  rewrite -rej_mass big_distrl -big_split /=; apply: eq_bigr => x _.
  by rewrite -q_acc; ring.
have -> : (exmass pi p q + (1 - pi)) * K
   = \sum_(x <- vs) (pi * p x - Num.min (pi * p x) (q x)) * G x.
  rewrite /K /Programs.respi /Programs.res /=; case: ifPn => [/eqP D0|Dn0].
    by rewrite mul0r mulr0 sum0_mul -?exmassE // => x; apply: excess_ge0.
  have Dp : 0 < exmass pi p q by rewrite lt_neqAle eq_sym Dn0 exmass_ge0.
  have Sn0 : exmass pi p q + (1 - pi) != 0 by rewrite gt_eqF // ltr_paddr // subr_ge0.
  rewrite mulrA mulrCA divff // mulr1 big_distrr /=; apply: eq_bigr => x _.
  by rewrite mulrA mulrCA divff // mulr1.
rewrite -big_split big_distrr /=; apply: eq_bigr => x _; ring.
Qed.
End Step.

Section Single.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Local Notation acc := (@acc F V).
Local Notation exmass := (@exmass F V vs).
Local Notation res := (@res F V vs).
Variables p q : V -> R.
Hypotheses (pP : pmf vs p) (qP : pmf vs q).

Let le011 : (0 : R) <= (1 : R) <= (1 : R). Proof. by rewrite ler01 lexx. Qed.

(* the step at full mass: no thinning on rejection *)
Lemma step1 (G : V -> R) :
  \sum_(x <- vs) q x * (acc 1 p q x * G x + (1 - acc 1 p q x) *
     (\sum_(y <- vs) res 1 p q y * G y)) = \sum_(x <- vs) p x * G x.
Proof.
have := step le011 pP qP G; rewrite mul1r => <-.
have := rej_mass le011 pP qP; rewrite subrr addr0 /respi /=.
set D : R := exmass 1 p q; move: (\sum_(y <- vs) res 1 p q y * G y) => K rej.
case: ifPn => [/eqP D0|Dn0]; last first.
  by rewrite subrr addr0 divff //; apply: eq_bigr => x _; rewrite mul1r.
have split (c : R) : \sum_(x <- vs) q x * (acc 1 p q x * G x + (1 - acc 1 p q x) * c)
   = \sum_(x <- vs) q x * (acc 1 p q x * G x).
  transitivity (\sum_(x <- vs) (q x * (acc 1 p q x * G x) + q x * (1 - acc 1 p q x) * c)).
    by apply: eq_bigr => x _; rewrite mulrDr; congr (_ + _); rewrite mulrA.
  rewrite big_split /= [X in _ + X]sum0_mul ?addr0 ?rej // => x.
  apply: mulr_ge0; first by case: qP.
  by rewrite subr_ge0; case/andP: (acc01 le011 pP qP x).
by rewrite !split.
Qed.

(* 1a. speculative sampling is lossless (all test functions = all events) *)
Theorem single_lossless (g : V -> R) :
  E (single (F := F) vs p q) g = E (draw (F := F) vs p) g.
Proof.
rewrite /single E_bind !E_draw -(step1 g); apply: eq_bigr => x _.
by rewrite E_bind E_flip E_ret E_draw.
Qed.

(* 1b. total acceptance = sum of minima = 1 - total variation *)
Theorem accept_rate :
  \sum_(x <- vs) q x * acc 1 p q x = \sum_(x <- vs) Num.min (p x) (q x).
Proof. by apply: eq_bigr => x _; rewrite (q_acc le011 pP qP) mul1r. Qed.
End Single.

(* The literal statement over a finType, and optimality. *)
Section Fin.
Variables (R : realFieldType) (V : finType) (p q : V -> R).
Hypotheses (p0 : forall x, 0 <= p x) (p1 : \sum_x p x = 1).
Hypotheses (q0 : forall x, 0 <= q x) (q1 : \sum_x q x = 1).

Let a x : R := Num.min 1 (p x / q x).
Let r y : R := Num.max 0 (p y - q y) / \sum_z Num.max 0 (p z - q z).

Theorem single_literal y :
  \sum_x q x * (a x * (x == y)%:R + (1 - a x) * r y) = p y.
Proof.
have maxE z : Num.max 0 (p z - q z) = 1 * p z - Num.min (1 * p z) (q z).
  rewrite mul1r; case: (leP (p z) (q z)) => h.
    by rewrite subrr max_l // subr_le0.
  by rewrite max_r // subr_ge0 ltW.
have pP : pmf (index_enum V) p by [].
have qP : pmf (index_enum V) q by [].
have := step1 pP qP (fun z => (z == y)%:R).
have -> : \sum_x p x * (x == y)%:R = p y.
  by rewrite (bigD1 y) //= eqxx mulr1 big1 ?addr0 // => z /negPf->; rewrite mulr0.
have [D0|Dn0] := eqVneq (\sum_z Num.max 0 (p z - q z)) 0.
  move=> _; have pz z : p z <= q z.
    have := D0 => /eqP; rewrite psumr_eq0 => [/allP /(_ z)|? _]; last by rewrite le_maxr lexx.
    by rewrite mem_index_enum => /(_ isT) /=; rewrite maxE mul1r subr_eq0 => /eqP->; rewrite le_minl lexx orbT.
  have pq z : p z = q z.
    apply/eqP; rewrite eq_sym -subr_eq0; apply/eqP.
    have := @sum0_mul R V (index_enum V) (fun x => q x - p x) (fun x => (x == z)%:R).
    rewrite sumrB p1 q1 subrr => <- //; last by move=> x; rewrite subr_ge0.
    by rewrite (bigD1 z) //= eqxx mulr1 big1 ?addr0 // => x /negPf->; rewrite mulr0.
  rewrite (bigD1 y) //= eqxx big1 => [|x xy]; rewrite /r /a D0 invr0 mulr0 mulr0 addr0.
    rewrite addr0 mulr1 pq; have [->|qn0] := eqVneq (q y) 0; first by rewrite mul0r.
    by rewrite divff // min_l // mulr1.
  by rewrite (negPf xy) !mulr0.
move=> <-; apply: eq_bigr => x _.
have -> : \sum_z res (F := mc R) (index_enum V) 1 p q z * (z == y)%:R = r y.
  rewrite (bigD1 y) //= eqxx mulr1 big1 ?addr0 => [|z /negPf->]; last by rewrite mulr0.
  have DE : exmass (F := mc R) (index_enum V) 1 p q = \sum_z Num.max 0 (p z - q z).
    by rewrite exmassE; apply: eq_bigr => z _; rewrite maxE.
  by rewrite /res DE /= (negPf Dn0) /r maxE.
have [->|qn0] := eqVneq (q x) 0; first by rewrite !mul0r.
by rewrite /acc /= (negPf qn0) mul1r.
Qed.

(* 1c. optimality: every coupling j of p and q *)
Theorem coupling_bound (j : V -> V -> R) :
  (forall x y, 0 <= j x y) ->
  (forall x, \sum_y j x y = p x) -> (forall y, \sum_x j x y = q y) ->
  \sum_x j x x <= \sum_x Num.min (p x) (q x).
Proof.
move=> j0 jp jq; apply: ler_sum => x _; rewrite le_minr.
by rewrite -{1}jp -jq (bigD1 x) //= ler_addl sumr_ge0 // (bigD1 x) //= ler_addl sumr_ge0.
Qed.
End Fin.
