(* UniVer against the token-level rule with the same plans: if every plan gives a token at capacity a at least a times what *)
(* it gives it at capacity 1, and the subtree below a child depends on its path only, UniVer gets at least as deep.         *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Step Exact Prefixes Populated Traversal Plans Univer Greedy_transport.
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

(* mass that the plan gives to y as a drafted candidate, at capacity a *)
Definition drafted_mass (D : dist F (seq V)) (plan : R -> seq V -> V -> R) (a : R) (y : V) : R :=
  E D (fun c => (y \in c)%:R * plan a c y).
Fixpoint dominating (t : utree F V) : Prop :=
  if t is UNode D plan child then
    [/\ forall a y, 0 <= a <= 1 -> a * drafted_mass D plan 1 y <= drafted_mass D plan a y,
        forall c c' y, child c y = child c' y & forall c y, dominating (child c y)]
  else True.

(* at least d accepted drafts: the block is longer than d *)
Definition deeper (d : nat) (b : seq V) : R := (d < size b)%N%:R.
Definition reach_univer t a s d : R := E (univer vs p t a s) (fun o => if o is Some b then deeper d b else 0).
Definition reach_token t s d : R := E (token_level vs p t s) (deeper d).

Lemma E_ge0_in (D : dist F (seq V)) g : nng D -> (forall c, c \in [seq w.2 | w <- D] -> 0 <= g c) -> 0 <= E D g.
Proof.
move=> D0 g0; rewrite /E big_seq sumr_ge0 // => w wD; rewrite mulr_ge0 ?(allP D0) //.
by apply: g0; apply: map_f.
Qed.
Lemma E_le_supp (D : dist F (seq V)) g h : nng D -> (forall c, c \in [seq w.2 | w <- D] -> g c <= h c) -> E D g <= E D h.
Proof.
move=> D0 gh; rewrite /E !big_seq; apply: ler_sum => w wD; rewrite ler_wpmul2l ?(allP D0) //.
by apply: gh; apply: map_f.
Qed.

Lemma token_ge0 t s g : ok_tree vs p t s -> (forall b, 0 <= g b) -> 0 <= E (token_level vs p t s) g.
Proof.
elim: t s g => [|D plan child IH] s g /= => [_ g0|[[D0 _ _] Dl ok] g0].
  by rewrite E_bind E_draw sumr_ge0 // => x _; rewrite E_ret mulr_ge0 //; case: (pP s).
have [mP _] := Dl 1 (introT andP (conj ler01 (lexx 1))); rewrite E_bind; apply: E_ge0_in => // c /mP[m0 _].
rewrite E_bind E_draw sumr_ge0 // => y _; rewrite mulr_ge0 //; case: ifP => _; last by rewrite E_ret.
by rewrite E_bind; under E_ext do rewrite E_ret; apply: IH.
Qed.
Lemma token_step D plan child s d : reach_token (UNode D plan child) s d.+1 =
  E D (fun c => \sum_(y <- vs) (y \in c)%:R * plan 1 c y * reach_token (child c y) (rcons s y) d).
Proof.
rewrite /reach_token /= E_bind; apply: E_ext => c; rewrite E_bind E_draw; apply: eq_bigr => y _.
case: ifP => _; last by rewrite E_ret /deeper /= mulr0 !mul0r.
by rewrite mul1r E_bind; congr (_ * _); apply: E_ext => b; rewrite E_ret.
Qed.

(* the answer "nothing accepted here" has probability 1 - a *)
Lemma univer_rest t a s h (K : R) : ok_tree vs p t s -> 0 <= a <= 1 ->
  E (univer vs p t a s) (fun o => if o is Some b then h b else K)
  = E (univer vs p t a s) (fun o => if o is Some b then h b else 0) + (1 - a) * K.
Proof.
move=> ok a01; have := univer_E vs_uniq vs_all pP 0 (fun=> 0) 1 ok a01.
rewrite big1 => [|x _]; last by rewrite mulr0.
rewrite mulr0 add0r mulr1 mulrC => <-; rewrite -E_scale -E_add; apply: E_ext => -[b|].
  by rewrite fin0 mulr0 addr0.
by rewrite add0r mulr1.
Qed.

Lemma univer_nonempty t a s (k : R) :
  E (univer vs p t a s) (fun o => if o is Some b then deeper 0 b else k) =
  E (univer vs p t a s) (fun o => if o is Some b then 1 else k).
Proof.
case: t => [|D plan child]; rewrite [univer _ _ _ _ _]/= !E_bind; apply: E_ext.
  by case; [rewrite !E_bind; apply: E_ext => x; rewrite !E_ret | rewrite !E_ret].
move=> c.
suff go l left : E ((fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l left) (fun o => if o is Some b then deeper 0 b else k)
   = E ((fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l left) (fun o => if o is Some b then 1 else k) by exact: go.
elim: l left => [|y l IH] left; rewrite !E_bind; apply: E_ext.
  by case; [rewrite !E_bind; apply: E_ext => x; rewrite !E_ret | rewrite !E_ret].
by case=> [b|]; [rewrite !E_ret | apply: IH].
Qed.

Lemma reach_univer0 t a s : ok_tree vs p t s -> 0 <= a <= 1 -> reach_univer t a s 0 = a.
Proof.
move=> ok a01; rewrite /reach_univer univer_nonempty.
have := univer_E vs_uniq vs_all pP 0 (fun=> 1) 0 ok a01.
rewrite mulr0 addr0; under eq_bigr do rewrite mulr1; rewrite (proj2 (pP s)) mulr1 => e; rewrite -[RHS]e.
by apply: E_ext => -[b|] //; rewrite fin0.
Qed.

Lemma token_le1 t s : ok_tree vs p t s -> reach_token t s 0 <= 1.
Proof.
move=> ok; have exT : exact vs p s (token_level vs p t s).
  apply: token_level_exact => //; elim: t s ok => //= D plan child IH s [_ Dl okc]; split=> [|c y]; last exact: IH.
  by apply: Dl; rewrite ler01 lexx.
have := exT 0%N (fun=> 1); rewrite /= E_ret => <-.
rewrite -subr_ge0 /reach_token; have -> : E (token_level vs p t s) (fin vs p 0 s (fun=> 1)) - E (token_level vs p t s) (deeper 0)
   = E (token_level vs p t s) (fun b => 1 - deeper 0 b).
  by rewrite E_add; congr (_ + _); [apply: E_ext => b; rewrite fin0 | rewrite -mulN1r -E_scale; apply: E_ext => b; rewrite mulN1r].
by apply: token_ge0 => // b; rewrite /deeper subr_ge0; case: ltnP; rewrite ?lexx ?ler01.
Qed.

Theorem univer_dominates t a s d : ok_tree vs p t s -> dominating t -> 0 <= a <= 1 ->
  a * reach_token t s d <= reach_univer t a s d.
Proof.
elim: t a s d => [|D plan child IH] a s [|d] ok dom a01; rewrite ?(reach_univer0 ok a01).
- by have /andP[a0 _] := a01; rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; apply: token_le1 ok.
- have z : reach_token (@ULeaf F V) s d.+1 = 0.
    by rewrite /reach_token /= E_bind E_draw big1 // => x _; rewrite E_ret /deeper /= mulr0.
  rewrite z mulr0 /reach_univer /= E_bind E_flip E_ret mulr0 addr0 E_bind E_draw big1 ?mulr0 // => x _.
  by rewrite E_ret /deeper /= mulr0.
- by have /andP[a0 _] := a01; rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; apply: token_le1 ok.
have [[D0 D1 Du] Dl okc] := ok; have [more same domc] := dom; have [mP lossless] := Dl a a01.
pose T c y := reach_token (child c y) (rcons s y) d.
have T0 c y : 0 <= T c y by apply: token_ge0; [exact: okc | move=> b; rewrite /deeper ler0n].
have TE c y : T c y = T [::] y by rewrite /T (same c [::]).
apply: (@le_trans _ _ (E D (fun c => \sum_(y <- c) plan a c y * T c y))).
  have -> : E D (fun c => \sum_(y <- c) plan a c y * T c y) = \sum_(y <- vs) drafted_mass D plan a y * T [::] y.
    rewrite /drafted_mass; under [RHS]eq_bigr do rewrite mulrC -E_scale; rewrite -E_sum.
    apply: Prefixes.E_ext_in => c cD; rewrite (sum_in vs_uniq vs_all _ (Du _ cD)) big_mkcond; apply: eq_bigr => y _.
    by rewrite TE; case: (y \in c); rewrite ?mul1r ?mul0r ?mulr0 // mulrC.
  rewrite token_step.
  have -> : E D (fun c => \sum_(y <- vs) (y \in c)%:R * plan 1 c y * reach_token (child c y) (rcons s y) d)
     = \sum_(y <- vs) drafted_mass D plan 1 y * T [::] y.
    rewrite /drafted_mass; under [RHS]eq_bigr do rewrite mulrC -E_scale; rewrite -E_sum.
    by apply: E_ext => c; apply: eq_bigr => y _; rewrite -/(T c y) TE mulrC.
  rewrite big_distrr; apply: ler_sum => y _ /=; rewrite mulrA; apply: ler_wpmul2r => //; exact: more.
rewrite /reach_univer [univer _ _ _ _ _]/= E_bind; apply: E_le_supp => // c cD.
have [m0 m1] := mP _ cD; have cu := Du _ cD.
suff go l left : 0 <= left -> \sum_(y <- l) plan a c y <= left ->
  \sum_(y <- l) plan a c y * T c y <= left * E ((fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l left) (fun o => if o is Some b then deeper d.+1 b else 0).
  rewrite -[X in _ <= X]mul1r; apply: go; rewrite ?ler01 //; apply: le_trans m1.
  rewrite (sum_in vs_uniq vs_all _ cu) [X in _ <= X](bigID (fun y => y \in c)) /= ler_addl.
  by apply: sumr_ge0 => y _.
elim: l left => [|y l IHl] left l0 sl.
  rewrite big_nil E_bind E_flip E_ret mulr0 addr0 E_bind E_draw big1 ?mulr0 // => x _.
  by rewrite E_ret /deeper /= mulr0.
rewrite big_cons in sl; rewrite big_cons; set my := plan a c y; have my0 : 0 <= my by apply: m0.
have rest0 : 0 <= \sum_(z <- l) plan a c z by apply: sumr_ge0 => z _.
have myl : my <= left by apply: le_trans sl; rewrite ler_addl.
have q01 : 0 <= divz (my : F) left <= 1.
  rewrite /divz /=; case: eqP => [_|/eqP lz]; first by rewrite lexx ler01.
  have lp : 0 < left by rewrite lt_neqAle eq_sym lz.
  by rewrite divr_ge0 //= ler_pdivr_mulr // mul1r.
have lq : left * divz (my : F) left = my.
  rewrite /divz /=; case: eqP => [lz|/eqP lz]; last by rewrite mulrCA divff // mulr1.
  by rewrite mulr0; apply/esym/eqP; rewrite eq_le my0 -lz myl.
rewrite /= E_bind; set K := E ((fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l (left - my)) (fun o => if o is Some b then deeper d.+1 b else 0).
have -> : E (univer vs p (child c y) (divz (my : F) left) (rcons s y)) (fun o =>
    E (match o with Some b => ret F (Some (y :: b)) | None => (fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l (osub left my) end)
      (fun o => if o is Some b then deeper d.+1 b else 0))
  = E (univer vs p (child c y) (divz (my : F) left) (rcons s y)) (fun o => if o is Some b then deeper d b else K).
  by apply: E_ext => -[b|] //; rewrite E_ret.
rewrite univer_rest //; last exact: okc.
rewrite mulrDr mulrA mulrBr mulr1 lq; apply: ler_add; last first.
  by apply: IHl; rewrite ?subr_ge0 // ler_subr_addl.
rewrite -{1}lq -mulrA; apply: ler_wpmul2l => //; apply: IH; [exact: okc|exact: domc|exact: q01].
Qed.
End Dominance.

(* UniVer's closed form has the property, so on greedy-drafted trees UniVer reaches every depth at least as often as
   greedy_transport on the same drafts *)
Section Greedy.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Variables (H : seq V -> seq V) (ms : seq V -> V -> R).
Hypotheses (H_uniq : forall s, uniq (H s)) (msP : forall s, pmf vs (ms s)) (msH : forall s x, x \in H s -> ms s x = 0).

Lemma greedy_drafted_mass s a y : 0 <= a <= 1 ->
  drafted_mass (greedy_tuples (F := F) vs (H s) (ms s)) (closed_form (F := F) vs (p s) (ms s)) a y
  = if y \in H s then a * p s y else Num.min (a * p s y) (ms s y).
Proof.
move=> a01; rewrite /drafted_mass; have [_ avg] := closed_form_lossless vs_uniq vs_all (pP s) (msP s) (@msH s) a01.
rewrite E_greedy; last exact: msH; case: ifPn => yH.
  rewrite -avg E_greedy; last exact: msH.
  by apply: eq_bigr => b _; rewrite mem_rcons inE yH orbT mul1r.
rewrite -(closed_form_own (H s) (pP s) (msP s) y a01) (bigD1_seq y) //= mem_rcons mem_head mul1r big1 ?addr0 // => b /negPf by_.
by rewrite mem_rcons inE eq_sym by_ (negPf yH) mul0r mulr0.
Qed.

Theorem univer_greedy_dominates n s d :
  E (token_level vs p (greedy_tree vs p H ms n s) s) (deeper R d)
  <= E (emitted (univer vs p (greedy_tree vs p H ms n s) 1 s)) (deeper R d).
Proof.
rewrite E_emitted -[X in X <= _]mul1r; apply: univer_dominates; rewrite ?ler01 ?lexx //; first exact: greedy_tree_ok.
elim: n s => //= n IH s; split=> // a y a01; rewrite !greedy_drafted_mass ?ler01 ?lexx // !mul1r.
case: ifP => // _; have /andP[a0 a1] := a01; rewrite minr_pmulr // le_minr !le_minl lexx /=.
apply/orP; right; rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r => //; by case: (msP s).
Qed.
End Greedy.
