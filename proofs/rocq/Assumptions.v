(* What the headline theorems assume, a group at a time: a tuple is closed under the global context exactly when each of *)
(* its theorems is.                                                                                                      *)
From Draftproof Require Import Programs Expectation Exact Growth Step Recursive_rejection Traversal Drafting Block_optimal.
From Draftproof Require Import Fixed_trees Fixed_optimum Predraw_follow Tree_exit One_hot Random_trees Random_optimum.
From Draftproof Require Import Two_phase Univer Greedy_transport Univer_lookahead Transport Univer_transport K_seq.
From Draftproof Require Import Best_first Budgets Replay Training Binary_rationals Golden.

Definition exactness := (
  @growth_identity, @growth_stop, @loop_exact).
Print Assumptions exactness.

Definition one_step := (
  @step, @single_lossless, @single_literal, @accept_rate, @coupling_bound).
Print Assumptions one_step.

Definition populated_trees := (
  @recursive_rejection_exact, @recursive_rejection_leaf, @recursive_rejection_predictable_build,
  @recursive_rejection_upfront, @traversal_exact, @traversal_leaf, @traversal_predictable_build,
  @traversal_upfront, @block_exact, @recursive_rejection_scheme, @traversal_scheme, @schemes_declare_laws,
  @mixture_ok).
Print Assumptions populated_trees.

Definition block_verification := (
  @block_depth, @block_optimal).
Print Assumptions block_verification.

Definition fixed_trees := (
  @verifier_is_f, @f_is_verifier, @verifier_bijection, @ceiling, @optimum_exact, @optimum_attains,
  @optimum_unique, @optimum_dominates, @optimum_longest, @optimum_weighted, @predraw_follow_exact,
  @predraw_follow_attains, @predraw_follow_upfront, @pathwise_attains, @tree_exit_attains,
  @predraw_follow_on_attains, @tree_exit_on_attains, @predraw_follow_random, @tree_exit_random,
  @one_hot_attains).
Print Assumptions fixed_trees.

Definition random_trees := (
  @random_feasible, @dual_bound, @lp_attained_law, @lp_attained_exact, @recursive_bound, @block_attains).
Print Assumptions random_trees.

Definition univer := (
  @two_phase_exact, @token_level_exact, @closed_form_lossless, @conditionally_optimal, @closed_form_optimal,
  @univer_exact, @greedy_transport_exact, @univer_dominates, @univer_greedy_dominates, @any_order_lossless,
  @univer_lookahead_exact, @set_node_lossless, @set_node_keeps, @univer_transport_exact, @k_seq_lossless,
  @k_seq_exact, @rho_upward).
Print Assumptions univer.

Definition transport := (
  @prices_bound, @cut_bound, @cut_bound1, @certified_optimal).
Print Assumptions transport.

Definition budgets := (
  @best_first_valid, @best_first_optimal, @best_coverage_concave, @best_budget, @expected_match, @D_up,
  @D_down, @D_flat, @D_identity, @unimodal, @greedy_optimal, @greedy_max, @greedy_smallest, @safe_stop,
  @block_greedy).
Print Assumptions budgets.

Definition replay := (
  @frozen_recursive_rejection, @frozen_traversal, @tsubame_recursive_rejection, @tsubame_traversal,
  @shared_lists).
Print Assumptions replay.

Definition training := (
  @weights_sum_to_one, @subtree_weight, @weight_flow, @path_identity, @coverage_depth, @swap_iff_coverage).
Print Assumptions training.

Definition execution := (
  @block_law_exact, @block_law_Q, @block_law_Q_exact, @plan_law_exact, @plan_law_Q, @plan_law_Q_exact,
  @golden_plans_checked).
Print Assumptions execution.
