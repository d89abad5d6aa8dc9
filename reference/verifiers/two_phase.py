"""Allocate, then decide: the frame of UniVer (arXiv 2605.04543) for any plan that is lossless at one node.

A node visited with capacity a owes the mass a p(y) to every token y.  *Allocate*: given the drawn children, child y carries the mass m_y;
averaged over the draws it carries M(y) <= a p(y), and a p - M is what the node still owes.  *Decide*: the children are tried one after the
other, child y with capacity m_y / (1 - masses tried before), and the node itself last, with

    stay = s / (s + 1 - a),     s = sum_y (a p(y) - M(y)),     bonus ~ (a p - M) / s.

So the node or its subtree is accepted with probability a on average, each token with a p(y): nothing below can tell which plan it was.
A leaf is a node without children: it stays with probability a, and its bonus has law p.  The root stays always, since there a = 1.

Proved in proofs/rocq/Two_phase.v: two_phase_exact.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..chance import Chance
from ..laws import ONE, ZERO, Law
from ..models import Model
from ..rational import Rational
from ..trees import DraftNode
from .ascent import Visit
from .descent import Accepted

T = TypeVar("T")

Masses = Sequence[Rational]
"""m_y of the drawn children, in draw order; together at most 1."""

Allocate = Callable[[Law[int], Sequence[DraftNode], Rational], tuple[Masses, Mapping[int, Rational]]]
"""(target law, drawn children, capacity) -> (masses of the children, owed mass a p - M of every token)."""

Order = Callable[[Model, Sequence[DraftNode], Masses], Sequence[int]]
"""(target, drawn children, their masses) -> positions of the children as they are tried.  It must not look at draws below the children."""


def draw_order(target: Model, children: Sequence[DraftNode], masses: Masses) -> Sequence[int]:
    """The order in which the children were drawn."""
    return range(len(children))


def two_phase(allocate: Allocate, order: Order = draw_order) -> Visit:
    """The rule that allocates at every node by ``allocate`` and tries the children in ``order``."""

    def visit(
        target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
    ) -> Accepted | T | None:
        children: tuple[DraftNode, ...] = tuple(node.children())
        masses, owed = allocate(target(node.path), children, capacity)
        left = ONE
        for position in order(target, children, masses):
            if mass := masses[position]:
                if (accepted := below(children[position], mass / left)) is not None:
                    return accepted
                left -= mass
        rest = sum(owed.values(), ZERO)
        stays = rest and chance.flip(rest / (rest + 1 - capacity), at=node)
        return Accepted(node, Law(owed)) if stays else None

    return visit
