(* Golden vectors: small instances as integer rows, the block law of every verifier computed from those very rows over *)
(* binary rationals, and both written as one JSON object a line (the instance format of reference/instances.py).       *)
From Coq Require Import ZArith QArith String Ascii DecimalString.
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees Verifiers Schemes Plans K_seq Univer_transport Homomorphism_plans Binary_rationals Golden_plans.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- instances *)
Definition rows := seq (seq nat * seq Z).
Record instance := Instance {
  vocabulary : nat; target : rows; draft : rows; scheme : scheme_name nat; children : seq nat
}.

Fixpoint all_prefixes (V depth : nat) : seq (seq nat) :=          (* of length at most depth, shorter ones first *)
  if depth is d.+1 then
    let l := all_prefixes V d in l ++ [seq rcons s x | s <- [seq s <- l | size s == d], x <- iota 0 V]
  else [:: [::]].

(* pseudo-random weights 0..10, at least one of a row positive *)
Definition weight (seed : Z) (s : seq nat) (i : nat) : Z :=
  let h := foldl (fun a t => (a * 31 + Z.of_nat t * 17 + 11) mod 10007)%Z (seed * 7919 + 12345)%Z s in
  ((h * h + (Z.of_nat i + 3) * (h * 613 + 1009) + Z.of_nat i * 4517) mod 10007 mod 11)%Z.
Definition row (V : nat) (seed : Z) (s : seq nat) : seq Z :=
  let l := [seq weight seed s i | i <- iota 0 V] in
  if all (Z.eqb 0) l then 1%Z :: behead l else l.
Definition random_rows (V depth : nat) (seed : Z) : rows := [seq (s, row V seed s) | s <- all_prefixes V depth].

Definition drafted_case (V : nat) (children : seq nat) (n : scheme_name nat) (seed : Z) : instance :=
  Instance V (random_rows V (size children) seed) (random_rows V (size children).-1 (seed + 500)) n children.
Definition fixed_case (V : nat) (tree : seq (seq nat)) (seed : Z) : instance :=
  Instance V (random_rows V (height tree) seed) [::] (Fixed tree) [::].

(* ---- the law, from the same rows *)
Definition normalised (l : seq Z) : seq Q :=
  let S := foldr Z.add 0%Z l in [seq Qred (inject_Z z / inject_Z S) | z <- l].
Definition uniform (V : nat) : seq Q := nseq V (Qmake 1 (Pos.of_nat V)).
Definition model (V : nat) (r : rows) : seq nat -> nat -> Q :=
  let table := [seq (x.1, normalised x.2) | x <- r] in
  fun s => let l := foldr (fun x d => if x.1 == s then x.2 else d) (uniform V) table in fun x => nth (Qmake 0 1) l x.

Definition shape (i : instance) : slot :=
  if scheme i is Fixed tree then topology tree (height tree) [::] else uniform_topology (children i).
Definition program (r : rule) (i : instance) : dist QO (seq nat) :=
  let vs := iota 0 (vocabulary i) in
  block_law (F := QO) vs (model (vocabulary i) (target i)) r
    (scheme_of (F := QO) vs (model (vocabulary i) (draft i)) (scheme i)) (shape i).

(* outcomes gathered by block, in the order of first appearance; only positive probabilities *)
Fixpoint add_to (law : seq (seq nat * Q)) (b : seq nat) (w : Q) : seq (seq nat * Q) :=
  if law is x :: l then if x.1 == b then (b, Qred (x.2 + w)) :: l else x :: add_to l b w else [:: (b, w)].
Definition gathered (m : dist QO (seq nat)) : seq (seq nat * Q) :=
  foldl (fun law w => if Z.eqb (Qnum w.1) 0 then law else add_to law w.2 w.1) [::] m.

(* ---- JSON *)
Local Open Scope string_scope.
Definition quote : string := String "034" "".
Fixpoint joined (sep : string) (l : seq string) : string :=
  if l is x :: l' then if l' is [::] then x else x ++ sep ++ joined sep l' else "".
Definition of_Z (z : Z) : string := NilZero.string_of_int (Z.to_int z).
Definition of_nat (n : nat) : string := of_Z (Z.of_nat n).
Definition of_Q (q : Q) : string := if Pos.eqb (Qden q) 1 then of_Z (Qnum q) else of_Z (Qnum q) ++ "/" ++ of_Z (Zpos (Qden q)).
Definition text (s : string) : string := quote ++ s ++ quote.
Definition array (l : seq string) : string := "[" ++ joined ", " l ++ "]".
Definition object (l : seq (string * string)) : string :=
  "{" ++ joined ", " [seq text x.1 ++ ": " ++ x.2 | x <- l] ++ "}".
Definition spelled (s : seq nat) : string := joined " " (map of_nat s).
Definition of_rows (r : rows) : string := object [seq (spelled x.1, array (map of_Z x.2)) | x <- r].
Definition of_scheme (i : instance) : string :=
  let sizes name := object [:: ("scheme", text name); ("children", array (map of_nat (children i)))] in
  match scheme i with
  | With_replacement => sizes (if all (pred1 1%N) (children i) then "chain" else "with_replacement")
  | Without_replacement => sizes "without_replacement"
  | Top_k => sizes "top_k"
  | Greedy => sizes "greedy"
  | Fixed tree => object [:: ("scheme", text "fixed"); ("tree", array [seq text (spelled s) | s <- tree])]
  end.
Definition of_instance (i : instance) : string :=
  object ([:: ("vocabulary", of_nat (vocabulary i)); ("target", of_rows (target i))]
          ++ (if draft i is [::] then [::] else [:: ("draft", of_rows (draft i))])
          ++ [:: ("drafting", of_scheme i)])%SEQ.
Definition of_law (l : seq (seq nat * Q)) : string :=
  array [seq object [:: ("tokens", array (map of_nat x.1)); ("probability", text (of_Q x.2))] | x <- l].
Definition name_of (r : rule) : string :=
  match r with
  | Predraw_follow => "predraw_follow" | Tree_exit => "tree_exit"
  | Recursive_rejection => "recursive_rejection" | Traversal => "traversal"
  end.
Definition vector_of (name : string) (i : instance) (m : dist QO (seq nat)) : string :=
  object [:: ("verifier", text name); ("instance", of_instance i); ("law", of_law (gathered m))].
Definition vector (r : rule) (i : instance) : string := vector_of (name_of r) i (program r i).

(* ---- the rules driven by plans *)
Definition depth (i : instance) : nat := if scheme i is Fixed tree then height tree else size (children i).
Definition plan_program (r : plan_rule QO nat_eqType) (i : instance) : dist QO (seq nat) :=
  let V := vocabulary i in
  plan_law (F := QO) (iota 0 V) (model V (target i)) (model V (draft i)) r (scheme i) (depth i) (shape i).
Definition plan_checked (r : plan_rule QO nat_eqType) (i : instance) : bool :=
  let V := vocabulary i in
  rule_checked (F := QO) (iota 0 V) (model V (target i)) (model V (draft i)) (scheme i) r (depth i) (shape i).
Definition plan_name (r : plan_rule QO nat_eqType) : string :=
  match r with
  | Univer => "univer" | Univer_lookahead => "univer_lookahead" | Univer_transport _ => "univer_transport"
  | Greedy_transport => "greedy_transport" | K_seq _ => "k_seq"
  end.
(* a rule may depend on the instance: on the plans that were found for it, on rho *)
Definition plan_vector (x : plan_rule QO nat_eqType * instance) : string := vector_of (plan_name x.1) x.2 (plan_program x.1 x.2).

(* the smallest multiple of 2^-40 that will do for k drafts; it lies between 1 and k *)
Fixpoint bisect (fuel : nat) (ok : Z -> bool) (low high : Z) : Z :=
  if fuel is f.+1 then
    if (low <? high)%Z then let m := ((low + high) / 2)%Z in if ok m then bisect f ok low m else bisect f ok (m + 1) high else low
  else low.
Definition smallest_rho (i : instance) (k : nat) (s : seq nat) : Q :=
  let V := vocabulary i in
  let one := (2 ^ 40)%Z in
  let rho m := Qred (Qmake m (Z.to_pos one)) in
  let ok m := rho_checked (F := QO) (iota 0 V) (model V (target i) s) (model V (draft i) s) (rho m) k in
  rho (bisect 60 ok one (one * Z.of_nat k)).
Definition table_of (l : seq (seq nat * seq plan)) (s : seq nat) : table QO nat_eqType := foldr (fun x d => if x.1 == s then x.2 else d) [::] l.

(* ---- the cases: chains to depth 3 at V = 2..4, trees of width 2 to depth 2 at V = 2..3, one node with three siblings *)
Definition chains : seq instance :=
  [seq drafted_case x.1.1 (nseq x.1.2 1%N) With_replacement x.2 | x <-
    [:: (2, 1, 1%Z); (2, 2, 2%Z); (2, 3, 3%Z); (2, 3, 4%Z); (3, 1, 5%Z); (3, 1, 6%Z); (3, 2, 7%Z); (3, 2, 8%Z); (3, 3, 9%Z);
        (4, 1, 10%Z); (4, 1, 11%Z); (4, 2, 12%Z); (4, 2, 13%Z); (4, 3, 14%Z)]%N].
Definition trees : seq instance :=
  flatten [seq [seq drafted_case V c n (Z.of_nat (V * 20 + size c * 3 + sumn c)%N)
               | c <- [:: [:: 2]; [:: 2; 1]; [:: 1; 2]; [:: 2; 2]]%N, n <- [:: With_replacement; Without_replacement; Top_k; Greedy]]
          | V <- [:: 2; 3]%N].
Definition wide : seq instance :=
  [:: drafted_case 4 [:: 3]%N Without_replacement 201; drafted_case 4 [:: 3]%N Greedy 202; drafted_case 3 [:: 3]%N With_replacement 203;
      drafted_case 4 [:: 3; 1]%N Top_k 204].
Definition fixed_trees : seq instance :=
  [:: fixed_case 2 [:: [:: 0]; [:: 0; 0]; [:: 1]]%N 301; fixed_case 3 [:: [:: 2]; [:: 0]; [:: 2; 1]; [:: 2; 1; 0]]%N 302;
      fixed_case 3 [:: [:: 1]; [:: 1; 1]; [:: 1; 0]; [:: 0]; [:: 0; 2]]%N 303; fixed_case 4 [:: [:: 3]; [:: 1]; [:: 3; 0]; [:: 3; 2]; [:: 0]]%N 304].
Definition drafted_cases : seq instance := (chains ++ trees ++ wide)%SEQ.
Definition cases : seq instance := (drafted_cases ++ fixed_trees)%SEQ.
Definition vectors (r : rule) : seq string := [seq vector r i | i <- cases].
(* greedy, top-k and fixed trees, and chains *)
Definition greedy_cases : seq instance :=
  (chains ++ flatten [seq [seq drafted_case x.1.1 c x.2 (Z.of_nat (x.1.2 + size c * 3 + sumn c)%N) | c <- [:: [:: 2]; [:: 2; 1]; [:: 1; 2]; [:: 2; 2]]%N]
                     | x <- [:: (2, 40, Greedy); (3, 60, Greedy); (3, 400, Greedy); (4, 420, Greedy); (3, 60, Top_k)]%N]
   ++ [:: drafted_case 4 [:: 3]%N Greedy 202; drafted_case 4 [:: 3; 1]%N Greedy 205; drafted_case 3 [:: 3; 2]%N Greedy 206] ++ fixed_trees)%SEQ.
Definition k_seq_cases : seq instance :=
  (chains ++ flatten [seq [seq drafted_case x.1 c With_replacement (Z.of_nat (x.2 + size c * 3 + sumn c)%N) | c <- [:: [:: 2]; [:: 2; 1]; [:: 1; 2]; [:: 2; 2]]%N]
                     | x <- [:: (2, 40); (3, 60); (2, 500); (3, 520)]%N]
   ++ [:: drafted_case 3 [:: 3]%N With_replacement 203; drafted_case 4 [:: 3]%N With_replacement 207; drafted_case 4 [:: 2; 1]%N With_replacement 208])%SEQ.
Definition on (r : plan_rule QO nat_eqType) (l : seq instance) := [seq (r, i) | i <- l].
Definition plan_cases : seq (plan_rule QO nat_eqType * instance) :=
  (on (@Univer QO nat_eqType) greedy_cases ++ on (@Univer_lookahead QO nat_eqType) greedy_cases ++ on (@Greedy_transport QO nat_eqType) greedy_cases
   ++ [seq (Univer_transport (F := QO) (table_of x.1), x.2) | x <- zip golden_plans drafted_cases] ++ [seq (K_seq (F := QO) (smallest_rho i), i) | i <- k_seq_cases])%SEQ.
Definition plan_vectors : seq string := map plan_vector plan_cases.

(* siblings are distinct, the plans of univer_transport feasible and of the largest worth, and rho is large enough *)
Lemma golden_plans_checked : (size golden_plans == size drafted_cases) && all (fun x => plan_checked x.1 x.2) plan_cases.
Proof. by vm_compute. Qed.
