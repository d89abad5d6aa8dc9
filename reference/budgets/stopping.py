"""When to stop adding nodes: CaDDTree's rule, right for convex costs, and two that are right for any cost."""

from collections.abc import Sequence
from typing import Any

from ..laws import ONE
from ..rational import Rational
from .cost import RoundCost
from .throughput import smallest_maximiser, throughput


def worth_it(gain: Any, tokens: Any, cost: Any, step: Any) -> bool:
    """Whether one more node raises the throughput: delta C > c N, cross-multiplied.  False on equality and on NaN: no number, no node."""
    return bool(gain * cost > step * tokens)


def caddtree(gains: Sequence[Rational], cost: RoundCost) -> int:
    """Stop at the first node that does not pay (arXiv 2606.01813, Algorithm 1): the smallest maximiser of theta where the cost is convex."""
    tokens = ONE
    for n, gain in enumerate(gains):
        if not worth_it(gain, tokens, cost(n), cost.step(n)):
            return n
        tokens += gain
    return len(gains)


def full_scan(gains: Sequence[Rational], cost: RoundCost) -> int:
    """The smallest maximiser of theta, whatever the cost: every size is looked at."""
    return smallest_maximiser(throughput(gains, cost))


def safe_stop(gains: Sequence[Rational], cost: RoundCost) -> int:
    """The smallest maximiser of theta, whatever the cost, looking at no more gains than :func:`looked_at` says."""
    return _search(gains, cost)[0]


def looked_at(gains: Sequence[Rational], cost: RoundCost) -> int:
    """How many gains ``safe_stop`` looks at before it knows."""
    return _search(gains, cost)[1]


def _search(gains: Sequence[Rational], cost: RoundCost) -> tuple[int, int]:
    """Gains never increase, so a tree of m > n nodes covers at most Phi(n) + (m - n) delta_{n+1}.

    Stop when no m can beat the best so far even with that.
    """
    costs = [cost(n) for n in range(len(gains) + 1)]
    best, best_rate, tokens = 0, ONE / costs[0], ONE
    for n, gain in enumerate(gains):
        if all(tokens + (m - n) * gain <= best_rate * costs[m] for m in range(n + 1, len(costs))):
            return best, n + 1
        tokens += gain
        if tokens > best_rate * costs[n + 1]:
            best, best_rate = n + 1, tokens / costs[n + 1]
    return best, len(gains)
