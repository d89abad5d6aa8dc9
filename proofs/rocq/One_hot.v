(* Populated trees as fixed trees: predraw-follow and tree exit have the optimal law on every populated tree, and so has *)
(* recursive rejection when every token declares a point mass (the sequential residual rule, "q = 1").                   *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Schemes Verifiers Expectation Step Exact Prefixes Growth Populated Drafting.
From Draftproof Require Import Fixed_trees Fixed_optimum Predraw_follow Tree_exit.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Populated.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Local Notation ptree := (ptree F V).
Implicit Types t c : ptree.

(* the strings of a populated tree form a tree *)
Lemma paths_root t : [::] \notin paths t.
Proof.
elim: t => //= x q c _ n IHn; rewrite inE mem_cat !negb_or IHn andbT /=.
by apply/negP => /mapP[].
Qed.
Lemma paths_closed t u x : rcons u x \in paths t -> u = [::] \/ u \in paths t.
Proof.
elim: t u => //= y q c IHc n IHn u; rewrite !inE !mem_cat; case/orP=> [|/orP[/mapP[v vc]|/IHn]].
- case: u => [|z u] /=; first by left.
  by rewrite eqseq_cons andbC; case: u.
- case: u => [|z u] /= [zy]; first by left.
  move=> vE; rewrite -vE in vc; right; rewrite zy; case: (IHc _ vc) => [->|uc]; first by rewrite eqxx.
  by rewrite map_f ?orbT.
case=> [->|uc]; [by left | by right; rewrite uc !orbT].
Qed.
Local Notation nodes_of t := (undup (paths t)).
Lemma tree_uniq t : uniq (nodes_of t). Proof. exact: undup_uniq. Qed.
Lemma tree_root t : [::] \notin nodes_of t. Proof. by rewrite mem_undup paths_root. Qed.
Lemma tree_closed t u x : rcons u x \in nodes_of t -> u = [::] \/ u \in nodes_of t.
Proof. by rewrite !mem_undup; apply: paths_closed. Qed.

Lemma height_le (l : seq (seq V)) u : u \in l -> (size u <= height l)%N.
Proof. by elim: l => //= v l IH; rewrite inE => /orP[/eqP->|/IH h]; rewrite leq_max ?leqnn ?h ?orbT. Qed.

Lemma follow_ext (T T' : seq V -> bool) n s : T =1 T' ->
  predraw_follow (F := F) vs p T n s = predraw_follow (F := F) vs p T' n s.
Proof.
move=> TT; elim: n s => //= n IH s; rewrite /bind; congr flatten; apply: eq_map => w.
by rewrite TT IH.
Qed.

Theorem predraw_follow_on_attains t : attains vs p (nodes_of t) (predraw_follow_on vs p (paths t)).
Proof.
move=> g; rewrite /predraw_follow_on (follow_ext _ _ (fun u => esym (mem_undup (paths t) u))).
apply: predraw_follow_attains => //; try by [exact: tree_uniq|exact: tree_root].
  exact: tree_closed.
by move=> u; rewrite mem_undup => /height_le.
Qed.

Theorem tree_exit_on_attains t : attains vs p (nodes_of t) (tree_exit_on vs p (paths t)).
Proof. exact: (tree_exit_attains pP (nodes_of t)). Qed.

(* hence both are lossless on a random tree drawn independently of their own draws *)
Lemma drawn_paths (d : dtree F V) g : E (drawn vs d) g = E (populate vs d) (fun t => g (paths t)).
Proof.
elim: d g => [|q c IHc n IHn] g; first by rewrite /= !E_ret.
rewrite [drawn _ _]/= E_bind E_draw populateE; apply: eq_bigr => x _; congr (_ * _).
rewrite E_bind IHc; apply: E_ext => tc; rewrite E_bind IHn; apply: E_ext => tn; exact: E_ret.
Qed.

Lemma attains_random (D : dist F ptree) (B : ptree -> dist F (seq V)) :
  E D (fun=> 1) = 1 -> (forall t, attains vs p (nodes_of t) (B t)) -> exact vs p [::] (bind D B).
Proof.
move=> D1 BP m g; rewrite E_bind -[RHS]mulr1 -D1 -E_scale; apply: E_ext => t; rewrite mulr1.
by apply: (attains_exact vs_uniq vs_all pP (tree_uniq t) (tree_root t) (@tree_closed t)).
Qed.

Theorem predraw_follow_random (d : dtree F V) : okd vs d -> exact vs p [::] (bind (drawn vs d) (predraw_follow_on vs p)).
Proof.
move=> ok m g; rewrite E_bind drawn_paths -(E_bind (populate vs d) (fun t => predraw_follow_on vs p (paths t))).
by apply: attains_random; [exact: populate_mass | exact: predraw_follow_on_attains].
Qed.

Theorem tree_exit_random (d : dtree F V) : okd vs d -> exact vs p [::] (bind (drawn vs d) (tree_exit_on vs p)).
Proof.
move=> ok m g; rewrite E_bind drawn_paths -(E_bind (populate vs d) (fun t => tree_exit_on vs p (paths t))).
by apply: attains_random; [exact: populate_mass | exact: tree_exit_on_attains].
Qed.

(* ---- distinct siblings, every declared law the point mass on its own token *)
Fixpoint find_child t x : option ptree :=
  if t is PSlot y _ c n then if y == x then Some c else find_child n x else None.
Fixpoint one_hot t : Prop :=
  if t is PSlot x q c n then [/\ q =1 point F x, find_child n x = None, one_hot c & one_hot n] else True.

Lemma excess_point pt x y : pmf (R := R) vs pt -> excess (F := F) 1 pt (point F x) y = if y == x then 0 else pt y.
Proof.
case=> pt0 pt1; rewrite /excess /point /= mul1r; case: eqP => [->|_]; last by rewrite min_r // subr0.
rewrite min_l ?subrr // -pt1 (bigD1_seq x) //= ler_addl; exact: sumr_ge0.
Qed.

Lemma pt_le1 pt x : pmf (R := R) vs pt -> pt x <= 1.
Proof. by case=> pt0 <-; rewrite (bigD1_seq x) //= ler_addl; apply: sumr_ge0. Qed.

(* one test: follow x with probability pt x, otherwise go on with pt off x *)
Lemma test_point pt q x K (h : V -> R) : pmf (R := R) vs pt -> q =1 point F x ->
  acc (F := F) 1 pt q x * K + (1 - acc (F := F) 1 pt q x) * (\sum_(y <- vs) res (F := F) vs 1 pt q y * h y)
  = \sum_(y <- vs) pt y * (if x == y then K else h y).
Proof.
move=> ptP qE; have aE : acc (F := F) 1 pt q x = pt x.
  rewrite /acc qE /point eqxx /= oner_eq0 mul1r divr1 min_r //; exact: pt_le1.
have eE y : excess (F := F) 1 pt q y = if y == x then 0 else pt y.
  by rewrite -(excess_point x y ptP) /excess qE.
have DE : exmass (F := F) vs 1 pt q = 1 - pt x.
  rewrite /exmass osumE big_map; under eq_bigr do rewrite eE.
  rewrite -(proj2 ptP) (bigD1_seq x) //= eqxx add0r [in RHS](bigD1_seq x) //= [RHS]addrC addKr.
  by apply: eq_bigr => y /negPf->.
rewrite aE; have -> : (1 - pt x) * (\sum_(y <- vs) res (F := F) vs 1 pt q y * h y) = \sum_(y <- vs) excess (F := F) 1 pt q y * h y.
  rewrite /res DE -[oz _]/(1 - pt x == 0); case: eqP => [D0|/eqP Dn0].
    rewrite D0 mul0r sum0_mul // => [y|]; first by rewrite eE; case: ifP => // _; case: ptP.
    by have := DE; rewrite D0 /exmass osumE big_map.
  by rewrite big_distrr; apply: eq_bigr => y _ /=; rewrite mulrA mulrCA divff // mulr1.
under eq_bigr do rewrite eE.
rewrite (bigD1_seq x) //= [in RHS](bigD1_seq x) //= !eqxx mul0r add0r; congr (_ + _).
by apply: eq_bigr => y /negPf yx; rewrite yx eq_sym yx.
Qed.

Lemma siblings t pt s g : one_hot t -> pmf (R := R) vs pt ->
  E (recursive_rejection_on vs p t pt s) g = \sum_(x <- vs) pt x *
    (if find_child t x is Some c then E (recursive_rejection_on vs p c (p (rcons s x)) (rcons s x)) (fun b => g (x :: b))
     else g [:: x]).
Proof.
elim: t pt => [|x q c _ n IHn] pt /=; first by move=> _ _; rewrite E_bind E_draw; apply: eq_bigr => x _; rewrite E_ret.
case=> qE xn _ on ptP; rewrite E_bind E_flip IHn //; last exact: res_pmf.
rewrite test_point //; apply: eq_bigr => y _; case: eqP => [->|//].
by rewrite E_bind; congr (_ * _); apply: E_ext => b; rewrite E_ret.
Qed.

Lemma mem_paths t x u : one_hot t -> (x :: u \in paths t) =
  if find_child t x is Some c then (u == [::]) || (u \in paths c) else false.
Proof.
elim: t => //= y q c _ n IHn [_ yn _ /IHn on]; rewrite inE mem_cat on eqseq_cons [x == y]eq_sym.
case: (eqVneq y x) => [yx|yx] /=.
  rewrite -yx yn orbF; congr (_ || _); apply/mapP/idP => [[v vc [->]] //|uc].
  by exists u.
suff -> : (x :: u \in [seq y :: u0 | u0 <- paths c]) = false by [].
by apply/negP => /mapP[v _ [xy]]; rewrite xy eqxx in yx.
Qed.

Lemma one_hot_child t x c : one_hot t -> find_child t x = Some c -> one_hot c.
Proof. by elim: t => //= y q d _ n IHn [_ _ od on]; case: eqP => [_ [<-]|_ /(IHn on)]. Qed.

Lemma one_hot_follow (T : seq V -> bool) n t s g : one_hot t ->
  (forall x u, T (s ++ x :: u) = (x :: u \in paths t)) -> (forall u, u \in paths t -> (size u <= n)%N) ->
  E (recursive_rejection_on vs p t (p s) s) g = E (predraw_follow (F := F) vs p T n s) g.
Proof.
elim: n t s g => [|n IH] t s g ot TE tn; rewrite siblings // [in RHS]/= [RHS]E_bind E_draw; apply: eq_bigr => x _.
  case fx : (find_child t x) => [c|]; last by rewrite E_ret.
  by have := tn [:: x]; rewrite mem_paths // fx eqxx => /(_ isT).
have TxE : T (rcons s x) = ([:: x] \in paths t) by rewrite -cats1 TE.
case fx : (find_child t x) (mem_paths x [::] ot) => [c|] m; rewrite TxE m; last by rewrite E_ret.
rewrite E_bind; congr (_ * _); under [RHS]E_ext do rewrite E_ret.
apply: IH => [|y u|u uc]; first exact: one_hot_child fx.
  by rewrite cat_rcons TE mem_paths // fx.
by have := tn (x :: u); rewrite mem_paths // fx uc orbT => /(_ isT).
Qed.

(* the sequential residual rule has the optimal law *)
Theorem one_hot_attains t : one_hot t -> attains vs p (nodes_of t) (recursive_rejection_on vs p t (p [::]) [::]).
Proof.
move=> ot g; rewrite -predraw_follow_on_attains; apply: one_hot_follow => // u; exact: height_le.
Qed.
End Populated.
