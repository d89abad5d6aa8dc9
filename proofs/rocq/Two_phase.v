(* Allocate, then decide: whatever the plan, if at every node and capacity a it gives each token, on average over the       *)
(* candidates, no more than a p and the rest stays owed, the two-phase verifier is lossless, and so is the token-level rule. *)
(* Python: reference/verifiers/two_phase.py.                                                                                 *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Verifiers Expectation Exact Prefixes Populated Traversal Plans.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Two_phase.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Local Notation node := (node F V).
Local Notation utree := (utree F V).

(* masses of the candidates: not negative, at most one together; what stays owed is not negative; on average exactly a p *)
Definition locally_lossless (pt : V -> R) (nd : node) (a : R) :=
  [/\ forall c, c \in [seq w.2 | w <- tuples nd] ->
        (forall x, x \in masses nd a c -> (0 : R) <= x.2) /\ mass (masses nd a c) <= (1 : R),
      forall y, (0 : R) <= owed nd a y &
      forall y, E (tuples nd) (fun c => given (masses nd a c) y) + owed nd a y = a * pt y].
Definition drawn_ok (D : dist F (seq V)) := nng D /\ E D (fun=> 1) = 1.

Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

Fixpoint ok_tree (t : utree) (s : seq V) : Prop :=
  if t is UNode nd child then
    [/\ drawn_ok (tuples nd), forall a, 0 <= a <= 1 -> locally_lossless (p s) nd a & forall c y, ok_tree (child c y) (rcons s y)]
  else True.

Lemma massE (l : seq (V * F)) : mass l = \sum_(x <- l) (x.2 : R).
Proof. by rewrite /mass osumE big_map. Qed.
Lemma givenE (l : seq (V * F)) y : given l y = \sum_(x <- l) (if x.1 == y then (x.2 : R) else 0).
Proof. by rewrite /given osumE big_map. Qed.
Lemma sum_given (l : seq (V * F)) (g : V -> R) : \sum_(y <- vs) (given l y : R) * g y = \sum_(x <- l) (x.2 : R) * g x.1.
Proof.
under eq_bigr do rewrite givenE big_distrl /=; rewrite exchange_big; apply: eq_bigr => x _ /=.
rewrite (bigD1_seq x.1) //= eqxx big1 ?addr0 // => y; by rewrite eq_sym => /negPf->; rewrite mul0r.
Qed.
Lemma sum_given1 (l : seq (V * F)) : \sum_(y <- vs) (given l y : R) = mass l.
Proof. by rewrite massE; have := sum_given l (fun=> 1); under eq_bigr do rewrite mulr1; under [RHS]eq_bigr do rewrite mulr1. Qed.

Lemma divz01 (m left : R) : 0 <= m -> m <= left -> 0 <= divz (m : F) left <= 1.
Proof.
move=> m0 ml; rewrite /divz /=; case: eqP => [_|/eqP lz]; first by rewrite lexx ler01.
have lp : 0 < left by rewrite lt_neqAle eq_sym lz (le_trans m0).
by rewrite divr_ge0 ?(le_trans m0 ml) //= ler_pdivr_mulr // mul1r.
Qed.
Lemma mul_divz (m left : R) : 0 <= m -> m <= left -> left * divz (m : F) left = m.
Proof.
move=> m0 ml; rewrite /divz /=; case: eqP => [lz|/eqP lz]; last by rewrite mulrCA divff // mulr1.
by rewrite mulr0; apply/esym/eqP; rewrite eq_le m0 -lz ml.
Qed.

(* an answer is a block or None; k is the value of None *)
Definition value (h : seq V -> R) (k : R) (o : option (seq V)) : R := if o is Some b then h b else k.

(* the candidates l that are left, with mass left still undecided *)
Lemma E_decide below last (N : V -> R) (h : seq V -> R) (k : R) (l : seq (V * F)) (left : R) :
  (forall y b K, 0 <= b <= 1 -> E (below y b) (value (fun t => h (y :: t)) K) = b * N y + (1 - b) * K) ->
  (forall x, x \in l -> (0 : R) <= x.2) -> mass l <= left ->
  left * E (decide below last l left) (value h k)
  = \sum_(x <- l) (x.2 : R) * N x.1 + (left - mass l) * E last (value h k).
Proof.
move=> belowE; rewrite massE; elim: l left => [|x l IH] left l0 sl; first by rewrite !big_nil subr0 add0r.
rewrite big_cons in sl; rewrite !big_cons /= E_bind.
have x0 : 0 <= (x.2 : R) by apply: l0; rewrite mem_head.
have l0' z : z \in l -> (0 : R) <= z.2 by move=> zl; apply: l0; rewrite inE zl orbT.
have rest0 : 0 <= \sum_(z <- l) (z.2 : R) by rewrite big_seq sumr_ge0.
have xl : (x.2 : R) <= left by apply: le_trans sl; rewrite ler_addl.
transitivity (left * E (below x.1 (divz x.2 left)) (value (fun t => h (x.1 :: t)) (E (decide below last l (osub left x.2)) (value h k)))).
  by congr (_ * _); apply: E_ext => -[b|] //=; rewrite E_ret.
rewrite belowE ?divz01 // mulrDr mulrA mul_divz // mulrA mulrBr mulr1 mul_divz //.
rewrite -[left - x.2]/(osub left x.2 : R) IH ?[osub _ _]/= ?ler_subr_addl // addrA; congr (_ + _ * _).
by rewrite opprD addrA.
Qed.

Lemma E_bonus (w : V -> R) (h : seq V -> R) : (forall y, 0 <= w y) ->
  (\sum_(y <- vs) w y) * E (bonus (F := F) vs w) h = \sum_(y <- vs) w y * h [:: y].
Proof.
move=> w0; rewrite /bonus osumE big_map E_bind E_draw; set S := \sum_(y <- vs) w y.
have [z|nz] := eqVneq S 0; first by rewrite z mul0r sum0_mul.
rewrite big_distrr; apply: eq_bigr => y _ /=; by rewrite E_ret mulrA mulrCA divff // mulr1.
Qed.

Lemma E_stop (a : R) (w : V -> R) h k : 0 <= a <= 1 -> (forall y, 0 <= w y) ->
  (\sum_(y <- vs) w y + (1 - a)) * E (stop (F := F) vs a w) (value h k) = \sum_(y <- vs) w y * h [:: y] + (1 - a) * k.
Proof.
move=> /andP[a0 a1] w0; rewrite /stop /stay osumE big_map; set S := \sum_(y <- vs) w y.
have S0 : 0 <= S by apply: sumr_ge0.
have b0 : 0 <= 1 - a by rewrite subr_ge0.
have SW : S <= S + (1 - a) by rewrite ler_addl.
rewrite E_bind E_flip E_ret E_bind; under E_ext do rewrite E_ret /=.
rewrite mulrDr mulrA mul_divz // mulrA mulrBr mulr1 mul_divz // -(E_bonus h w0) -/S; congr (_ + _ * _).
by rewrite addrAC subrr add0r.
Qed.

Lemma two_phase_E t a s m g (k : R) : ok_tree t s -> 0 <= a <= 1 ->
  E (two_phase vs p t a s) (value (fin vs p m s g) k) = a * (\sum_(x <- vs) p s x * next vs p m s g x) + (1 - a) * k.
Proof.
elim: t a s m g k => [|nd child IH] a s m g k.
  move=> _ a01; have /andP[a0 _] := a01; have w0 y : 0 <= a * p s y by rewrite mulr_ge0 //; case: (pP s).
  have := E_stop (fin vs p m s g) k a01 w0.
  rewrite -[X in X + (1 - a)]big_distrr /= (proj2 (pP s)) mulr1 addrCA subrr addr0 mul1r => ->.
  by congr (_ + _); rewrite big_distrr; apply: eq_bigr => x _ /=; rewrite (fin1 pP) mulrA.
case=> [[D0 D1] Dl ok] a01; have [mP w0 avg] := Dl a a01; rewrite [two_phase _ _ _ _ _]/= E_bind.
pose nx := next vs p m s g; pose S := E (stop (F := F) vs a (owed nd a)) (value (fin vs p m s g) k).
transitivity (E (tuples nd) (fun c => \sum_(y <- vs) (given (masses nd a c) y : R) * (nx y - S) + S)).
  apply: E_ext_in => c cD; have [m0 m1] := mP c cD.
  rewrite -[LHS]mul1r (@E_decide _ _ nx) //; last first.
    move=> y b K b01; rewrite /nx next_shift (E_AR pP) -(IH c y b (rcons s y) m.-1 (shift m g y) K (ok c y) b01).
      by apply: E_ext => -[t|] //=; rewrite fin_shift.
  rewrite -/S sum_given massE; under [in RHS]eq_bigr do rewrite mulrBr.
  by rewrite sumrB -big_distrl /= mulrBl mul1r -addrA [- _ + S]addrC.
rewrite E_add E_sum; have -> : E (tuples nd) (fun=> S) = S by rewrite -[RHS]mulr1 -D1 -E_scale; apply: E_ext => c; rewrite mulr1.
have -> : \sum_(y <- vs) E (tuples nd) (fun c => (given (masses nd a c) y : R) * (nx y - S))
  = \sum_(y <- vs) (a * (p s y * nx y) - owed nd a y * nx y - (a * p s y * S - owed nd a y * S)).
  apply: eq_bigr => y _; transitivity ((nx y - S) * E (tuples nd) (fun c => given (masses nd a c) y)).
    by rewrite -E_scale; apply: E_ext => c; rewrite mulrC.
  have -> : E (tuples nd) (fun c => given (masses nd a c) y) = a * p s y - owed nd a y by rewrite -avg addrK.
  ring.
have key := E_stop (fin vs p m s g) k a01 w0; rewrite -/S in key.
rewrite !sumrB -[X in _ - X - _]/(\sum_(y <- vs) owed nd a y * nx y) -!big_distrl -!big_distrr /= (proj2 (pP s)) mulr1.
have -> : \sum_(y <- vs) owed nd a y * nx y = \sum_(y <- vs) (owed nd a y : R) * fin vs p m s g [:: y].
  by apply: eq_bigr => y _; rewrite (fin1 pP).
move: key; set W := \sum_(y <- vs) _ * fin vs p m s g _; set P := \sum_(y <- vs) p s y * nx y.
move: (\sum_(y <- vs) owed nd a y) => rest key.
have -> : a * P - W - (a * S - rest * S) + S = a * P - W + (rest + (1 - a)) * S by ring.
by rewrite key; ring.
Qed.

(* two-phase losslessness, whatever the plans *)
Theorem two_phase_exact t s : ok_tree t s -> exact vs p s (emitted (two_phase vs p t 1 s)).
Proof.
move=> ok m g; rewrite E_emitted -[LHS]/(E _ (value _ 0)) two_phase_E ?ler01 ?lexx //.
by rewrite mul1r subrr mul0r addr0 -E_AR.
Qed.

(* token level: only capacity 1 is asked of the plan *)
Fixpoint ok_token (t : utree) (s : seq V) : Prop :=
  if t is UNode nd child then
    [/\ E (tuples nd) (fun=> 1) = 1, locally_lossless (p s) nd 1 & forall c y, ok_token (child c y) (rcons s y)]
  else True.

Lemma E_choose (l : seq (V * F)) (left : R) (h : option V -> R) :
  (forall x, x \in l -> (0 : R) <= x.2) -> mass l <= left ->
  left * E (choose l left) h = \sum_(x <- l) (x.2 : R) * h (Some x.1) + (left - mass l) * h None.
Proof.
rewrite massE; elim: l left => [|x l IH] left l0 sl; first by rewrite !big_nil subr0 add0r E_ret.
rewrite big_cons in sl; rewrite !big_cons /= E_bind E_flip E_ret.
have x0 : 0 <= (x.2 : R) by apply: l0; rewrite mem_head.
have l0' z : z \in l -> (0 : R) <= z.2 by move=> zl; apply: l0; rewrite inE zl orbT.
have rest0 : 0 <= \sum_(z <- l) (z.2 : R) by rewrite big_seq sumr_ge0.
have xl : (x.2 : R) <= left by apply: le_trans sl; rewrite ler_addl.
rewrite mulrDr mulrA mul_divz // mulrA mulrBr mulr1 mul_divz //.
rewrite -[left - x.2]/(osub left x.2 : R) IH ?[osub _ _]/= ?ler_subr_addl // addrA; congr (_ + _ * _).
by rewrite opprD addrA.
Qed.

Lemma E_token nd child s h : E (tuples nd) (fun=> 1) = 1 -> locally_lossless (p s) nd 1 ->
  E (token_level vs p (UNode nd child) s) h =
  E (tuples nd) (fun c => \sum_(x <- masses nd 1 c) (x.2 : R) * E (token_level vs p (child c x.1) (rcons s x.1)) (fun b => h (x.1 :: b)))
  + \sum_(y <- vs) (owed nd 1 y : R) * h [:: y].
Proof.
move=> D1 [mP w0 avg]; rewrite /= E_bind.
pose S := E (bonus (F := F) vs (owed nd 1)) h.
transitivity (E (tuples nd) (fun c =>
    \sum_(x <- masses nd 1 c) (x.2 : R) * E (token_level vs p (child c x.1) (rcons s x.1)) (fun b => h (x.1 :: b))
    + S * (1 - mass (masses nd 1 c)))).
  apply: E_ext_in => c cD; have [m0 m1] := mP c cD; rewrite E_bind -[LHS]mul1r E_choose // [S * _]mulrC; congr (_ + _).
  by apply: eq_bigr => x _; rewrite E_bind; under E_ext do rewrite E_ret.
rewrite E_add E_scale; congr (_ + _); rewrite -(E_bonus h w0) -/S mulrC; congr (_ * _).
transitivity (E (tuples nd) (fun=> 1) - E (tuples nd) (fun c => \sum_(y <- vs) (given (masses nd 1 c) y : R))).
  rewrite -mulN1r -E_scale -E_add; apply: E_ext => c; by rewrite mulN1r sum_given1.
rewrite D1 E_sum -[X in X - _](proj2 (pP s)) -sumrB; apply: eq_bigr => y _; by rewrite -[p s y]mul1r -avg addrAC subrr add0r.
Qed.

Theorem token_level_exact t s : ok_token t s -> exact vs p s (token_level vs p t s).
Proof.
elim: t s => [|nd child IH] s.
  by move=> _ m g; rewrite /= E_bind E_draw (E_AR pP); apply: eq_bigr => x _; rewrite E_ret (fin1 pP).
case=> D1 lossless ok m g; rewrite E_token // (E_AR pP); have [_ _ avg] := lossless.
transitivity (E (tuples nd) (fun c => \sum_(y <- vs) (given (masses nd 1 c) y : R) * next vs p m s g y)
  + \sum_(y <- vs) (owed nd 1 y : R) * next vs p m s g y).
  congr (_ + _); last by apply: eq_bigr => y _; rewrite (fin1 pP).
  apply: E_ext => c; rewrite sum_given; apply: eq_bigr => x _; congr (_ * _).
  by apply: fin_step; apply: IH; apply: ok.
rewrite E_sum -big_split; apply: eq_bigr => y _ /=; rewrite -[p s y]mul1r -avg mulrDl; congr (_ + _).
by rewrite mulrC -E_scale; apply: E_ext => c; rewrite mulrC.
Qed.

(* topologies filled by a rule *)
Lemma everywhere_below (ok : slot -> seq V -> bool) n t s i y : everywhere vs ok n.+1 t s -> everywhere vs ok n (nth (Slot [::]) (below t) i) (rcons s y).
Proof.
case: (ltnP i (size (below t))) => [it|i_big]; last by rewrite nth_default //; case: n.
case/orP=> [/nilP E|/andP[_ /(all_nthP (Slot [::]))/(_ i it)/allP]]; first by rewrite E in it.
by apply; apply: vs_all.
Qed.
Lemma everywhere_all (ok : slot -> seq V -> bool) n t s : (forall t s, ok t s) -> everywhere vs ok n t s.
Proof.
move=> all_ok; elim: n t s => //= n IH t s; rewrite all_ok orbC /=; apply/orP; left.
by apply/(all_nthP (Slot [::])) => i _; apply/allP => y _; apply: IH.
Qed.
Lemma planned_ok rule (ok : slot -> seq V -> bool) n t s : everywhere vs ok n t s -> (forall t s, drawn_ok (tuples (rule t s))) ->
  (forall t s a, ok t s -> 0 <= a <= 1 -> locally_lossless (p s) (rule t s) a) -> ok_tree (planned rule n t s) s.
Proof.
move=> + D ll; elim: n t s => // n IH t s ev; rewrite [planned _ _ _ _]/=; case E : (below t) => [|c l] //; rewrite -E.
split=> [|a|d y]; [exact: D | apply: ll | by apply: IH; apply: everywhere_below].
by move: ev; rewrite /= E => /andP[].
Qed.
Lemma planned_token rule (ok : slot -> seq V -> bool) n t s : everywhere vs ok n t s -> (forall t s, E (tuples (rule t s)) (fun=> 1) = 1) ->
  (forall t s, ok t s -> locally_lossless (p s) (rule t s) 1) -> ok_token (planned rule n t s) s.
Proof.
move=> + D ll; elim: n t s => // n IH t s ev; rewrite [planned _ _ _ _]/=; case E : (below t) => [|c l] //; rewrite -E.
split=> [||d y]; [exact: D | apply: ll | by apply: IH; apply: everywhere_below].
by move: ev; rewrite /= E => /andP[].
Qed.
Lemma ok_tree_token t s : ok_tree t s -> ok_token t s.
Proof. by elim: t s => //= nd child IH s [[_ D1] Dl ok]; split=> // [|c y]; [apply: Dl; rewrite ler01 lexx | apply: IH]. Qed.
End Two_phase.
