"""Faults of ``univer_lookahead``, in the words of the reference.

What they should be: the children of a node are tried in the order that promises most, each with its mass over what those tried before it left.  The
promise is made from target rows and declared laws; it must not look at the tokens drawn below.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from draftproof.reference.chance import Chance
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode
from draftproof.reference.verifiers.ascent import ascend
from draftproof.reference.verifiers.descent import Accepted
from draftproof.reference.verifiers.two_phase import Masses, two_phase
from draftproof.reference.verifiers.univer import allocate, univer
from draftproof.reference.verifiers.univer_lookahead import lookahead, univer_lookahead

from .programs import program

T = TypeVar("T")


@program(family="univer_lookahead")
def order_by_draws_below(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Tries the child first whose own children, as they were drawn, the target likes best."""

    def order(target: Model, children: Sequence[DraftNode], masses: Masses) -> Sequence[int]:
        promise = [sum((target(child.path)[below.token] for below in child.children()), ZERO) for child in children]  # fault: by their laws
        return sorted(range(len(children)), key=promise.__getitem__, reverse=True)

    return ascend(two_phase(allocate, order))(target, root, chance)


@program(family="univer_lookahead")
def offers_of_draw_order(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Tries the children in the best order, each with its mass over what its elders left, not over what is left."""

    def visit(
        target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
    ) -> Accepted | T | None:
        children: Sequence[DraftNode] = tuple(node.children())
        masses, owed = allocate(target(node.path), children, capacity)
        for position in lookahead(target, children, masses):
            left = ONE - sum(masses[:position], ZERO)  # fault: less the masses tried before
            if masses[position] and (accepted := below(children[position], masses[position] / left)) is not None:
                return accepted
        rest = sum(owed.values(), ZERO)
        return Accepted(node, Law(owed)) if rest and chance.flip(rest / (rest + 1 - capacity), at=node) else None

    return ascend(visit)(target, root, chance)


@program(family="univer_lookahead")
def never_looks_ahead(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Tries the children in draw order: lossless, but that is UniVer, which accepts less."""
    return univer(target, root, chance)  # fault: univer_lookahead


@program(family="univer_lookahead")
def ahead_bonus_is_target(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Draws the bonus token from the target's row at the node accepted."""
    answer = univer_lookahead(target, root, chance)
    return Accepted(answer.node, target(answer.node.path))  # fault: answer
