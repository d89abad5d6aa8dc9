(* greedy_transport is the token-level form of UniVer's closed form: lossless.  UniVer against the token-level rule with    *)
(* the same masses: if every node gives a token at capacity a at least a times what it gives it at capacity 1, and the       *)
(* subtree below a child depends on its path only, UniVer gets at least as deep.  The closed form has that property.         *)
(* Python: reference/verifiers/greedy_transport.py.                                                                          *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Schemes Verifiers Expectation Exact Prefixes Populated Traversal Plans Two_phase Univer.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Dominance.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* mass that a node gives to y as a drafted candidate, at capacity a *)
Definition drafted_mass (nd : node F V) (a : R) (y : V) : R := E (tuples nd) (fun c => given (masses nd a c) y).
Fixpoint dominating (t : utree F V) : Prop :=
  if t is UNode nd child then
    [/\ forall a y, 0 <= a <= 1 -> a * drafted_mass nd 1 y <= drafted_mass nd a y,
        forall c c' y, c \in [seq w.2 | w <- tuples nd] -> c' \in [seq w.2 | w <- tuples nd] -> y \in c -> y \in c' ->
          child c y = child c' y,
        forall c a x, c \in [seq w.2 | w <- tuples nd] -> x \in masses nd a c -> x.1 \in c &
        forall c y, dominating (child c y)]
  else True.

(* at least d accepted drafts: the block is longer than d *)
Definition deeper (d : nat) (b : seq V) : R := (d < size b)%N%:R.
Definition reach_two_phase t a s d : R := E (two_phase vs p t a s) (value (deeper d) 0).
Definition reach_token t s d : R := E (token_level vs p t s) (deeper d).

Lemma E_ge0_in (D : dist F (seq V)) g : nng D -> (forall c, c \in [seq w.2 | w <- D] -> 0 <= g c) -> 0 <= E D g.
Proof.
move=> D0 g0; rewrite /E big_seq sumr_ge0 // => w wD; rewrite mulr_ge0 ?(allP D0) //.
by apply: g0; apply: map_f.
Qed.
Lemma E_le_in (D : dist F (seq V)) g h : nng D -> (forall c, c \in [seq w.2 | w <- D] -> g c <= h c) -> E D g <= E D h.
Proof.
move=> D0 gh; rewrite /E !big_seq; apply: ler_sum => w wD; rewrite ler_wpmul2l ?(allP D0) //.
by apply: gh; apply: map_f.
Qed.
Let one01 : (0 : R) <= (1 : R) <= (1 : R). Proof. by rewrite ler01 lexx. Qed.

Lemma token_ge0 t s g : ok_tree p t s -> (forall b, 0 <= g b) -> 0 <= E (token_level vs p t s) g.
Proof.
elim: t s g => [|nd child IH] s g => [_ g0|[[D0 D1] Dl ok] g0].
  by rewrite /= E_bind E_draw sumr_ge0 // => x _; rewrite E_ret mulr_ge0 //; case: (pP s).
have lossless := Dl 1 one01; have [mP w0 _] := lossless.
rewrite (E_token vs_uniq vs_all pP) // addr_ge0 //; last by apply: sumr_ge0 => y _; rewrite mulr_ge0.
apply: E_ge0_in => // c cD; have [m0 _] := mP c cD.
rewrite big_seq sumr_ge0 // => x xc; rewrite mulr_ge0 ?m0 //; apply: IH; [apply: ok | move=> b; apply: g0].
Qed.
Lemma token_step nd child s d : ok_tree p (UNode nd child) s -> reach_token (UNode nd child) s d.+1 =
  E (tuples nd) (fun c => \sum_(x <- masses nd 1 c) (x.2 : R) * reach_token (child c x.1) (rcons s x.1) d).
Proof.
case=> [[_ D1] Dl _]; rewrite /reach_token (E_token vs_uniq vs_all pP) //; last exact: Dl.
by rewrite [X in _ + X]big1 ?addr0 // => y _; rewrite /deeper /= mulr0.
Qed.
Lemma token_le1 t s : ok_tree p t s -> reach_token t s 0 <= 1.
Proof.
move=> ok; have := token_level_exact vs_uniq vs_all pP (ok_tree_token ok) 0%N (fun=> 1); rewrite /= E_ret => <-.
rewrite -subr_ge0 /reach_token; have -> : E (token_level vs p t s) (fin vs p 0 s (fun=> 1)) - E (token_level vs p t s) (deeper 0)
   = E (token_level vs p t s) (fun b => 1 - deeper 0 b).
  by rewrite E_add; congr (_ + _); [apply: E_ext => b; rewrite fin0 | rewrite -mulN1r -E_scale; apply: E_ext => b; rewrite mulN1r].
by apply: token_ge0 => // b; rewrite /deeper subr_ge0; case: ltnP; rewrite ?lexx ?ler01.
Qed.

(* the answer "nothing accepted here" has probability 1 - a *)
Lemma two_phase_rest t a s h (K : R) : ok_tree p t s -> 0 <= a <= 1 ->
  E (two_phase vs p t a s) (value h K) = E (two_phase vs p t a s) (value h 0) + (1 - a) * K.
Proof.
move=> ok a01; have := two_phase_E vs_uniq vs_all pP 0 (fun=> 0) 1 ok a01.
rewrite big1 => [|x _]; last by rewrite /= mulr0.
rewrite mulr0 add0r mulr1 mulrC => <-; rewrite -E_scale -E_add; apply: E_ext => -[b|] /=.
  by rewrite fin0 mulr0 addr0.
by rewrite add0r mulr1.
Qed.
Lemma E_stop_short a w h : (forall y, h [:: y] = 0) -> E (stop (F := F) vs a w) (value h 0) = 0.
Proof.
move=> h0; rewrite /stop E_bind E_flip E_ret /= mulr0 addr0 /bonus !E_bind E_draw big1 ?mulr0 // => y _.
by rewrite !E_ret /= h0 mulr0.
Qed.
Lemma two_phase_nonempty t a s (k : R) :
  E (two_phase vs p t a s) (value (deeper 0) k) = E (two_phase vs p t a s) (value (fun=> 1) k).
Proof.
have st b w : E (stop (F := F) vs b w) (value (deeper 0) k) = E (stop (F := F) vs b w) (value (fun=> 1) k).
  rewrite /stop /bonus !E_bind; apply: E_ext => -[]; last by rewrite !E_ret.
  by rewrite !E_bind; apply: E_ext => x; rewrite !E_ret.
case: t => [|nd child]; first exact: st.
rewrite [two_phase _ _ _ _ _]/= !E_bind; apply: E_ext => c.
set v := value (fun=> 1) k; elim: (masses _ _ _) (o1 (mc R)) => [|x l IH] left /=; first exact: st.
by rewrite !E_bind; apply: E_ext => -[b|]; [rewrite !E_ret | apply: IH].
Qed.
Lemma reach_two_phase0 t a s : ok_tree p t s -> 0 <= a <= 1 -> reach_two_phase t a s 0 = a.
Proof.
move=> ok a01; rewrite /reach_two_phase two_phase_nonempty.
have := two_phase_E vs_uniq vs_all pP 0 (fun=> 1) 0 ok a01.
rewrite mulr0 addr0; under eq_bigr do rewrite /= mulr1; rewrite (proj2 (pP s)) mulr1 => e; rewrite -[RHS]e.
by apply: E_ext => -[b|] //=; rewrite fin0.
Qed.

Lemma decide_ge below last (T : V -> R) (h : seq V -> R) (l : seq (V * F)) (left : R) :
  (forall y b K, 0 <= b <= 1 -> E (below y b) (value (fun t => h (y :: t)) K)
     = E (below y b) (value (fun t => h (y :: t)) 0) + (1 - b) * K) ->
  (forall y b, 0 <= b <= 1 -> b * T y <= E (below y b) (value (fun t => h (y :: t)) 0)) -> 0 <= E last (value h 0) ->
  (forall x, x \in l -> (0 : R) <= x.2) -> mass l <= left ->
  \sum_(x <- l) (x.2 : R) * T x.1 <= left * E (decide below last l left) (value h 0).
Proof.
move=> rest ge last0; rewrite massE; elim: l left => [|x l IH] left l0 sl.
  by rewrite big_nil mulr_ge0 //; rewrite big_nil in sl.
rewrite big_cons in sl; rewrite big_cons /= E_bind.
have x0 : 0 <= (x.2 : R) by apply: l0; rewrite mem_head.
have l0' z : z \in l -> (0 : R) <= z.2 by move=> zl; apply: l0; rewrite inE zl orbT.
have rest0 : 0 <= \sum_(z <- l) (z.2 : R) by rewrite big_seq sumr_ge0.
have xl : (x.2 : R) <= left by apply: le_trans sl; rewrite ler_addl.
have left0 : 0 <= left by apply: le_trans xl.
have b01 := divz01 x0 xl; set K := E (decide below last l (osub left x.2)) (value h 0).
apply: (@le_trans _ _ (left * E (below x.1 (divz x.2 left)) (value (fun t => h (x.1 :: t)) K))); last first.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (_ * _); apply: E_ext => -[b|] //=; rewrite E_ret.
rewrite rest // mulrDr mulrA mulrBr mulr1 (mul_divz x0 xl); apply: ler_add; last by apply: IH; rewrite //= ler_subr_addl.
by rewrite -{1}(mul_divz x0 xl) -mulrA ler_wpmul2l // ge.
Qed.

Theorem univer_dominates t a s d : ok_tree p t s -> dominating t -> 0 <= a <= 1 ->
  a * reach_token t s d <= reach_two_phase t a s d.
Proof.
elim: t a s d => [|nd child IH] a s [|d] ok dom a01; rewrite ?(reach_two_phase0 ok a01).
- by have /andP[a0 _] := a01; rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; apply: token_le1 ok.
- rewrite /reach_token /reach_two_phase /= E_bind E_draw big1 => [|x _]; last by rewrite E_ret /deeper /= mulr0.
  by rewrite mulr0 E_stop_short.
- by have /andP[a0 _] := a01; rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; apply: token_le1 ok.
have [[D0 D1] Dl okc] := ok; have [more same inc domc] := dom; have [mP _ _] := Dl a a01.
pose supp := [seq w.2 | w <- tuples nd].
pose T c y := reach_token (child c y) (rcons s y) d.
pose S y := T (nth [::] [seq c <- supp | y \in c] 0) y.
have T0 c y : 0 <= T c y by apply: token_ge0; [exact: okc | move=> b; rewrite /deeper ler0n].
have TS c y : c \in supp -> y \in c -> T c y = S y.
  move=> cD yc; rewrite /T /S /T; set c0 := nth _ _ _; suff : c0 \in [seq c <- supp | y \in c].
    by rewrite mem_filter => /andP[yc0 c0D]; rewrite (same c c0).
  rewrite mem_nth // size_filter -has_count; by apply/hasP; exists c.
have sumT b : E (tuples nd) (fun c => \sum_(x <- masses nd b c) (x.2 : R) * T c x.1) = \sum_(y <- vs) drafted_mass nd b y * S y.
  rewrite /drafted_mass; under [RHS]eq_bigr do rewrite mulrC -E_scale.
  rewrite -E_sum; apply: E_ext_in => c cD; under [RHS]eq_bigr do rewrite mulrC.
  rewrite sum_given // !big_seq; apply: eq_bigr => x xc; rewrite TS //; exact: inc xc.
rewrite (token_step d ok) sumT; apply: (@le_trans _ _ (\sum_(y <- vs) drafted_mass nd a y * S y)).
  by rewrite big_distrr; apply: ler_sum => y _ /=; rewrite mulrA; apply: ler_wpmul2r; [apply: T0 | apply: more].
rewrite -sumT /reach_two_phase [two_phase _ _ _ _ _]/= E_bind; apply: E_le_in => // c cD.
have [m0 m1] := mP _ cD; rewrite -[X in _ <= X]mul1r; apply: decide_ge => //.
- by move=> y b K b01; rewrite two_phase_rest //; apply: okc.
- by move=> y b b01; apply: IH; [apply: okc | apply: domc |].
by rewrite E_stop_short.
Qed.
End Dominance.

Section Greedy.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Variables (p q : seq V -> V -> R) (n : scheme_name V).
Hypotheses (pP : forall s, pmf vs (p s)) (qP : forall s, pmf vs (q s)) (nP : distinct n).

Theorem greedy_transport_exact k t : exact vs p [::] (plan_law (F := F) vs p q (@Greedy_transport F V) n k t).
Proof. by apply: token_level_exact => //; apply: ok_tree_token; apply: univer_tree_ok. Qed.

Lemma univer_tree_dominating k t s : dominating (planned (univer_node (F := F) vs p q n) k t s).
Proof.
elim: k t s => //= k IH t s; case E : (below t) => [|c0 l] //; rewrite -{}E.
have := hubs_ok vs_uniq qP nP t s; rewrite /univer_node; case: (hubs _ _ _ _ _) => H r /= [Hu rP].
split=> [a y a01|c c' y|c a x|c y]; last exact: IH.
- case: r rP => [ms|] /= rP.
    case: rP => msP msH; have one : (0 : R) <= (1 : R) <= (1 : R) by rewrite ler01 lexx.
    rewrite /drafted_mass !(closed_form_kept vs_uniq vs_all Hu (pP s) msP msH) // !mul1r.
    case: ifP => // _; have /andP[a0 a1] := a01; rewrite minr_pmulr // le_minr !le_minl lexx /=.
    by apply/orP; right; rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r => //; case: msP.
  rewrite /drafted_mass /= !E_ret !givenE !big_map /= big_distrr le_eqVlt; apply/orP; left; apply/eqP.
  by apply: eq_bigr => h _ /=; case: ifP => _; rewrite ?mulr0 // mul1r.
- suff idx c1 : c1 \in [seq w.2 | w <- tuples (greedy_node (F := F) vs (p s) H r)] -> y \in c1 -> index y c1 = index y H.
    by move=> cD cD' yc yc'; rewrite !idx.
  case: (r) => [ms|] /=; last by rewrite inE => /eqP->.
  case/greedy_support=> b bH ->; rewrite mem_rcons inE -cats1 index_cat; case: ifP => // yH /=; rewrite orbF => /eqP->.
  by rewrite eqxx addn0 memNindex.
case: (r) => [ms|] /=; last by rewrite inE => /eqP-> /mapP[h hH ->].
case/greedy_support=> b bH ->; rewrite closed_form_rcons !mem_rcons !inE => /orP[/eqP->|/mapP[h hH ->]] /=; first by rewrite eqxx.
by rewrite hH orbT.
Qed.

(* UniVer reaches every depth at least as often as greedy_transport on the same drafts *)
Theorem univer_greedy_dominates k t d :
  E (plan_law (F := F) vs p q (@Greedy_transport F V) n k t) (deeper R d)
  <= E (plan_law (F := F) vs p q (@Univer F V) n k t) (deeper R d).
Proof.
rewrite [X in _ <= X]E_emitted -[X in X <= _]mul1r; apply: univer_dominates; rewrite ?ler01 ?lexx //.
  exact: univer_tree_ok.
exact: univer_tree_dominating.
Qed.
End Greedy.
