(* Exact (lossless): the emitted block followed by the target itself is distributed as the target, for every horizon *)
(* and every statistic.  A generation loop over exact blocks, cut at any length, generates exactly the target.        *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs Expectation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Exact.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation AR := (@AR F V vs p).

(* emit the block b after context s, go on with the target itself, keep the
   first m tokens *)
Definition fin (m : nat) (s : seq V) (g : seq V -> R) (b : seq V) : R :=
  E (AR (m - size b) (s ++ b)) (fun t => g (take m (b ++ t))).

(* the value of "token x next, then the target" *)
Definition next (m : nat) (s : seq V) (g : seq V -> R) (x : V) : R :=
  if m is m'.+1 then E (AR m' (rcons s x)) (fun t => g (x :: t)) else g [::].

(* B is exact after s: block, then target = target, for every horizon m and
   every statistic g of the first m tokens *)
Definition exact (s : seq V) (B : dist F (seq V)) :=
  forall m g, E B (fin m s g) = E (AR m s) g.

Lemma E_AR m s g : E (AR m s) g = \sum_(x <- vs) p s x * next m s g x.
Proof.
case: m => [|m] /=; first by rewrite E_ret -big_distrl /= (proj2 (pP s)) mul1r.
rewrite E_bind E_draw; apply: eq_bigr => x _; rewrite E_bind.
by congr (_ * _); apply: E_ext => t; rewrite E_ret.
Qed.

Lemma AR_take m s g : E (AR m s) (fun t => g (take m t)) = E (AR m s) g.
Proof.
elim: m s g => [|m IH] s g; first by rewrite /= !E_ret.
by rewrite !E_AR; apply: eq_bigr => x _ /=; rewrite (IH _ (fun t => g (x :: t))).
Qed.

Lemma AR_mass m s : E (AR m s) (fun=> 1) = 1.
Proof.
elim: m s => [|m IH] s; first by rewrite /= E_ret.
rewrite E_AR /=; under eq_bigr do rewrite IH mulr1; exact: (proj2 (pP s)).
Qed.

Lemma fin0 s g b : fin 0 s g b = g [::].
Proof. by rewrite /fin sub0n /= E_ret take0. Qed.

Lemma fin_cons m s g x b :
  fin m.+1 s g (x :: b) = fin m (rcons s x) (fun t => g (x :: t)) b.
Proof. by rewrite /fin /= subSS cat_rcons. Qed.

Lemma fin1 m s g x : fin m s g [:: x] = next m s g x.
Proof.
case: m => [|m]; first by rewrite fin0.
by rewrite fin_cons /fin /= subn0 cats0 (AR_take _ _ (fun t => g (x :: t))).
Qed.

(* an exact continuation after x *)
Lemma fin_step m s g x (B : dist F (seq V)) :
  exact (rcons s x) B -> E B (fun b => fin m s g (x :: b)) = next m s g x.
Proof.
move=> BP; case: m => [|m] /=; last by rewrite -BP; apply: E_ext => b; rewrite fin_cons.
transitivity (E B (fin 0 (rcons s x) (fun=> g [::]))); last by rewrite BP E_ret.
by apply: E_ext => b; rewrite !fin0.
Qed.

(* a loop over exact blocks is exact, whatever the fuel *)
Theorem loop_exact (B : seq V -> dist F (seq V)) fuel m s g :
  (forall s, exact s (B s)) -> E (loop vs p B fuel m s) g = E (AR m s) g.
Proof.
move=> BP; elim: fuel m s g => [|f IH] [|m] s g //.
rewrite [LHS]E_bind -BP; apply: E_ext => b; rewrite E_bind IH.
by apply: E_ext => t; rewrite E_ret.
Qed.
End Exact.
