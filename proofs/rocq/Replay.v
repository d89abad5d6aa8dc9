(* Tsubame: a topology frozen before the tokens are drawn is a predictable build, hence lossless; for a marginal drafter   *)
(* one shared candidate list per depth serves every node of that depth under recursive rejection, with the very same law.  *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Verifiers Expectation Step Exact Populated Recursive_rejection Traversal Drafting.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Frozen.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

(* A frozen plan: the places of the slots in filling order, fixed before anything is drawn, and for each the declared law
   as a function of all tokens drawn before (in any branch). *)
Definition plan := seq (seq nat * (seq V -> V -> F)).
Fixpoint replay (pl : plan) (history : seq V) : build F V :=
  if pl is (a, r) :: pl' then Grow a (r history) (fun x => replay pl' (rcons history x)) else @Done F V.
Fixpoint declares (pl : plan) : Prop :=
  if pl is (a, r) :: pl' then (forall history, pmf (R := R) vs (r history)) /\ declares pl' else True.

Lemma replay_ok pl history : declares pl -> okb vs (replay pl history).
Proof. by elim: pl history => //= -[a r] pl IH history [rP plP]; split=> // y; apply: IH. Qed.

Lemma average A (D : dist F A) (B : A -> dist F (seq V)) s :
  E D (fun=> 1) = 1 -> (forall a, exact vs p s (B a)) -> exact vs p s (bind D B).
Proof.
move=> D1 BP m g; rewrite E_bind -[RHS]mulr1 -D1 -E_scale; apply: E_ext => a; rewrite mulr1; exact: BP.
Qed.

(* the plan may be random, as long as it is drawn first *)
Theorem frozen_recursive_rejection A (D : dist F A) (pl : A -> plan) s : E D (fun=> 1) = 1 -> (forall a, declares (pl a)) ->
  exact vs p s (bind D (fun a => bind (grow vs (replay (pl a) [::]) (@PNil F V))
                                      (fun t => recursive_rejection_on vs p t (p s) s))).
Proof.
by move=> D1 plP; apply: average => // a; apply: recursive_rejection_predictable_build => //; apply: replay_ok.
Qed.
Theorem frozen_traversal A (D : dist F A) (pl : A -> plan) s : E D (fun=> 1) = 1 -> (forall a, declares (pl a)) ->
  exact vs p s (bind D (fun a => bind (grow vs (replay (pl a) [::]) (@PNil F V))
                                      (fun t => emitted (traversal_on vs p t 1 (p s) s)))).
Proof.
by move=> D1 plP; apply: average => // a; apply: traversal_predictable_build => //; apply: replay_ok.
Qed.
(* the same for a random topology filled by any drafting scheme *)
Theorem tsubame_recursive_rejection (D : dist F slot) sch s : E D (fun=> 1) = 1 -> declares_laws vs sch ->
  exact vs p s (bind D (fun t => recursive_rejection vs p (drafted sch t s) (p s) s)).
Proof. by move=> D1 schP; apply: average => // t; apply: recursive_rejection_scheme. Qed.
Theorem tsubame_traversal (D : dist F slot) sch s : E D (fun=> 1) = 1 -> declares_laws vs sch ->
  exact vs p s (bind D (fun t => emitted (traversal vs p (drafted sch t s) 1 (p s) s))).
Proof. by move=> D1 schP; apply: average => // t; apply: traversal_scheme. Qed.
End Frozen.

Section SharedLists.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Variable p : seq V -> V -> R.
(* a marginal drafter: the law of the next sibling depends on the depth and the elders only *)
Variable law : nat -> seq V -> option (V -> R).
Hypothesis lawP : forall d e r, law d e = Some r -> pmf vs r.
Definition marginal : scheme F V := fun t s e => law (size s) e.

(* the candidate list of one depth, and of all depths *)
Fixpoint candidates (d k : nat) (e : seq V) : dist F (seq V) :=
  if k is k'.+1 then
    if law d e is Some r then
      bind (draw (F := F) vs r) (fun x => bind (candidates d k' (rcons e x)) (fun l => ret F (x :: l)))
    else ret F [::]
  else ret F [::].
Fixpoint all_candidates (d : nat) (ks : seq nat) : dist F (seq (seq V)) :=
  if ks is k :: ks' then
    bind (candidates d k [::]) (fun l => bind (all_candidates d.+1 ks') (fun ls => ret F (l :: ls)))
  else ret F [::].

(* every node of a depth takes its children from the head of that depth's list *)
Fixpoint shared (t : slot) (s : seq V) (ls : seq (seq V)) {struct t} : ptree F V :=
  let: Slot l := t in
  (fix siblings (l : seq slot) (e rest : seq V) {struct l} : ptree F V :=
    match l, rest with
    | c :: l', x :: rest' =>
      if law (size s) e is Some r then PSlot x r (shared c (rcons s x) (behead ls)) (siblings l' (rcons e x) rest')
      else @PNil F V
    | _, _ => @PNil F V
    end) l [::] (head [::] ls).

(* the lists are long enough *)
Fixpoint fits (ks : seq nat) (t : slot) : bool :=
  let: Slot l := t in (size l <= head 0%N ks)%N && all (fits (behead ks)) l.

Lemma candidates_mass d k e : E (candidates d k e) (fun=> 1) = 1.
Proof.
elim: k e => [|k IH] e /=; first by rewrite E_ret.
case L : (law d e) => [r|]; last by rewrite E_ret.
have [_ r1] := lawP L; rewrite E_bind E_draw -[RHS]r1; apply: eq_bigr => x _.
by rewrite E_bind; under E_ext do rewrite E_ret; rewrite IH mulr1.
Qed.
Lemma all_candidates_mass d ks : E (all_candidates d ks) (fun=> 1) = 1.
Proof.
elim: ks d => [|k ks IH] d /=; first by rewrite E_ret.
rewrite E_bind -[RHS](candidates_mass d k [::]); apply: E_ext => l.
by rewrite E_bind; under E_ext do rewrite E_ret; exact: IH.
Qed.
Lemma E_const A (m : dist F A) c : E m (fun=> 1) = 1 -> E m (fun=> c) = c.
Proof. by move=> m1; rewrite -[RHS]mulr1 -m1 -E_scale; apply: E_ext => a; rewrite mulr1. Qed.

Theorem shared_lists ks t pt s g : fits ks t ->
  E (bind (all_candidates (size s) ks) (fun ls => recursive_rejection_on vs p (shared t s ls) pt s)) g
  = E (recursive_rejection vs p (drafted marginal t s) pt s) g.
Proof.
elim: ks t pt s g => [|k ks IH] [l0] pt s g /=.
  by case: l0 => //= _; rewrite E_bind E_ret.
case/andP; rewrite !E_bind; under [in X in _ -> _ -> X]E_ext do rewrite E_bind.
(* one node: the rest of its list, the lists below *)
suff sib l e n pt' : (size l <= n)%N -> all (fits ks) l ->
  E (candidates (size s) n e) (fun rest => E (all_candidates (size s).+1 ks) (fun ls =>
    E (recursive_rejection_on vs p ((fix siblings (l : seq slot) (e rest : seq V) {struct l} : ptree F V :=
      match l, rest with
      | c :: l', x :: rest' =>
        if law (size s) e is Some r then PSlot x r (shared c (rcons s x) ls) (siblings l' (rcons e x) rest')
        else @PNil F V
      | _, _ => @PNil F V
      end) l e rest) pt' s) g))
  = E (recursive_rejection vs p ((fix siblings (l : seq slot) (e : seq V) {struct l} : dtree F V :=
      if l is c :: l' then
        if marginal (Slot l0) s e is Some r then
          Draft (F := F) r (fun x => drafted marginal c (rcons s x)) (fun x => siblings l' (rcons e x))
        else @Leaf F V
      else @Leaf F V) l e) pt' s) g.
  move=> lk fl; rewrite -(sib l0 [::] k pt lk fl); apply: E_ext => l.
  by apply: E_ext => ls; rewrite E_ret.
elim: l e n pt' => [|c l IHl] e n pt' /=.
  by move=> _ _; do 2 rewrite E_const ?candidates_mass ?all_candidates_mass //.
case: n => // n; rewrite ltnS => ln /andP[fc fl]; rewrite /marginal /=.
case L : (law (size s) e) => [r|]; last by rewrite E_ret /= E_const ?all_candidates_mass.
have rP := lawP L; rewrite E_bind E_draw [RHS]/= [RHS]E_bind E_draw; apply: eq_bigr => x _; congr (_ * _).
rewrite [RHS]E_bind E_flip -(IHl (rcons e x) n _ ln fl) -/(marginal).
have sz : (size s).+1 = size (rcons s x) by rewrite size_rcons.
rewrite [X in _ = _ * X + _]E_bind; under [X in _ = _ * X + _]E_ext do rewrite E_ret.
rewrite -(IH c (p (rcons s x)) (rcons s x) (fun b => g (x :: b)) fc) -sz.
set a := acc _ _ _ _; rewrite [X in _ = a * X + _]E_bind; set K := E (all_candidates (size s).+1 ks) (fun ls =>
  E (recursive_rejection_on vs p (shared c (rcons s x) ls) (p (rcons s x)) (rcons s x)) (fun b => g (x :: b))).
rewrite -[X in _ = X + _](E_const (a * K) (candidates_mass (size s) n (rcons e x))) -E_scale -E_add E_bind.
apply: E_ext => rest; rewrite E_ret /K -!E_scale -E_add; apply: E_ext => ls.
rewrite /= E_bind E_flip; congr (_ * _ + _); rewrite E_bind.
by apply: E_ext => b; rewrite E_ret.
Qed.
End SharedLists.
