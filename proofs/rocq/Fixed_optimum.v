(* One fixed tree: the law P(v) p(a|v) 1[va not in T] is exact, emits 1 + coverage tokens on average, is the ONLY exact *)
(* law that does, and is stochastically the longest: best for every non-decreasing value of the length.                 *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes Growth Fixed_trees.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* a law is known when the probability of each outcome is *)
Section Pointwise.
Variables (R : realFieldType) (V : eqType).
Lemma same_law (B B' : dist (mc R) (seq V)) : (forall b, ends B b = ends B' b) -> forall g, E B g = E B' g.
Proof.
move=> BB g; set l := undup ([seq w.2 | w <- B] ++ [seq w.2 | w <- B']).
have e C : (forall b, b \in [seq w.2 | w <- C] -> b \in l) -> E C g = \sum_(b <- l) g b * ends C b.
  move=> Cl; under [RHS]eq_bigr do rewrite -E_scale; rewrite -E_sum.
  apply: E_ext_in => b /Cl bl; rewrite (bigD1_seq b) ?undup_uniq //= /same eqxx mulr1 big1 ?addr0 // => c.
  by rewrite eq_sym => /negPf->; rewrite mulr0.
rewrite !e; first by apply: eq_bigr => b _; rewrite BB.
  by move=> b bB; rewrite mem_undup mem_cat bB orbT.
by move=> b bB; rewrite mem_undup mem_cat bB.
Qed.
End Pointwise.

Section Optimum.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Variable T : seq (seq V).
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.
Local Notation nodes := (nodes T).
Local Notation P := (P p).
Local Notation coverage := (coverage p T).
Local Notation path_verifier := (path_verifier vs p T).

Definition optimum : dist F (seq V) := verifier_of vs p T P.

Lemma P_rcons v a : P (rcons v a) = P v * p v a.
Proof. by rewrite /Fixed_trees.P reach_rcons. Qed.
Lemma P_ge0 u : 0 <= P u. Proof. exact: (reach_ge0 _ _ pP). Qed.

Lemma P_feasible : f_feasible p T P.
Proof. by split=> // v a _; rewrite P_ge0 P_rcons lexx. Qed.

Lemma E_optimum g : E optimum g =
  \sum_(v <- nodes) \sum_(a <- vs) (if rcons v a \in T then 0 else P v * p v a * g (rcons v a)).
Proof.
rewrite E_verifier_of; apply: eq_bigr => v _; apply: eq_bigr => a _.
by rewrite /on P_rcons; case: ifP => _; rewrite ?subrr ?mul0r ?subr0.
Qed.

Theorem optimum_exact : path_verifier optimum.
Proof. exact: (f_is_verifier vs_uniq vs_all pP T_uniq T_root T_closed P_feasible).1. Qed.

Lemma optimum_extends u : u \in nodes -> extends optimum u = P u.
Proof. exact: (f_is_verifier vs_uniq vs_all pP T_uniq T_root T_closed P_feasible).2. Qed.

Lemma sum_nodes (h : seq V -> R) : \sum_(u <- nodes) h u = h [::] + \sum_(u <- T) h u.
Proof. by rewrite big_cons. Qed.

Theorem optimum_attains : E optimum (fun b => (size b)%:R) = 1 + coverage.
Proof.
rewrite (E_length T_uniq T_root T_closed optimum_exact) (eq_big_seq P) => [|u]; last exact: optimum_extends.
by rewrite sum_nodes.
Qed.

(* ---- the bijection: a verifier is the one built from its own f *)
Theorem verifier_bijection B : path_verifier B -> forall g, E B g = E (verifier_of vs p T (extends B)) g.
Proof.
move=> BP; have [f1 fle out stop] := verifier_is_f vs_uniq vs_all pP T_closed BP.
apply: same_law; elim/last_ind => [|v a _].
  transitivity (0 : R); [|apply/esym]; rewrite /ends.
    rewrite -(E_0 B); apply: E_ext_in => b; case: BP => _ Bon _ /Bon[v _ [a ->]].
    by rewrite /same; case: v.
  rewrite E_verifier_of big1 // => v _; rewrite big1 // => a _.
  by rewrite /same; case: v => [|x v]; rewrite /= mulr0n mulr0.
rewrite stop verifier_of_ends //; case: ifPn => vT.
  congr (_ - _); rewrite /on; case: ifPn => // vaT.
  by rewrite out // child_nodes.
rewrite !out ?mul0r ?subrr // child_nodes; apply/negP => /(parent_in T_closed).
by rewrite (negPf vT).
Qed.

(* ---- uniqueness *)
Theorem optimum_unique B : path_verifier B -> E B (fun b => (size b)%:R) = 1 + coverage ->
  forall g, E B g = E optimum g.
Proof.
move=> BP att; have fP u : u \in nodes -> extends B u = P u.
  move=> uT; apply/eqP; rewrite eq_sym -subr_eq0; apply/eqP.
  have S0 : \sum_(v <- nodes) (P v - extends B v) = 0.
    rewrite sumrB -(E_length T_uniq T_root T_closed BP) att sum_nodes.
    by rewrite -[P [::]]/(1 : R) subrr.
  have := sum0_mul (fun v => (v == u)%:R) _ S0.
  rewrite (bigD1_seq u) ?nodes_uniq //= eqxx mulr1 big1 ?addr0 => [-> // v|v /negPf->]; last by rewrite mulr0.
  by rewrite subr_ge0; apply: (extends_le_P vs_uniq vs_all pP BP).
have [_ _ out stop] := verifier_is_f vs_uniq vs_all pP T_closed BP.
have [_ _ out' stop'] := verifier_is_f vs_uniq vs_all pP T_closed optimum_exact.
have fE u : extends B u = extends optimum u.
  by case uT : (u \in nodes); [rewrite fP // optimum_extends | rewrite out ?uT // out' ?uT].
apply: same_law; elim/last_ind => [|v a _]; last by rewrite stop stop' !fE.
have z C : path_verifier C -> ends C [::] = 0.
  case=> _ Con _; rewrite -(E_0 C); apply: E_ext_in => b /Con[v _ [a ->]].
  by rewrite /same; case: v.
by rewrite !z //; apply: optimum_exact.
Qed.

(* ---- dominance: every non-decreasing value U of the length, every non-negative weighting of the nodes *)
Lemma telescope (U : nat -> R) n : U n = U 0%N + \sum_(i <- iota 0 n) (U i.+1 - U i).
Proof.
rewrite -[n in iota 0 n]subn0 -/(index_iota 0 n); elim: n => [|n IH]; first by rewrite big_geq ?addr0.
by rewrite big_nat_recr //= addrA -IH addrC subrK.
Qed.

Lemma E_value B U : path_verifier B -> E B (fun b => U (size b)) =
  U 0%N + \sum_(u <- nodes) (U (size u).+1 - U (size u)) * extends B u.
Proof.
move=> BP.
rewrite -(E_nodes T_uniq T_root T_closed BP (fun u => U (size u).+1 - U (size u))).
have [_ Bon Bex] := BP; have [B1 _] := (growth_identity vs_uniq vs_all pP [::] B).1 Bex.
rewrite -[U 0%N]mulr1 -B1 -E_scale -E_add; apply: E_ext_in => b _.
rewrite mulr1 {1}telescope; congr (_ + _); apply: eq_big_seq => i.
by rewrite mem_iota => /andP[_ ib]; rewrite size_takel // ltnW.
Qed.

Theorem optimum_dominates B U : path_verifier B -> (forall n, U n <= U n.+1) ->
  E B (fun b => U (size b)) <= E optimum (fun b => U (size b)).
Proof.
move=> BP Umon; rewrite !E_value //; last exact: optimum_exact.
rewrite ler_add2l !big_seq; apply: ler_sum => u uT; rewrite optimum_extends //.
by apply: ler_wpmul2l; rewrite ?subr_ge0 ?Umon ?(extends_le_P vs_uniq vs_all pP BP).
Qed.

(* in particular Pr(L > n) *)
Corollary optimum_longest B n : path_verifier B ->
  E B (fun b => (n < size b)%N%:R) <= E optimum (fun b => (n < size b)%N%:R).
Proof.
move=> BP; apply: (optimum_dominates (U := fun k => (n < k)%N%:R) BP) => k.
by rewrite ler_nat; case: (ltnP n k) => // h; rewrite ltnS (ltnW h).
Qed.

(* and every non-negative weighting of the accepted nodes *)
Corollary optimum_weighted B (h : seq V -> R) : path_verifier B -> (forall u, 0 <= h u) ->
  E B (fun b => \sum_(i <- iota 0 (size b)) h (take i b)) <=
  E optimum (fun b => \sum_(i <- iota 0 (size b)) h (take i b)).
Proof.
move=> BP h0; rewrite (E_nodes T_uniq T_root T_closed BP h) (E_nodes T_uniq T_root T_closed optimum_exact h).
rewrite !big_seq; apply: ler_sum => u uT; rewrite optimum_extends //.
by apply: ler_wpmul2l; rewrite ?(extends_le_P vs_uniq vs_all pP BP).
Qed.

(* a rule that is exact on this tree and attains the ceiling IS the optimum; rules are identified by their tests *)
Definition attains (B : dist F (seq V)) := forall g, E B g = E optimum g.
Lemma attains_length B : attains B -> E B (fun b => (size b)%:R) = 1 + coverage.
Proof. by move->; apply: optimum_attains. Qed.
Lemma attains_exact B : attains B -> exact vs p [::] B.
Proof. by move=> BP m g; rewrite BP; case: optimum_exact => _ _; apply. Qed.
End Optimum.
