(* The growth identity: a block law is exact iff it has mass 1 and inside its block only ever extends with target *)
(* conditionals, R(sa) = n(s) p(a|s), R = Pr(block starts with .), n = Pr(block strictly extends .).               *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Exact Prefixes.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Growth.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).
Local Notation F := (mc R).

(* for a program B that emits a block after the context c *)
Definition ends (B : dist F (seq V)) (s : seq V) : R := E B (same s).       (* m: the block is s *)
Definition starts (B : dist F (seq V)) (s : seq V) : R := E B (hit s).      (* R: the block starts with s *)
Definition extends (B : dist F (seq V)) (s : seq V) : R := E B (ext s).     (* n: ... and is longer *)

Lemma starts_split B s : starts B s = ends B s + extends B s.
Proof. by rewrite /starts -E_add; apply: E_ext => b; apply: hit_split. Qed.

Lemma starts_nil B : starts B [::] = E B (fun=> 1).
Proof. by apply: E_ext => b; rewrite hit0. Qed.

(* what "block, then target" gives to "starts with t" *)
Let Q c (B : dist F (seq V)) t := E B (fin vs p (size t) c (hit t)).

Lemma Q_grow c B t x :
  Q c B (rcons t x) - p (c ++ t) x * Q c B t = starts B (rcons t x) - extends B t * p (c ++ t) x.
Proof.
have e a g h : E B g - a * E B h = E B (fun b => g b - a * h b).
  by rewrite -mulNr -E_scale -E_add; apply: E_ext => b; rewrite mulNr.
by rewrite [extends B t * _]mulrC /starts /extends !e; apply: E_ext => b; apply: fin_grow.
Qed.

Lemma exact_of_events c (B : dist F (seq V)) : (forall t, Q c B t = reach p c t) -> exact vs p c B.
Proof.
move=> QP m g; rewrite (E_ext _ (fin_words vs_uniq vs_all p m c g)) E_sum.
have -> : E (AR (F := F) vs p m c) g = \sum_(u <- words vs m) g u * reach p c u.
  rewrite (@E_ext_in _ _ _ g (fun t => \sum_(u <- words vs m) g u * hit u t)) => [|t tA].
    rewrite E_sum !big_seq; apply: eq_bigr => u; rewrite mem_words // => /eqP um.
    by rewrite E_scale (AR_hit vs_uniq vs_all pP) ?um.
  by rewrite (sum_words vs_uniq vs_all) // (AR_size tA).
rewrite !big_seq; apply: eq_bigr => u; rewrite mem_words // => /eqP um.
by rewrite E_scale -QP /Q um.
Qed.

Theorem growth_identity c (B : dist F (seq V)) :
  exact vs p c B <->
  E B (fun=> 1) = 1 /\ forall s a, starts B (rcons s a) = extends B s * p (c ++ s) a.
Proof.
split=> [BP|[B1 BP]].
  have QP t : Q c B t = reach p c t by rewrite /Q BP (AR_hit vs_uniq vs_all pP).
  split=> [|s a].
    by transitivity (Q c B [::]); [apply: E_ext => b; rewrite fin0 hit0 | rewrite QP].
  by apply/eqP; rewrite -subr_eq0 -Q_grow !QP reach_rcons mulrC subrr.
apply: exact_of_events; elim/last_ind => [|t x IH].
  by rewrite -[RHS]B1; apply: E_ext => b; rewrite fin0 hit0.
have := Q_grow c B t x; rewrite BP subrr IH => /eqP; rewrite subr_eq0 => /eqP->.
by rewrite reach_rcons mulrC.
Qed.

(* the same with Pr(block = s): what an exact rule may still choose is only when to stop *)
Corollary growth_stop c (B : dist F (seq V)) s a : exact vs p c B ->
  ends B (rcons s a) = extends B s * p (c ++ s) a - extends B (rcons s a).
Proof. by move=> /growth_identity[_ <-]; rewrite starts_split addrK. Qed.
End Growth.
