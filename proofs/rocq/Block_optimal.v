(* Block verification accepts the most drafts, in expectation, among ALL exact verifiers of a sampled chain (which may *)
(* use the whole draft and any randomness).  Python: traversal on a chain, reference/verifiers/traversal.py.            *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Verifiers Expectation Step Exact Prefixes Populated Traversal.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Depth.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Local Notation acc := (@acc F V).
Local Notation respi := (@respi F V vs).
Local Notation res := (@res F V vs).
Variables p qd : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Hypothesis qP : forall s, pmf vs (qd s).

(* expected accepted length of block verification: sum over i of E[pi_i] *)
Fixpoint block_depth_value (k : nat) (pi : R) (s : seq V) : R :=
  if k is k'.+1 then
    \sum_(x <- vs) qd s x * (acc pi (p s) (qd s) x +
                             block_depth_value k' (acc pi (p s) (qd s) x) (rcons s x))
  else 0.

Let sumc (r : V -> R) (c : R) : pmf vs r -> \sum_(x <- vs) r x * c = c.
Proof. by move=> rP; rewrite -big_distrl /= (proj2 rP) mul1r. Qed.

Lemma block_E k pi s (c d : R) : 0 <= pi <= 1 ->
  E (block (F := F) vs p qd k pi s) (fun o => if o is Some b then (size b)%:R + c else d)
  = block_depth_value k pi s + (pi * (1 + c) + (1 - pi) * d).
Proof.
elim: k pi s c d => [|k IH] pi s c d pi01 /=.
  rewrite E_bind E_flip E_ret E_bind E_draw add0r; congr (_ * _ + _).
  by rewrite -[RHS](sumc _ (pP s)); apply: eq_bigr => x _; rewrite E_ret.
rewrite E_bind E_draw.
set D := respi pi (p s) (qd s) * (1 + c) + (1 - respi pi (p s) (qd s)) * d.
transitivity (\sum_(x <- vs) qd s x * (block_depth_value k (acc pi (p s) (qd s) x) (rcons s x) +
   (acc pi (p s) (qd s) x * (1 + (1 + c)) + (1 - acc pi (p s) (qd s) x) * D))).
  apply: eq_bigr => x _; congr (_ * _); rewrite -IH; last exact: (acc01 pi01 (pP s) (qP s)).
  rewrite E_bind; apply: E_ext => -[b|]; first by rewrite E_ret /= -addn1 natrD addrA.
  rewrite E_bind E_flip E_ret E_bind E_draw; congr (_ * _ + _).
  rewrite -[RHS](sumc _ (res_pmf pi (qd s) (pP s))).
  by apply: eq_bigr => y _; rewrite E_ret.
have := step pi01 (pP s) (qP s) (fun=> 1 + c).
rewrite (sumc _ (res_pmf pi (qd s) (pP s))) (sumc _ (pP s)) => st.
rewrite -[X in _ = _ + (X + _)]st -[X in _ = _ + (_ + X * _)](rej_respi pi01 (pP s) (qP s)).
rewrite -(rej_mass pi01 (pP s) (qP s)) !big_distrl -!big_split /=.
by apply: eq_bigr => x _; rewrite /D; ring.
Qed.

Theorem block_depth k s :
  E (block (F := F) vs p qd k 1 s) (fun o => if o is Some b then (size b)%:R - 1 else 0)
  = block_depth_value k 1 s.
Proof. by rewrite block_E ?ler01 ?lexx // subrr !mulr0 !addr0. Qed.
End Depth.

Section Optimal.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Local Notation acc := (@acc F V).
Variables p qd : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Hypothesis qP : forall s, pmf vs (qd s).
Local Notation hit := (@Prefixes.hit R V).

Variable k : nat.
Variable W : dist F (seq V * nat * V).   (* draft path, accepted count, last token *)
Hypothesis W0 : nng W.
Hypothesis Wsupp : forall o, o \in [seq w.2 | w <- W] -> (size o.1.1 = k) /\ (o.1.2 <= k)%N.
(* the draft path is drawn from the draft model *)
Hypothesis Wdraft : forall g, E W (fun o => g o.1.1) = E (AR (F := F) vs qd k [::]) g.
(* and what is chain_block is exact *)
Definition chain_block (o : seq V * nat * V) := rcons (take o.1.2 o.1.1) o.2.
Hypothesis Wexact : exact vs p [::] (bind W (fun o => ret _ (chain_block o))).

Lemma E_le_in g h : (forall o, o \in [seq w.2 | w <- W] -> g o <= h o) -> E W g <= E W h.
Proof.
move=> gh; rewrite /E !big_seq; apply: ler_sum => w wW.
by rewrite ler_wpmul2l ?(allP W0) // gh ?map_f.
Qed.

Definition survives_in (u : seq V) (o : seq V * nat * V) : R := (size u <= o.1.2)%N%:R * hit u o.1.1.
Definition survives (u : seq V) : R := E W (survives_in u).

Lemma a_le_draft u : (size u <= k)%N -> survives u <= reach qd [::] u.
Proof.
move=> uk; rewrite -(AR_hit vs_uniq vs_all qP _ uk) -Wdraft; apply: E_le => // o.
by rewrite /survives_in; case: (_ <= _)%N; rewrite ?mul1r ?mul0r //; case/andP: (hit01 R u o.1.1).
Qed.

Lemma E_fin u : E W (fun o => fin vs p (size u) [::] (hit u) (chain_block o)) = reach p [::] u.
Proof.
rewrite -(AR_hit vs_uniq vs_all pP [::] (leqnn (size u))) -Wexact E_bind.
by apply: E_ext => o; rewrite E_ret.
Qed.

Lemma a_step u v : (size u < k)%N -> survives (rcons u v) <= survives u * p u v.
Proof.
move=> uk.
suff : survives (rcons u v) + p u v * (reach p [::] u - survives u) <= reach p [::] (rcons u v).
  rewrite reach_rcons cat0s => h; rewrite -subr_ge0.
  suff -> : survives u * p u v - survives (rcons u v) =
    reach p [::] u * p u v - (survives (rcons u v) + p u v * (reach p [::] u - survives u)) by rewrite subr_ge0.
  ring.
rewrite -!E_fin /survives.
have -> : E W (survives_in (rcons u v)) + p u v *
   (E W (fun o => fin vs p (size u) [::] (hit u) (chain_block o)) - E W (survives_in u))
  = E W (fun o => survives_in (rcons u v) o + p u v *
      (fin vs p (size u) [::] (hit u) (chain_block o) + (-1) * survives_in u o)).
  by rewrite E_add E_scale E_add E_scale mulN1r.
apply: E_le_in => -[[x tau] y] /Wsupp /= [xk tk].
have st : size (take tau x) = tau by rewrite size_takel // xk.
have sb : size (chain_block (x, tau, y)) = tau.+1 by rewrite /chain_block size_rcons st.
have hx t : (size t <= tau)%N -> hit t (chain_block (x, tau, y)) = hit t x.
  move=> tt; rewrite /Prefixes.hit /chain_block /= !prefixE -cats1 takel_cat ?st //.
  by rewrite take_take.
rewrite /survives_in /= size_rcons; case: (leqP (size u) tau) => ut.
  rewrite mul1r fin_long ?sb ?(leq_trans ut) // hx // mulN1r subrr mulr0 addr0.
  rewrite -[(size u).+1](size_rcons u v) fin_long ?sb ?size_rcons ?ltnS //.
  case: (leqP (size u).+1 tau) => ut'; last first.
    by rewrite mul0r; case/andP: (hit01 R (rcons u v) (chain_block (x, tau, y))).
  by rewrite mul1r hx // size_rcons.
have -> : (size u < tau)%N = false by apply/negbTE; rewrite -leqNgt ltnW.
rewrite !mulr0n !mul0r mulr0 addr0 add0r.
rewrite fin_short ?sb // -[(size u).+1](size_rcons u v) fin_short ?sb ?size_rcons ?(leq_trans ut) //.
set b := chain_block _ in sb *.
have tr : take tau.+1 (rcons u v) = take tau.+1 u by rewrite -cats1 takel_cat.
rewrite !prefixE sb drop_rcons // tr; case: eqP => [bu|_]; last by rewrite !mul0r mulr0.
rewrite !mul1r reach_rcons; have -> : b ++ drop tau.+1 u = u by rewrite -bu cat_take_drop.
by rewrite mulrC.
Qed.

Lemma split_tau u o : (size u < k)%N -> o \in [seq w.2 | w <- W] ->
  hit u o.1.1 * (o.1.2 - size u)%N%:R =
  \sum_(v <- vs) (survives_in (rcons u v) o + hit (rcons u v) o.1.1 * (o.1.2 - size (rcons u v))%N%:R).
Proof.
move=> uk /Wsupp; case: o => [[x tau] y] /= [xk tk].
have hr v : hit (rcons u v) x = hit u x * (nth v x (size u) == v)%:R.
  rewrite /Prefixes.hit !prefixE size_rcons (take_nth v) ?xk // eqseq_rcons.
  by case: (_ == u); rewrite ?mul1r ?mul0r.
have [v0 v0x] : exists v0, forall v, nth v x (size u) = v0.
  case: x xk {hr} => [|z x] xk; first by move: uk; rewrite -xk.
  by exists (nth z (z :: x) (size u)) => v; apply: set_nth_default; rewrite xk.
transitivity (\sum_(v <- vs) (hit u x * (tau - size u)%N%:R) * (v0 == v)%:R).
  by rewrite (sum_pick vs_uniq vs_all (fun=> hit u x * (tau - size u)%N%:R)).
have -> : (tau - size u)%N%:R = (size u < tau)%N%:R + (tau - (size u).+1)%N%:R :> R.
  rewrite -natrD; congr (_%:R); case: (ltnP (size u) tau) => ut; first by rewrite add1n subnSK.
  have [t0 t1] : (tau - size u = 0 /\ tau - (size u).+1 = 0)%N.
    by split; apply/eqP; rewrite subn_eq0 ?(leq_trans ut).
  by rewrite t0 t1.
apply: eq_bigr => v _; rewrite /survives_in /= size_rcons hr v0x; ring.
Qed.

Lemma depth_le j u pi : (size u + j)%N = k -> 0 <= pi <= 1 -> survives u <= reach qd [::] u * pi ->
  E W (fun o => hit u o.1.1 * (o.1.2 - size u)%N%:R) <= reach qd [::] u * block_depth_value vs p qd j pi u.
Proof.
elim: j u pi => [|j IH] u pi uj pi01 au /=.
  rewrite mulr0 -(E_0 W); apply: E_le_in => o /Wsupp [_ tk].
  by move: tk; rewrite -uj addn0 -subn_eq0 => /eqP->; rewrite mulr0.
have uk : (size u < k)%N by rewrite -uj addnS ltnS leq_addr.
apply: (@le_trans _ _ (E W (fun o => \sum_(v <- vs) (survives_in (rcons u v) o + hit (rcons u v) o.1.1 * (o.1.2 - size (rcons u v))%N%:R)))).
  by apply: E_le_in => o oW; rewrite (split_tau uk oW).
rewrite E_sum big_distrr /=; apply: ler_sum => v _; rewrite E_add.
have a01 := acc01 pi01 (pP u) (qP u) v.
have au' : survives (rcons u v) <= reach qd [::] (rcons u v) * acc pi (p u) (qd u) v.
  rewrite reach_rcons cat0s -mulrA (q_acc pi01 (pP u) (qP u)).
  rewrite minr_pmulr ?(reach_ge0 _ _ qP) // le_minr; apply/andP; split.
    apply: le_trans (a_step v uk) _; rewrite mulrA.
    by apply: ler_wpmul2r => //; case: (pP u).
  by have := @a_le_draft (rcons u v); rewrite reach_rcons cat0s size_rcons => ->.
rewrite mulrA -[_ * qd u v]/(reach qd [::] u * qd ([::] ++ u) v) -reach_rcons mulrDr.
by apply: ler_add => //; apply: IH => //; rewrite size_rcons addSnnS.
Qed.

Theorem block_optimal : E W (fun o => o.1.2%:R) <=
  E (block (F := F) vs p qd k 1 [::]) (fun o => if o is Some b then (size b)%:R - 1 else 0).
Proof.
rewrite (block_depth pP qP) -[X in _ <= X]mul1r.
have -> : E W (fun o => o.1.2%:R) = E W (fun o => hit [::] o.1.1 * (o.1.2 - size ([::] : seq V))%N%:R).
  by apply: E_ext => o; rewrite /Prefixes.hit prefix0s mul1r subn0.
apply: depth_le; rewrite ?ler01 ?lexx //=.
by rewrite mulr1; apply: (@a_le_draft [::]).
Qed.
End Optimal.
