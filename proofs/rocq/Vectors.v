(* Prints the golden vectors: one JSON object a line once `make vectors` has unquoted the strings. *)
From Coq Require Import String.
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees Verifiers Golden.
Local Open Scope string_scope.
Set Printing Width 1000000. Set Printing Depth 100000000.
Eval vm_compute in vectors Predraw_follow.
Eval vm_compute in vectors Tree_exit.
Eval vm_compute in vectors Recursive_rejection.
Eval vm_compute in vectors Traversal.
