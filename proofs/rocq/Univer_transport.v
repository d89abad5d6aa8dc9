(* UniVer over a transport plan between the candidate sets and their tokens: whatever feasible plan, the node is locally     *)
(* lossless and its candidates carry what the plan is worth; so the rule is lossless.  Which plan is used does not matter    *)
(* for that: it may come from any solver.  A table of plans that the executable check of Transport.v accepts will do.        *)
(* Python: reference/verifiers/univer_transport.py.                                                                          *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Schemes Verifiers Expectation Step Exact Prefixes Populated Drafting Plans Two_phase Transport.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Univer_transport.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).

Section Node.
Variables (D : dist F (seq V)) (pt : V -> R) (pi : R -> seq V -> V -> R) (a : R).
Hypotheses (D_ok : drawn_ok D) (pt0 : forall x, 0 <= pt x).
Local Notation set_of := (set_of vs).
Local Notation sets := (sets (F := F) vs D).
Local Notation set_mass := (set_mass (F := F) vs D).
Hypothesis piP : feasible vs sets set_mass (fun y => a * pt y) (pi a).

Lemma set_massE S : set_mass S = \sum_(w <- D | set_of w.2 == S) (w.1 : R).
Proof. by rewrite /Plans.set_mass osumE big_map -big_mkcond. Qed.
Lemma set_mass_ge0 S : 0 <= set_mass S.
Proof. by rewrite set_massE big_seq_cond sumr_ge0 // => w /andP[wD _]; apply: (allP D_ok.1). Qed.
Lemma mem_set_of c y : (y \in set_of c) = (y \in c).
Proof. by rewrite mem_filter vs_all andbT. Qed.
Lemma set_of_in c : c \in [seq w.2 | w <- D] -> set_of c \in sets.
Proof. by case/mapP=> w wD ->; rewrite mem_undup; apply/mapP; exists w. Qed.
Lemma row_le S : S \in sets -> \sum_(y <- vs) pi a S y <= set_mass S.
Proof. by case: piP => _ _ row _; apply: row. Qed.
Lemma pi_ge0 S y : S \in sets -> 0 <= pi a S y.
Proof. by case: piP => p0 _ _ _ SD; apply: p0. Qed.
Lemma pi_massless S y : S \in sets -> set_mass S = 0 -> pi a S y = 0.
Proof.
move=> SD z; have := row_le SD; rewrite z => le0; apply/eqP; rewrite eq_le pi_ge0 // andbT; apply: le_trans le0.
by rewrite (bigD1_seq y) //= ler_addl sumr_ge0 // => x _; apply: pi_ge0.
Qed.

Lemma eldest_given (m : V -> R) seen c y :
  given (eldest (m : V -> F) seen c) y = (if (y \in c) && (y \notin seen) then m y else 0) :> R.
Proof.
elim: c seen => [|x c IH] seen; first by rewrite givenE big_nil.
rewrite givenE big_cons -givenE /= IH !inE; case: (eqVneq x y) => [->|xy]; rewrite ?eqxx /= ?add0r //.
by case: (y \in seen) => /=; rewrite ?andbF ?addr0.
Qed.
Lemma eldest_ge0 (m : V -> R) seen c x : (forall y, 0 <= m y) -> x \in eldest (m : V -> F) seen c -> (0 : R) <= x.2.
Proof.
by move=> m0; elim: c seen => //= y c IH seen; rewrite inE => /orP[/eqP->|/IH//] /=; case: ifP.
Qed.

Local Notation share S := (fun y => divz (pi a S y : F) (set_mass S)).
Lemma share_ge0 S y : S \in sets -> 0 <= (share S y : R).
Proof. by move=> SD; rewrite /divz; case: ifP => // _; rewrite /= divr_ge0 ?pi_ge0 ?set_mass_ge0. Qed.
Lemma mass_share S y : S \in sets -> set_mass S * share S y = pi a S y.
Proof.
move=> SD; rewrite /divz -[oz _]/(set_mass S == 0); case: eqP => [z|/eqP nz]; last by rewrite /= mulrCA divff // mulr1.
by rewrite mulr0 pi_massless.
Qed.
Lemma share_in c y : c \in [seq w.2 | w <- D] -> y \notin c -> share (set_of c) y = 0.
Proof.
move=> cD yc; case: piP => _ out _ _; rewrite /divz; case: ifP => // _.
by rewrite (out _ y (set_of_in cD)) ?mem_set_of //= mul0r.
Qed.

Lemma given_set c y : c \in [seq w.2 | w <- D] ->
  given (masses (set_node (F := F) vs D pt pi) a c) y = share (set_of c) y :> R.
Proof. by move=> cD; rewrite eldest_given andbT; case: ifPn => // yc; rewrite share_in. Qed.

Lemma E_by_set (g : seq V -> R) : E D (fun c => g (set_of c)) = \sum_(S <- sets) set_mass S * g S.
Proof.
under eq_bigr do rewrite set_massE big_distrl /= big_mkcond /=.
rewrite exchange_big; apply: eq_big_seq => w wD /=; have SD := set_of_in (map_f snd wD).
rewrite (bigD1_seq (set_of w.2)) ?undup_uniq //= eqxx big1 ?addr0 // => S; by rewrite eq_sym => /negPf->.
Qed.

Theorem set_node_lossless : locally_lossless pt (set_node (F := F) vs D pt pi) a.
Proof.
have [_ _ _ col] := piP; split=> [c cD|y|y].
- split=> [x|]; first by apply: eldest_ge0 => y; apply: share_ge0; apply: set_of_in.
  rewrite -(sum_given1 vs_uniq vs_all); under eq_bigr do rewrite given_set //.
  have SD := set_of_in cD; have [z|nz] := eqVneq (set_mass (set_of c) : R) 0.
    by rewrite big1 ?ler01 // => y _; rewrite /divz -[oz _]/(set_mass (set_of c) == 0) z eqxx.
  have Sp : 0 < (set_mass (set_of c) : R) by rewrite lt_neqAle eq_sym nz set_mass_ge0.
  rewrite -(ler_pmul2l Sp) mulr1 big_distrr /=; apply: le_trans (row_le SD).
  by apply: ler_sum => y _; rewrite mass_share.
- by rewrite /= osumE big_map subr_ge0 col.
rewrite [owed _ _ _]/= osumE big_map.
have -> : E D (fun c => given (masses (set_node (F := F) vs D pt pi) a c) y) = \sum_(S <- sets) pi a S y.
  rewrite -[LHS]/(E D _) (E_ext_in (h := fun c => share (set_of c) y)) => [|c cD]; last exact: given_set.
  by rewrite (E_by_set (fun S => share S y)); apply: eq_big_seq => S SD; rewrite mass_share.
by rewrite /= addrCA subrr addr0.
Qed.

(* the candidates carry what the plan is worth, so an optimal plan is an optimal node *)
Theorem set_node_keeps :
  E D (fun c => mass (masses (set_node (F := F) vs D pt pi) a c)) = accepted_mass vs sets (pi a).
Proof.
rewrite (E_ext_in (h := fun c => \sum_(y <- vs) share (set_of c) y)) => [|c cD]; last first.
  by rewrite -(sum_given1 vs_uniq vs_all); apply: eq_bigr => y _; rewrite given_set.
rewrite (E_by_set (fun S => \sum_(y <- vs) share S y)); apply: eq_big_seq => S SD.
by rewrite big_distrr; apply: eq_bigr => y _ /=; rewrite mass_share.
Qed.
End Node.

(* the candidates of a scheme that declares laws *)
Lemma candidates_ok sch t s k e : declares_laws (R := R) vs sch -> drawn_ok (candidates (F := F) vs sch t s k e).
Proof.
move=> schP; elim: k e => [|k IH] e /=; first by split; [apply: nng_ret | rewrite E_ret].
case E : (sch t s e) => [r|]; last by split; [apply: nng_ret | rewrite E_ret].
have rP := schP _ _ _ _ E; split; first by apply: nng_bind => [|x]; [apply: nng_draw; case: rP | case: (IH (rcons e x))].
rewrite E_bind E_draw -[RHS](proj2 rP); apply: eq_bigr => x _; by rewrite (proj2 (IH _)) mulr1.
Qed.

Variables (p q : seq V -> V -> R) (n : scheme_name V).
Hypotheses (pP : forall s, pmf vs (p s)) (qP : forall s, pmf vs (q s)).
Definition drafts t s : dist F (seq V) := candidates (F := F) vs (scheme_of (F := F) vs q n) t s (size (below t)) [::].

(* the executable check at a node: every plan of the table is feasible, and some cut shows that none is worth more *)
Fixpoint subsets (T : Type) (s : seq T) : seq (seq T) :=
  if s is x :: s' then let r := subsets s' in r ++ [seq x :: A | A <- r] else [:: [::]].
Definition table_checked (G : ops) (D : dist G (seq V)) (pt : V -> G) (l : table G V) : bool :=
  all (fun x => has (fun A => certified vs (Plans.sets vs D) (Plans.set_mass vs D) (fun y => omul x.1 (pt y)) (looked_up l x.1)
    (fun S => if all (fun y => y \in A) S then o0 G else o1 G) (fun y => if y \in A then o1 G else o0 G)) (subsets vs)) l.

Lemma table_feasible D (pt : V -> R) (l : table F V) (a : R) : drawn_ok D -> (forall x, 0 <= pt x) -> 0 <= a ->
  table_checked (G := F) D pt l ->
  feasible vs (sets (F := F) vs D) (set_mass (F := F) vs D) (fun y => a * pt y) (looked_up (F := F) l a).
Proof.
move=> D_ok pt0 a0 ok; have [/(has_nthP (o0 F, [::]))[i il /eqP e]|out] := boolP (has (fun x => (x.1 : R) == a) l).
  have /hasP[A _] := all_nthP (o0 F, [::]) ok i il.
  by rewrite e => /certified_optimal[].
have zero S y : looked_up (F := F) l a S y = 0.
  rewrite /looked_up osumE big_map; elim: (l) out => [|x l' IH] /=; first by rewrite big_nil.
  by rewrite negb_or => /andP[xa /IH]; rewrite subr_eq0 eq_sym (negPf xa).
split=> [S y _ _|S y _ _ _|S _|y _]; rewrite ?zero //; rewrite big1 ?mulr_ge0 //; exact: set_mass_ge0.
Qed.

Definition checked_at plans t s := table_checked (G := F) (drafts t s) (p s) (plans s).
Theorem univer_transport_exact plans k t : everywhere vs (checked_at plans) k t [::] ->
  exact vs p [::] (plan_law (F := F) vs p q (Univer_transport plans) n k t).
Proof.
move=> ev; have D_ok t' s := candidates_ok t' s (size (below t')) [::] (@schemes_declare_laws R V vs vs_uniq vs_all q qP n).
apply: two_phase_exact => //; apply: (planned_ok vs_all ev) => [t' s|t' s a ok /andP[a0 _]]; first exact: D_ok.
by apply: set_node_lossless; [apply: D_ok | apply: table_feasible ok => //; [apply: D_ok | case: (pP s)]].
Qed.
End Univer_transport.
