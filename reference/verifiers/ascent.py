"""How a leaf-to-root rule written as one node becomes a verifier."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ..chance import Chance
from ..laws import ONE
from ..models import Model
from ..rational import Rational
from ..trees import DraftNode
from .descent import Accepted, Verifier

T = TypeVar("T")


class Visit(Protocol):
    """One node of a leaf-to-root rule: visited with a capacity, the probability with which its subtree may be accepted.

    ``below(child, share)`` visits a child with its share and returns what was accepted there, or None.  The visit returns that as it is, or the
    node itself with the law of the bonus token, or None when it accepts nothing.
    """

    def __call__(
        self, target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
    ) -> Accepted | T | None: ...


def ascend(visit: Visit) -> Verifier:
    """Apply ``visit`` in post-order; the root has capacity 1."""

    def verifier(target: Model, root: DraftNode, chance: Chance) -> Accepted:
        def at(node: DraftNode, capacity: Rational) -> Accepted | None:
            return visit(target, node, capacity, chance, at)

        accepted = at(root, ONE)
        assert accepted is not None, "the root has capacity 1"
        return accepted

    return verifier
