(* Draft trees: topologies, drafting schemes, trees that draw their tokens lazily, populated trees (a token and its *)
(* declared law per slot) and builds (slots appended one at a time).  Definitions only.                             *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Trees.
Variables (F : ops) (V : Type) (vs : seq V).

(* A topology: a slot is its ordered child slots (reference/trees.py, Slot). *)
Inductive slot := Slot of seq slot.
Definition below (t : slot) : seq slot := let: Slot l := t in l.
Fixpoint uniform_topology (children : seq nat) : slot :=
  if children is k :: l then Slot (nseq k (uniform_topology l)) else Slot [::].

(* A tree that draws lazily.  [Draft q child next]: draw x ~ q here; [child x] is the drafted subtree below x;
   [next x] is what is tried next AT THE SAME NODE.  q, child and next are arbitrary. *)
Inductive dtree := Leaf | Draft of (V -> F) & (V -> dtree) & (V -> dtree).

(* A drafting scheme: (slot, prefix, elder siblings) -> declared law of the next sibling, or None. *)
Definition scheme := slot -> seq V -> seq V -> option (V -> F).
Fixpoint drafted (sch : scheme) (t : slot) (s : seq V) {struct t} : dtree :=
  let: Slot l := t in
  (fix siblings (l : seq slot) (elders : seq V) {struct l} : dtree :=
    if l is c :: l' then
      if sch t s elders is Some r then
        Draft r (fun x => drafted sch c (rcons s x)) (fun x => siblings l' (rcons elders x))
      else Leaf
    else Leaf) l [::].

(* a chain of k drafts from the draft model qd *)
Fixpoint chain (qd : seq V -> V -> F) (k : nat) (s : seq V) : dtree :=
  if k is k'.+1 then Draft (qd s) (fun x => chain qd k' (rcons s x)) (fun=> Leaf) else Leaf.

(* A populated tree: first child / next sibling, in draw order. *)
Inductive ptree := PNil | PSlot of V & (V -> F) & ptree & ptree.

(* the whole tree drawn up front, parents before children and elder siblings first *)
Fixpoint populate (d : dtree) : dist F ptree :=
  if d is Draft q c n then
    bind (draw vs q) (fun x => bind (populate (c x)) (fun tc =>
    bind (populate (n x)) (fun tn => ret F (PSlot x q tc tn))))
  else ret F PNil.

(* append (y, r) as the last child of the node at address a (ranks along the path; the root is [::]) *)
Fixpoint append (y : V) (r : V -> F) (t : ptree) (a : seq nat) : ptree :=
  match t with
  | PNil => if a is [::] then PSlot y r PNil PNil else PNil
  | PSlot x q c n => match a with
     | [::] => PSlot x q c (append y r n [::])
     | 0%N :: a' => PSlot x q (append y r c a') n
     | i.+1 :: a' => PSlot x q c (append y r n (i :: a')) end
  end.

(* A build appends slots one at a time; place and declared law of a slot, and whether to go on, are decided before
   its token is drawn, from everything drawn so far. *)
Inductive build := Done | Grow of seq nat & (V -> F) & (V -> build).
Fixpoint grow (b : build) (t : ptree) : dist F ptree :=
  if b is Grow a r k then bind (draw vs r) (fun y => grow (k y) (append y r t a)) else ret F t.

(* the strings of a populated tree, without the root: same-token siblings are one string *)
Fixpoint paths (t : ptree) : seq (seq V) :=
  if t is PSlot x _ c n then [:: x] :: [seq x :: u | u <- paths c] ++ paths n else [::].
(* the strings of a tree drawn up front *)
Fixpoint drawn (d : dtree) : dist F (seq (seq V)) :=
  if d is Draft q c n then
    bind (draw vs q) (fun x => bind (drawn (c x)) (fun lc =>
    bind (drawn (n x)) (fun ln => ret F ([:: x] :: [seq x :: u | u <- lc] ++ ln))))
  else ret F [::].
End Trees.
