(* Prefix events: the target emits t with probability reach t; what "block, then target" gives to the event *)
(* "starts with t".  Every statistic of m tokens is a sum of such events.                                   *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Verifiers Expectation Exact.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Notation reach := (@Verifiers.reach (mc _) _).

Section Events.
Variables (R : realFieldType) (V : eqType).
(* indicators: b starts with t; b is t; b is longer than t and starts with t *)
Definition hit (t b : seq V) : R := (prefix t b)%:R.
Definition same (t b : seq V) : R := (b == t)%:R.
Definition ext (t b : seq V) : R := hit t b * (size t < size b)%N%:R.

Lemma hit01 t b : 0 <= hit t b <= 1.
Proof. by rewrite /hit; case: prefix; rewrite ?ler01 ?lexx. Qed.
Lemma hit0 b : hit [::] b = 1.
Proof. by rewrite /hit prefix0s. Qed.
Lemma hit_cons x t y b : hit (x :: t) (y :: b) = (x == y)%:R * hit t b.
Proof. by rewrite /hit prefix_cons; case: (x == y); rewrite ?mul1r ?mul0r. Qed.
Lemma hit_take t z : hit t (take (size t) z) = hit t z.
Proof. by rewrite /hit !prefixE take_take. Qed.
Lemma prefix_size (t b : seq V) : prefix t b -> (size b <= size t)%N -> b = t.
Proof. by rewrite prefixE => /eqP tb bt; rewrite -tb take_oversize. Qed.
Lemma hit_split t b : hit t b = same t b + ext t b.
Proof.
rewrite /hit /same /ext /hit; case tb : (prefix t b); last first.
  by rewrite mul0r addr0; case: eqP tb => [->|//]; rewrite prefix_refl.
rewrite mul1r; case: ltnP => h; last by rewrite (prefix_size tb h) eqxx addr0.
by case: eqP h => [->|_]; rewrite ?ltnn ?add0r.
Qed.
Lemma ext01 t b : 0 <= ext t b <= 1.
Proof. by rewrite /ext /hit; case: prefix; case: ltnP; rewrite ?mul1r ?mul0r ?ler01 ?lexx. Qed.
Lemma ext_hit t x b : hit (rcons t x) b <= ext t b.
Proof.
rewrite /ext /hit; case tx : (prefix (rcons t x) b); last first.
  by rewrite mulr_ge0 ?ler0n.
have -> : prefix t b by apply: prefix_trans tx; rewrite prefix_rcons.
by have := size_prefix tx; rewrite size_rcons => ->; rewrite mul1r.
Qed.
End Events.
Arguments hit {R V}.
Arguments same {R V}.
Arguments ext {R V}.

Section Prefixes.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).
Local Notation hit := (@hit R V).

Lemma sum_pick (f : V -> R) y : \sum_(x <- vs) f x * (y == x)%:R = f y.
Proof.
rewrite (bigD1_seq y) //= eqxx mulr1 big1 ?addr0 // => x xy.
by rewrite eq_sym (negPf xy) mulr0.
Qed.

Lemma reach_rcons (r : seq V -> V -> R) s t x : reach r s (rcons t x) = reach r s t * r (s ++ t) x.
Proof.
elim: t s => [|y t IH] s /=; first by rewrite cats0 mul1r mulr1.
by rewrite IH mulrA cat_rcons.
Qed.

Lemma reach_cat (r : seq V -> V -> R) s t u : reach r s (t ++ u) = reach r s t * reach r (s ++ t) u.
Proof.
elim: t s => [|y t IH] s /=; first by rewrite cats0 mul1r.
by rewrite IH mulrA cat_rcons.
Qed.

Lemma reach_ge0 (r : seq V -> V -> R) s t : (forall u, pmf vs (r u)) -> 0 <= reach r s t.
Proof. by move=> rP; elim: t s => [|x t IH] s /=; rewrite ?ler01 // mulr_ge0 //; case: (rP s). Qed.

Lemma nng_AR m s : nng (AR (F := F) vs p m s).
Proof.
elim: m s => [|m IH] s /=; first exact: nng_ret.
apply: nng_bind => [|x]; first by apply: nng_draw => x; case: (pP s).
by apply: nng_bind => [|v]; [apply: IH | apply: nng_ret].
Qed.

Lemma AR_hit m s t : (size t <= m)%N -> E (AR (F := F) vs p m s) (hit t) = reach p s t.
Proof.
elim: m s t => [|m IH] s [|x t] //= tm.
- by rewrite E_ret.
- under E_ext => b do rewrite /Prefixes.hit prefix0s.
  by have /= -> := AR_mass pP m.+1 s.
have := E_AR pP m.+1 s (hit (x :: t)); rewrite /= => ->.
rewrite -[in RHS]IH //; under eq_bigr => y do (under E_ext do rewrite hit_cons; rewrite E_scale mulrCA mulrC).
by rewrite sum_pick.
Qed.

(* short block: the rest of t must come from the target *)
Lemma fin_short s t b : (size b <= size t)%N ->
  fin vs p (size t) s (hit t) b = (prefix b t)%:R * reach p (s ++ b) (drop (size b) t).
Proof.
move=> bt; rewrite /fin -(AR_hit (m := size t - size b)) ?size_drop //.
rewrite -E_scale; apply: E_ext => w; rewrite hit_take /Prefixes.hit [prefix b t]prefixE.
have -> : prefix t (b ++ w) = (take (size b) t == b) && prefix (drop (size b) t) w.
  by rewrite -{1}(cat_take_drop (size b) t) prefix_catr ?size_takel.
by case: (_ == b); rewrite ?mul1r ?mul0r.
Qed.

(* long block: nothing is left to draw *)
Lemma fin_long s t b : (size t <= size b)%N -> fin vs p (size t) s (hit t) b = hit t b.
Proof. by rewrite -subn_eq0 /fin => /eqP->; rewrite /= E_ret hit_take cats0. Qed.

Lemma hit_fin s t b : hit t b <= fin vs p (size t) s (hit t) b.
Proof.
case: (leqP (size t) (size b)) => h; first by rewrite fin_long.
rewrite fin_short 1?ltnW // /Prefixes.hit; have -> : prefix t b = false.
  by apply/negP => /size_prefix; rewrite leqNgt h.
by rewrite mulr_ge0 ?ler0n ?reach_ge0.
Qed.

(* the key inequality: an exact block starts with t at most as often as the target does *)
Lemma exact_hit s (B : dist F (seq V)) t : nng B -> exact vs p s B -> E B (hit t) <= reach p s t.
Proof.
move=> B0 BP; rewrite -(AR_hit s (leqnn (size t))) -BP.
by apply: E_le => // b; apply: hit_fin.
Qed.

(* one more token, block by block: the excess of "starts with t x" over p(x) times "starts with t" *)
Lemma fin_grow s t x b :
  fin vs p (size (rcons t x)) s (hit (rcons t x)) b - p (s ++ t) x * fin vs p (size t) s (hit t) b
  = hit (rcons t x) b - p (s ++ t) x * ext t b.
Proof.
rewrite /ext; case: (leqP (size b) (size t)) => bt.
  rewrite fin_short ?size_rcons 1?leqW // fin_short // drop_rcons // reach_rcons.
  rewrite -catA mulr0 mulr0 subr0.
  have -> : hit (rcons t x) b = 0.
    rewrite /Prefixes.hit; case: prefixP => // -[c bE].
    by move: bt; rewrite bE size_cat size_rcons addSn -ltn_subRL subnn.
  have -> : prefix b (rcons t x) = prefix b t by rewrite !prefixE -cats1 takel_cat.
  case bt' : (prefix b t); last by rewrite !mul0r mulr0 subrr.
  have -> : b ++ drop (size b) t = t by case/prefixP: bt' => c ->; rewrite drop_size_cat.
  by rewrite !mul1r mulrC subrr.
by rewrite fin_long ?size_rcons // fin_long 1?ltnW // mulr1.
Qed.

(* strings of length m, and statistics as sums of events *)
Fixpoint words (m : nat) : seq (seq V) :=
  if m is m'.+1 then [seq x :: t | x <- vs, t <- words m'] else [:: [::]].

Lemma mem_words m t : (t \in words m) = (size t == m).
Proof.
elim: m t => [|m IH] [|x t] /=; rewrite ?inE //.
  by apply/negP => /allpairsP[[y u] /= [_ _]].
rewrite eqSS -IH; apply/allpairsP/idP => [[[y u] /= [_ um [_ ->]]] //|tm].
by exists (x, t).
Qed.

Lemma words_uniq m : uniq (words m).
Proof.
elim: m => //= m IH; apply: allpairs_uniq => // -[x t] [y u] _ _ /= [-> ->] //.
Qed.

Lemma sum_words m (g : seq V -> R) t : size t = m -> \sum_(u <- words m) g u * hit u t = g t.
Proof.
move=> tm; have twm : t \in words m by rewrite mem_words tm.
rewrite (bigD1_seq t) ?words_uniq //= /Prefixes.hit prefix_refl mulr1.
rewrite big_seq_cond big1 ?addr0 // => u /andP[]; rewrite mem_words => /eqP um ut.
case up : (prefix u t); last by rewrite mulr0.
by move: ut; rewrite (prefix_size up) ?um ?tm ?eqxx.
Qed.

Lemma AR_size m s t : t \in [seq w.2 | w <- AR (F := F) vs p m s] -> size t = m.
Proof.
elim: m s t => [|m IH] s t /=; first by rewrite mem_seq1 => /eqP->.
case/mapP => w /flatten_mapP[v _]; case: ifP => // _ /mapP[u + ->] -> /=.
case/flatten_mapP => w' w'i; case: ifP => // _; rewrite mem_seq1 => /eqP-> /=.
by rewrite (IH (rcons s v.2) w'.2) ?map_f.
Qed.

Lemma E_ext_in (A : eqType) (m : dist F A) g h :
  (forall a, a \in [seq w.2 | w <- m] -> g a = h a) -> E m g = E m h.
Proof. by move=> gh; rewrite /E !big_seq; apply: eq_bigr => w wm; rewrite gh ?map_f. Qed.

Lemma fin_words m s g b :
  fin vs p m s g b = \sum_(u <- words m) g u * fin vs p m s (hit u) b.
Proof.
rewrite /fin; under [RHS]eq_bigr do rewrite -E_scale.
rewrite -E_sum; apply: E_ext_in => w wA; rewrite sum_words //.
rewrite size_take_min size_cat (AR_size wA).
by apply/minn_idPl; rewrite -leq_subLR.
Qed.
End Prefixes.
