(* DDTree: of all prefixes, sorted by probability with ties to the shorter, the first B form a tree, no tree of at most B *)
(* nodes has a larger coverage, and the coverage of the first n is concave in n.  Python: best_first drafting, budgets.   *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes Budgets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* the first B entries of a list sorted by a non-negative mass carry the most *)
Section TopB.
Variables (R : realFieldType) (A : eqType) (q : A -> R) (l : seq A).
Hypotheses (q0 : forall u, 0 <= q u) (l_uniq : uniq l) (l_sorted : sorted (fun u v => q v <= q u) l).

Theorem top_best (T : seq A) B : uniq T -> {subset T <= l} -> (size T <= B)%N ->
  \sum_(u <- T) q u <= \sum_(u <- take B l) q u.
Proof.
move=> T_uniq Tl TB; set S := take B l; have S_uniq : uniq S by apply: take_uniq.
have tr : transitive (fun u v => q v <= q u) by move=> v u w uv vw; apply: le_trans vw uv.
rewrite (bigID (fun u => u \in S)) [X in _ <= X](bigID (fun u => u \in T)) /=.
have -> : \sum_(u <- T | u \in S) q u = \sum_(u <- S | u \in T) q u.
  rewrite -big_filter -[RHS]big_filter; apply: perm_big; apply: uniq_perm; rewrite ?filter_uniq //.
  by move=> u; rewrite !mem_filter andbC.
rewrite ler_add2l -big_filter -[X in _ <= X]big_filter.
set T' := [seq u <- T | _]; set S' := [seq u <- S | _].
have [Bl|lB] := ltnP B (size l); last first.
  have -> : T' = [::].
    by apply/eqP; rewrite -[_ == _]negbK -has_filter; apply/hasPn => u uT; rewrite negbK /S take_oversize // Tl.
  by rewrite big_nil sumr_ge0.
have [x0 _] : exists x0 : A, True by move: Bl; case: (l) => // x0; exists x0.
set th := q (nth x0 l B).
have sizes : (size T' <= size S')%N.
  have e : (count (fun u => u \in S) T = count (fun u => u \in T) S)%N.
    rewrite -!size_filter; apply/perm_size/uniq_perm; rewrite ?filter_uniq //.
    by move=> u; rewrite !mem_filter andbC.
  rewrite !size_filter -(leq_add2l (count (fun u => u \in S) T)).
  rewrite [in X in (_ <= X)%N]e !count_predC /S size_takel //; exact: ltnW.
apply: (@le_trans _ _ (\sum_(u <- T') th)).
  rewrite !big_seq; apply: ler_sum => u; rewrite mem_filter => /andP[uS uT].
  have ul := Tl _ uT; rewrite -(nth_index x0 ul) /th.
  apply: (sorted_leq_nth tr) => //; rewrite ?inE ?index_mem //.
  by rewrite leqNgt; apply: contra uS => iB; rewrite /S in_take.
apply: (@le_trans _ _ (\sum_(u <- S') th)).
  rewrite !big_const_seq !count_predT !iter_addr_0 -[X in X <= _]mulr_natr -[X in _ <= X]mulr_natr.
  by apply: ler_wpmul2l; rewrite ?ler_nat ?q0.
rewrite !big_seq; apply: ler_sum => u; rewrite mem_filter => /andP[_ uS].
have ul := mem_take uS; rewrite /th -[X in _ <= q X](nth_index x0 ul).
apply: (sorted_leq_nth tr) => //; rewrite ?inE ?index_mem //.
by apply: ltnW; rewrite -in_take.
Qed.
End TopB.

Section DDTree.
Variables (R : realFieldType) (V : eqType) (q : seq V -> R).
(* the mass of a prefix, e.g. a product of draft probabilities: it can only fall along a path *)
Hypotheses (q0 : forall u, 0 <= q u) (q_falls : forall u x, q (rcons u x) <= q u).
(* more probable first, ties to the shorter string (so a prefix comes before its extensions) *)
Definition before (u v : seq V) := (q v < q u) || ((q u == q v) && (size u <= size v)%N).
(* all candidate prefixes: without the root, prefix-closed *)
Variable all_nodes : seq (seq V).
Hypotheses (nodes_uniq : uniq all_nodes) (nodes_root : [::] \notin all_nodes).
Hypothesis nodes_closed : forall u x, rcons u x \in all_nodes -> u = [::] \/ u \in all_nodes.
Definition ranking := sort before all_nodes.
Definition best_first B := take B ranking.

Lemma before_total : total before.
Proof.
move=> u v; rewrite /before; case: (ltgtP (q u) (q v)) => //= _.
exact: leq_total.
Qed.
Lemma before_trans : transitive before.
Proof.
move=> v u w; rewrite /before => /orP[uv|/andP[/eqP uv s1]] /orP[vw|/andP[/eqP vw s2]].
- by rewrite (lt_trans vw uv).
- by rewrite -vw uv.
- by rewrite uv vw.
by rewrite uv vw eqxx (leq_trans s1 s2) orbT.
Qed.
Lemma ranking_sorted : sorted before ranking. Proof. exact: (sort_sorted before_total). Qed.
Lemma ranking_uniq : uniq ranking. Proof. by rewrite sort_uniq. Qed.

Theorem best_first_valid B u x : rcons u x \in best_first B -> u = [::] \/ u \in best_first B.
Proof.
move=> ux; have := mem_take ux; rewrite mem_sort => /nodes_closed[->|un]; [by left|right].
have ur : u \in ranking by rewrite mem_sort.
have xr : rcons u x \in ranking := mem_take ux.
rewrite in_take //; apply: leq_ltn_trans (_ : (index (rcons u x) ranking < B)%N); last by rewrite -in_take.
rewrite leqNgt; apply/negP => lt.
have := sorted_ltn_index before_trans ranking_sorted _ _ xr ur lt.
rewrite /before size_rcons ltnn andbF orbF ltNge => /negP[]; exact: q_falls.
Qed.

Theorem best_first_optimal B (T : seq (seq V)) : uniq T -> {subset T <= all_nodes} -> (size T <= B)%N ->
  \sum_(u <- T) q u <= \sum_(u <- best_first B) q u.
Proof.
move=> T_uniq Tn; apply: top_best => //; first exact: ranking_uniq.
  apply: sub_sorted ranking_sorted => u v /orP[/ltW //|/andP[/eqP-> _]]; exact: lexx.
by move=> u /Tn; rewrite mem_sort.
Qed.

(* coverage of the first n nodes: concave, so the budget theorems apply *)
Definition best_coverage n : R := \sum_(u <- best_first n) q u.
Lemma best_coverageE n : best_coverage n = cum (map q ranking) n.
Proof. by rewrite /best_coverage /cum -map_take big_map. Qed.
Lemma masses_sorted : sorted (fun a b => b <= a) (map q ranking).
Proof.
rewrite sorted_map; apply: sub_sorted ranking_sorted => u v /orP[/ltW //|/andP[/eqP uv _]] /=.
by rewrite uv lexx.
Qed.

Theorem best_coverage_concave n : best_coverage n.+2 - best_coverage n.+1 <= best_coverage n.+1 - best_coverage n.
Proof.
rewrite !best_coverageE; apply: cum_conc; first exact: masses_sorted.
by apply/allP => a /mapP[u _ ->].
Qed.

(* so the greedy budget is the smallest best budget for every positive convex cost *)
Theorem best_budget (c : nat -> R) N : (forall n, (n <= N)%N -> 0 < c n) ->
  (forall n, (n.+2 <= N)%N -> c n.+1 - c n <= c n.+2 - c n.+1) ->
  forall m, (m <= N)%N -> r best_coverage c m <= r best_coverage c (greedy best_coverage c N 0).
Proof.
move=> c0 cc m mN; apply: (greedy_max (A := best_coverage)) => // n _; last exact: best_coverage_concave.
by rewrite addr_ge0 ?ler01 // sumr_ge0.
Qed.
End DDTree.

(* the mass of a prefix under the draft model falls along a path, and the expected number of drafted tokens that a draft
   string shares with the tree is the sum of these masses *)
Section Draft.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable qd : seq V -> V -> R.
Hypothesis qP : forall s, pmf vs (qd s).

Lemma reach_falls u x : reach qd [::] (rcons u x) <= reach qd [::] u.
Proof.
rewrite reach_rcons -[X in _ <= X]mulr1; apply: ler_wpmul2l; first exact: (reach_ge0 _ _ qP).
by have [q0 <-] := qP ([::] ++ u); rewrite (bigD1_seq x) //= ler_addl sumr_ge0.
Qed.

Theorem expected_match (T : seq (seq V)) m : (forall u, u \in T -> (size u <= m)%N) ->
  E (AR (F := mc R) vs qd m [::]) (fun y => \sum_(u <- T) hit u y) = \sum_(u <- T) reach qd [::] u.
Proof.
by move=> Tm; rewrite E_sum !big_seq; apply: eq_bigr => u /Tm um; rewrite (AR_hit vs_uniq vs_all qP).
Qed.
End Draft.
