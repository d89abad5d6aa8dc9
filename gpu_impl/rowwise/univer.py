"""UniVer on one tree, leaves first: plans are made where a node is visited, residuals only where the uniform could accept.

With its children rejected a node is accepted with s / (s + 1 - a), and what it owes then, s, is at most a less what the
children's own tokens take.  Rows are read again for a residual rather than kept, since a path may be long.
"""
from collections.abc import Sequence
from dataclasses import dataclass, field

from .greedy_plan import greedy_masses, greedy_rest
from .traversal import most_kept
from .trees import Tree


@dataclass
class Visit:
    """A node being visited with a mass; what its children will be visited with, given that all elders were rejected.

    ``left``: the most that it can owe once they are.
    """

    node: int
    mass: float
    left: float
    offers: list[float] = field(default_factory=list)
    tried: int = 0


def univer(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    stack = [Visit(0, 1.0, 1.0)]
    while True:
        visit = stack[-1]
        children = tree.children[visit.node] if visit.mass > 0 else []  # nothing below a mass of 0 is ever accepted
        if visit.tried < len(children):
            if not visit.offers:
                masses, visit.left = greedy_masses(tree, visit.node, visit.mass)
                visit.offers = conditional(masses)
            offer = visit.offers[visit.tried]
            stack.append(Visit(children[visit.tried], offer, offer))
            visit.tried += 1
            continue
        if visit.node == 0 or uniforms[visit.node] < most_kept(visit.mass, visit.left):
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
