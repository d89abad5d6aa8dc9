(* Tree exit (one draw of the exit node, one draw of the bonus token) and the pathwise rule (one coin a level) have the *)
(* optimal law of a fixed tree.  Python: reference/verifiers/tree_exit.py, reference/exits.py.                          *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Verifiers Expectation Exact Prefixes Growth Fixed_trees Fixed_optimum Predraw_follow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Residual.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Variable T : seq V -> bool.
Local Notation outside := (@outside F V p T).
Local Notation inside := (@inside F V p T).
Local Notation rho := (@rho F V vs p T).

Lemma outside_ge0 s x : 0 <= outside s x.
Proof. by rewrite /Verifiers.outside; case: ifP => // _; case: (pP s). Qed.
Lemma inside_ge0 s x : 0 <= inside s x.
Proof. by rewrite /Verifiers.inside; case: ifP => // _; case: (pP s). Qed.
Lemma rhoE s : rho s = \sum_(x <- vs) outside s x.
Proof. by rewrite /Verifiers.rho osumE big_map. Qed.
Lemma rho_ge0 s : 0 <= rho s.
Proof. by rewrite rhoE sumr_ge0 // => x _; apply: outside_ge0. Qed.
Lemma insideE s : 1 - rho s = \sum_(x <- vs) inside s x.
Proof.
rewrite rhoE -(proj2 (pP s)) -sumrB; apply: eq_bigr => x _.
by rewrite /Verifiers.outside /Verifiers.inside; case: ifP => _; rewrite ?subr0 ?subrr.
Qed.
Lemma rho_le1 s : rho s <= 1.
Proof. by rewrite -subr_ge0 insideE sumr_ge0 // => x _; apply: inside_ge0. Qed.

(* a law normalised by its own total, times the total *)
Lemma renormalise (h g : V -> R) : (forall x, 0 <= h x) ->
  (\sum_(x <- vs) h x) * (\sum_(x <- vs) h x / (\sum_(y <- vs) h y) * g x) = \sum_(x <- vs) h x * g x.
Proof.
move=> h0; have [z|nz] := eqVneq (\sum_(y <- vs) h y) 0; first by rewrite z mul0r sum0_mul.
by rewrite big_distrr; apply: eq_bigr => x _ /=; rewrite mulrA mulrCA divff // mulr1.
Qed.

(* the chance of leaving times the residual law is the target off the tree *)
Lemma rho_residual s (g : V -> R) :
  rho s * (\sum_(x <- vs) residual vs p T s x * g x) = \sum_(x <- vs) outside s x * g x.
Proof. by rewrite -(renormalise g (outside_ge0 s)) -rhoE. Qed.

Theorem pathwise_follow n s g : (forall t, T t -> (size t <= size s + n)%N) ->
  E (pathwise vs p T n s) g = E (predraw_follow (F := F) vs p T n s) g.
Proof.
have leave k u h : E (bind (flip (F := F) (rho u)) (fun out : bool =>
      if out then bind (draw (F := F) vs (residual vs p T u)) (fun x => ret F [:: x]) else k)) h
    = \sum_(x <- vs) outside u x * h [:: x] + (1 - rho u) * E k h.
  rewrite E_bind E_flip E_bind E_draw -(rho_residual u (fun x => h [:: x])); congr (_ * _ + _).
  by apply: eq_bigr => x _; rewrite E_ret.
elim: n s g => [|n IH] s g Tn; rewrite [pathwise _ _ _ _ _]/= leave.
  have out x : T (rcons s x) = false.
    by apply/negP => /Tn; rewrite size_rcons addn0 ltnn.
  rewrite insideE [X in _ + X * _]big1 ?mul0r ?addr0 => [|x _]; last by rewrite /Verifiers.inside out.
  by rewrite /= E_bind E_draw; apply: eq_bigr => x _; rewrite E_ret /Verifiers.outside out.
rewrite [in RHS]/= [RHS]E_bind E_draw E_bind E_draw insideE.
rewrite (renormalise (fun x => E _ g) (inside_ge0 s)) -big_split /=; apply: eq_bigr => x _.
rewrite /Verifiers.outside /Verifiers.inside; case Tx : (T _); last by rewrite mul0r addr0 E_ret.
rewrite mul0r add0r !E_bind; congr (_ * _); rewrite IH // => t /Tn.
by rewrite size_rcons addSnnS.
Qed.
End Residual.

Section Attain.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Variable T : seq (seq V).
Hypotheses (T_uniq : uniq T) (T_root : [::] \notin T).
Hypothesis T_closed : forall t x, rcons t x \in T -> t = [::] \/ t \in T.
Local Notation In := (fun u => u \in T).
Local Notation w v := (P p v * rho (F := F) vs p In v).

(* one coin a level *)
Theorem pathwise_attains n : (forall t, t \in T -> (size t <= n)%N) ->
  attains vs p T (pathwise vs p In n [::]).
Proof. by move=> Tn g; rewrite (pathwise_follow pP) // predraw_follow_attains. Qed.

Lemma E_tree_exit g : E (tree_exit vs p In (nodes T)) g =
  \sum_(v <- nodes T) w v * \sum_(a <- vs) residual (F := F) vs p In v a * g (rcons v a).
Proof.
rewrite E_bind {1}/E big_map; apply: eq_bigr => v _; congr (_ * _).
by rewrite E_bind E_draw; apply: eq_bigr => a _; rewrite E_ret.
Qed.

(* two draws *)
Theorem tree_exit_attains : attains vs p T (tree_exit vs p In (nodes T)).
Proof.
move=> g; rewrite E_optimum E_tree_exit; apply: eq_bigr => v _; rewrite -mulrA.
rewrite (rho_residual pP (fun u => u \in T) v (fun x => g (rcons v x))) big_distrr.
apply: eq_bigr => a _ /=; rewrite /outside; case: ifP => _; first by rewrite mul0r mulr0.
by rewrite mulrA.
Qed.

(* the exit law: it sums to one, the subtree of u carries P(u), coverage is the mean exit depth *)
Lemma exit_extends u : u \in nodes T -> \sum_(v <- nodes T) w v * (prefix u v)%:R = P p u.
Proof.
move=> uT; rewrite -(optimum_extends vs_uniq vs_all pP T_uniq T_root T_closed uT).
rewrite /extends -tree_exit_attains E_tree_exit; apply: eq_bigr => v _.
under [in RHS]eq_bigr do rewrite ext_rcons.
rewrite -big_distrl /= -!mulrA; congr (_ * _); rewrite [RHS]mulrA; congr (_ * _).
have := rho_residual pP (fun u => u \in T) v (fun=> 1); under eq_bigr do rewrite mulr1.
by under [in RHS]eq_bigr do rewrite mulr1; rewrite -rhoE => ->.
Qed.

Theorem exit_sums_to_one : \sum_(v <- nodes T) w v = 1.
Proof.
rewrite -[RHS](exit_extends (u := [::])) ?inE ?eqxx //.
by apply: eq_bigr => v _; rewrite prefix0s mulr1.
Qed.
End Attain.
