"""A convex stand-in for a cost that is not, and what choosing by it can lose."""

from collections.abc import Sequence

from ..rational import Rational
from .cost import RoundCost


def convex_envelope(cost: RoundCost, nodes: int) -> RoundCost:
    """The largest convex table below C_v(0), ..., C_v(nodes)."""
    return RoundCost(cost.draft, lower_hull([cost(n) - cost.draft for n in range(nodes + 1)]))


def lower_hull(table: Sequence[Rational]) -> list[Rational]:
    """The largest convex sequence below ``table``."""
    corners: list[int] = []
    for n in range(len(table)):
        while len(corners) > 1 and _above(table, corners[-2], corners[-1], n):
            corners.pop()
        corners.append(n)
    hull = list(table[:1])
    for left, right in zip(corners, corners[1:], strict=False):
        slope = (table[right] - table[left]) / (right - left)
        hull += [table[left] + slope * (n - left) for n in range(left + 1, right + 1)]
    return hull


def guarantee(cost: RoundCost, model: RoundCost, nodes: int) -> tuple[Rational, Rational]:
    """(eps, share): the tree that is best for ``model`` has at least the share (1 - eps) / (1 + eps) of the best throughput under ``cost``.

    If (1 - eps) M(n) <= C(n) <= (1 + eps) M(n) for all n, the chosen n has theta >= theta_M(n) / (1 + eps) and no other has more than
    theta_M / (1 - eps).  A factor on the whole model changes no choice, so the best factor is taken first; the share is then the smallest
    ratio C / M over the largest.
    """
    ratios = [cost(n) / model(n) for n in range(nodes + 1)]
    share = min(ratios) / max(ratios)
    return (1 - share) / (1 + share), share


def _above(table: Sequence[Rational], left: int, middle: int, right: int) -> bool:
    """Whether the middle point is on or above the line through the other two."""
    return (table[middle] - table[left]) * (right - left) >= (table[right] - table[left]) * (middle - left)
