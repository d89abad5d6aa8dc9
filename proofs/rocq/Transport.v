(* One node with k candidates, as a transport problem: every dual pair, and in particular every cut A, bounds every plan; *)
(* the executable certificate checker is verified: a plan it accepts is feasible and no feasible plan accepts more.       *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Expectation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* Rows: the drafted candidate tuples t with their probabilities; b: what each token may still be given (a p at a node of
   capacity a); x t y: the mass of tuple t sent to token y. *)
Section Definitions.
Variables (F : ops) (V : eqType) (vs : seq V).
Variables (tuples : seq (seq V)) (D : seq V -> F) (b : V -> F).
Local Notation zero := (o0 F).
Definition total (l : seq F) := osum l.
Definition row_sum (x : seq V -> V -> F) t := osum [seq x t y | y <- vs].
Definition col_sum (x : seq V -> V -> F) y := osum [seq x t y | t <- tuples].
Definition value (x : seq V -> V -> F) := osum [seq row_sum x t | t <- tuples].

(* the checker: a plan x and prices u, v *)
Definition plan_ok (x : seq V -> V -> F) : bool :=
  all (fun t => all (fun y => ole zero (x t y) && ((y \in t) || oz (x t y))) vs && ole (row_sum x t) (D t)) tuples
  && all (fun y => ole (col_sum x y) (b y)) vs.
Definition prices_ok (u : seq V -> F) (v : V -> F) : bool :=
  all (fun t => ole zero (u t) && all (fun y => (y \notin t) || ole (o1 F) (oadd (u t) (v y))) vs) tuples
  && all (fun y => ole zero (v y)) vs.
Definition price (u : seq V -> F) (v : V -> F) : F :=
  oadd (osum [seq omul (u t) (D t) | t <- tuples]) (osum [seq omul (v y) (b y) | y <- vs]).
Definition certified x u v : bool := [&& plan_ok x, prices_ok u v & ole (price u v) (value x)].
End Definitions.

Section Transport.
Variables (R : realFieldType) (V : eqType) (vs : seq V) (tuples : seq (seq V)) (D : seq V -> R) (b : V -> R).
Local Notation F := (mc R).

Definition feasible (x : seq V -> V -> R) :=
  [/\ forall t y, t \in tuples -> y \in vs -> 0 <= x t y,
      forall t y, t \in tuples -> y \in vs -> y \notin t -> x t y = 0,
      forall t, t \in tuples -> \sum_(y <- vs) x t y <= D t &
      forall y, y \in vs -> \sum_(t <- tuples) x t y <= b y].
Definition accepted_mass (x : seq V -> V -> R) := \sum_(t <- tuples) \sum_(y <- vs) x t y.

(* any prices bound any plan *)
Theorem prices_bound x (u : seq V -> R) (v : V -> R) : feasible x ->
  (forall t, t \in tuples -> 0 <= u t) -> (forall y, y \in vs -> 0 <= v y) ->
  (forall t y, t \in tuples -> y \in vs -> y \in t -> 1 <= u t + v y) ->
  accepted_mass x <= \sum_(t <- tuples) u t * D t + \sum_(y <- vs) v y * b y.
Proof.
case=> x0 xin row col u0 v0 uv.
apply: (@le_trans _ _ (\sum_(t <- tuples) \sum_(y <- vs) (u t + v y) * x t y)).
  rewrite /accepted_mass !big_seq; apply: ler_sum => t tT; rewrite !big_seq; apply: ler_sum => y yV.
  case yt : (y \in t); last by rewrite xin ?yt // mulr0.
  by rewrite -{1}[x t y]mul1r; apply: ler_wpmul2r; [apply: x0 | apply: uv].
under eq_bigr do (under eq_bigr do rewrite mulrDl; rewrite big_split /= -big_distrr /=).
rewrite big_split /=; apply: ler_add; first by rewrite !big_seq; apply: ler_sum => t tT; rewrite ler_wpmul2l ?u0 ?row.
rewrite exchange_big /= !big_seq; apply: ler_sum => y yV.
by rewrite -big_distrr /= ler_wpmul2l ?v0 ?col.
Qed.

(* a set A of tokens is a cut: tuples inside A pay through their tokens, the others pay themselves *)
Theorem cut_bound x (A : pred V) : feasible x -> (forall t, t \in tuples -> 0 <= D t) -> (forall y, y \in vs -> 0 <= b y) ->
  accepted_mass x <= \sum_(t <- tuples | ~~ all A t) D t + \sum_(y <- vs | A y) b y.
Proof.
move=> xP D0 b0.
rewrite [X in _ <= X + _]big_mkcond [X in _ <= _ + X]big_mkcond.
have := @prices_bound x (fun t => (~~ all A t)%:R) (fun y => (A y)%:R) xP.
have -> : \sum_(t <- tuples) (~~ all A t)%:R * D t = \sum_(t <- tuples) (if ~~ all A t then D t else 0).
  by apply: eq_bigr => t _; case: ifP => _; rewrite ?mul1r ?mul0r.
have -> : \sum_(y <- vs) (A y)%:R * b y = \sum_(y <- vs) (if A y then b y else 0).
  by apply: eq_bigr => y _; case: ifP => _; rewrite ?mul1r ?mul0r.
apply=> [t _|y _|t y _ _ yt]; rewrite ?ler0n // -natrD ler1n.
by case tA : (all A t) => //=; rewrite (allP tA).
Qed.

(* in the form of a best acceptance: with mass D of all tuples equal to one, 1 + sum_A b - D(inside A) *)
Corollary cut_bound1 x (A : pred V) : feasible x -> (forall t, t \in tuples -> 0 <= D t) -> (forall y, y \in vs -> 0 <= b y) ->
  \sum_(t <- tuples) D t = 1 ->
  accepted_mass x <= 1 + (\sum_(y <- vs | A y) b y - \sum_(t <- tuples | all A t) D t).
Proof.
move=> xP D0 b0 D1; apply: le_trans (cut_bound A xP D0 b0) _.
rewrite -D1 [X in _ <= X + _](bigID (fun t => all A t)) /=; set q := \sum_(i <- tuples | all A i) D i.
by rewrite [q + _]addrC -addrA [q + _]addrC subrK.
Qed.

(* ---- the checker *)
Lemma oleE (a c : R) : ole (F := F) a c = (a <= c).
Proof.
rewrite /ole /= subr_eq0; case: (leP a c) => ac; first by rewrite eqxx.
by apply/negbTE; rewrite gt_eqF.
Qed.
Lemma row_sumE x t : row_sum (F := F) vs x t = \sum_(y <- vs) x t y.
Proof. by rewrite /row_sum osumE big_map. Qed.
Lemma valueE x : value (F := F) vs tuples x = accepted_mass x.
Proof. by rewrite /value osumE big_map; apply: eq_bigr => t _; apply: row_sumE. Qed.

Theorem certified_optimal x u v : certified (F := F) vs tuples D b x u v ->
  feasible x /\ forall x', feasible x' -> accepted_mass x' <= accepted_mass x.
Proof.
case/and3P=> /andP[/allP rows /allP cols] /andP[/allP us /allP vp]; rewrite oleE valueE => val.
have xP : feasible x.
  split=> [t y tT yV|t y tT yV yt|t tT|y yV].
  - by case/andP: (rows _ tT) => /allP/(_ _ yV)/andP[]; rewrite oleE.
  - by case/andP: (rows _ tT) => /allP/(_ _ yV)/andP[_]; rewrite (negPf yt) => /eqP.
  - by case/andP: (rows _ tT) => _; rewrite oleE row_sumE.
  by have := cols _ yV; rewrite oleE /col_sum osumE big_map.
split=> // x' x'P; apply: le_trans val; rewrite /price !osumE !big_map.
apply: prices_bound => // [t tT|y yV|t y tT yV yt].
- by case/andP: (us _ tT); rewrite oleE.
- by have := vp _ yV; rewrite oleE.
by case/andP: (us _ tT) => _ /allP/(_ _ yV); rewrite yt oleE.
Qed.
End Transport.
