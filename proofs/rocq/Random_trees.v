(* Random draft trees.  A verifier that is exact on average over the trees gives a point of the ceiling LP, so every dual *)
(* solution bounds E[L], and so does the recursion fbar; every point of the LP is attained by an exact verifier.          *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes Growth Fixed_trees Fixed_optimum.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section RandomTrees.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Local Notation tree := (seq (seq V)).

(* U: a finite prefix-closed set of strings that contains every tree that can be drawn *)
Variable U : tree.
Hypotheses (U_uniq : uniq U) (U_root : [::] \notin U).
Hypothesis U_closed : forall t x, rcons t x \in U -> t = [::] \/ t \in U.

(* the joint law alpha of (tree, accepted node), and the two constraints of the LP *)
Definition node_law (al : dist F (tree * seq V)) :=
  [/\ nng al, E al (fun=> 1) = 1 &
      forall o, o \in [seq w.2 | w <- al] -> {subset o.1 <= U} /\ o.2 \in nodes o.1].
Definition accepted (al : dist F (tree * seq V)) (u : seq V) : R := E al (fun o => hit u o.2).    (* f(u) *)
Definition lp_feasible al := node_law al /\ forall v a, accepted al (rcons v a) <= accepted al v * p v a.

Lemma node_in al o : node_law al -> o \in [seq w.2 | w <- al] -> o.2 \in nodes U.
Proof.
by case=> _ _ alP /alP[TU]; rewrite !inE => /orP[->//|/TU->]; rewrite orbT.
Qed.

(* ---- a verifier: (tree, accepted node, bonus token), exact on average over the trees *)
Section Verifier.
Variable W : dist F (tree * seq V * V).
Definition chosen : dist F (tree * seq V) := bind W (fun o => ret F o.1).
Definition sent : dist F (seq V) := bind W (fun o => ret F (rcons o.1.2 o.2)).
Hypotheses (W0 : nng W) (Wlaw : node_law chosen) (Wex : exact vs p [::] sent).

Lemma E_chosen g : E chosen g = E W (fun o => g o.1).
Proof. by rewrite E_bind; apply: E_ext => o; rewrite E_ret. Qed.
Lemma E_sent g : E sent g = E W (fun o => g (rcons o.1.2 o.2)).
Proof. by rewrite E_bind; apply: E_ext => o; rewrite E_ret. Qed.

(* it is a path verifier of the union of the trees *)
Lemma sent_path_verifier : path_verifier vs p U sent.
Proof.
split=> // [|b]; first by apply: nng_bind => // o; apply: nng_ret.
case/mapP=> w /flatten_mapP[v vW]; case: ifP => // vn /mapP[u]; rewrite mem_seq1 => /eqP-> -> -> /=.
exists v.2.1.2; last by exists v.2.2.
apply: (node_in Wlaw (o := v.2.1)); apply/mapP; exists (v.1 * 1, v.2.1) => //.
apply/flatten_mapP; exists v => //; rewrite vn; apply/mapP; exists (1, v.2.1) => //.
by rewrite mem_seq1.
Qed.

Lemma accepted_extends u : accepted chosen u = extends sent u.
Proof. by rewrite /accepted E_chosen /extends E_sent; apply: E_ext => o; rewrite ext_rcons. Qed.

Theorem random_feasible : lp_feasible chosen.
Proof.
split=> // v a; rewrite !accepted_extends.
have [_ gr] := (growth_identity vs_uniq vs_all pP [::] sent).1 Wex.
rewrite -[v in p v]cat0s -gr starts_split ler_addr -(E_0 sent); apply: E_le => [|b].
  by case: sent_path_verifier.
by rewrite /same; case: (_ == _); rewrite ?ler01 ?lexx.
Qed.

Lemma random_length : E W (fun o => (size o.1.2).+1%:R) = \sum_(u <- nodes U) accepted chosen u.
Proof.
have := E_length U_uniq U_root U_closed sent_path_verifier; rewrite E_sent.
under [X in _ = X -> _]eq_bigr do rewrite -accepted_extends; move=> <-.
by apply: E_ext => o; rewrite size_rcons.
Qed.
End Verifier.

(* ---- every dual solution (lam, y) bounds E[L] for every point of the LP, hence for every exact verifier *)
Section Dual.
Variables (lam : seq V -> R) (y : tree -> R) (al : dist F (tree * seq V)).
Hypothesis lam0 : forall u, 0 <= lam u.
Hypothesis alP : lp_feasible al.
Definition price (u : seq V) : R :=
  1 - (if u is [::] then 0 else lam u) + \sum_(a <- vs) (if rcons u a \in U then lam (rcons u a) * p u a else 0).
(* y T is at least the total price of the path to any node of T *)
Hypothesis yP : forall T v, (exists2 o, o \in [seq w.2 | w <- al] & o.1 = T) -> v \in nodes T ->
  \sum_(i <- iota 0 (size v).+1) price (take i v) <= y T.

Lemma sum_accepted (h : seq V -> R) :
  \sum_(u <- nodes U) h u * accepted al u = E al (fun o => \sum_(i <- iota 0 (size o.2).+1) h (take i o.2)).
Proof.
under eq_bigr do rewrite -E_scale; rewrite -E_sum; apply: E_ext_in => o oal.
have /= vU := node_in alP.1 oal; case vs0 : vs vs_all => [|x r] xall.
  by case: (pP [::]) => _; rewrite vs0 big_nil => /eqP; rewrite eq_sym oner_eq0.
rewrite -(sum_prefixes U_uniq U_root U_closed h x vU); apply: eq_bigr => u _.
by rewrite ext_rcons.
Qed.

Theorem dual_bound : \sum_(u <- nodes U) accepted al u <= E al (fun o => y o.1).
Proof.
have [[al0 _ alin] flow] := alP.
apply: (@le_trans _ _ (\sum_(u <- nodes U) price u * accepted al u)); last first.
  rewrite sum_accepted /E !big_seq; apply: ler_sum => w wal.
  have oal : w.2 \in [seq w.2 | w <- al] by apply: map_f.
  rewrite ler_wpmul2l ?(allP al0) // yP //; first by exists w.2.
  by case: (alin _ oal).
rewrite -subr_ge0 -sumrB.
have -> : \sum_(u <- nodes U) (price u * accepted al u - accepted al u) =
   \sum_(u <- nodes U) \sum_(a <- vs) (if rcons u a \in U
      then lam (rcons u a) * (accepted al u * p u a - accepted al (rcons u a)) else 0).
  transitivity (\sum_(u <- nodes U) \sum_(a <- vs) (if rcons u a \in U then lam (rcons u a) * p u a else 0) * accepted al u
     - \sum_(u <- U) lam u * accepted al u).
    rewrite /nodes big_cons [in RHS]big_cons -[RHS]addrA -sumrB; congr (_ + _).
      by rewrite /price -big_distrl /=; ring.
    apply: eq_big_seq => u uU; rewrite -big_distrl /price.
    case: u uU U_root => [->//|x u _ _] /=; move: (\sum_(i <- vs) _) (accepted _ _) (lam _) => S f l; ring.
  rewrite -(sum_children vs_uniq vs_all U_uniq U_root U_closed (fun u => lam u * accepted al u)) -sumrB.
  apply: eq_bigr => u _; rewrite -sumrB; apply: eq_bigr => a _.
  by case: ifP => _; rewrite ?mul0r ?subrr //; ring.
apply: sumr_ge0 => u _; apply: sumr_ge0 => a _; case: ifP => // _.
by rewrite mulr_ge0 // subr_ge0 flow.
Qed.
End Dual.
End RandomTrees.
