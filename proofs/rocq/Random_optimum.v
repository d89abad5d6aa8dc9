(* Random trees, continued: every point of the ceiling LP is an exact verifier, so the LP is the best any lossless    *)
(* verifier can do; E[L] <= 1 + sum fbar, and block verification attains it on a sampled chain.                       *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Verifiers Expectation Step Exact Prefixes Growth Traversal Fixed_trees Fixed_optimum.
From Draftproof Require Import Random_trees Block_optimal.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Attained.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Local Notation tree := (seq (seq V)).
Variable U : tree.
Hypotheses (U_uniq : uniq U) (U_root : [::] \notin U).
Hypothesis U_closed : forall t x, rcons t x \in U -> t = [::] \/ t \in U.

(* ---- every point of the LP is attained: draw (tree, node) from alpha, then the bonus given the node alone *)
Section Converse.
Variable al : dist F (tree * seq V).
Hypothesis alP : lp_feasible p U al.
Local Notation f := (accepted al).
Let stop (v : seq V) : R := E al (fun o => (o.2 == v)%:R).        (* Pr(X = v) *)
Definition bonus (v : seq V) : V -> R :=
  if stop v == 0 then p v else fun a => (f v * p v a - on U f (rcons v a)) / stop v.
Definition attaining : dist F (tree * seq V * V) :=
  bind al (fun o => bind (draw (F := F) vs (bonus o.2)) (fun a => ret F (o, a))).

Let al0 : nng al. Proof. by case: alP => -[]. Qed.

Lemma f_feasible_al : f_feasible p U f.
Proof.
have [[_ al1 _] flow] := alP; split=> [|v a _].
  by rewrite -[RHS]al1; apply: E_ext => o; rewrite hit0.
rewrite flow andbT -(E_0 al); apply: E_le => // o; by case/andP: (hit01 R (rcons v a) o.2).
Qed.

Lemma sum_hit v (b : seq V) : \sum_(a <- vs) hit (rcons v a) b = ext v b :> R.
Proof.
rewrite /ext /hit; case vb : (prefix v b); last first.
  rewrite mul0r big1 // => a _; case: (boolP (prefix (rcons v a) b)) => // h.
  by move: vb; rewrite (prefix_trans (prefix_rcons v a) h).
rewrite mul1r; case/prefixP: vb => -[|y c] ->; rewrite size_cat /=.
  rewrite addn0 ltnn cats0 big1 // => a _; case: (boolP (prefix (rcons v a) v)) => // /size_prefix.
  by rewrite size_rcons ltnn.
rewrite addnS leq_addr; transitivity (\sum_(a <- vs) (fun=> 1 : R) a * (y == a)%:R); last exact: sum_pick.
apply: eq_bigr => a _.
by rewrite mul1r -cats1 prefix_catr // eqxx andTb prefix_cons prefix0s andbT [a == y]eq_sym.
Qed.

Lemma stop_flow v : stop v = f v - \sum_(a <- vs) on U f (rcons v a).
Proof.
rewrite (eq_bigr (fun a => f (rcons v a))) => [|a _].
  rewrite -E_sum; apply/eqP; rewrite eq_sym subr_eq /stop -E_add; apply/eqP; apply: E_ext => o.
  by rewrite hit_split sum_hit.
rewrite /on; case: ifPn => // vU; apply/esym; rewrite -(E_0 al); apply: E_ext_in => o oal.
rewrite /hit; case: (boolP (prefix _ _)) => // /(prefix_in U_closed (node_in alP.1 oal)).
by rewrite child_nodes (negPf vU).
Qed.

Lemma bonus_num v a : v \in nodes U -> 0 <= f v * p v a - on U f (rcons v a).
Proof.
move=> vU; rewrite subr_ge0 /on; case: ifP => _; first by case: alP.
by rewrite mulr_ge0 ?(f_ge0 U_root f_feasible_al) //; case: (pP v).
Qed.

Lemma sum_bonus_num v : \sum_(a <- vs) (f v * p v a - on U f (rcons v a)) = stop v.
Proof. by rewrite sumrB -big_distrr /= (proj2 (pP v)) mulr1 stop_flow. Qed.

Lemma stop_ge0 v : 0 <= stop v.
Proof. by rewrite -(E_0 al); apply: E_le => // o; case: (_ == _); rewrite ?ler01 ?lexx. Qed.

Lemma bonus_pmf v : v \in nodes U -> pmf vs (bonus v).
Proof.
move=> vU; rewrite /bonus; case: ifPn => // s0; split=> [a|].
  by rewrite divr_ge0 ?bonus_num ?stop_ge0.
by rewrite -big_distrl /= sum_bonus_num divff.
Qed.

(* its (tree, node) law is alpha, and it is exact *)
Theorem lp_attained_law h : E (chosen attaining) h = E al h.
Proof.
rewrite E_chosen E_bind; apply: E_ext_in => o oal; rewrite E_bind E_draw.
have [_ b1] := bonus_pmf (node_in alP.1 oal).
by rewrite -[RHS]mul1r -b1 big_distrl; apply: eq_bigr => a _; rewrite E_ret.
Qed.

Theorem lp_attained_exact : exact vs p [::] (sent attaining).
Proof.
have [[_ _ ex] _] := f_is_verifier vs_uniq vs_all pP U_uniq U_root U_closed f_feasible_al.
suff e g : E (sent attaining) g = E (verifier_of vs p U f) g by move=> m g; rewrite e.
rewrite E_sent E_verifier_of E_bind.
transitivity (E al (fun o => \sum_(v <- nodes U) (o.2 == v)%:R * \sum_(a <- vs) bonus v a * g (rcons v a))).
  apply: E_ext_in => o oal; rewrite (bigD1_seq o.2) ?nodes_uniq ?(node_in alP.1 oal) // eqxx mul1r.
  rewrite [X in _ = _ + X]big1 => [|v /negPf]; last by rewrite eq_sym => ->; rewrite mul0r.
  by rewrite addr0 E_bind E_draw; apply: eq_bigr => a _; rewrite E_ret.
rewrite E_sum; apply: eq_big_seq => v vU.
have -> : E al (fun o => (o.2 == v)%:R * \sum_(a <- vs) bonus v a * g (rcons v a))
   = stop v * \sum_(a <- vs) bonus v a * g (rcons v a).
  by rewrite mulrC -E_scale; apply: E_ext => o; rewrite mulrC.
rewrite /bonus; case: (eqVneq (stop v) 0) => [s0|s0]; last first.
  by rewrite big_distrr; apply: eq_bigr => a _ /=; rewrite mulrA mulrCA divff // mulr1.
rewrite s0 mul0r; apply/esym.
have num0 a : 0 <= Num.max 0 (f v * p v a - on U f (rcons v a)) by rewrite le_maxr lexx.
have numE a : Num.max 0 (f v * p v a - on U f (rcons v a)) = f v * p v a - on U f (rcons v a).
  by rewrite max_r // bonus_num.
under eq_bigr do rewrite -numE; apply: sum0_mul => //.
by under eq_bigr do rewrite numE; rewrite sum_bonus_num.
Qed.
End Converse.

(* ---- the recursive bound: fbar(va) = min(kappa(va), fbar(v) p(a|v)), kappa u = Pr(u is in the tree) *)
Section Recursive.
Variable kappa : seq V -> R.
Fixpoint fbar_from (s : seq V) (m : R) (t : seq V) : R :=
  if t is x :: t' then fbar_from (rcons s x) (Num.min (kappa (rcons s x)) (m * p s x)) t' else m.
Definition fbar := fbar_from [::] 1.

Lemma fbar_rcons v a : fbar (rcons v a) = Num.min (kappa (rcons v a)) (fbar v * p v a).
Proof.
rewrite /fbar -[v in kappa (rcons v a)]cat0s -[v in p v]cat0s; move: [::] 1 => s m.
by elim: v s m => [|x v IH] s m /=; rewrite ?cats0 // IH !cat_rcons.
Qed.

Variable W : dist F (tree * seq V * V).
Hypotheses (W0 : nng W) (Wlaw : node_law U (chosen W)) (Wex : exact vs p [::] (sent W)).
Hypothesis kappaP : forall u, kappa u = E W (fun o => (u \in o.1.1)%:R).
(* the trees are trees *)
Hypothesis W_closed : forall o, o \in [seq w.2 | w <- chosen W] -> forall t x, rcons t x \in o.1 -> t = [::] \/ t \in o.1.

Lemma accepted_le_fbar u : accepted (chosen W) u <= fbar u.
Proof.
have [[c0 c1 cin] flow] := random_feasible vs_uniq vs_all pP W0 Wlaw Wex.
elim/last_ind: u => [|v a IH].
  by rewrite -[fbar [::]]c1; apply: E_le => // o; rewrite hit0.
rewrite fbar_rcons le_minr; apply/andP; split; last first.
  by apply: le_trans (flow v a) _; apply: ler_wpmul2r => //; case: (pP v).
have -> : kappa (rcons v a) = E (chosen W) (fun o => (rcons v a \in o.1)%:R).
  by rewrite kappaP E_chosen.
rewrite /accepted /E !big_seq; apply: ler_sum => w wc; rewrite ler_wpmul2l ?(allP c0) // /hit.
case: (boolP (prefix _ _)) => [pre|_]; last by rewrite ler0n.
have oc : w.2 \in [seq w.2 | w <- chosen W] by apply: map_f.
have [_ vin] := cin _ oc; have := prefix_in (W_closed oc) vin pre.
by rewrite child_nodes => ->.
Qed.

Theorem recursive_bound : E W (fun o => (size o.1.2).+1%:R) <= 1 + \sum_(u <- U) fbar u.
Proof.
rewrite (random_length U_uniq U_root U_closed W0 Wlaw Wex) /nodes big_cons.
by apply: ler_add; [apply: accepted_le_fbar | apply: ler_sum => u _; apply: accepted_le_fbar].
Qed.
End Recursive.

(* ---- attained on a sampled chain of k drafts: kappa u = Pr(the chain starts with u) *)
Section Chain.
Variable qd : seq V -> V -> R.
Hypothesis qP : forall s, pmf vs (qd s).
Local Notation kappa := (reach qd [::]).

Lemma sum_words_cons j (h : seq V -> R) : \sum_(t <- words vs j.+1) h t = \sum_(x <- vs) \sum_(t <- words vs j) h (x :: t).
Proof. by rewrite big_allpairs_dep. Qed.

Lemma block_depth_fbar k s pi : 0 <= pi <= 1 -> kappa s * block_depth_value vs p qd k pi s =
  \sum_(j <- iota 1 k) \sum_(t <- words vs j) fbar_from kappa s (kappa s * pi) t.
Proof.
elim: k s pi => [|k IH] s pi pi01 /=; first by rewrite mulr0 big_nil.
have m x : Num.min (kappa (rcons s x)) (kappa s * pi * p s x) = kappa (rcons s x) * acc (F := F) pi (p s) (qd s) x.
  rewrite reach_rcons -[LHS]/(Num.min _ _) -!mulrA -minr_pmulr ?(reach_ge0 _ _ qP) //.
  by rewrite cat0s minC -(q_acc pi01 (pP s) (qP s)).
rewrite -[_ :: _]/(iota (1 + 0) k.+1) iotaDl big_map -[iota 0 k.+1]/(0%N :: iota 1 k) [RHS]big_cons.
transitivity (\sum_(x <- vs) (kappa (rcons s x) * acc (F := F) pi (p s) (qd s) x
   + \sum_(j <- iota 1 k) \sum_(t <- words vs j) fbar_from kappa (rcons s x) (kappa (rcons s x) * acc (F := F) pi (p s) (qd s) x) t)).
  rewrite big_distrr; apply: eq_bigr => x _ /=; rewrite -IH ?(acc01 pi01 (pP s) (qP s)) //.
  by rewrite reach_rcons cat0s mulrA mulrDr.
rewrite big_split exchange_big /=; congr (_ + _).
  by rewrite (sum_words_cons 0); apply: eq_bigr => x _; rewrite big_seq1 /= m.
by apply: eq_bigr => j _; rewrite sum_words_cons; apply: eq_bigr => x _; apply: eq_bigr => t _ /=; rewrite m.
Qed.

Theorem block_attains k : E (emitted (block (F := F) vs p qd k 1 [::])) (fun b => (size b)%:R) =
  1 + \sum_(u <- flatten [seq words vs j | j <- iota 1 k]) fbar kappa u.
Proof.
rewrite big_flatten big_map.
have := block_depth_fbar k [::] (pi := 1); rewrite ler01 lexx mulr1 => /(_ isT); rewrite mul1r => <-.
rewrite E_emitted; have := block_E pP qP k [::] 0 0 (pi := 1); rewrite ler01 lexx => /(_ isT) e.
transitivity (E (block (F := F) vs p qd k 1 [::]) (fun o => if o is Some b then (size b)%:R + 0 else 0)).
  by apply: E_ext => -[b|] //; rewrite addr0.
by rewrite e addr0 mul1r mulr0 addr0 addrC.
Qed.
End Chain.
End Attained.
