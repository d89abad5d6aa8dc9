(* UniVer's closed form for greedy drafting is locally lossless at every capacity and keeps the most mass of all locally    *)
(* lossless plans; hence UniVer and greedy_transport are lossless.  k_seq is lossless for every rho from rho* on.          *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Step Exact Prefixes Populated Traversal Plans Univer.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Greedy.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Local Notation locally_lossless := (@locally_lossless R V vs).

Section Node.
Variables (H : seq V) (pt ms : V -> R).
Hypotheses (H_uniq : uniq H) (ptP : pmf vs pt) (msP : pmf vs ms) (msH : forall x, x \in H -> ms x = 0).
Local Notation D := (greedy_tuples (F := F) vs H ms).
Local Notation plan := (closed_form (F := F) vs pt ms).

Lemma E_greedy (g : seq V -> R) : E D g = \sum_(b <- vs) ms b * g (rcons H b).
Proof.
rewrite /E big_map big_filter big_mkcond; apply: eq_bigr => b _ /=.
by case: ifPn => //; rewrite negbK => /msH->; rewrite mul0r.
Qed.

Lemma greedy_tuples_ok : tuples_ok D.
Proof.
have [ms0 ms1] := msP; split=> [||c /mapP[w /mapP[b + ->] ->]] /=.
- by apply/allP => w /mapP[b _ ->] /=.
- by rewrite E_greedy -[RHS]ms1; apply: eq_bigr => b _; rewrite mulr1.
by rewrite mem_filter rcons_uniq H_uniq andbT => /andP[].
Qed.

Lemma closed_form_rcons a b y : plan a (rcons H b) y =
  (if y == b then acc (F := F) a pt ms b else 0) + (1 - acc (F := F) a pt ms b) * (respi (F := F) vs a pt ms * res (F := F) vs a pt ms y).
Proof. by case: (H) => [|x l] //=; rewrite last_rcons. Qed.

Theorem closed_form_lossless a : 0 <= a <= 1 -> locally_lossless pt D plan a.
Proof.
move=> a01; have [r0 r1] := res_pmf a ms ptP; have /andP[i0 i1] := respi01 vs pt ms a01.
split=> [c /mapP[w /mapP[b _ ->] ->]|y] /=.
  have /andP[k0 k1] := acc01 a01 ptP msP b; split=> [y|].
    rewrite closed_form_rcons addr_ge0 ?mulr_ge0 ?subr_ge0 //; by case: ifP.
  under eq_bigr do rewrite closed_form_rcons.
  have one (k : R) : \sum_(y <- vs) (if y == b then k else 0) = k.
    by rewrite (bigD1_seq b) //= eqxx big1 ?addr0 // => y /negPf->.
  rewrite big_split /= one -!big_distrr /= r1 mulr1.
  apply: (@le_trans _ _ (acc (F := F) a pt ms b + (1 - acc (F := F) a pt ms b) * 1)); last by rewrite mulr1 addrC subrK.
  by rewrite ler_add2l ler_wpmul2l ?subr_ge0.
rewrite E_greedy; under eq_bigr do rewrite closed_form_rcons.
have := step a01 ptP msP (fun z => (y == z)%:R); rewrite !(sum_pick vs_uniq vs_all) => <-.
apply: eq_bigr => b _; congr (_ * (_ + _)).
by case: eqP => _; rewrite ?mulr1 ?mulr0.
Qed.

(* mass kept on the candidates *)
Definition kept_mass (pl : seq V -> V -> R) : R := E D (fun c => \sum_(y <- c) pl c y).
Definition best_kept (a : R) : R := \sum_(y <- H) a * pt y + \sum_(b <- vs) (if b \in H then 0 else Num.min (a * pt b) (ms b)).

Lemma kept_massE pl : kept_mass pl = \sum_(y <- H) E D (fun c => pl c y) + \sum_(b <- vs) ms b * pl (rcons H b) b.
Proof.
rewrite /kept_mass -E_sum !E_greedy -big_split /=; apply: eq_bigr => b _.
by rewrite -cats1 big_cat big_seq1 mulrDr.
Qed.

Theorem conditionally_optimal a pl : locally_lossless pt D pl a -> kept_mass (pl a) <= best_kept a.
Proof.
case=> pl01 avg; rewrite kept_massE; apply: ler_add; first by apply: ler_sum => y _; rewrite avg.
have [ms0 _] := msP; apply: ler_sum => b _; case: ifPn => bH; first by rewrite msH // mul0r.
have inD b' : b' \notin H -> rcons H b' \in [seq w.2 | w <- D].
  move=> b'H; rewrite -map_comp; apply/mapP; exists b' => //; by rewrite mem_filter b'H vs_all.
have [p0 p1] := pl01 _ (inD b bH); rewrite le_minr; apply/andP; split.
  rewrite -avg E_greedy (bigD1_seq b) //= ler_addl sumr_ge0 // => b' _.
  have [b'H|b'H] := boolP (b' \in H); first by rewrite msH // mul0r.
  by rewrite mulr_ge0 //; case: (pl01 _ (inD b' b'H)).
rewrite -[X in _ <= X]mulr1 ler_wpmul2l //; apply: le_trans p1.
by rewrite (bigD1_seq b) //= ler_addl sumr_ge0.
Qed.

Lemma closed_form_own a b : 0 <= a <= 1 -> ms b * plan a (rcons H b) b = Num.min (a * pt b) (ms b).
Proof.
move=> a01; rewrite closed_form_rcons eqxx mulrDr (q_acc a01 ptP msP) mulrA mulrBr mulr1 (q_acc a01 ptP msP).
suff -> : (ms b - Num.min (a * pt b) (ms b)) * (respi (F := F) vs a pt ms * res (F := F) vs a pt ms b) = 0 by rewrite addr0.
case: (leP (ms b) (a * pt b)) => h; first by rewrite subrr mul0r.
suff -> : respi (F := F) vs a pt ms * res (F := F) vs a pt ms b = 0 by rewrite mulr0.
rewrite /respi /res; case: ifP => _; first by rewrite mul0r.
by rewrite /excess /= min_l ?subrr ?mul0r ?mulr0 // ltW.
Qed.

Theorem closed_form_optimal a : 0 <= a <= 1 -> kept_mass (plan a) = best_kept a.
Proof.
move=> a01; have [_ avg] := closed_form_lossless a01; rewrite kept_massE; congr (_ + _).
  by apply: eq_bigr => y _; rewrite avg.
by apply: eq_bigr => b _; rewrite closed_form_own //; case: ifPn => // /msH->; rewrite min_r // mulr_ge0 //; [case/andP: a01 | case: ptP].
Qed.
End Node.

(* whole trees: H s retained tokens and ms s residual draft law after s, to depth n *)
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Variables (H : seq V -> seq V) (ms : seq V -> V -> R).
Hypotheses (H_uniq : forall s, uniq (H s)) (msP : forall s, pmf vs (ms s)) (msH : forall s x, x \in H s -> ms s x = 0).
Fixpoint greedy_tree (n : nat) (s : seq V) : utree F V :=
  if n is n'.+1 then
    UNode (greedy_tuples (F := F) vs (H s) (ms s)) (closed_form (F := F) vs (p s) (ms s)) (fun _ y => greedy_tree n' (rcons s y))
  else @ULeaf F V.

Lemma greedy_tree_ok n s : ok_tree vs p (greedy_tree n s) s.
Proof.
elim: n s => //= n IH s; split=> //; first exact: (greedy_tuples_ok (H_uniq s) (msP s) (@msH s)).
by move=> a a01; apply: closed_form_lossless => //; exact: msH.
Qed.

Theorem univer_greedy_exact n s : exact vs p s (emitted (univer vs p (greedy_tree n s) 1 s)).
Proof. by apply: univer_exact => //; apply: greedy_tree_ok. Qed.

Theorem greedy_transport_exact n s : exact vs p s (token_level vs p (greedy_tree n s) s).
Proof.
apply: token_level_exact => //; elim: n s => //= n IH s; split=> //.
by apply: closed_form_lossless => //; [exact: msH | rewrite ler01 lexx].
Qed.
End Greedy.
