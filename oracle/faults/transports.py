"""Faults of UniVer over optimal plans (``univer_transport``), in the words of the reference.

What they should be: at a node visited with capacity a, drawn child y carries m_y = pi(S, y) / D(S), pi an optimal plan and D the law of the set S
of drawn tokens; of siblings with one token the eldest carries it.  A child is visited with m over what its elders left; then the node stays with
probability s / (s + 1 - a), s the total of a p - sum_S pi(S, .), which is the law of the bonus token.
"""

from collections.abc import Sequence
from typing import Any

from draftproof.reference.chance import Chance
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.transport.candidates import draws_of, set_law
from draftproof.reference.trees import DraftNode
from draftproof.reference.verifiers.ascent import ascend
from draftproof.reference.verifiers.descent import Accepted
from draftproof.reference.verifiers.two_phase import two_phase
from draftproof.reference.verifiers.univer_transport import augmented, univer_transport

from .programs import program


def planned(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], Rational, dict[int, Rational]]:
    """pi(S, y) of every child for the drawn set S, D(S), and what is owed."""
    draws = draws_of(children)
    plan, drawn = augmented(p, draws, capacity), frozenset(child.token for child in children)
    owed = {token: capacity * weight - sum((m for (_, y), m in plan.items() if y == token), ZERO) for token, weight in p.items()}
    return [plan.get((drawn, child.token), ZERO) for child in children], set_law(draws)[drawn], owed


def eldest_only(children: Sequence[DraftNode], masses: Sequence[Rational]) -> list[Rational]:
    tokens = [child.token for child in children]
    return [ZERO if token in tokens[:rank] else mass for rank, (token, mass) in enumerate(zip(tokens, masses, strict=True))]


@program(family="univer_transport")
def plan_bonus_is_target(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Draws the bonus token from the target's row at the node accepted, not from what its plan leaves owed."""
    answer = univer_transport(target, root, chance)
    return Accepted(answer.node, target(answer.node.path))  # fault: answer


@program(family="univer_transport")
def plan_not_divided(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Takes the plan's mass for the probability of the child, without dividing by that of the drawn set."""

    def allocate(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], dict[int, Rational]]:
        masses, _, owed = planned(p, children, capacity)
        return eldest_only(children, masses), owed  # fault: mass / D(S)

    return ascend(two_phase(allocate))(target, root, chance)


@program(family="univer_transport")
def youngest_carries(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Lets every sibling of a token carry its mass, so that a token drawn twice is offered twice."""

    def allocate(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], dict[int, Rational]]:
        masses, drawn, owed = planned(p, children, capacity)
        left, offers = ONE, list[Rational]()
        for mass in masses:  # fault: eldest_only
            offers.append(min(left, mass / drawn))
            left -= offers[-1]
        return offers, owed

    return ascend(two_phase(allocate))(target, root, chance)


@program(family="univer_transport")
def planned_as_if_whole(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Takes the children's masses from the plan of capacity 1, and what is owed from the plan of the capacity there is."""

    def allocate(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], Any]:
        masses, drawn, _ = planned(p, children, ONE)  # fault: capacity
        return [mass / drawn for mass in eldest_only(children, masses)], planned(p, children, capacity)[2]

    return ascend(two_phase(allocate))(target, root, chance)
