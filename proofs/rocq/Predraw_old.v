(* Drawing one target token at EVERY node up front and then following them has the
   same law as the lazy program [predraw_follow]. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Expectation Step Exact Tree.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Predraw.
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

Theorem predraw_follow (T : pred (seq V)) n f0 (nodes : seq (seq V)) s (g : seq V -> R) :
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
End Predraw.

(* The whole statement for a finite prefix-closed tree T (non-root nodes as paths):
   exact law, and expected accepted depth = coverage. *)
Section PredrawTree.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Variables (T : seq (seq V)) (n : nat) (f0 : seq V -> V).
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.
Hypothesis T_depth : forall t, t \in T -> (size t <= n)%N.
Let go f := run (fun u => u \in T) n f [::].
Let W := predraw vs p f0 ([::] :: T).

Let eqf g : E W (fun f => g (go f)) = E (predraw_follow vs p (fun u => u \in T) n [::]) g.
Proof.
apply: (predraw_follow pP) => [|u x _ uT]; first by rewrite mem_head.
by rewrite inE uT orbT.
Qed.

Theorem predraw_exact m g :
  E W (fun f => fin vs p m [::] g (go f)) = E (AR (F := mc R) vs p m [::]) g.
Proof. by rewrite eqf follow_exact. Qed.

Theorem predraw_coverage : E W (fun f => (size (go f)).-1%:R) = coverage p T [::].
Proof.
rewrite (eqf (fun b => (size b).-1%:R)).
exact: (follow_coverage vs_uniq vs_all pP T_uniq T_root T_closed T_depth).
Qed.
End PredrawTree.
