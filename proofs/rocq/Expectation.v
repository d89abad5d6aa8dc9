(* The meaning of a program: the expectation E m g of a test function g over its outcomes.  [mc R] makes any *)
(* realFieldType R a number type for programs.                                                               *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Canonical mc (R : realFieldType) : ops :=
  @Ops R 0 1 (fun a b => a + b) (fun a b => a - b) (fun a b => a * b)
       (fun a b => a / b) (fun a b => Num.min a b) (fun a => a == 0).

Section E.
Variable R : realFieldType.
Local Notation dist := (dist (mc R)).

Definition E A (m : dist A) (g : A -> R) : R := \sum_(w <- m) w.1 * g w.2.

Lemma E_ret A (a : A) g : E (ret (mc R) a) g = g a.
Proof. by rewrite /E big_seq1 mul1r. Qed.

Lemma E_bind A B (m : dist A) (f : A -> dist B) g :
  E (bind m f) g = E m (fun a => E (f a) g).
Proof.
rewrite /E /bind big_flatten big_map; apply: eq_bigr => w _ /=.
case: eqP => [->|_]; first by rewrite big_nil mul0r.
by rewrite big_map big_distrr; apply: eq_bigr => u _ /=; rewrite mulrA.
Qed.

Lemma E_ext A (m : dist A) g h : g =1 h -> E m g = E m h.
Proof. by move=> gh; apply: eq_bigr => w _; rewrite gh. Qed.

Lemma E_flip a g : E (flip (F := mc R) a) g = a * g true + (1 - a) * g false.
Proof. by rewrite /E /flip !big_cons big_nil addr0. Qed.

Lemma E_add A (m : dist A) g h : E m (fun a => g a + h a) = E m g + E m h.
Proof. by rewrite -big_split; apply: eq_bigr => w _; rewrite mulrDr. Qed.

Lemma E_scale A (m : dist A) c g : E m (fun a => c * g a) = c * E m g.
Proof. by rewrite big_distrr; apply: eq_bigr => w _ /=; rewrite mulrCA. Qed.

Lemma E_0 A (m : dist A) : E m (fun=> 0) = 0.
Proof. by rewrite /E big1 // => w _; rewrite mulr0. Qed.

Lemma E_sum A I (r : seq I) (m : dist A) (g : I -> A -> R) :
  E m (fun a => \sum_(i <- r) g i a) = \sum_(i <- r) E m (g i).
Proof.
rewrite /E exchange_big; apply: eq_bigr => w _ /=.
by rewrite big_distrr.
Qed.

(* a sub-measure: nonnegative weights *)
Definition nng A (m : dist A) := all (fun w => 0 <= w.1) m.

Lemma E_le A (m : dist A) g h :
  nng m -> (forall a, g a <= h a) -> E m g <= E m h.
Proof.
move=> m0 gh; rewrite /E; elim: m m0 => [|w m IH] /=; first by rewrite !big_nil.
by case/andP=> w0 /IH m0; rewrite !big_cons ler_add // ler_wpmul2l.
Qed.

Lemma nng_bind A B (m : dist A) (f : A -> dist B) :
  nng m -> (forall a, nng (f a)) -> nng (bind m f).
Proof.
rewrite /nng /bind => + f0; elim: m => //= w m IH /andP[w0 /IH m0].
rewrite all_cat m0 andbT; case: eqP => //= _; rewrite all_map; elim: (f w.2) (f0 w.2) => //= u l IHl /andP[u0 /IHl ->].
by rewrite mulr_ge0.
Qed.

(* a vanishing sum of nonnegative terms vanishes against every test function *)
Lemma sum0_mul I (r : seq I) (f G : I -> R) :
  (forall i, 0 <= f i) -> \sum_(i <- r) f i = 0 -> \sum_(i <- r) f i * G i = 0.
Proof.
move=> f0; elim: r => [|i r IH]; rewrite ?big_nil // !big_cons => /eqP.
rewrite paddr_eq0 // ?sumr_ge0 // => /andP[/eqP-> /eqP/IH->].
by rewrite mul0r addr0.
Qed.

Lemma nng_ret A (a : A) : nng (ret (mc R) a).
Proof. by rewrite /nng /= ler01. Qed.

Lemma osumE (l : seq R) : osum (F := mc R) l = \sum_(x <- l) x.
Proof. by elim: l => [|x l IH] /=; rewrite ?big_nil // big_cons -IH. Qed.

Variables (V : Type) (vs : seq V).

Lemma E_draw (p : V -> R) g :
  E (draw (F := mc R) vs p) g = \sum_(x <- vs) p x * g x.
Proof. by rewrite /E big_map. Qed.

Lemma nng_draw (p : V -> R) : (forall x, 0 <= p x) -> nng (draw (F := mc R) vs p).
Proof. by move=> p0; rewrite /nng all_map; elim: vs => //= x r ->; rewrite p0. Qed.

Lemma nng_flip (a : R) : 0 <= a <= 1 -> nng (flip (F := mc R) a).
Proof. by move=> /andP[a0 a1]; rewrite /nng /= a0 subr_ge0 a1. Qed.

(* probability mass functions on the enumeration vs *)
Definition pmf (p : V -> R) := (forall x, 0 <= p x) /\ \sum_(x <- vs) p x = 1.
End E.
