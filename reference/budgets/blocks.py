"""Costs that move in steps: tiles of a kernel, buckets of captured graphs.  A node is free until the block is full, so only full blocks compete."""

from collections.abc import Sequence

from ..laws import ONE
from ..rational import Rational
from .cost import RoundCost
from .stopping import worth_it


def tile_ends(width: int, nodes: int) -> list[int]:
    """The trees that fill tiles of ``width`` query tokens, n + 1 = width, 2 width, ..., and the cap ``nodes`` itself."""
    return [*range(width - 1, nodes, width), nodes]


def bucket_ends(sizes: Sequence[int], nodes: int) -> list[int]:
    """The trees that fill graphs captured for these numbers of query tokens, and the cap ``nodes`` itself (padded to the next graph)."""
    return [*(size - 1 for size in sorted(sizes) if 0 < size <= nodes), nodes]


def block_greedy(gains: Sequence[Rational], cost: RoundCost, ends: Sequence[int]) -> int:
    """The first of ``ends`` after which the next does not raise the throughput; ``ends`` increase and the last is ``len(gains)``.

    Reaches the maximum of theta where the cost is ``staircase`` with these ends; it is the smallest maximiser since gains are positive.
    """
    tokens = ONE + sum(gains[: ends[0]])
    for here, following in zip(ends, ends[1:], strict=False):
        gain = sum(gains[here:following], ONE - ONE)
        if not worth_it(gain, tokens, cost(here), cost(following) - cost(here)):
            return here
        tokens += gain
    return ends[-1]


def staircase(cost: RoundCost, ends: Sequence[int]) -> bool:
    """Whether block greedy is right: within a block no smaller tree is cheaper than the full one, and the jumps, per node, never decrease.

    With tiles of equal width that means non-decreasing jumps; a cap inside the last tile pays the whole jump for fewer nodes, which only helps.
    """
    starts = [0, *(end + 1 for end in ends[:-1])]
    flat = all(cost(n) >= cost(end) for start, end in zip(starts, ends, strict=True) for n in range(start, end))
    slopes = [(cost(right) - cost(left)) / (right - left) for left, right in zip(ends, ends[1:], strict=False)]
    return flat and all(slopes[i] <= slopes[i + 1] for i in range(len(slopes) - 1))
