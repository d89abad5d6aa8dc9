(* UniVer's closed form for greedy drafting is locally lossless at every capacity, and no locally lossless node gives its  *)
(* candidates more; so UniVer is lossless.  Python: reference/verifiers/univer.py.                                         *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Schemes Verifiers Expectation Step Exact Prefixes Drafting Plans Two_phase.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Univer.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Local Notation node := (node F V).

Lemma sum_in (c : seq V) (f : V -> R) : uniq c -> \sum_(y <- c) f y = \sum_(y <- vs | y \in c) f y.
Proof.
move=> cu; rewrite -[RHS]big_filter; apply: perm_big; apply: uniq_perm; rewrite ?filter_uniq //.
by move=> y; rewrite mem_filter vs_all andbT.
Qed.

(* the node: deterministic candidates H, then one drawn from r, which vanishes on H; without r, only H *)
Definition drafted_law (H : seq V) (r : option (V -> F)) :=
  if r is Some ms then pmf (R := R) vs ms /\ forall x, x \in H -> ms x = 0 else True.

Section Node.
Variables (H : seq V) (pt : V -> R).
Hypotheses (H_uniq : uniq H) (ptP : pmf vs pt).
Let pt0 x : 0 <= pt x. Proof. by case: ptP. Qed.

Section Sampled.
Variable ms : V -> R.
Hypotheses (msP : pmf vs ms) (msH : forall x, x \in H -> ms x = 0).
Local Notation D := (greedy_tuples (F := F) vs H ms).
Local Notation plan := (closed_form (F := F) vs pt H ms).
Local Notation kept a b := (acc (F := F) a pt ms b).
Let ms0 x : 0 <= ms x. Proof. by case: msP. Qed.

Lemma E_greedy (g : seq V -> R) : E D g = \sum_(b <- vs) ms b * g (rcons H b).
Proof.
rewrite /E big_map big_filter big_mkcond; apply: eq_bigr => b _ /=.
by case: ifPn => //; rewrite negbK => /msH->; rewrite mul0r.
Qed.
Lemma greedy_drawn : drawn_ok D.
Proof.
split; last by rewrite E_greedy -[RHS](proj2 msP); apply: eq_bigr => b _; rewrite mulr1.
by apply/allP => w /mapP[b _ ->] /=.
Qed.
Lemma greedy_support c : c \in [seq w.2 | w <- D] -> exists2 b, b \notin H & c = rcons H b.
Proof. by case/mapP=> w /mapP[b + ->] ->; rewrite mem_filter => /andP[bH _]; exists b. Qed.
Lemma closed_form_rcons a b : plan a (rcons H b) =
  rcons [seq (h, divz (a * pt h * (1 - kept a b) : F) (spare (F := F) vs pt a ms)) | h <- H] (b, kept a b).
Proof. by case: (H) => [|x l] //=; rewrite last_rcons. Qed.

Section At_capacity.
Variable a : R.
Hypothesis a01 : 0 <= a <= 1.
Let a0 : 0 <= a. Proof. by case/andP: a01. Qed.
Local Notation Z := (spare (F := F) vs pt a ms).
Lemma spareE : Z = \sum_(x <- vs) ms x * (1 - kept a x).
Proof. by rewrite /spare osumE big_map; apply: eq_bigr => x _; rewrite mulrBr mulr1 (q_acc a01 ptP msP). Qed.
Lemma spare_ge0 : 0 <= Z.
Proof. by rewrite spareE sumr_ge0 // => x _; rewrite mulr_ge0 // subr_ge0; case/andP: (acc01 a01 ptP msP x). Qed.
Lemma excess_hub h : h \in H -> excess (F := F) a pt ms h = a * pt h.
Proof. by move=> hH; rewrite /excess /= msH // min_r ?subr0 // mulr_ge0. Qed.
Lemma hubs_spare : a * (\sum_(h <- H) pt h) <= Z.
Proof.
rewrite spareE (rej_mass a01 ptP msP) exmassE; apply: (@le_trans _ _ (\sum_(h <- H) excess (F := F) a pt ms h)).
  by rewrite big_distrr !big_seq; apply: ler_sum => h hH; rewrite excess_hub.
rewrite (sum_in _ H_uniq) [X in _ <= X + _](bigID (fun y => y \in H)) /= -addrA ler_addl addr_ge0 ?subr_ge0 //; last by case/andP: a01.
by apply: sumr_ge0 => x _; apply: excess_ge0.
Qed.

Lemma closed_form_given b y : b \notin H -> given (plan a (rcons H b)) y =
  (if y \in H then divz (a * pt y * (1 - kept a b) : F) Z else 0) + (if b == y then kept a b else 0) :> R.
Proof.
move=> bH; rewrite closed_form_rcons givenE -cats1 big_cat big_seq1 big_map /=; congr (_ + _).
rewrite -big_mkcond /=; case: ifPn => yH.
  by rewrite -big_filter (filter_pred1_uniq H_uniq yH) big_seq1.
by rewrite big_seq_cond big1 // => h /andP[hH /eqP hy]; rewrite -hy hH in yH.
Qed.

Theorem closed_form_lossless : locally_lossless pt (greedy_node vs pt H (Some ms)) a.
Proof.
have Z0 := spare_ge0; have HZ := hubs_spare.
split=> [c /greedy_support[b bH ->{c}]|y|y] /=.
- have /andP[k0 k1] := acc01 a01 ptP msP b; have k1' : 0 <= 1 - kept a b by rewrite subr_ge0.
  have m0 h : 0 <= divz (a * pt h * (1 - kept a b) : F) Z.
    by rewrite /divz; case: ifP => // _; rewrite /= divr_ge0 // mulr_ge0 // mulr_ge0.
  split=> [x|].
    rewrite closed_form_rcons mem_rcons inE => /orP[/eqP->|/mapP[h _ ->]]; [exact: k0 | exact: m0].
  rewrite massE closed_form_rcons -cats1 big_cat big_seq1 big_map /=.
  suff le : \sum_(h <- H) divz (a * pt h * (1 - kept a b) : F) Z <= 1 - kept a b.
    by rewrite -[X in _ <= X](subrK (kept a b)) ler_add2r.
  have [z|nz] := eqVneq (Z : R) 0.
    by rewrite big1 // => h _; rewrite /divz -[oz _]/(Z == 0) z eqxx.
  have Zp : 0 < (Z : R) by rewrite lt_neqAle eq_sym nz.
  have -> : \sum_(h <- H) divz (a * pt h * (1 - kept a b) : F) Z = a * (\sum_(h <- H) pt h) * (1 - kept a b) / Z.
    rewrite big_distrr !big_distrl; apply: eq_bigr => h _ /=; by rewrite /divz -[oz _]/(Z == 0) (negPf nz).
  by rewrite ler_pdivr_mulr // [X in _ <= X]mulrC; apply: ler_wpmul2r.
- by case: ifP => // _; apply: excess_ge0.
transitivity (\sum_(b <- vs) ms b * (if y \in H then divz (a * pt y * (1 - kept a b) : F) Z else 0)
   + \sum_(b <- vs) ms b * (if b == y then kept a b else 0) + (if y \in H then 0 else excess (F := F) a pt ms y)).
  congr (_ + _); rewrite -big_split E_greedy; apply: eq_bigr => b _ /=.
  have [bH|bH] := boolP (b \in H); first by rewrite msH // !mul0r addr0.
  rewrite closed_form_given //; exact: mulrDr.
have -> : \sum_(b <- vs) ms b * (if b == y then kept a b else 0) = Num.min (a * pt y) (ms y).
  rewrite -(q_acc a01 ptP msP) (bigD1_seq y) //= eqxx big1 ?addr0 // => b /negPf->; by rewrite mulr0.
case: ifPn => yH; last by rewrite big1 ?add0r => [|b _]; rewrite ?mulr0 // /excess /= addrCA subrr addr0.
rewrite msH // min_r ?mulr_ge0 // !addr0.
have [z|nz] := eqVneq (Z : R) 0.
  rewrite big1 => [|b _]; last by rewrite /divz -[oz _]/(Z == 0) z eqxx mulr0.
  apply/eqP; rewrite eq_le mulr_ge0 //=; rewrite z in HZ; apply: le_trans HZ; rewrite big_distrr /=.
  by rewrite (big_rem y) //= ler_addl; apply: sumr_ge0 => x _; rewrite mulr_ge0.
transitivity (a * pt y / Z * \sum_(b <- vs) ms b * (1 - kept a b)); last by rewrite -spareE -mulrA mulVf ?mulr1.
rewrite big_distrr; apply: eq_bigr => b _ /=; rewrite /divz -[oz _]/(Z == 0) (negPf nz) /=; ring.
Qed.

(* whatever its masses, a locally lossless node gives its candidates no more than the closed form does *)
Theorem conditionally_optimal nd : tuples nd = D -> locally_lossless pt nd a ->
  (forall c x, c \in [seq w.2 | w <- D] -> x \in masses nd a c -> x.1 \in c) ->
  E (tuples nd) (fun c => mass (masses nd a c)) <= best_kept (F := F) vs pt H (Some ms) a.
Proof.
move=> DE [mP w0 avg] only; rewrite DE in mP avg *.
have gP c y : c \in [seq w.2 | w <- D] -> 0 <= (given (masses nd a c) y : R).
  by move=> cD; rewrite givenE big_seq sumr_ge0 // => x xc; case: ifP => // _; case: (mP c cD) => m0 _; apply: m0.
have bigp y : E D (fun c => given (masses nd a c) y) <= a * pt y by rewrite -avg ler_addl.
have out b y : b \notin H -> y \notin H -> b != y -> given (masses nd a (rcons H b)) y = 0 :> R.
  move=> bH yH yb; rewrite givenE big_seq big1 // => x xc; case: eqP => // xy.
  have cD : rcons H b \in [seq w.2 | w <- D].
    by rewrite -map_comp; apply/mapP; exists b => //; rewrite mem_filter bH vs_all.
  have := only _ _ cD xc; rewrite mem_rcons inE xy (negPf yH) orbF => /eqP yb'; by rewrite yb' eqxx in yb.
have cD b : b \notin H -> rcons H b \in [seq w.2 | w <- D].
  by move=> bH; rewrite -map_comp; apply/mapP; exists b => //; rewrite mem_filter bH vs_all.
rewrite /best_kept !osumE !big_map.
have -> : E D (fun c => mass (masses nd a c)) = \sum_(y <- vs) E D (fun c => given (masses nd a c) y).
  by rewrite -E_sum; apply: E_ext => c; rewrite (sum_given1 vs_uniq vs_all).
rewrite (bigID (fun y => y \in H)) /= -(sum_in _ H_uniq); apply: ler_add; first by apply: ler_sum.
rewrite big_mkcond; apply: ler_sum => y _; case: ifPn => [yH|]; last by rewrite negbK => ->.
rewrite (negPf yH) le_minr bigp E_greedy (bigD1_seq y) //= big1 ?addr0 => [|b yb].
  rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; have [m0 m1] := mP _ (cD y yH).
  apply: le_trans m1; rewrite -(sum_given1 vs_uniq vs_all) (bigD1_seq y) //= ler_addl.
  by apply: sumr_ge0 => z _; apply: gP; apply: cD.
by have [bH|bH] := boolP (b \in H); [rewrite msH // mul0r | rewrite out // mulr0].
Qed.

Lemma closed_form_kept y : E D (fun c => given (plan a c) y) = if y \in H then a * pt y else Num.min (a * pt y) (ms y).
Proof.
have [_ _ /(_ y) /=] := closed_form_lossless; case: ifPn => yH; first by rewrite addr0.
by move=> e; apply: (@addIr _ (a * pt y - Num.min (a * pt y) (ms y))); rewrite e [RHS]addrC subrK.
Qed.

Theorem closed_form_optimal : E D (fun c => mass (plan a c)) = best_kept (F := F) vs pt H (Some ms) a.
Proof.
have -> : E D (fun c => mass (plan a c)) = \sum_(y <- vs) E D (fun c => given (plan a c) y).
  by rewrite -E_sum; apply: E_ext => c; rewrite (sum_given1 vs_uniq vs_all).
rewrite /best_kept !osumE !big_map (bigID (fun y => y \in H)) /= -(sum_in _ H_uniq); congr (_ + _).
  by rewrite !big_seq; apply: eq_bigr => y yH; rewrite closed_form_kept yH.
rewrite big_mkcond; apply: eq_bigr => y _; rewrite closed_form_kept; by case: (y \in H).
Qed.
End At_capacity.
End Sampled.

(* deterministic candidates only *)
Lemma hubs_lossless a : 0 <= a <= 1 -> locally_lossless pt (greedy_node vs pt H None) a.
Proof.
move=> /andP[a0 a1]; split=> [c _|y|y] /=.
- split=> [x /mapP[h _ ->]|] /=; first by rewrite mulr_ge0.
  rewrite massE big_map /= -big_distrr; apply: (@le_trans _ _ (a * 1)); last by rewrite mulr1.
  apply: ler_wpmul2l => //; rewrite -(proj2 ptP) (sum_in _ H_uniq) [X in _ <= X](bigID (fun y => y \in H)) /= ler_addl.
  exact: sumr_ge0.
- by case: ifP => // _; rewrite mulr_ge0.
rewrite E_ret givenE big_map -big_mkcond /=; case: ifPn => yH.
  by rewrite addr0 -big_filter (filter_pred1_uniq H_uniq yH) big_seq1.
by rewrite big_seq_cond big1 ?add0r // => h /andP[hH /eqP hy]; rewrite -hy hH in yH.
Qed.

Lemma greedy_node_ok r a : drafted_law H r -> 0 <= a <= 1 -> locally_lossless pt (greedy_node vs pt H r) a.
Proof. case: r => [ms|] /=; [case=> msP msH | move=> _]; [exact: closed_form_lossless | exact: hubs_lossless]. Qed.
Lemma greedy_node_drawn r : drafted_law H r -> drawn_ok (tuples (greedy_node (F := F) vs pt H r)).
Proof. case: r => [ms|] /=; [case=> msP msH; exact: greedy_drawn | by split; rewrite ?E_ret //; apply: nng_ret]. Qed.
End Node.

(* whole trees, drafted by any scheme whose siblings are distinct and deterministic, except perhaps the last *)
Variables (p q : seq V -> V -> R) (n : scheme_name V).
Hypotheses (pP : forall s, pmf vs (p s)) (qP : forall s, pmf vs (q s)).
Definition distinct := if n is Fixed tree then forall s, uniq (children_of tree s) else True.
Hypothesis nP : distinct.

Lemma hubs_ok t s : uniq (hubs (F := F) vs q n t s).1 /\ drafted_law (hubs (F := F) vs q n t s).1 (hubs (F := F) vs q n t s).2.
Proof.
have u k : uniq (take k (ranked (F := F) vs (q s))) by rewrite take_uniq // sort_uniq filter_uniq.
have one : drafted_law [::] (Some (q s)) by split.
move: nP; rewrite /distinct; case: n => [||||tree] /= nP'; [by []|by []|by split=> //; apply: u| |by split=> //; apply: nP'].
split; first exact: u.
rewrite /drafted_law; case W : without => [ms|] //; split; first exact: without_pmf (qP s) W.
move=> x xH; move: W; rewrite /without; case: ifP => // _ [<-]; by rewrite xH /= mul0r.
Qed.
Lemma univer_node_drawn t s : drawn_ok (tuples (univer_node (F := F) vs p q n t s)).
Proof.
have := hubs_ok t s; rewrite /univer_node; case: (hubs _ _ _ _ _) => H r /= [Hu rP].
exact: greedy_node_drawn.
Qed.
Lemma univer_node_lossless t s a : 0 <= a <= 1 -> locally_lossless (p s) (univer_node (F := F) vs p q n t s) a.
Proof.
have := hubs_ok t s; rewrite /univer_node; case: (hubs _ _ _ _ _) => H r /= [Hu rP].
exact: greedy_node_ok.
Qed.
Lemma univer_tree_ok k t s : ok_tree p (planned (univer_node (F := F) vs p q n) k t s) s.
Proof.
have ev : everywhere vs (fun _ _ => true) k t s by apply: everywhere_all.
apply: (planned_ok vs_all ev) => [t' s'|t' s' a _]; [exact: univer_node_drawn | exact: univer_node_lossless].
Qed.

Theorem univer_exact k t : exact vs p [::] (plan_law (F := F) vs p q (@Univer F V) n k t).
Proof. by apply: two_phase_exact => //; apply: univer_tree_ok. Qed.
End Univer.
