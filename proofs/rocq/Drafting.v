(* Every drafting scheme declares laws, so recursive rejection and traversal are lossless with each of them, on any  *)
(* topology: chains, with and without replacement, top k, greedy, a fixed tree, or a mixture of them slot by slot.   *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Schemes Verifiers Expectation Step Exact Populated Recursive_rejection Traversal.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Any.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).

(* a scheme that declares laws *)
Definition declares_laws (sch : scheme F V) := forall t s e r, sch t s e = Some r -> pmf (R := R) vs r.

Lemma drafted_ok sch t s : declares_laws sch -> okd vs (drafted sch t s).
Proof.
move=> schP; move: t s; fix IH 1 => -[l0] s /=.
move: l0 {1}(Slot l0) [::]; fix IHl 1 => -[|c l] t e //=; case E : (sch t s e) => [r|] //=.
split=> [|x|x]; [exact: schP E|exact: IH|exact: IHl].
Qed.

Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

Theorem recursive_rejection_scheme sch t s : declares_laws sch ->
  exact vs p s (recursive_rejection vs p (drafted sch t s) (p s) s).
Proof. by move=> schP; apply: recursive_rejection_exact => //; apply: drafted_ok. Qed.

Theorem traversal_scheme sch t s : declares_laws sch ->
  exact vs p s (emitted (traversal vs p (drafted sch t s) 1 (p s) s)).
Proof. by move=> schP; apply: traversal_exact => //; apply: drafted_ok. Qed.

(* the scheme of each slot may be chosen slot by slot, from everything on the way to it *)
Lemma mixture_ok (pick : slot -> seq V -> seq V -> scheme F V) :
  (forall t s e, declares_laws (pick t s e)) -> declares_laws (fun t s e => pick t s e t s e).
Proof. by move=> pickP t s e r /pickP. Qed.
End Any.

Section Schemes.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).
Variable q : seq V -> V -> R.
Hypothesis qP : forall s, pmf vs (q s).

Lemma point_pmf x : pmf vs (point F x).
Proof.
split=> [y|]; first by rewrite /point; case: eqP => _; rewrite ?ler01 ?lexx.
rewrite (bigD1_seq x) //= /point eqxx big1 ?addr0 // => y; by case: eqP.
Qed.

Lemma without_pmf l r r' : pmf vs r -> without (F := F) vs l r = Some r' -> pmf vs r'.
Proof.
move=> rP; rewrite /without osumE big_map /=; case: ifPn => // Z0 [<-]; split=> [y|].
  by rewrite divr_ge0 ?sumr_ge0 // => [|z _]; case: ifP => // _; case: rP.
by rewrite -big_distrl /= divff.
Qed.

Lemma with_replacement_ok : declares_laws vs (with_replacement (F := F) q).
Proof. by move=> t s e r [<-]. Qed.
Lemma without_replacement_ok : declares_laws vs (without_replacement (F := F) vs q).
Proof. by move=> t s e r; apply: without_pmf. Qed.
Lemma top_k_ok : declares_laws vs (top_k (F := F) vs q).
Proof. by move=> t s e r; rewrite /top_k; case: drop => // x l [<-]; apply: point_pmf. Qed.
Lemma greedy_ok : declares_laws vs (greedy (F := F) vs q).
Proof.
move=> t s e r; rewrite /greedy; case W : without => [r'|] //; case: ifP => [_ [<-]|_].
  exact: without_pmf W.
by case: ranked => // x l [<-]; apply: point_pmf.
Qed.
Lemma fixed_ok tree : declares_laws vs (fixed F tree).
Proof. by move=> t s e r; rewrite /fixed; case: drop => // x l [<-]; apply: point_pmf. Qed.

Theorem schemes_declare_laws n : declares_laws vs (scheme_of (F := F) vs q n).
Proof.
case: n => [||||tree]; [exact: with_replacement_ok|exact: without_replacement_ok|exact: top_k_ok|exact: greedy_ok|exact: fixed_ok].
Qed.
End Schemes.
