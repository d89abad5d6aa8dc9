"""UniVer on one tree, leaves first: plans are made where a node is visited, residuals only where the uniform could accept.

With its children rejected a node is accepted with s / (s + 1 - a), which is at most a, since it owes s <= a.  Rows are read
again for a residual rather than kept, since a path may be long.
"""
from collections.abc import Sequence
from dataclasses import dataclass, field

from .greedy_plan import greedy_masses, greedy_rest
from .trees import Tree


@dataclass
class Visit:
    """A node being visited with a mass; what its children will be visited with, given that all elders were rejected."""

    node: int
    mass: float
    offers: list[float] = field(default_factory=list)
    tried: int = 0


def univer(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    stack = [Visit(0, 1.0)]
    while True:
        visit = stack[-1]
        children = tree.children[visit.node] if visit.mass > 0 else []  # nothing below a mass of 0 is ever accepted
        if visit.tried < len(children):
            visit.offers = visit.offers or conditional(greedy_masses(tree, visit.node, visit.mass))
            stack.append(Visit(children[visit.tried], visit.offers[visit.tried]))
            visit.tried += 1
            continue
        if visit.node == 0 or uniforms[visit.node] < visit.mass:
            rest, total = greedy_rest(tree, visit.node, visit.mass)
            stays = total / (total + (1 - visit.mass)) if total > 0 else 0.0
            if visit.node == 0 or uniforms[visit.node] < stays:
                return visit.node, rest.draw(uniforms[0])
        stack.pop()


def conditional(masses: Sequence[float]) -> list[float]:
    """Each sibling's mass given that its elders were rejected: m_i / (1 - m_1 - ... - m_{i-1})."""
    offers, left = [], 1.0
    for mass in masses:
        offers.append(min(1.0, mass / left) if left > 0 else 0.0)
        left -= mass
    return offers
