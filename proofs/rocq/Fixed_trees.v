(* Exact verifiers of one fixed draft tree: they are the functions f with f(root) = 1, 0 <= f(va) <= f(v) p(a|v);     *)
(* E[L] <= 1 + coverage, equality only for the law P(v) p(a|v) 1[va not in T]; that law is stochastically the longest. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes Growth.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section FixedTree.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).

(* the tree, by its strings without the root: prefix-closed *)
Variable T : seq (seq V).
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.
Definition nodes := [::] :: T.
Local Arguments nodes : simpl never.
Definition P (u : seq V) : R := reach p [::] u.
Definition coverage : R := \sum_(u <- T) P u.

(* an exact path verifier: emits a node's string and one more token, losslessly *)
Definition on_tree (B : dist F (seq V)) :=
  forall b, b \in [seq w.2 | w <- B] -> exists2 v, v \in nodes & exists a, b = rcons v a.
Definition path_verifier (B : dist F (seq V)) := [/\ nng B, on_tree B & exact vs p [::] B].

Lemma nodes_uniq : uniq nodes. Proof. by rewrite /nodes /= T_root T_uniq. Qed.
Lemma parent_in v a : rcons v a \in T -> v \in nodes.
Proof. by case/T_closed => [->|vT]; rewrite inE ?eqxx // vT orbT. Qed.
Lemma prefix_in u v : v \in nodes -> prefix u v -> u \in nodes.
Proof.
move=> + /prefixP[c]; elim/last_ind: c v => [|c x IH] v vT vE; first by rewrite -[u]cats0 -vE.
apply: (IH (u ++ c)) => //; move: vT; rewrite vE inE -rcons_cat => /orP[|/parent_in //].
by move/eqP/(congr1 size); rewrite size_rcons.
Qed.
Lemma child_nodes v a : (rcons v a \in nodes) = (rcons v a \in T).
Proof. by rewrite inE; case: v. Qed.

Lemma ext_rcons s v (a : V) : ext s (rcons v a) = (prefix s v)%:R :> R.
Proof.
rewrite /ext /hit size_rcons ltnS; case: leqP => h; last first.
  rewrite mulr0; case sv : (prefix s v) => //; by move: h; rewrite ltnNge (size_prefix sv).
by rewrite mulr1 !prefixE -cats1 takel_cat.
Qed.

(* every node but the root is once the child of a node *)
Lemma sum_children (h : seq V -> R) :
  \sum_(v <- nodes) \sum_(a <- vs) (if rcons v a \in T then h (rcons v a) else 0) = \sum_(u <- T) h u.
Proof.
transitivity (\sum_(u <- [seq rcons v a | v <- nodes, a <- vs] | u \in T) h u).
  by rewrite [RHS]big_mkcond big_allpairs_dep.
rewrite -big_filter; apply: perm_big; apply: uniq_perm => //.
  apply: filter_uniq; apply: allpairs_uniq => //; first exact: nodes_uniq.
  by move=> [v a] [v' a'] _ _ /= /rcons_inj [-> ->].
move=> u; rewrite mem_filter; case uT : (u \in T); last by rewrite andFb.
rewrite andTb.
case/lastP: u uT => [|v a] uT; first by move: T_root; rewrite uT.
by apply/allpairsP; exists (v, a); split=> //; apply: parent_in uT.
Qed.

(* the nodes on a block are the prefixes of its node *)
Lemma sum_prefixes (h : seq V -> R) v a : v \in nodes ->
  \sum_(u <- nodes) h u * ext u (rcons v a) = \sum_(i <- iota 0 (size v).+1) h (take i v).
Proof.
move=> vT; under eq_bigr do rewrite ext_rcons mulr_natr mulrb.
rewrite -big_mkcond -big_filter -[RHS](big_map (fun i => take i v) xpredT h).
apply: perm_big; apply: uniq_perm; first by rewrite filter_uniq ?nodes_uniq.
  rewrite map_inj_in_uniq ?iota_uniq // => i j.
  by rewrite !mem_iota !add0n !ltnS /= => iv jv /(congr1 size); rewrite !size_takel.
move=> u; rewrite mem_filter.
apply/andP/mapP => [[uv _]|[i]]; last first.
  rewrite mem_iota add0n ltnS => /andP[_ iv] ->.
  have tv : prefix (take i v) v by apply/prefixP; exists (drop i v); rewrite cat_take_drop.
  by split=> //; apply: prefix_in tv.
exists (size u); first by rewrite mem_iota add0n ltnS size_prefix.
by apply/esym/eqP; rewrite -prefixE.
Qed.

(* ---- every exact path verifier is such an f ... *)
Section Verifier.
Variable B : dist F (seq V).
Hypothesis BP : path_verifier B.
Let B0 : nng B. Proof. by case: BP. Qed.
Let Bon : on_tree B. Proof. by case: BP. Qed.
Let Bex : exact vs p [::] B. Proof. by case: BP. Qed.

Lemma extends_ge0 u : 0 <= extends B u.
Proof. by rewrite -(E_0 B); apply: E_le => // b; case/andP: (ext01 R u b). Qed.

Lemma extends_le_P u : extends B u <= P u.
Proof.
apply: le_trans (exact_hit vs_uniq vs_all pP u B0 Bex); apply: E_le => // b.
by rewrite hit_split ler_addr; rewrite /same; case: (_ == _); rewrite ?ler01 ?lexx.
Qed.

Theorem verifier_is_f :
  [/\ extends B [::] = 1,
      forall v a, rcons v a \in T -> 0 <= extends B (rcons v a) <= extends B v * p v a,
      forall u, u \notin nodes -> extends B u = 0 &
      forall v a, ends B (rcons v a) = extends B v * p v a - extends B (rcons v a)].
Proof.
have [B1 gr] := (growth_identity vs_uniq vs_all pP [::] B).1 Bex.
split=> [|v a _|u uT|v a]; last exact: (growth_stop vs_uniq vs_all pP v a Bex).
- rewrite -[RHS]B1; apply: E_ext_in => b /Bon [v _ [a ->]].
  by rewrite ext_rcons prefix0s.
- rewrite extends_ge0 /= -[v in p v]cat0s -gr starts_split ler_addr.
  by rewrite -(E_0 B); apply: E_le => // b; rewrite /same; case: (_ == _); rewrite ?ler01 ?lexx.
rewrite -(E_0 B); apply: E_ext_in => b /Bon [v vT [a ->]]; rewrite ext_rcons.
by case uv : (prefix u v) => //; move: uT; rewrite (prefix_in vT uv).
Qed.

(* a weighting of the accepted nodes, in expectation *)
Lemma E_nodes (h : seq V -> R) :
  E B (fun b => \sum_(i <- iota 0 (size b)) h (take i b)) = \sum_(u <- nodes) h u * extends B u.
Proof.
under [RHS]eq_bigr do rewrite -E_scale; rewrite -E_sum.
apply: E_ext_in => b /Bon [v vT [a ->]]; rewrite sum_prefixes // size_rcons.
apply: eq_big_seq => i; rewrite mem_iota add0n ltnS => /andP[_ iv].
by rewrite -cats1 takel_cat.
Qed.

Lemma E_length : E B (fun b => (size b)%:R) = \sum_(u <- nodes) extends B u.
Proof.
have := E_nodes (fun=> 1); under [X in _ = X]eq_bigr do rewrite mul1r; move=> <-.
by apply: E_ext => b; rewrite big_const_seq count_predT size_iota iter_addr_0.
Qed.

Theorem ceiling : E B (fun b => (size b)%:R) <= 1 + coverage.
Proof.
rewrite E_length /nodes big_cons; apply: ler_add; first exact: (extends_le_P [::]).
by apply: ler_sum => u _; apply: extends_le_P.
Qed.
End Verifier.

(* ---- ... and every such f is an exact path verifier *)
Definition f_feasible (f : seq V -> R) :=
  f [::] = 1 /\ (forall v a, rcons v a \in T -> 0 <= f (rcons v a) <= f v * p v a).
Definition on (f : seq V -> R) u := if u \in T then f u else 0.
Definition verifier_of (f : seq V -> R) : dist F (seq V) :=
  [seq (f v * p v a - on f (rcons v a), rcons v a) | v <- nodes, a <- vs].

Lemma E_verifier_of f g : E (verifier_of f) g =
  \sum_(v <- nodes) \sum_(a <- vs) (f v * p v a - on f (rcons v a)) * g (rcons v a).
Proof. by rewrite /E big_allpairs_dep. Qed.

Section Given.
Variable f : seq V -> R.
Hypothesis fP : f_feasible f.

Lemma f_ge0 v : v \in nodes -> 0 <= f v.
Proof.
rewrite inE => /orP[/eqP->|]; first by rewrite fP.1 ler01.
by case/lastP: v => [|v a vT]; [rewrite (negPf T_root) | case/andP: (fP.2 _ _ vT)].
Qed.

Lemma verifier_of_nng : nng (verifier_of f).
Proof.
apply/allP => w /allpairsP[[v a] /= [vT _ ->]] /=; rewrite subr_ge0 /on.
by case: ifP => [/fP.2/andP[]//|_]; rewrite mulr_ge0 ?f_ge0 //; case: (pP v).
Qed.

Lemma verifier_of_extends s : extends (verifier_of f) s = if s \in nodes then f s else 0.
Proof.
rewrite /extends E_verifier_of.
transitivity (\sum_(v <- nodes) (f v * (prefix s v)%:R
   - \sum_(a <- vs) (if rcons v a \in T then f (rcons v a) * ext s (rcons v a) else 0))).
  apply: eq_bigr => v _; have -> : f v * (prefix s v)%:R = \sum_(a <- vs) f v * (prefix s v)%:R * p v a.
    by rewrite -big_distrr /= (proj2 (pP v)) mulr1.
  rewrite -sumrB; apply: eq_bigr => a _; rewrite ext_rcons /on; move: (prefix s v)%:R => e; case: ifP => _; ring.
rewrite sumrB (sum_children (fun u => f u * ext s u)) /nodes big_cons -addrA -sumrB.
have e u : f u * (prefix s u)%:R - f u * ext s u = f u * (u == s)%:R.
  by rewrite -mulrBr -[(prefix s u)%:R]/(hit s u) hit_split addrK.
under eq_bigr do rewrite e; rewrite prefixs0 inE; case: eqP => [->|s0] /=.
  rewrite mulr1 big_seq big1 ?addr0 // => u uT.
  by case: eqP uT => [->|_]; rewrite ?(negPf T_root) ?mulr0.
rewrite mulr0 add0r; case: ifPn => sT; last first.
  by rewrite big_seq big1 // => u uT; case: eqP uT sT => [->->|_]; rewrite ?mulr0.
rewrite (bigD1_seq s) //= eqxx mulr1 big1 ?addr0 // => u /negPf->.
by rewrite mulr0.
Qed.

Lemma verifier_of_ends s a :
  ends (verifier_of f) (rcons s a) = if s \in nodes then f s * p s a - on f (rcons s a) else 0.
Proof.
rewrite /ends E_verifier_of; case: ifPn => sT; last first.
  rewrite big_seq big1 // => v vT; rewrite big1 // => b _; rewrite /same eqseq_rcons.
  by case: eqP vT sT => [->->|_ _ _] //; rewrite mulr0.
rewrite (bigD1_seq s) ?nodes_uniq // [X in _ + X = _]big1 => [|v /negPf vs0]; last first.
  by rewrite big1 // => b _; rewrite /same eqseq_rcons vs0 mulr0.
rewrite addr0 (bigD1_seq a) //= /same eqxx mulr1 big1 ?addr0 // => b /negPf ba.
by rewrite eqseq_rcons eqxx ba mulr0.
Qed.

Theorem f_is_verifier : path_verifier (verifier_of f) /\
  (forall u, u \in nodes -> extends (verifier_of f) u = f u).
Proof.
split=> [|u uT]; last by rewrite verifier_of_extends uT.
split=> [|b /mapP[w /allpairsP[[v a] /= [vT _ ->]] ->]|]; first exact: verifier_of_nng.
  by exists v => //; exists a.
apply/(growth_identity vs_uniq vs_all pP); split=> [|s a].
  rewrite -starts_nil starts_split verifier_of_extends inE eqxx /= fP.1.
  rewrite /ends E_verifier_of big1 ?add0r // => v _; rewrite big1 // => a _.
  by rewrite /same; case: v => [|x v]; rewrite /= mulr0n mulr0.
rewrite starts_split verifier_of_ends !verifier_of_extends cat0s child_nodes /on.
case: ifPn => [_|sT]; first by case: ifP => _; rewrite ?subr0 ?addr0 ?subrK.
by case: ifPn => [/parent_in|_]; rewrite ?(negPf sT) // mul0r addr0.
Qed.
End Given.
End FixedTree.
