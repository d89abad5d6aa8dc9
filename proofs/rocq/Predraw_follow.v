(* Predraw and follow is lossless for every tree (indeed every stopping rule); on a fixed tree it has the optimal law. *)
(* Drawing a token at every node up front and following is the same.  Python: reference/verifiers/predraw_follow.py.  *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Verifiers Expectation Exact Prefixes Growth Fixed_trees Fixed_optimum.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Exactness.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* for ANY predicate T and any bound n on the depth *)
Theorem predraw_follow_exact T n s : exact vs p s (predraw_follow vs p T n s).
Proof.
elim: n s => [|n IH] s m g; rewrite E_AR //= E_bind E_draw; apply: eq_bigr => x _.
  by rewrite E_ret fin1.
case: (T _); last by rewrite E_ret fin1.
by rewrite E_bind; under E_ext do rewrite E_ret; rewrite fin_step.
Qed.
End Exactness.

Section Follow.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).

Lemma follow_mass T n s : E (predraw_follow vs p T n s) (fun=> 1) = 1.
Proof.
transitivity (E (AR vs p 0 s) (fun=> 1)); last by rewrite E_ret.
by rewrite -(predraw_follow_exact pP T n); apply: E_ext => b; rewrite fin0.
Qed.

Lemma follow_hit (T : pred (seq V)) n s t : (size t <= n)%N ->
  (forall i, (0 < i <= size t)%N -> T (s ++ take i t)) ->
  E (predraw_follow vs p T n s) (hit t) = reach p s t.
Proof.
elim: n s t => [|n IH] s [|x t] //= tn tT.
- by rewrite -[RHS](follow_mass T 0 s); apply: E_ext => b; rewrite /hit prefix0s.
- by rewrite -[RHS](follow_mass T n.+1 s); apply: E_ext => b; rewrite /hit prefix0s.
have Tx : T (rcons s x) by have := tT 1%N isT; rewrite /= take0 cats1.
rewrite E_bind E_draw -(IH (rcons s x) t) //; last first.
  by move=> i /andP[i0 it]; rewrite cat_rcons; apply: (tT i.+1).
rewrite -(sum_pick vs_uniq vs_all (fun y => p s y * E (predraw_follow vs p T n (rcons s y)) (hit t))).
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
Variable n : nat.
Hypothesis T_depth : forall t, t \in T -> (size t <= n)%N.
Local Notation follow := (predraw_follow (F := F) vs p (fun u => u \in T)).

(* the emitted block is an accepted node and one token that leaves the tree *)
Lemma follow_supp s b : (size s <= n)%N ->
  b \in [seq w.2 | w <- follow (n - size s) s] ->
  exists a x, [/\ b = rcons a x, s ++ a = s \/ s ++ a \in T & s ++ b \notin T].
Proof.
have [k] := ubnP (n - size s)%N; elim: k s b => // k IH s b.
rewrite ltnS => nk sn; case E0 : (n - size s)%N => [|j] /=.
  case/mapP=> w /flatten_mapP[_ /mapP[x _ ->] /=]; case: ifP => // _; rewrite mem_seq1 => /eqP-> ->.
  exists [::], x; split=> //; first by left; rewrite cats0.
  apply/negP => /T_depth; rewrite /= cats1 size_rcons ltnNge.
  by move: E0 => /eqP; rewrite subn_eq0 => ->.
have sj : (size s < n)%N by rewrite -subn_gt0 E0.
case/mapP=> w /flatten_mapP[_ /mapP[x _ ->] /=]; case: ifP => // _ /mapP[u + ->] /= ->.
case: ifPn => xT; last first.
  rewrite mem_seq1 => /eqP-> /=; exists [::], x; split=> //; first by left; rewrite cats0.
  by rewrite cats1.
case/flatten_mapP=> v vf; case: ifP => // _ /mapP[z]; rewrite mem_seq1 => /eqP-> -> /=.
have jE : j = (n - size (rcons s x))%N by rewrite size_rcons subnS E0.
case: (IH (rcons s x) v.2) => [||| a [y [va aT vT]]].
- by rewrite -jE; move: nk; rewrite E0.
- by rewrite size_rcons.
- by rewrite -jE; apply: map_f.
exists (x :: a), y; rewrite va /= -!cat_rcons -va; split=> //; right.
by case: aT => [->|].
Qed.

Lemma nng_follow m s : nng (follow m s).
Proof.
elim: m s => [|m IH] s /=; apply: nng_bind => [|x]; try by apply: nng_draw => x; case: (pP s).
  exact: nng_ret.
by case: ifP => _; [apply: nng_bind => [|t]; [apply: IH | apply: nng_ret] | apply: nng_ret].
Qed.

Lemma follow_path_verifier : path_verifier vs p T (follow n [::]).
Proof.
split; [exact: nng_follow | | exact: predraw_follow_exact] => b bB.
have := @follow_supp [::] b isT; rewrite subn0 => /(_ bB) [a [x [-> /= aT _]]].
by exists a; [rewrite inE; case: aT => [->|->]; rewrite ?eqxx ?orbT | exists x].
Qed.

(* the optimal law *)
Theorem predraw_follow_attains : attains vs p T (follow n [::]).
Proof.
apply: optimum_unique => //; first exact: follow_path_verifier.
rewrite (E_length T_uniq T_root T_closed follow_path_verifier) /nodes big_cons.
have ends0 u : u \in nodes T -> ends (follow n [::]) u = 0.
  move=> uT; rewrite -(E_0 (follow n [::])); apply: E_ext_in => b bB.
  have := @follow_supp [::] b isT; rewrite subn0 => /(_ bB) [a [x [bE _ /= bT]]].
  rewrite /same; case: eqP => // bu; move: bT; rewrite bu; move: uT; rewrite inE => /orP[/eqP u0|->//].
  by move: bE; rewrite bu u0; case: (a).
have fE u : u \in nodes T -> extends (follow n [::]) u = P p u.
  move=> uT; have := starts_split (follow n [::]) u; rewrite ends0 // add0r => <-.
  apply: follow_hit; first by move: uT; rewrite inE => /orP[/eqP->|/T_depth].
  move=> i /andP[i0 iu] /=; have /(prefix_in T_closed uT) : prefix (take i u) u.
    by apply/prefixP; exists (drop i u); rewrite cat_take_drop.
  by rewrite inE => /orP[/eqP/(congr1 size)|//]; rewrite size_takel // => i00; rewrite i00 in i0.
congr (_ + _); first by rewrite fE // inE eqxx.
by apply: eq_big_seq => u uT; rewrite fE // inE uT orbT.
Qed.
End Follow.

(* drawing one target token at EVERY node up front, then following them *)
Section UpFront.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

Definition upd (f : seq V -> V) u x : seq V -> V := fun v => if v == u then x else f v.

(* independent tokens for all the nodes; f0 fills the contexts outside the tree *)
Fixpoint predraw (f0 : seq V -> V) (nodes : seq (seq V)) : dist (mc R) (seq V -> V) :=
  if nodes is u :: r then
    bind (draw (F := mc R) vs (p u)) (fun x =>
    bind (predraw f0 r) (fun f => ret _ (upd f u x)))
  else ret _ f0.

Fixpoint run (T : pred (seq V)) (n : nat) (f : seq V -> V) (s : seq V) : seq V :=
  let x := f s in
  if n is n'.+1 then if T (rcons s x) then x :: run T n' f (rcons s x) else [:: x]
  else [:: x].

Lemma resample f0 nodes u (h : (seq V -> V) -> R) :
  (forall f f', f =1 f' -> h f = h f') -> u \in nodes ->
  E (predraw f0 nodes) h = \sum_(x <- vs) p u x * E (predraw f0 nodes) (fun f => h (upd f u x)).
Proof.
elim: nodes h => //= v r IH h hx; rewrite inE E_bind E_draw => uin.
have Er x : E (bind (predraw f0 r) (fun f => ret (mc R) (upd f v x))) h
    = E (predraw f0 r) (fun f => h (upd f v x)).
  by rewrite E_bind; apply: E_ext => f; rewrite E_ret.
have Eu u' x : E (bind (predraw f0 r) (fun f => ret (mc R) (upd f v x))) (fun f => h (upd f u u'))
    = E (predraw f0 r) (fun f => h (upd (upd f v x) u u')).
  by rewrite E_bind; apply: E_ext => f; rewrite E_ret.
under eq_bigr do rewrite Er.
transitivity (\sum_(x <- vs) p u x * \sum_(y <- vs) p v y *
    E (predraw f0 r) (fun f => h (upd (upd f v y) u x))); last first.
  apply: eq_bigr => x _; rewrite E_bind E_draw; congr (_ * _).
  by apply: eq_bigr => y _; rewrite Eu.
case: (eqVneq u v) uin => [-> _|uv /= ur].
  apply: eq_bigr => x _; congr (_ * _).
  transitivity (\sum_(y <- vs) p v y * E (predraw f0 r) (fun f => h (upd f v x))).
    by rewrite -big_distrl /= (proj2 (pP v)) mul1r.
  apply: eq_bigr => y _; congr (_ * _); apply: E_ext => f.
  by apply: hx => w; rewrite /upd; case: eqP.
transitivity (\sum_(y <- vs) p v y * \sum_(x <- vs) p u x *
    E (predraw f0 r) (fun f => h (upd (upd f u x) v y))).
  apply: eq_bigr => y _; congr (_ * _); apply: (IH (fun f => h (upd f v y))) => //.
  by move=> f f' ff; apply: hx => w; rewrite /upd ff.
under eq_bigr do rewrite big_distrr /=.
rewrite exchange_big; apply: eq_bigr => x _; rewrite big_distrr; apply: eq_bigr => y _ /=.
rewrite mulrCA; congr (_ * (_ * _)); apply: E_ext => f.
by apply: hx => w; rewrite /upd; case: eqP => // ->; rewrite eq_sym (negPf uv).
Qed.

Lemma predraw_mass f0 nodes : E (predraw f0 nodes) (fun=> 1) = 1.
Proof.
elim: nodes => [|u r IH] /=; first by rewrite E_ret.
rewrite E_bind E_draw -[RHS](proj2 (pP u)); apply: eq_bigr => x _.
rewrite E_bind; transitivity (p u x * E (predraw f0 r) (fun=> 1)); last by rewrite IH mulr1.
by congr (_ * _); apply: E_ext => f; rewrite E_ret.
Qed.

Lemma run_ext T n f f' s : (forall v, (size s <= size v)%N -> f v = f' v) ->
  run T n f s = run T n f' s.
Proof.
elim: n s => [|n IH] s ff /=; rewrite ff //; case: (T _) => //; congr cons.
by apply: IH => v; rewrite size_rcons => /ltnW; apply: ff.
Qed.

Theorem predraw_follow_upfront (T : pred (seq V)) n f0 (nodes : seq (seq V)) s (g : seq V -> R) :
  s \in nodes ->
  (forall u x, u \in nodes -> T (rcons u x) -> rcons u x \in nodes) ->
  E (predraw f0 nodes) (fun f => g (run T n f s)) = E (predraw_follow vs p T n s) g.
Proof.
move=> + cl; elim: n s g => [|n IH] s g sn;
  (rewrite (resample f0 (h := fun f => g (run T _ f s)) _ sn) => [|f f' ff];
    last by congr g; apply: run_ext).
  rewrite /= E_bind E_draw; apply: eq_bigr => x _; congr (_ * _); rewrite E_ret.
  transitivity (E (predraw f0 nodes) (fun=> g [:: x])); last first.
    by rewrite -[RHS]mulr1 -(predraw_mass f0 nodes) -E_scale; apply: E_ext => f; rewrite mulr1.
  by apply: E_ext => f; rewrite /upd eqxx.
rewrite /= E_bind E_draw; apply: eq_bigr => x _; congr (_ * _).
case Tx : (T (rcons s x)); last first.
  transitivity (E (predraw f0 nodes) (fun=> g [:: x])); last first.
    by rewrite E_ret -[RHS]mulr1 -(predraw_mass f0 nodes) -E_scale; apply: E_ext => f; rewrite mulr1.
  by apply: E_ext => f; rewrite /upd eqxx Tx.
rewrite E_bind; under [RHS]E_ext do rewrite E_ret.
rewrite -(IH (rcons s x) (fun t => g (x :: t))); last exact: cl.
apply: E_ext => f; rewrite {1}/upd eqxx Tx /=; congr (g (_ :: _)).
  by rewrite /upd eqxx.
rewrite {2}/upd eqxx; apply: run_ext => v; rewrite size_rcons /upd.
by case: eqP => // ->; rewrite ltnn.
Qed.
End UpFront.
