(* Facts shared by the verifiers on populated trees: well-formed trees and builds (every declared law is a law), *)
(* shifting a statistic past the first token, and the mass of a tree drawn up front.                             *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Trees Verifiers Expectation Step Exact.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Populated.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Local Notation dtree := (dtree F V).
Local Notation ptree := (ptree F V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* every declared law is a law: nothing else is asked of the drafter *)
Fixpoint okd (d : dtree) : Prop :=
  match d with
  | Leaf => True
  | Draft q child nxt =>
    [/\ pmf (R := R) vs q, forall x, okd (child x) & forall x, okd (nxt x)]
  end.
Fixpoint okp (t : ptree) : Prop :=
  if t is PSlot x q c n then [/\ pmf (R := R) vs q, okp c & okp n] else True.
Lemma okp_append y r t a : okp t -> pmf vs r -> okp (append y r t a).
Proof.
move=> + rP; elim: t a => [|x q c IHc n IHn] a /=; first by case: a.
by case=> qP okc okn; case: a => [|[|i] a] /=; split=> //; auto.
Qed.

Fixpoint okb (b : build F V) : Prop :=
  if b is Grow a r k then pmf (R := R) vs r /\ (forall y, okb (k y)) else True.

Definition shift (m : nat) (g : seq V -> R) x : seq V -> R :=
  if m is 0%N then fun=> g [::] else fun t => g (x :: t).
Lemma fin_shift m s g x b : fin vs p m s g (x :: b) = fin vs p m.-1 (rcons s x) (shift m g x) b.
Proof. by case: m => [|m]; rewrite ?fin0 ?fin_cons. Qed.
Lemma next_shift m s g x : next vs p m s g x = E (AR (F := F) vs p m.-1 (rcons s x)) (shift m g x).
Proof. by case: m => [|m] //=; rewrite E_ret. Qed.


Lemma sum_const (r : V -> R) c : pmf vs r -> \sum_(y <- vs) r y * c = c.
Proof. by case=> _ r1; rewrite -big_distrl /= r1 mul1r. Qed.
Lemma sum_aff (r : V -> R) a b c (h : V -> R) : pmf vs r -> \sum_(y <- vs) r y * h y = b ->
  \sum_(y <- vs) r y * (c + a * h y) = c + a * b.
Proof.
move=> rP <-; rewrite big_distrr -[in RHS](sum_const c rP) -big_split /=.
by apply: eq_bigr => y _; rewrite mulrDr [a * (_ * _)]mulrCA.
Qed.


(* up front = lazy *)
Lemma populate_mass (d : dtree) : okd d -> E (populate vs d) (fun=> 1) = 1.
Proof.
elim: d => [|q c IHc n IHn] /=; first by rewrite E_ret.
case=> qP okc okn; rewrite E_bind E_draw -[RHS](proj2 qP); apply: eq_bigr => x _.
rewrite E_bind; transitivity (q x * E (populate vs (c x)) (fun=> 1)); last by rewrite IHc // mulr1.
congr (_ * _); apply: E_ext => tc; rewrite E_bind -[RHS](IHn x (okn x)).
by apply: E_ext => tn; rewrite E_ret.
Qed.
Lemma populate_const (d : dtree) (c : R) : okd d -> E (populate vs d) (fun=> c) = c.
Proof.
by move=> ok; rewrite -[RHS]mulr1 -(populate_mass ok) -E_scale; apply: E_ext => t; rewrite mulr1.
Qed.
Lemma E_exch A B (m : dist F A) (n : dist F B) (h : A -> B -> R) :
  E m (fun a => E n (h a)) = E n (fun b => E m (h^~ b)).
Proof.
rewrite /E; under eq_bigr do rewrite big_distrr; rewrite exchange_big; apply: eq_bigr => b _.
by rewrite big_distrr; apply: eq_bigr => a _ /=; rewrite mulrCA.
Qed.
Lemma populateE q (c n : V -> dtree) g : E (populate vs (Draft q c n)) g =
  \sum_(x <- vs) q x * E (populate vs (c x)) (fun tc => E (populate vs (n x)) (fun tn => g (PSlot (F := F) x q tc tn))).
Proof.
rewrite /= E_bind E_draw; apply: eq_bigr => x _; congr (_ * _); rewrite E_bind.
by apply: E_ext => tc; rewrite E_bind; apply: E_ext => tn; rewrite E_ret.
Qed.
End Populated.
