"""B. Swap-gain ranking (ours): which leaf to give up for which missing node, from one target pass over the tree.

A **swap** takes a leaf u out of T and puts a frontier node c = va in (v in T, c not, d(v) < H, v != u): coverage changes by P(c) - P(u), and both
are known.  Theorem 7: a tree covers the most for its size iff no swap improves it.  (The least P in T is at a leaf u0, since P falls along paths.
Any node outside has a frontier node c above or at it, of no less P; if c hangs below u0 then P(c) <= P(u0), else by assumption.  So everything
outside is at most everything inside.)  Zero inversions of the ranking loss are thus a coverage-optimal tree.
"""

from collections.abc import Iterator, Sequence

from ..exits import reach
from ..laws import ZERO
from ..models import Model, Prefix
from ..rational import Rational, rational
from ..trees import Node
from .credit import Context, Credit, added, scaled

Swap = tuple[Prefix, Prefix, Rational]
"""Leaf, frontier node, gain in coverage."""


def swap_gains(target: Model, root: Node, horizon: int, vocabulary: int) -> Iterator[Swap]:
    """Every swap with its gain P(c) - P(u)."""
    mass = {node.path: probability for node, probability in reach(target, root).items()}
    leaves = [path for path in mass if path and not any(other[:-1] == path for other in mass if other)]
    for above in mass:
        for token in range(vocabulary) if len(above) < horizon else ():
            outside = (*above, token)
            if outside not in mass:
                for leaf in leaves:
                    if leaf != above:
                        yield leaf, outside, mass[above] * target(above)[token] - mass[leaf]


def swap_optimal(target: Model, root: Node, horizon: int, vocabulary: int) -> bool:
    """No swap improves the coverage."""
    return all(gain <= 0 for _, _, gain in swap_gains(target, root, horizon, vocabulary))


def swap_ranking(contexts: Sequence[Context], vocabulary: int, inverse_tau: int = 1) -> list[Credit]:
    """Credit of sum over swaps |gain| softplus(-sgn(gain) (s(c) - s(u)) / tau), a mean over the contexts, at the present draft.

    1 / tau is an integer k, so that the slope is rational: with gain > 0, s(c) gets gain/tau times q(u)^k / (q(u)^k + q(c)^k) and s(u) as much less.
    Frontier nodes that the draft cannot make, q(c) = 0, are not ranked.
    """
    credits: list[Credit] = []
    for one in contexts:
        parts: list[tuple[Prefix, Rational]] = []
        for leaf, outside, gain in swap_gains(one.target, one.root, len(one.draft), vocabulary):
            inside, missing = one.mass(leaf) ** inverse_tau, one.mass(outside) ** inverse_tau
            if missing and gain:
                slope = gain * inverse_tau * (inside if gain > ZERO else missing) / (inside + missing)
                parts += [(outside, slope), (leaf, -slope)]
        credits.append(scaled(added(parts, whole_path=True), rational(1) / len(contexts)))
    return credits
