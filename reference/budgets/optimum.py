"""The most that any draft tree of n nodes can cover, without assuming anything about which trees are good: dynamic programming."""

from collections.abc import Sequence
from functools import cache

from ..laws import ZERO, Law
from ..rational import Rational


def optimum(marginals: Sequence[Law[int]], nodes: int) -> Rational:
    """max Phi(T) over all prefix-closed T with at most ``nodes`` nodes; ``marginals[i]`` is the draft law at depth i + 1.

    best(d, k), the most that k nodes below a node of depth d can add, is a knapsack over its children: a child of probability q given j nodes
    is worth q (1 + best(d + 1, j - 1)).
    """

    @cache
    def best(depth: int, count: int) -> Rational:
        if depth == len(marginals) or count <= 0:
            return ZERO
        filled = [ZERO] * (count + 1)
        for _, probability in marginals[depth].items():
            worth = [ZERO, *(probability * (1 + best(depth + 1, j - 1)) for j in range(1, count + 1))]
            filled = [max(filled[k - j] + worth[j] for j in range(k + 1)) for k in range(count + 1)]
        return filled[count]

    return best(0, nodes)
