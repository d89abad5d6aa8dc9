(* Programs that flip coins and draw tokens, as finite weighted lists over any number type; one accept/reject step; *)
(* the target's own generation and the generation loop.  Definitions only.                                          *)
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* The operations a program needs.  The theorems use a realFieldType, execution uses binary rationals. *)
Record ops := Ops {
  car :> Type;
  o0 : car;
  o1 : car;
  oadd : car -> car -> car;
  osub : car -> car -> car;
  omul : car -> car -> car;
  odiv : car -> car -> car;      (* only ever called with a nonzero divisor *)
  omin : car -> car -> car;
  oz : car -> bool               (* is it zero? *)
}.

Section Programs.
Variable F : ops.
Notation "0" := (o0 F).
Notation "1" := (o1 F).
Infix "+" := (@oadd F).
Infix "-" := (@osub F).
Infix "*" := (@omul F).
Infix "/" := (@odiv F).

(* a program is the list of its outcomes with their weights; a branch of weight zero is not explored *)
Definition dist (A : Type) := seq (F * A).
Definition ret A (a : A) : dist A := [:: (1, a)].
Definition bind A B (m : dist A) (f : A -> dist B) : dist B :=
  flatten [seq (if oz wa.1 then [::] else [seq (wa.1 * wb.1, wb.2) | wb <- f wa.2]) | wa <- m].
Definition flip (a : F) : dist bool := [:: (a, true); (1 - a, false)].
Definition osum (l : seq F) : F := foldr (@oadd F) 0 l.
Definition ole (a b : F) : bool := oz (a - omin a b).

Variable V : Type.
Variable vs : seq V.                       (* the vocabulary, enumerated *)

Definition draw (p : V -> F) : dist V := [seq (p x, x) | x <- vs].

(* One accept/reject test of a token x ~ q against the target p, when the path so far is kept with
   probability pi (pi = 1: ordinary speculative sampling). *)
Section Step.
Variables (pi : F) (p q : V -> F).
Definition acc (x : V) : F := if oz (q x) then 1 else omin 1 (pi * p x / q x).
Definition excess (x : V) : F := pi * p x - omin (pi * p x) (q x).      (* (pi p - q)_+ *)
Definition exmass : F := osum [seq excess x | x <- vs].
Definition res : V -> F :=                                              (* what is still owed, normalised *)
  let D := exmass in if oz D then p else fun x => excess x / D.
Definition respi : F :=                                                 (* the mass with which it is owed *)
  let D := exmass in if oz D then 0 else D / (D + (1 - pi)).
End Step.

(* speculative sampling of one token: drafted from q, corrected to p *)
Definition single (p q : V -> F) : dist V :=
  bind (draw q) (fun x =>
  bind (flip (acc 1 p q x)) (fun b =>
    if b then ret x else draw (res 1 p q))).

Variable p : seq V -> V -> F.              (* the target: p s x is the probability of x after s *)

(* the target itself, m tokens *)
Fixpoint AR (m : nat) (s : seq V) : dist (seq V) :=
  if m is m'.+1 then
    bind (draw (p s)) (fun x => bind (AR m' (rcons s x)) (fun t => ret (x :: t)))
  else ret [::].

(* a whole generation: blocks from B until m tokens are out, cut at m; the target takes over when fuel runs out *)
Fixpoint loop (B : seq V -> dist (seq V)) (fuel m : nat) (s : seq V)
    : dist (seq V) :=
  if m is 0 then ret [::] else
  if fuel is f.+1 then
    bind (B s) (fun b =>
    bind (loop B f (subn m (size b)) (s ++ b)) (fun t => ret (take m (b ++ t))))
  else AR m s.
End Programs.
