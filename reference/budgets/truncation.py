"""Looking at the K most probable tokens of each depth only: when is the tree still optimal?"""

from collections.abc import Iterable, Sequence
from math import prod

from ..drafting import ranked
from ..laws import ONE, ZERO, Law
from ..models import Prefix, marginal
from ..rational import Rational
from .best_first import Ranks, ddtree


def truncated(marginals: Sequence[Law[int]], nodes: int, width: int) -> list[Prefix]:
    """The DDTree that sees the ``width`` most probable tokens of each depth; masses stay those of the full laws."""
    kept = [set(ranked(law)[:width]) for law in marginals]
    everything = ddtree(marginal(marginals), len(marginals), prod(len(law) + 1 for law in marginals))
    return [path for path in everything if all(token in kept[i] for i, token in enumerate(path))][:nodes]


def mass(marginals: Sequence[Law[int]], path: Prefix) -> Rational:
    """q(u), the product of the marginal probabilities along u."""
    return prod((marginals[i][token] for i, token in enumerate(path)), start=ONE)


def heaviest_excluded(marginals: Sequence[Law[int]], width: int) -> Rational:
    """The largest mass of a prefix that needs a token outside the ``width`` most probable: max over d of q_1^(1) ... q_{d-1}^(1) q_d^(width+1)."""
    above, heaviest = ONE, ZERO
    for law in marginals:
        order = ranked(law)
        if width < len(order):
            heaviest = max(heaviest, above * law[order[width]])
        above *= law[order[0]]
    return heaviest


def certified(marginals: Sequence[Law[int]], tree: Iterable[Prefix], width: int, nodes: int) -> bool:
    """Whether a tree built from ``width`` tokens per depth is optimal for its budget: nothing left out outweighs its lightest node.

    Exact: a tree of ``nodes`` nodes is optimal if and only if this holds.  A smaller one has room left, so nothing may be left out at all.
    """
    weights = [mass(marginals, path) for path in tree]
    excluded = heaviest_excluded(marginals, width)
    return min(weights, default=ONE) >= excluded if len(weights) == nodes else not excluded


def dominated(ranks: Ranks) -> int:
    """How many prefixes precede the one of these ranks (0 the best) or are it, whatever the marginals: sum over j of (r_1 + 1) ... (r_j + 1).

    A node of the tree of n nodes has at most n; so depth d needs n - d + 1 tokens at most, and ``width = nodes`` loses nothing.
    """
    return sum(prod(rank + 1 for rank in ranks[:length]) for length in range(1, len(ranks) + 1))
