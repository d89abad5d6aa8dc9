"""DDTree (arXiv 2604.12989): the draft tree of n nodes that a draft law expects to be accepted furthest, and its coverage.

The mass q(u) of a prefix u is the product of the draft probabilities along it.  A tree T is a prefix-closed set of prefixes, and the number of its
tokens that a draw from q follows has mean Phi(T) = sum of q(u) over u in T.  So the best n nodes are the n heaviest prefixes; ordered with ties to
the parent, ancestors come first and they form a tree.

A prefix is ranked by its **rank tuple**: at each depth, how many tokens are more probable there (ties to the smaller token).  Every order below is
by decreasing mass, ties to the lexicographically smallest rank tuple, which puts a prefix before its extensions.
"""

from collections.abc import Iterator
from functools import cache
from heapq import heappop, heappush
from itertools import accumulate, islice

from ..drafting import ranked
from ..laws import ONE
from ..models import Model, Prefix
from ..rational import Rational

Ranks = tuple[int, ...]


def best_first(draft: Model, depth: int) -> Iterator[tuple[Prefix, Rational]]:
    """Every prefix of positive mass and at most ``depth`` tokens, with its mass, heaviest first; lazily.

    A rank tuple enters the frontier when its predecessor leaves it: the same tuple with the last rank one less, or, where that is 0, without it.
    The predecessor is at least as heavy, so nothing comes late, and there is only one, so nothing comes twice.
    """
    frontier: list[tuple[Rational, Ranks, Prefix, Rational]] = []  # minus mass, ranks, parent, mass of the parent
    order = cache(ranked)

    def offer(ranks: Ranks, parent: Prefix, mass: Rational) -> None:
        law = draft(parent)
        tokens = order(law)
        if ranks[-1] < len(tokens):
            heappush(frontier, (-mass * law[tokens[ranks[-1]]], ranks, parent, mass))

    if depth > 0:
        offer((0,), (), ONE)
    while frontier:
        minus_mass, ranks, parent, parent_mass = heappop(frontier)
        path = (*parent, order(draft(parent))[ranks[-1]])
        yield path, -minus_mass
        offer((*ranks[:-1], ranks[-1] + 1), parent, parent_mass)
        if len(path) < depth:
            offer((*ranks, 0), path, -minus_mass)


def ddtree(draft: Model, depth: int, nodes: int) -> list[Prefix]:
    """The nodes of the DDTree of at most ``nodes`` nodes, best first; fewer when fewer prefixes have positive mass.  Trees are nested."""
    return [path for path, _ in islice(best_first(draft, depth), max(nodes, 0))]


def gains(draft: Model, depth: int, nodes: int) -> list[Rational]:
    """delta_1 >= delta_2 >= ...: what each node adds to the coverage, which is its mass."""
    return [mass for _, mass in islice(best_first(draft, depth), max(nodes, 0))]


def coverage(draft: Model, depth: int, nodes: int) -> list[Rational]:
    """Phi(0), Phi(1), ...: expected accepted tokens of the best tree of each size, under the draft law.  Concave."""
    return list(accumulate(gains(draft, depth, nodes), initial=ONE - ONE))


def top_prefixes(draft: Model, depth: int, nodes: int) -> list[Prefix]:
    """The same tree by definition: all prefixes listed, then sorted."""

    def below(path: Prefix, ranks: Ranks, mass: Rational) -> Iterator[tuple[Rational, Ranks, Prefix]]:
        if len(path) < depth:
            law = draft(path)
            for rank, token in enumerate(ranked(law)):
                entry = -mass * law[token], (*ranks, rank), (*path, token)
                yield entry
                yield from below(entry[2], entry[1], -entry[0])

    return [path for _, _, path in sorted(below((), (), ONE))[: max(nodes, 0)]]
