(* Prints the golden vectors as strings; `make vectors` turns them into one JSON object a line.  (Strings of bytes print *)
(* three times faster than strings of Ascii.)                                                                            *)
From Coq Require Import String.
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees Verifiers Plans Golden.
Inductive line := Line of list Byte.byte.
Definition of_bytes (l : list Byte.byte) := Line l.
Definition bytes (x : line) := let: Line l := x in l.
Declare Scope line_scope.
String Notation line of_bytes bytes : line_scope.
Local Open Scope line_scope.
Set Printing Width 1000000. Set Printing Depth 100000000.
Definition lines (r : rule) := [seq Line (list_byte_of_string s) | s <- vectors r].
Eval vm_compute in lines Predraw_follow.
Eval vm_compute in lines Tree_exit.
Eval vm_compute in lines Recursive_rejection.
Eval vm_compute in lines Traversal.
Eval vm_compute in [seq Line (list_byte_of_string s) | s <- plan_vectors].
