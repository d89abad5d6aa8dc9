"""Where a target path leaves a fixed draft tree (arXiv 2610.11750): reach, exit law, coverage, residual laws.

For a tree T with root eps, children tokens A(v) of v, and P(v) the target probability of the path to v::

    rho(v) = 1 - sum_{a in A(v)} p(a|v)        chance of leaving the tree right after v
    w(v)   = P(v) rho(v)                       exit law: sums to one over T
    C(T)   = sum_{v != eps} P(v)               coverage; no exact verifier emits more than 1 + C(T) tokens on average
    p_res(a|v) = p(a|v) 1[a not in A(v)] / rho(v)

Siblings must carry distinct tokens (see ``trees.merged``).
"""

from collections import defaultdict

from .laws import ONE, ZERO, Law
from .models import Model, Prefix
from .rational import Rational
from .trees import DraftNode, Node, level_order


def reach(target: Model, root: DraftNode) -> dict[DraftNode, Rational]:
    """P(v) for every node, in level order."""
    probability: dict[DraftNode, Rational] = {root: ONE}
    for node in level_order(root):
        for child in node.children():
            if child in probability:
                raise ValueError(f"two siblings carry token {child.token} below {node.path}; merge them first")
            probability[child] = probability[node] * target(node.path)[child.token]
    return probability


def coverage(target: Model, root: DraftNode) -> Rational:
    """C(T), the expected number of accepted draft tokens of an optimal exact verifier on this tree."""
    return sum(reach(target, root).values(), ZERO) - 1


def exit_law(target: Model, root: DraftNode) -> Law[DraftNode]:
    """w(v) over the nodes of the tree, in level order."""
    probability = reach(target, root)
    weights = {node: p - sum((probability[child] for child in node.children()), ZERO) for node, p in probability.items()}
    return Law(weights)


def residual(target: Model, node: DraftNode) -> Law[int] | None:
    """Target law after ``node`` off its children; None when the children cover it."""
    return target(node.path).without(child.token for child in node.children())


def length_bound(target: Model, trees: Law[Node]) -> Rational:
    """1 + sum_u fbar(u), with fbar(eps) = 1 and fbar(va) = min(Pr(va in T), fbar(v) p(a|v)): no lossless verifier has a larger E[L].

    Equal to 1 + coverage for a single tree; attained for a sampled chain (block verification); an upper bound for sampled trees in general.
    """
    present: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO)
    for tree, probability in trees.items():
        for path in {node.path for node in level_order(tree)}:
            present[path] += probability
    accepted: dict[Prefix, Rational] = {}
    for path in sorted(present, key=len):
        parent = path[:-1]
        accepted[path] = min(present[path], accepted[parent] * target(parent)[path[-1]]) if path else ONE
    return sum(accepted.values(), ZERO)
