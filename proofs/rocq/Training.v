(* ExitTrain identities: exit weights sum to one, coverage is the mean exit depth, exit-weighted path scores are reach-      *)
(* weighted edge scores; a tree has the largest coverage of its size iff no swap of a leaf for a frontier node improves it.   *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes Growth Fixed_trees Fixed_optimum Tree_exit Best_first.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Exit.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Variable T : seq (seq V).
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.
Local Notation P := (P p).
(* the exit weight w(v) = P(v) rho(v) *)
Definition weight (v : seq V) : R := P v * rho (F := mc R) vs p (fun u => u \in T) v.

Theorem weights_sum_to_one : \sum_(v <- nodes T) weight v = 1.
Proof. exact: exit_sums_to_one. Qed.

(* the subtree of u carries P(u) *)
Theorem subtree_weight u : u \in nodes T -> \sum_(v <- nodes T) weight v * (prefix u v)%:R = P u.
Proof. exact: exit_extends. Qed.

(* what leaves at v and what goes on to its children is what arrives *)
Theorem weight_flow v : weight v + \sum_(a <- vs) (if rcons v a \in T then P (rcons v a) else 0) = P v.
Proof.
rewrite /weight rhoE big_distrr -big_split -[RHS]mulr1 -(proj2 (pP v)) big_distrr; apply: eq_bigr => a _.
by rewrite /outside /= P_rcons; case: ifP => _; rewrite ?mulr0 ?add0r ?addr0.
Qed.

(* path identity, for any score l of the edge into a node (the log-probability of its token, say) *)
Definition path_score (l : seq V -> R) (v : seq V) := \sum_(i <- iota 1 (size v)) l (take i v).

Theorem path_identity (l : seq V -> R) : \sum_(v <- nodes T) weight v * path_score l v = \sum_(u <- T) P u * l u.
Proof.
pose h u := if u is [::] then 0 else l u.
transitivity (\sum_(v <- nodes T) weight v * \sum_(u <- nodes T) h u * (prefix u v)%:R).
  apply: eq_big_seq => v vT; congr (_ * _); case vs0 : vs vs_all => [|a r] aP.
    by case: (pP [::]) => _; rewrite vs0 big_nil => /eqP; rewrite eq_sym oner_eq0.
  transitivity (\sum_(u <- nodes T) h u * ext u (rcons v a)); last by apply: eq_bigr => u _; rewrite ext_rcons.
  rewrite (sum_prefixes T_uniq T_root T_closed h a vT) [iota 0 _]/= big_cons take0 add0r.
  apply: eq_big_seq => i; rewrite mem_iota => /andP[i0 iv].
  case: i i0 iv => // i _; rewrite add1n ltnS => iv.
  by rewrite /h; case: (v) iv => // x w; rewrite /= ltnS.
under eq_bigr do rewrite big_distrr; rewrite exchange_big /= /nodes big_cons /= big1 ?add0r => [|v _]; last first.
  by rewrite mul0r mulr0.
apply: eq_big_seq => u uT; rewrite -(subtree_weight (u := u)) ?inE ?uT ?orbT // big_distrl /=.
apply: eq_bigr => v _; have -> : h u = l u by case: u uT T_root => [->|].
by rewrite mulrCA mulrC.
Qed.

Theorem coverage_depth : \sum_(v <- nodes T) weight v * (size v)%:R = coverage p T.
Proof.
transitivity (\sum_(v <- nodes T) weight v * path_score (fun=> 1) v).
  by apply: eq_bigr => v _; rewrite /path_score big_const_seq count_predT size_iota iter_addr_0.
by rewrite path_identity; apply: eq_bigr => u _; rewrite mulr1.
Qed.
End Exit.

Section Swap.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypothesis vs_all : forall x, x \in vs.
(* any mass that falls along paths *)
Variable P : seq V -> R.
Hypotheses (P0 : forall u, 0 <= P u) (P_falls : forall u x, P (rcons u x) <= P u).

Definition is_tree (T : seq (seq V)) :=
  [/\ uniq T, [::] \notin T & forall t x, rcons t x \in T -> t = [::] \/ t \in T].
Definition leaf (T : seq (seq V)) u := (u \in T) && all (fun a => rcons u a \notin T) vs.
Definition frontier (T : seq (seq V)) v a := (v \in nodes T) && (rcons v a \notin T).
Definition cover (T : seq (seq V)) := \sum_(u <- T) P u.
Definition swap (T : seq (seq V)) u c := c :: rem u T.

Definition coverage_optimal T := forall T', is_tree T' -> size T' = size T -> cover T' <= cover T.
Definition swap_optimal T := forall u v a, leaf T u -> frontier T v a -> v != u -> P (rcons v a) <= P u.

Lemma P_prefix u v : prefix u v -> P v <= P u.
Proof.
case/prefixP=> c ->; elim/last_ind: c => [|c x IH]; first by rewrite cats0.
by rewrite -rcons_cat; apply: le_trans (P_falls _ _) IH.
Qed.

Lemma leaf_below T y : is_tree T -> y \in T -> exists2 u, leaf T u & prefix y u.
Proof.
move=> TP; have [n] := ubnP (\sum_(w <- T) size w - size y)%N; elim: n y => // n IH y; rewrite ltnS => yn yT.
have [al|] := boolP (all (fun a => rcons y a \notin T) vs); first by exists y; rewrite ?prefix_refl // /leaf yT.
rewrite -has_predC => /hasP[a _ /=]; rewrite negbK => yaT.
have [|u ul yu] := IH (rcons y a) _ yaT; last by exists u => //; apply: prefix_trans yu; apply: prefix_rcons.
have big w : w \in T -> (size w <= \sum_(w <- T) size w)%N.
  by move=> wT; rewrite (big_rem w wT) leq_addr.
by apply: leq_trans yn; rewrite size_rcons subnSK //; have := big _ yaT; rewrite size_rcons.
Qed.

Lemma frontier_above T x : x \notin nodes T -> exists v a, frontier T v a /\ prefix (rcons v a) x.
Proof.
elim/last_ind: x => [|v a IH]; first by rewrite inE eqxx.
rewrite inE negb_or => /andP[_ vaT]; have [vT|/IH[w [b [wb pre]]]] := boolP (v \in nodes T).
  by exists v, a; rewrite /frontier vT prefix_refl.
by exists w, b; split=> //; apply: prefix_trans pre (prefix_rcons _ _).
Qed.

Lemma outside_below_inside T x y : is_tree T -> swap_optimal T -> x \notin nodes T -> y \in T -> P x <= P y.
Proof.
move=> TP opt xT yT; have [u ul yu] := leaf_below TP yT; have [v [a [va pre]]] := frontier_above xT.
apply: le_trans (P_prefix pre) (le_trans _ (P_prefix yu)).
by have [->|vu] := eqVneq v u; [apply: P_falls | apply: opt].
Qed.

Lemma swap_cover T u c : u \in T -> cover (swap T u c) = cover T - P u + P c.
Proof. by move=> uT; rewrite /cover /swap big_cons [in RHS](big_rem u uT) /= addrC [P u + _]addrC addrK. Qed.

Lemma swap_tree T u v a : is_tree T -> leaf T u -> frontier T v a -> v != u -> is_tree (swap T u (rcons v a)).
Proof.
case=> T_uniq T_root T_closed /andP[uT /allP uleaf] /andP[vT vaT] vu; split=> [||t x].
- by rewrite /= rem_uniq // andbT; apply: contra vaT => /mem_rem.
- by rewrite inE negb_or; apply/andP; split; [case: (v) | apply: contra T_root => /mem_rem].
rewrite !inE => /orP[/eqP/rcons_inj[-> _]|]; last first.
  rewrite !mem_rem_uniq // !inE => /andP[txu txT]; case: (T_closed _ _ txT) => [->|tT]; [by left|right].
  rewrite tT andbT; apply/orP; right; apply/negP => /eqP tu.
  by move: (uleaf x (vs_all x)); rewrite -tu txT.
by move: vT; rewrite inE => /orP[/eqP->|vT]; [left | right; rewrite mem_rem_uniq // !inE vu vT orbT].
Qed.

Theorem swap_iff_coverage T : is_tree T -> coverage_optimal T <-> swap_optimal T.
Proof.
move=> TP; split=> [opt u v a ul fr vu|opt T' [T'_uniq T'_root _] sz].
  have uT : u \in T by case/andP: ul.
  have := opt _ (swap_tree TP ul fr vu); rewrite /= size_rem // prednK; last by case: (T) uT.
  by move=> /(_ erefl) h; rewrite -(ler_add2l (cover T - P u)) subrK -swap_cover.
have [T_uniq T_root _] := TP; pose ge (u v : seq V) := P v <= P u.
pose l := sort ge T ++ sort ge [seq x <- T' | x \notin T].
have tot : total ge by move=> u v; rewrite /ge; case/orP: (le_total (P u) (P v)) => ->; rewrite ?orbT.
have tr : transitive ge by move=> v u w uv vw; apply: le_trans vw uv.
have -> : cover T = \sum_(u <- take (size T') l) P u.
  rewrite sz take_size_cat ?size_sort //; apply/esym/perm_big; exact/permEl/perm_sort.
apply: top_best => //.
- rewrite cat_uniq !sort_uniq T_uniq filter_uniq // andbT; apply/hasPn => x.
  by rewrite mem_sort mem_filter => /andP[xT _]; rewrite /= mem_sort.
- rewrite (sorted_pairwise tr) pairwise_cat -!(sorted_pairwise tr) !(sort_sorted tot) !andbT.
  apply/allrelP => y x; rewrite !mem_sort mem_filter => yT /andP[xT xT'].
  apply: (outside_below_inside TP opt) => //; rewrite inE negb_or xT andbT.
  by apply: contraNneq T'_root => <-.
by move=> x xT'; rewrite mem_cat !mem_sort mem_filter xT' andbT orbN.
Qed.
End Swap.
