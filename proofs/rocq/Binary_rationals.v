(* Binary rationals compute what the theorems talk about: the block law computed over Q (by vm_compute, in the golden *)
(* vectors) is the law of the theorems in any realFieldType, hence exact.                                             *)
From Coq Require Import ZArith QArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ssrZ.
From Draftproof Require Import Programs Trees Verifiers Schemes Expectation Exact Populated Recursive_rejection Traversal Drafting.
From Draftproof Require Import One_hot Homomorphism Plans Univer Univer_lookahead Greedy_transport K_seq Univer_transport Homomorphism_plans.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.

Definition QO : ops := @Ops Q (Qmake 0 1) (Qmake 1 1) (fun a b => Qred (Qplus a b)) (fun a b => Qred (Qminus a b))
  (fun a b => Qred (Qmult a b)) (fun a b => Qred (Qdiv a b))
  (fun a b => if Qle_bool a b then a else b) (fun a => Z.eqb (Qnum a) Z0).

Local Open Scope ring_scope.
Section Hom.
Variable R : realFieldType.
Definition zR (z : Z) : R := (int_of_Z z)%:~R.
Definition qR (q : Q) : R := zR (Qnum q) / zR (Zpos (Qden q)).

Lemma zR0 : zR Z0 = 0. Proof. by []. Qed.
Lemma zR1 : zR (Zpos xH) = 1. Proof. by []. Qed.
Lemma zRD a b : zR (Z.add a b) = zR a + zR b.
Proof. by rewrite /zR (rmorphD ZInstances.int_of_Z_rmorphism a b) rmorphD. Qed.
Lemma zRN a : zR (Z.opp a) = - zR a.
Proof. by rewrite /zR (rmorphN ZInstances.int_of_Z_rmorphism a) rmorphN. Qed.
Lemma zRM a b : zR (Z.mul a b) = zR a * zR b.
Proof. by rewrite /zR (rmorphM ZInstances.int_of_Z_rmorphism a b) rmorphM. Qed.
Lemma zR_gt0 d : 0 < zR (Zpos d).
Proof. by rewrite /zR ltr0z /=; case E : (Pos.to_nat d) (Pos2Nat.is_pos d) => [|n] //; case/Nat.lt_irrefl. Qed.
Lemma zR_n0 d : zR (Zpos d) != 0. Proof. by rewrite gt_eqF ?zR_gt0. Qed.
Lemma zR_ge0 z : (0 <= zR z) = (Z.leb 0 z).
Proof.
case: z => [|d|d]; first by rewrite lexx.
  by rewrite ltW ?zR_gt0.
by rewrite -[Z.neg d]/(Z.opp (Z.pos d)) zRN oppr_ge0 leNgt zR_gt0.
Qed.

Lemma qR_eq a b : Qeq a b -> qR a = qR b.
Proof.
rewrite /Qeq /qR => /(congr1 zR); rewrite !zRM => e.
by apply/eqP; rewrite eqr_div ?zR_n0 //; apply/eqP.
Qed.
Lemma qR_red a : qR (Qred a) = qR a. Proof. exact/qR_eq/Qred_correct. Qed.
Lemma qRD a b : qR (Qplus a b) = qR a + qR b.
Proof. by rewrite /qR /= Pos2Z.inj_mul !(zRD, zRM) addf_div ?zR_n0. Qed.
Lemma qRN a : qR (Qopp a) = - qR a.
Proof. by rewrite /qR /= zRN mulNr. Qed.
Lemma qRM a b : qR (Qmult a b) = qR a * qR b.
Proof. by rewrite /qR /= Pos2Z.inj_mul !zRM mulf_div. Qed.
Lemma qRV a : qR (Qinv a) = (qR a)^-1.
Proof.
rewrite /qR /Qinv; case: a => [[|n|n] d] /=; first by rewrite zR0 !mul0r invr0.
  by rewrite invf_div.
by rewrite -[Z.neg d]/(Z.opp (Z.pos d)) -[Z.neg n]/(Z.opp (Z.pos n)) !zRN !mulNr invrN invf_div.
Qed.
Lemma qR_le a b : (qR a <= qR b) = Qle_bool a b.
Proof.
rewrite /Qle_bool /qR ler_pdivr_mulr ?zR_gt0 // mulrAC ler_pdivl_mulr ?zR_gt0 //.
rewrite -!zRM -subr_ge0 -zRN -zRD zR_ge0.
by apply/idP/idP => /Z.leb_le h; apply/Z.leb_le; move: h; rewrite Z.add_opp_r Z.le_0_sub.
Qed.

Let F := mc R.
Lemma hadd (a b : QO) : qR (oadd a b) = oadd (qR a : F) (qR b).
Proof. exact: etrans (qR_red _) (qRD a b). Qed.
Lemma hsub (a b : QO) : qR (osub a b) = osub (qR a : F) (qR b).
Proof. by apply: etrans (qR_red _) _; rewrite qRD qRN. Qed.
Lemma hmul (a b : QO) : qR (omul a b) = omul (qR a : F) (qR b).
Proof. exact: etrans (qR_red _) (qRM a b). Qed.
Lemma hdiv (a b : QO) : qR (odiv a b) = odiv (qR a : F) (qR b).
Proof. by apply: etrans (qR_red _) _; rewrite qRM qRV. Qed.
Lemma hmin (a b : QO) : qR (omin a b) = omin (qR a : F) (qR b).
Proof.
rewrite /= -qR_le; case: ifPn => [h|]; first by rewrite min_l.
by rewrite -ltNge => /ltW h; rewrite min_r.
Qed.
Lemma hz (a : QO) : oz (qR a : F) = oz a.
Proof.
rewrite /= /qR mulf_eq0 invr_eq0 (negPf (zR_n0 _)) orbF.
rewrite /zR intr_eq0; case: (Qnum a) => [|d|d] //=.
  by apply/negP => /eqP [] ; case: (Pos2Nat.is_succ d) => n ->.
Qed.

Lemma h0 : qR (o0 QO) = o0 F. Proof. by rewrite /qR /= zR0 mul0r. Qed.
Lemma h1 : qR (o1 QO) = o1 F. Proof. by rewrite /qR /= zR1 divr1. Qed.

(* every rule's block law is exact, for every scheme that declares laws *)
Section Exact.
Variables (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).

Theorem block_law_exact (p : seq V -> V -> R) r sch t : (forall s, pmf vs (p s)) -> declares_laws vs sch ->
  exact vs p [::] (block_law (F := F) vs p r sch t).
Proof.
move=> pP schP; case: r; rewrite /block_law.
- exact/predraw_follow_random/drafted_ok.
- exact/tree_exit_random/drafted_ok.
- exact/recursive_rejection_exact/drafted_ok.
exact/traversal_exact/drafted_ok.
Qed.

(* the law computed over Q is the law of the theorems, and is exact as soon as the rows are laws *)
Variables (p q : seq V -> V -> Q) (n : scheme_name V).
Let pR s x : R := qR (p s x).
Let rR s x : R := qR (q s x).

Theorem block_law_Q r t : block_law (F := F) vs pR r (scheme_of (F := F) vs rR n) t =
  dmap (F := QO) (G := F) qR (block_law (F := QO) vs p r (scheme_of (F := QO) vs q n) t).
Proof.
apply: (h_block_law (F := QO) (G := F) h0 h1 hadd hsub hmul hdiv hmin hz) => // t' s e.
exact: (h_scheme (F := QO) (G := F) h0 h1 hadd hsub hdiv hmin hz).
Qed.

Theorem block_law_Q_exact r t : (forall s, pmf vs (pR s)) -> (forall s, pmf vs (rR s)) ->
  exact vs pR [::] (dmap (F := QO) (G := F) qR (block_law (F := QO) vs p r (scheme_of (F := QO) vs q n) t)).
Proof.
by move=> pP qP; rewrite -block_law_Q; apply: block_law_exact => //; apply: schemes_declare_laws.
Qed.

(* the same for the rules driven by plans *)
Lemma distinct_checked tree : uniq tree -> distinct (Fixed tree : scheme_name V).
Proof.
move=> tree_uniq s; suff sub : subseq [seq rcons s x | x <- children_of tree s] tree.
  have := subseq_uniq sub tree_uniq; by rewrite map_inj_uniq // => x y /rcons_inj[].
rewrite /children_of; elim: (tree) => [|u l IH] //; rewrite [flatten _]/= map_cat.
case: u => [|x u']; first exact: subseq_trans IH (subseq_cons _ _).
case: eqP => [e|_]; last exact: subseq_trans IH (subseq_cons _ _).
by rewrite [x :: u']lastI -e /= eqxx.
Qed.
Theorem plan_law_exact (a b : seq V -> V -> R) r m k t : (forall s, pmf vs (a s)) -> (forall s, pmf vs (b s)) ->
  rule_checked (F := F) vs a b m r k t -> exact vs a [::] (plan_law (F := F) vs a b r m k t).
Proof.
move=> aP bP; have D : (if m is Fixed tree then uniq tree else true) -> distinct m by case: (m) => // tree; apply: distinct_checked.
case: r => [||plans||rho] ok.
- by apply: univer_exact => //; apply: D.
- by apply: univer_lookahead_exact => //; apply: D.
- exact: univer_transport_exact.
- by apply: greedy_transport_exact => //; apply: D.
exact: k_seq_exact.
Qed.
Theorem plan_law_Q r k t : plan_law (F := F) vs pR rR (hrule (F := QO) (G := F) qR r) n k t =
  dmap (F := QO) (G := F) qR (plan_law (F := QO) vs p q r n k t).
Proof. exact: (h_plan_law (F := QO) (G := F) h0 h1 hadd hsub hmul hdiv hmin hz). Qed.
Theorem plan_law_Q_exact r k t : (forall s, pmf vs (pR s)) -> (forall s, pmf vs (rR s)) ->
  rule_checked (F := QO) vs p q n r k t ->
  exact vs pR [::] (dmap (F := QO) (G := F) qR (plan_law (F := QO) vs p q r n k t)).
Proof.
move=> pP qP ok; rewrite -plan_law_Q; apply: plan_law_exact => //; apply: etrans _ ok.
exact: (h_rule_checked (F := QO) (G := F) h0 h1 hadd hsub hmul hdiv hmin hz).
Qed.
End Exact.
End Hom.
