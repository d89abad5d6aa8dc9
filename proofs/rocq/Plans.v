(* Verifiers that allocate mass to the drafted candidates and then decide: UniVer and its token-level form.  A rule says, a *)
(* node at a time, how much mass each candidate carries and what stays owed.  Python: reference/verifiers/two_phase.py,     *)
(* univer.py, univer_lookahead.py, univer_transport.py, greedy_transport.py, k_seq.py.  Definitions only.                   *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees Verifiers Schemes.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Plans.
Variables (F : ops) (V : eqType) (vs : seq V).
Notation "0" := (o0 F).
Notation "1" := (o1 F).
Infix "+" := (@oadd F).
Infix "-" := (@osub F).
Infix "*" := (@omul F).
Infix "/" := (@odiv F).
Definition divz (a b : F) : F := if oz b then 0 else a / b.

(* A node: the law of its candidates; at capacity a, the candidates in the order in which they are tried, each with the mass
   it carries; and the mass that stays owed to every token. *)
Record node := Node {
  tuples : dist F (seq V);
  masses : F -> seq V -> seq (V * F);
  owed : F -> V -> F
}.
(* what a list of masses gives to token y, and in total *)
Definition given (l : seq (V * F)) (y : V) : F := osum [seq (if x.1 == y then x.2 else 0) | x <- l].
Definition mass (l : seq (V * F)) : F := osum [seq x.2 | x <- l].

(* An expanded node and the subtree below each of its candidates, which may depend on all of them. *)
Inductive utree := ULeaf | UNode of node & (seq V -> V -> utree).

Variable p : seq V -> V -> F.              (* the target *)

(* The node itself is accepted with probability stay; its bonus has the law of what is owed. *)
Definition bonus (w : V -> F) : dist F (seq V) :=
  let rest := osum [seq w y | y <- vs] in bind (draw vs (fun y => w y / rest)) (fun y => ret F [:: y]).
Definition stay (a : F) (w : V -> F) : F := let rest := osum [seq w y | y <- vs] in divz rest (rest + (1 - a)).
Definition stop (a : F) (w : V -> F) : dist F (option (seq V)) :=
  bind (flip (stay a w)) (fun b => if b then bind (bonus w) (fun t => ret F (Some t)) else ret F None).

(* the candidates one after the other, each with its share of the mass that is left *)
Fixpoint decide (below : V -> F -> dist F (option (seq V))) (last : dist F (option (seq V))) (l : seq (V * F)) (left : F)
    : dist F (option (seq V)) :=
  if l is x :: l' then
    bind (below x.1 (divz x.2 left)) (fun o =>
      match o with Some b => ret F (Some (x.1 :: b)) | None => decide below last l' (left - x.2) end)
  else last.

(* allocate on the way down, decide in post-order on the way up *)
Fixpoint two_phase (t : utree) (a : F) (s : seq V) : dist F (option (seq V)) :=
  match t with
  | ULeaf => stop a (fun y => a * p s y)
  | UNode nd child => bind (tuples nd) (fun c =>
      decide (fun y b => two_phase (child c y) b (rcons s y)) (stop a (owed nd a)) (masses nd a c) 1)
  end.

(* token level: the plan at capacity 1, and the choice is made before anything below is looked at *)
Fixpoint choose (l : seq (V * F)) (left : F) : dist F (option V) :=
  if l is x :: l' then bind (flip (divz x.2 left)) (fun b => if b then ret F (Some x.1) else choose l' (left - x.2))
  else ret F None.
Fixpoint token_level (t : utree) (s : seq V) : dist F (seq V) :=
  match t with
  | ULeaf => bind (draw vs (p s)) (fun x => ret F [:: x])
  | UNode nd child => bind (tuples nd) (fun c => bind (choose (masses nd 1 c) 1) (fun o =>
      if o is Some y then bind (token_level (child c y) (rcons s y)) (fun b => ret F (y :: b)) else bonus (owed nd 1)))
  end.

(* A topology filled by a rule that says what its nodes are; n bounds the depth. *)
Fixpoint planned (rule : slot -> seq V -> node) (n : nat) (t : slot) (s : seq V) : utree :=
  if n is n'.+1 then
    if below t is [::] then ULeaf
    else UNode (rule t s) (fun c y => planned rule n' (nth (Slot [::]) (below t) (index y c)) (rcons s y))
  else ULeaf.

(* a condition that is checked at every node of such a tree *)
Fixpoint everywhere (ok : slot -> seq V -> bool) (n : nat) (t : slot) (s : seq V) : bool :=
  if n is n'.+1 then
    (nilp (below t)) || ok t s && all (fun c => all (fun y => everywhere ok n' c (rcons s y)) vs) (below t)
  else true.

(* ---- UniVer's closed form: deterministic candidates H, then one drawn from ms, which vanishes on H (None: no more) *)
Section Closed_form.
Variables (pt : V -> F) (H : seq V).
Definition greedy_tuples (ms : V -> F) : dist F (seq V) := [seq (ms b, rcons H b) | b <- vs & b \notin H].
Definition spare (a : F) (ms : V -> F) : F := osum [seq ms x - omin (a * pt x) (ms x) | x <- vs].
Definition closed_form (ms : V -> F) (a : F) (c : seq V) : seq (V * F) :=
  if c is x :: l then
    let b := last x l in
    let kept := acc a pt ms b in
    rcons [seq (h, divz (a * pt h * (1 - kept)) (spare a ms)) | h <- H] (b, kept)
  else [::].
Definition greedy_node (r : option (V -> F)) : node :=
  if r is Some ms then Node (greedy_tuples ms) (closed_form ms) (fun a y => if y \in H then 0 else excess a pt ms y)
  else Node (ret F H) (fun a _ => [seq (h, a * pt h) | h <- H]) (fun a y => if y \in H then 0 else a * pt y).
(* the most that a lossless node can give its candidates *)
Definition best_kept (r : option (V -> F)) (a : F) : F :=
  osum [seq a * pt h | h <- H]
  + (if r is Some ms then osum [seq (if b \in H then 0 else omin (a * pt b) (ms b)) | b <- vs] else 0).
End Closed_form.

Variable q : seq V -> V -> F.              (* the draft model *)

(* candidates of a drafting scheme whose siblings are deterministic, except perhaps the last; a chain draws one *)
Definition hubs (n : scheme_name V) (t : slot) (s : seq V) : seq V * option (V -> F) :=
  let k := size (below t) in
  match n with
  | Greedy => let H := take k.-1 (ranked vs (q s)) in (H, without vs H (q s))
  | Top_k => (take k (ranked vs (q s)), None)
  | Fixed tree => (children_of tree s, None)
  | With_replacement | Without_replacement => ([::], Some (q s))
  end.
Definition univer_node (n : scheme_name V) (t : slot) (s : seq V) : node :=
  let: (H, r) := hubs n t s in greedy_node (p s) H r.

(* ---- UniVer, siblings in the order that looks best one level below: all orders, the first of the best *)
Definition alpha (n : scheme_name V) (t : slot) (s : seq V) (a : F) : F :=
  if below t is [::] then 0 else let: (H, r) := hubs n t s in best_kept (p s) H r a.
Fixpoint worth (value : V -> F -> F) (l : seq (V * F)) (left : F) : F :=
  if l is x :: l' then left * value x.1 (divz x.2 left) + worth value l' (left - x.2) else 0.
Fixpoint picks T (l : seq T) : seq (T * seq T) := if l is x :: l' then (x, l') :: [seq (y.1, x :: y.2) | y <- picks l'] else [::].
Fixpoint orders T (n : nat) (l : seq T) : seq (seq T) :=
  if n is n'.+1 then flatten [seq [seq y.1 :: o | o <- orders n' y.2] | y <- picks l] else [:: l].
Definition best T (value : T -> F) (x : T) (l : seq T) : T := foldl (fun b y => if ole (value y) (value b) then b else y) x l.
Definition lookahead_node (n : scheme_name V) (t : slot) (s : seq V) : node :=
  let nd := univer_node n t s in
  let value c y := alpha n (nth (Slot [::]) (below t) (index y c)) (rcons s y) in
  Node (tuples nd) (fun a c => let l := masses nd a c in best (fun o => worth (value c) o 1) l (orders (size l) l)) (owed nd).

(* ---- UniVer over a plan pi(S, y) for the candidate sets S; of siblings with one token the eldest carries its mass *)
Definition set_of (c : seq V) : seq V := [seq y <- vs | y \in c].
Section Sets.
Variable D : dist F (seq V).
Definition sets : seq (seq V) := undup [seq set_of w.2 | w <- D].
Definition set_mass (S : seq V) : F := osum [seq (if set_of w.2 == S then w.1 else 0) | w <- D].
Fixpoint eldest (m : V -> F) (seen c : seq V) : seq (V * F) :=
  if c is x :: c' then (x, if x \in seen then 0 else m x) :: eldest m (x :: seen) c' else [::].
Definition set_node (pt : V -> F) (pi : F -> seq V -> V -> F) : node :=
  Node D (fun a c => let S := set_of c in eldest (fun y => divz (pi a S y) (set_mass S)) [::] c)
    (fun a y => a * pt y - osum [seq pi a S y | S <- sets]).
End Sets.
(* a plan as a table: at these capacities, these masses; elsewhere nothing is given *)
Definition table := seq (F * seq (seq V * V * F)).
Definition looked_up (l : table) (a : F) (S : seq V) (y : V) : F :=
  osum [seq (if e.1 == (S, y) then e.2 else 0) | e <- flatten [seq (if oz (a - x.1) then x.2 else [::]) | x <- l]].
(* the candidates of any scheme *)
Fixpoint candidates (sch : scheme F V) (t : slot) (s : seq V) (k : nat) (elders : seq V) : dist F (seq V) :=
  if k is k'.+1 then
    if sch t s elders is Some r then bind (draw vs r) (fun x => candidates sch t s k' (rcons elders x)) else ret F elders
  else ret F elders.
Definition transport_node (plans : seq V -> table) (n : scheme_name V) (t : slot) (s : seq V) : node :=
  set_node (candidates (scheme_of vs q n) t s (size (below t)) [::]) (p s) (looked_up (plans s)).

(* ---- k_seq: k drafts drawn independently from q, each accepted with probability min(1, p/(rho q)) *)
Section K_seq.
Variables (pt qt : V -> F) (rho : F).
Definition kept (x : V) : F := omin (qt x) (pt x / rho).
Definition beta : F := osum [seq kept x | x <- vs].
Fixpoint power (k : nat) : F := if k is j.+1 then (1 - beta) * power j else 1.          (* (1 - beta)^k *)
Fixpoint geometric (k : nat) : F := if k is j.+1 then geometric j + power j else 0.     (* (1 - (1 - beta)^k) / beta *)
Definition rate (x : V) : F := if oz (qt x) then 1 else kept x / qt x.
Fixpoint tested (c : seq V) (left : F) : seq (V * F) :=
  if c is x :: c' then (x, left * rate x) :: tested c' (left * (1 - rate x)) else [::].
Fixpoint iid (k : nat) : dist F (seq V) :=
  if k is j.+1 then bind (draw vs qt) (fun x => bind (iid j) (fun c => ret F (x :: c))) else ret F [::].
Definition k_seq_node (k : nat) : node := Node (iid k) (fun _ c => tested c 1) (fun _ y => pt y - kept y * geometric k).
End K_seq.

(* ---- the law of the emitted block over everything random; n bounds the depth of the topology t *)
Inductive plan_rule := Univer | Univer_lookahead | Univer_transport of (seq V -> table) | Greedy_transport | K_seq of (nat -> seq V -> F).
Definition node_of (r : plan_rule) (sch : scheme_name V) (t : slot) (s : seq V) : node :=
  match r with
  | Univer | Greedy_transport => univer_node sch t s
  | Univer_lookahead => lookahead_node sch t s
  | Univer_transport plans => transport_node plans sch t s
  | K_seq rho => let k := size (below t) in k_seq_node (p s) (q s) (rho k s) k
  end.
Definition plan_law (r : plan_rule) (sch : scheme_name V) (n : nat) (t : slot) : dist F (seq V) :=
  let u := planned (node_of r sch) n t [::] in
  match r with
  | Univer | Univer_lookahead | Univer_transport _ => emitted (two_phase u 1 [::])
  | Greedy_transport | K_seq _ => token_level u [::]
  end.
End Plans.
