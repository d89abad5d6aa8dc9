(* Deterministic draft trees: predraw-and-predraw_follow is exact, attains the coverage,
   and no exact path verifier accepts more. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Expectation Step Exact.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section FollowExact.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* 3a. for ANY predicate T (any tree, even any stopping rule) and any fuel *)
Theorem follow_exact T n s : exact vs p s (predraw_follow vs p T n s).
Proof.
elim: n s => [|n IH] s m g; rewrite E_AR //= E_bind E_draw; apply: eq_bigr => x _.
  by rewrite E_ret fin1.
case: (T _); last by rewrite E_ret fin1.
by rewrite E_bind; under E_ext do rewrite E_ret; rewrite fin_step.
Qed.
End FollowExact.

(* ---------------------------------------------------------- prefix masses *)
Section Cover.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* probability that the target emits t after s *)
Fixpoint reach (s t : seq V) : R :=
  if t is x :: t' then p s x * reach (rcons s x) t' else 1.

Definition hit (t b : seq V) : R := (prefix t b)%:R.

Lemma sum_pick (f : V -> R) y : \sum_(x <- vs) f x * (y == x)%:R = f y.
Proof.
rewrite (bigD1_seq y) //= eqxx mulr1 big1 ?addr0 // => x xy.
by rewrite eq_sym (negPf xy) mulr0.
Qed.

Lemma hit_cons x t y b : hit (x :: t) (y :: b) = (x == y)%:R * hit t b.
Proof. by rewrite /hit prefix_cons; case: (x == y); rewrite ?mul1r ?mul0r. Qed.

Lemma hit01 t b : 0 <= hit t b <= 1.
Proof. by rewrite /hit; case: prefix; rewrite ?ler01 ?lexx. Qed.

Lemma AR_hit m s t : (size t <= m)%N -> E (AR vs p m s) (hit t) = reach s t.
Proof.
elim: m s t => [|m IH] s [|x t] //= tm.
- by rewrite E_ret.
- under E_ext => b do rewrite /hit prefix0s.
  by have /= -> := AR_mass pP m.+1 s.
have := E_AR pP m.+1 s (hit (x :: t)); rewrite /= => ->.
rewrite -[in RHS]IH //; under eq_bigr => y do (under E_ext do rewrite hit_cons; rewrite E_scale mulrCA mulrC).
by rewrite sum_pick.
Qed.

Lemma hit_fin s t b : hit t b <= fin vs p (size t) s (hit t) b.
Proof.
rewrite /fin; set m := (size t - size b)%N; rewrite {1}/hit.
have nA u : nng (AR vs p m u).
  elim: m u => [|m IH] u /=; first exact: nng_ret.
  apply: nng_bind => [|x]; first by apply: nng_draw => x; case: (pP u).
  by apply: nng_bind => [|v]; [apply: IH | apply: nng_ret].
case tb : (prefix t b) => /=; last first.
  rewrite mulr0n -(E_0 (AR vs p m (s ++ b))); apply: E_le; first exact: nA.
  move=> u.
  by case/andP: (hit01 t (take (size t) (b ++ u))).
rewrite mulr1n -(AR_mass pP m (s ++ b)); apply: E_le => [|u]; first exact: nA.
rewrite /hit; suff -> : prefix t (take (size t) (b ++ u)) by [].
by case/prefixP: tb => c ->; rewrite -catA take_size_cat // prefix_refl.
Qed.

(* the key inequality: an exact block hits t at most as often as the target *)
Lemma exact_hit s B t : nng B -> exact vs p s B -> E B (hit t) <= reach s t.
Proof.
move=> B0 BP; rewrite -(AR_hit s (leqnn (size t))) -BP.
by apply: E_le => // b; apply: hit_fin.
Qed.

(* ------------------------------------------------------------- the tree *)
Variable T : seq (seq V).               (* the non-root nodes, as paths *)
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.

Definition coverage (s : seq V) : R := \sum_(t <- T) reach s t.

Lemma closed_cat t u : t ++ u \in T -> t = [::] \/ t \in T.
Proof.
elim/last_ind: u => [|u x IH]; rewrite ?cats0; first by right.
rewrite -rcons_cat => /T_closed [|/IH //].
by move/(congr1 size)/eqP; rewrite size_cat addn_eq0 => /andP[/nilP->]; left.
Qed.

Lemma take_inT a i : a \in T -> (0 < i)%N -> take i a \in T.
Proof.
move=> aT i0; have := @closed_cat (take i a) (drop i a); rewrite cat_take_drop.
case=> // /nilP; rewrite /nilp size_take; case: ifP => _; first by rewrite eqn0Ngt i0.
by move=> /nilP a0; move: T_root; rewrite -a0 aT.
Qed.

(* number of tree nodes on the emitted block >= any accepted length in the tree *)
Lemma depth_le a b : a = [::] \/ a \in T -> prefix a b ->
  (size a)%:R <= \sum_(t <- T) hit t b :> R.
Proof.
move=> aT ab; rewrite /hit -natr_sum -big_mkcond /= sum1_count -size_filter ler_nat.
have -> : size a = size [seq take i a | i <- iota 1 (size a)] by rewrite size_map size_iota.
apply: uniq_leq_size.
  rewrite map_inj_in_uniq ?iota_uniq // => i j; rewrite !mem_iota !add1n !ltnS.
  by move=> /andP[_ ia] /andP[_ ja] /(congr1 size); rewrite !size_takel.
move=> u /mapP[i]; rewrite mem_iota add1n ltnS => /andP[i0 ia] ->; rewrite mem_filter.
case: aT => [a0|aT]; first by move: ia; rewrite a0 /= leqNgt i0.
rewrite take_inT // andbT; apply: prefix_trans ab.
by apply/prefixP; exists (drop i a); rewrite cat_take_drop.
Qed.

(* 3c. a path verifier returns (a, b): a the accepted path (a tree node or the
   root), b the emitted block, which starts with a.  If the law of b is exact, then
   E |a| <= coverage. *)
Theorem path_verifier_bound s (W : dist (mc R) (seq V * seq V)) :
  nng W ->
  (forall ab, ab \in [seq w.2 | w <- W] ->
     (ab.1 = [::] \/ ab.1 \in T) /\ prefix ab.1 ab.2) ->
  exact vs p s (bind W (fun ab => ret _ ab.2)) ->
  E W (fun ab => (size ab.1)%:R) <= coverage s.
Proof.
move=> W0 WT WP.
apply: (@le_trans _ _ (E W (fun ab => \sum_(t <- T) hit t ab.2))).
  rewrite /E !big_seq; apply: ler_sum => w wW.
  have [aT ab] := WT _ (map_f snd wW).
  by rewrite ler_wpmul2l ?(allP W0) // depth_le.
rewrite E_sum; apply: ler_sum => t _.
have -> : E W (fun ab => hit t ab.2) = E (bind W (fun ab => ret _ ab.2)) (hit t).
  by rewrite E_bind; apply: E_ext => ab; rewrite E_ret.
by apply: exact_hit => //; apply: nng_bind => // ab; apply: nng_ret.
Qed.
End Cover.

(* 3b. predraw-and-predraw_follow attains it *)
Section Attain.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

Lemma follow_mass T n s : E (predraw_follow vs p T n s) (fun=> 1) = 1.
Proof.
transitivity (E (AR vs p 0 s) (fun=> 1)); last by rewrite E_ret.
by rewrite -(follow_exact pP T n); apply: E_ext => b; rewrite fin0.
Qed.

Lemma follow_hit (T : pred (seq V)) n s t : (size t <= n)%N ->
  (forall i, (0 < i <= size t)%N -> T (s ++ take i t)) ->
  E (predraw_follow vs p T n s) (hit R t) = reach p s t.
Proof.
elim: n s t => [|n IH] s [|x t] //= tn tT.
- by rewrite -[RHS](follow_mass T 0 s); apply: E_ext => b; rewrite /hit prefix0s.
- by rewrite -[RHS](follow_mass T n.+1 s); apply: E_ext => b; rewrite /hit prefix0s.
have Tx : T (rcons s x) by have := tT 1%N isT; rewrite /= take0 cats1.
rewrite E_bind E_draw -(IH (rcons s x) t) //; last first.
  by move=> i /andP[i0 it]; rewrite cat_rcons; apply: (tT i.+1).
rewrite -(sum_pick vs_uniq vs_all (fun y => p s y * E (predraw_follow vs p T n (rcons s y)) (hit R t))).
apply: eq_bigr => y _; rewrite -mulrA; congr (_ * _).
have [<-|xy] := eqVneq x y.
  rewrite Tx E_bind mulr1; apply: E_ext => b.
  by rewrite E_ret hit_cons eqxx mul1r.
rewrite mulr0; case: (T _); last by rewrite E_ret hit_cons (negPf xy) mul0r.
by rewrite E_bind -[RHS](E_0 (predraw_follow vs p T n (rcons s y))); apply: E_ext => b;
  rewrite E_ret hit_cons (negPf xy) mul0r.
Qed.

Variable T : seq (seq V).
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.

(* the emitted block is (accepted path) + one token, and leaves the tree there *)
Lemma follow_supp n s b : (forall t, t \in T -> size t <= n)%N -> (size s <= n)%N ->
  b \in [seq w.2 | w <- predraw_follow vs p (fun u => u \in T) (n - size s) s] ->
  exists a x, [/\ b = rcons a x, s ++ a = s \/ s ++ a \in T & s ++ b \notin T].
Proof.
move=> Tn; have [k] := ubnP (n - size s)%N; elim: k s b => // k IH s b.
rewrite ltnS => nk sn; case E0 : (n - size s)%N => [|j] /=.
  case/mapP=> w /flatten_mapP[_ /mapP[x _ ->] /=]; rewrite mem_seq1 => /eqP-> ->.
  exists [::], x; split=> //; first by left; rewrite cats0.
  apply/negP => /Tn; rewrite /= cats1 size_rcons ltnNge.
  by move: E0 => /eqP; rewrite subn_eq0 => ->.
have sj : (size s < n)%N by rewrite -subn_gt0 E0.
case/mapP=> w /flatten_mapP[_ /mapP[x _ ->] /=] /mapP[u + ->] /= ->.
case: ifPn => xT; last first.
  rewrite mem_seq1 => /eqP-> /=; exists [::], x; split=> //; first by left; rewrite cats0.
  by rewrite cats1.
case/flatten_mapP=> v vf /mapP[z]; rewrite mem_seq1 => /eqP-> -> /=.
have jE : j = (n - size (rcons s x))%N by rewrite size_rcons subnS E0.
case: (IH (rcons s x) v.2) => [||| a [y [va aT vT]]].
- by rewrite -jE; move: nk; rewrite E0.
- by rewrite size_rcons.
- by rewrite -jE; apply: map_f.
exists (x :: a), y; rewrite va /= -!cat_rcons -va; split=> //; right.
by case: aT => [->|].
Qed.

Lemma depth_eq a x : a = [::] \/ a \in T -> rcons a x \notin T ->
  \sum_(t <- T) hit R t (rcons a x) = (size a)%:R.
Proof.
move=> aT axT; apply/eqP; rewrite eq_le (depth_le R T_root T_closed) ?prefix_rcons // andbT.
rewrite /hit -natr_sum -big_mkcond /= sum1_count -size_filter ler_nat.
have -> : size a = size [seq take i a | i <- iota 1 (size a)] by rewrite size_map size_iota.
apply: uniq_leq_size; first exact: filter_uniq.
move=> t; rewrite mem_filter => /andP[/prefixP[c tc] tT].
case/lastP: c tc => [|c y]; first by rewrite cats0 => tc; move: axT; rewrite tc tT.
rewrite -rcons_cat => /rcons_inj[aE _]; rewrite aE.
apply/mapP; exists (size t); last by rewrite take_size_cat.
rewrite mem_iota add1n ltnS size_cat leq_addr andbT lt0n size_eq0.
by apply: contraNneq T_root => <-.
Qed.

Theorem follow_coverage n : (forall t, t \in T -> size t <= n)%N ->
  E (predraw_follow vs p (fun u => u \in T) n [::]) (fun b => (size b).-1%:R) = coverage p T [::].
Proof.
move=> Tn; transitivity (E (predraw_follow vs p (fun u => u \in T) n [::]) (fun b => \sum_(t <- T) hit R t b)).
  rewrite /E !big_seq; apply: eq_bigr => w wF; congr (_ * _).
  have := @follow_supp n [::] w.2 Tn isT; rewrite subn0 => /(_ (map_f _ wF)).
  by case=> a [x [-> aT bT]]; rewrite size_rcons depth_eq.
rewrite E_sum /coverage !big_seq; apply: eq_bigr => t tT; apply: follow_hit; first exact: Tn.
by move=> i /andP[i0 _] /=; apply: take_inT.
Qed.
End Attain.
