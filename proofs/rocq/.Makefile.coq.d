Programs.vo Programs.glob Programs.v.beautified Programs.required_vo: Programs.v 
Programs.vio: Programs.v 
Programs.vos Programs.vok Programs.required_vos: Programs.v 
Trees.vo Trees.glob Trees.v.beautified Trees.required_vo: Trees.v Programs.vo
Trees.vio: Trees.v Programs.vio
Trees.vos Trees.vok Trees.required_vos: Trees.v Programs.vos
Verifiers.vo Verifiers.glob Verifiers.v.beautified Verifiers.required_vo: Verifiers.v Programs.vo Trees.vo
Verifiers.vio: Verifiers.v Programs.vio Trees.vio
Verifiers.vos Verifiers.vok Verifiers.required_vos: Verifiers.v Programs.vos Trees.vos
Schemes.vo Schemes.glob Schemes.v.beautified Schemes.required_vo: Schemes.v Programs.vo Trees.vo
Schemes.vio: Schemes.v Programs.vio Trees.vio
Schemes.vos Schemes.vok Schemes.required_vos: Schemes.v Programs.vos Trees.vos
Expectation.vo Expectation.glob Expectation.v.beautified Expectation.required_vo: Expectation.v Programs.vo
Expectation.vio: Expectation.v Programs.vio
Expectation.vos Expectation.vok Expectation.required_vos: Expectation.v Programs.vos
Exact.vo Exact.glob Exact.v.beautified Exact.required_vo: Exact.v Programs.vo Expectation.vo
Exact.vio: Exact.v Programs.vio Expectation.vio
Exact.vos Exact.vok Exact.required_vos: Exact.v Programs.vos Expectation.vos
Prefixes.vo Prefixes.glob Prefixes.v.beautified Prefixes.required_vo: Prefixes.v Programs.vo Verifiers.vo Expectation.vo Exact.vo
Prefixes.vio: Prefixes.v Programs.vio Verifiers.vio Expectation.vio Exact.vio
Prefixes.vos Prefixes.vok Prefixes.required_vos: Prefixes.v Programs.vos Verifiers.vos Expectation.vos Exact.vos
Growth.vo Growth.glob Growth.v.beautified Growth.required_vo: Growth.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo
Growth.vio: Growth.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio
Growth.vos Growth.vok Growth.required_vos: Growth.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos
Step.vo Step.glob Step.v.beautified Step.required_vo: Step.v Programs.vo Expectation.vo
Step.vio: Step.v Programs.vio Expectation.vio
Step.vos Step.vok Step.required_vos: Step.v Programs.vos Expectation.vos
Populated.vo Populated.glob Populated.v.beautified Populated.required_vo: Populated.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Step.vo Exact.vo
Populated.vio: Populated.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Step.vio Exact.vio
Populated.vos Populated.vok Populated.required_vos: Populated.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Step.vos Exact.vos
Recursive_rejection.vo Recursive_rejection.glob Recursive_rejection.v.beautified Recursive_rejection.required_vo: Recursive_rejection.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Populated.vo
Recursive_rejection.vio: Recursive_rejection.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Populated.vio
Recursive_rejection.vos Recursive_rejection.vok Recursive_rejection.required_vos: Recursive_rejection.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Populated.vos
Traversal.vo Traversal.glob Traversal.v.beautified Traversal.required_vo: Traversal.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Populated.vo
Traversal.vio: Traversal.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Populated.vio
Traversal.vos Traversal.vok Traversal.required_vos: Traversal.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Populated.vos
Drafting.vo Drafting.glob Drafting.v.beautified Drafting.required_vo: Drafting.v Programs.vo Trees.vo Schemes.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Populated.vo Recursive_rejection.vo Traversal.vo
Drafting.vio: Drafting.v Programs.vio Trees.vio Schemes.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Populated.vio Recursive_rejection.vio Traversal.vio
Drafting.vos Drafting.vok Drafting.required_vos: Drafting.v Programs.vos Trees.vos Schemes.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Populated.vos Recursive_rejection.vos Traversal.vos
Block_optimal.vo Block_optimal.glob Block_optimal.v.beautified Block_optimal.required_vo: Block_optimal.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Prefixes.vo Populated.vo Traversal.vo
Block_optimal.vio: Block_optimal.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Prefixes.vio Populated.vio Traversal.vio
Block_optimal.vos Block_optimal.vok Block_optimal.required_vos: Block_optimal.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Prefixes.vos Populated.vos Traversal.vos
Fixed_trees.vo Fixed_trees.glob Fixed_trees.v.beautified Fixed_trees.required_vo: Fixed_trees.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Growth.vo
Fixed_trees.vio: Fixed_trees.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Growth.vio
Fixed_trees.vos Fixed_trees.vok Fixed_trees.required_vos: Fixed_trees.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Growth.vos
Fixed_optimum.vo Fixed_optimum.glob Fixed_optimum.v.beautified Fixed_optimum.required_vo: Fixed_optimum.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Growth.vo Fixed_trees.vo
Fixed_optimum.vio: Fixed_optimum.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Growth.vio Fixed_trees.vio
Fixed_optimum.vos Fixed_optimum.vok Fixed_optimum.required_vos: Fixed_optimum.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Growth.vos Fixed_trees.vos
Predraw_follow.vo Predraw_follow.glob Predraw_follow.v.beautified Predraw_follow.required_vo: Predraw_follow.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Growth.vo Fixed_trees.vo Fixed_optimum.vo
Predraw_follow.vio: Predraw_follow.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Growth.vio Fixed_trees.vio Fixed_optimum.vio
Predraw_follow.vos Predraw_follow.vok Predraw_follow.required_vos: Predraw_follow.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Growth.vos Fixed_trees.vos Fixed_optimum.vos
Tree_exit.vo Tree_exit.glob Tree_exit.v.beautified Tree_exit.required_vo: Tree_exit.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Growth.vo Fixed_trees.vo Fixed_optimum.vo Predraw_follow.vo
Tree_exit.vio: Tree_exit.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Growth.vio Fixed_trees.vio Fixed_optimum.vio Predraw_follow.vio
Tree_exit.vos Tree_exit.vok Tree_exit.required_vos: Tree_exit.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Growth.vos Fixed_trees.vos Fixed_optimum.vos Predraw_follow.vos
One_hot.vo One_hot.glob One_hot.v.beautified One_hot.required_vo: One_hot.v Programs.vo Trees.vo Schemes.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Prefixes.vo Growth.vo Populated.vo Drafting.vo Fixed_trees.vo Fixed_optimum.vo Predraw_follow.vo Tree_exit.vo
One_hot.vio: One_hot.v Programs.vio Trees.vio Schemes.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Prefixes.vio Growth.vio Populated.vio Drafting.vio Fixed_trees.vio Fixed_optimum.vio Predraw_follow.vio Tree_exit.vio
One_hot.vos One_hot.vok One_hot.required_vos: One_hot.v Programs.vos Trees.vos Schemes.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Prefixes.vos Growth.vos Populated.vos Drafting.vos Fixed_trees.vos Fixed_optimum.vos Predraw_follow.vos Tree_exit.vos
Random_trees.vo Random_trees.glob Random_trees.v.beautified Random_trees.required_vo: Random_trees.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Growth.vo Fixed_trees.vo Fixed_optimum.vo
Random_trees.vio: Random_trees.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Growth.vio Fixed_trees.vio Fixed_optimum.vio
Random_trees.vos Random_trees.vok Random_trees.required_vos: Random_trees.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Growth.vos Fixed_trees.vos Fixed_optimum.vos
Random_optimum.vo Random_optimum.glob Random_optimum.v.beautified Random_optimum.required_vo: Random_optimum.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Prefixes.vo Growth.vo Traversal.vo Fixed_trees.vo Fixed_optimum.vo Random_trees.vo Block_optimal.vo
Random_optimum.vio: Random_optimum.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Prefixes.vio Growth.vio Traversal.vio Fixed_trees.vio Fixed_optimum.vio Random_trees.vio Block_optimal.vio
Random_optimum.vos Random_optimum.vok Random_optimum.required_vos: Random_optimum.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Prefixes.vos Growth.vos Traversal.vos Fixed_trees.vos Fixed_optimum.vos Random_trees.vos Block_optimal.vos
Plans.vo Plans.glob Plans.v.beautified Plans.required_vo: Plans.v Programs.vo
Plans.vio: Plans.v Programs.vio
Plans.vos Plans.vok Plans.required_vos: Plans.v Programs.vos
Univer.vo Univer.glob Univer.v.beautified Univer.required_vo: Univer.v Programs.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Populated.vo Traversal.vo Plans.vo
Univer.vio: Univer.v Programs.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Populated.vio Traversal.vio Plans.vio
Univer.vos Univer.vok Univer.required_vos: Univer.v Programs.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Populated.vos Traversal.vos Plans.vos
Greedy_transport.vo Greedy_transport.glob Greedy_transport.v.beautified Greedy_transport.required_vo: Greedy_transport.v Programs.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Prefixes.vo Populated.vo Traversal.vo Plans.vo Univer.vo
Greedy_transport.vio: Greedy_transport.v Programs.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Prefixes.vio Populated.vio Traversal.vio Plans.vio Univer.vio
Greedy_transport.vos Greedy_transport.vok Greedy_transport.required_vos: Greedy_transport.v Programs.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Prefixes.vos Populated.vos Traversal.vos Plans.vos Univer.vos
K_seq.vo K_seq.glob K_seq.v.beautified K_seq.required_vo: K_seq.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Plans.vo Univer.vo
K_seq.vio: K_seq.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Plans.vio Univer.vio
K_seq.vos K_seq.vok K_seq.required_vos: K_seq.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Plans.vos Univer.vos
Transport.vo Transport.glob Transport.v.beautified Transport.required_vo: Transport.v Programs.vo Expectation.vo
Transport.vio: Transport.v Programs.vio Expectation.vio
Transport.vos Transport.vok Transport.required_vos: Transport.v Programs.vos Expectation.vos
Best_first.vo Best_first.glob Best_first.v.beautified Best_first.required_vo: Best_first.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Budgets.vo
Best_first.vio: Best_first.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Budgets.vio
Best_first.vos Best_first.vok Best_first.required_vos: Best_first.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Budgets.vos
Budgets.vo Budgets.glob Budgets.v.beautified Budgets.required_vo: Budgets.v 
Budgets.vio: Budgets.v 
Budgets.vos Budgets.vok Budgets.required_vos: Budgets.v 
Replay.vo Replay.glob Replay.v.beautified Replay.required_vo: Replay.v Programs.vo Trees.vo Verifiers.vo Expectation.vo Step.vo Exact.vo Populated.vo Recursive_rejection.vo Traversal.vo Drafting.vo
Replay.vio: Replay.v Programs.vio Trees.vio Verifiers.vio Expectation.vio Step.vio Exact.vio Populated.vio Recursive_rejection.vio Traversal.vio Drafting.vio
Replay.vos Replay.vok Replay.required_vos: Replay.v Programs.vos Trees.vos Verifiers.vos Expectation.vos Step.vos Exact.vos Populated.vos Recursive_rejection.vos Traversal.vos Drafting.vos
Training.vo Training.glob Training.v.beautified Training.required_vo: Training.v Programs.vo Verifiers.vo Expectation.vo Exact.vo Prefixes.vo Growth.vo Fixed_trees.vo Fixed_optimum.vo Tree_exit.vo Best_first.vo
Training.vio: Training.v Programs.vio Verifiers.vio Expectation.vio Exact.vio Prefixes.vio Growth.vio Fixed_trees.vio Fixed_optimum.vio Tree_exit.vio Best_first.vio
Training.vos Training.vok Training.required_vos: Training.v Programs.vos Verifiers.vos Expectation.vos Exact.vos Prefixes.vos Growth.vos Fixed_trees.vos Fixed_optimum.vos Tree_exit.vos Best_first.vos
Homomorphism.vo Homomorphism.glob Homomorphism.v.beautified Homomorphism.required_vo: Homomorphism.v Programs.vo Trees.vo Verifiers.vo Schemes.vo
Homomorphism.vio: Homomorphism.v Programs.vio Trees.vio Verifiers.vio Schemes.vio
Homomorphism.vos Homomorphism.vok Homomorphism.required_vos: Homomorphism.v Programs.vos Trees.vos Verifiers.vos Schemes.vos
Binary_rationals.vo Binary_rationals.glob Binary_rationals.v.beautified Binary_rationals.required_vo: Binary_rationals.v Programs.vo Trees.vo Verifiers.vo Schemes.vo Expectation.vo Exact.vo Populated.vo Recursive_rejection.vo Traversal.vo Drafting.vo One_hot.vo Homomorphism.vo
Binary_rationals.vio: Binary_rationals.v Programs.vio Trees.vio Verifiers.vio Schemes.vio Expectation.vio Exact.vio Populated.vio Recursive_rejection.vio Traversal.vio Drafting.vio One_hot.vio Homomorphism.vio
Binary_rationals.vos Binary_rationals.vok Binary_rationals.required_vos: Binary_rationals.v Programs.vos Trees.vos Verifiers.vos Schemes.vos Expectation.vos Exact.vos Populated.vos Recursive_rejection.vos Traversal.vos Drafting.vos One_hot.vos Homomorphism.vos
Golden.vo Golden.glob Golden.v.beautified Golden.required_vo: Golden.v Programs.vo Trees.vo Verifiers.vo Schemes.vo Binary_rationals.vo
Golden.vio: Golden.v Programs.vio Trees.vio Verifiers.vio Schemes.vio Binary_rationals.vio
Golden.vos Golden.vok Golden.required_vos: Golden.v Programs.vos Trees.vos Verifiers.vos Schemes.vos Binary_rationals.vos
