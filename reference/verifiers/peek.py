"""Looking at the declared laws of a node's children without drawing anything."""

from collections.abc import Sequence
from typing import Any, TypeVar

from ..laws import Law
from ..rational import Rational
from ..trees import DraftNode, LazyNode

T = TypeVar("T")


class _First:
    """A Chance that takes the first outcome: nothing is drawn, so nothing branches."""

    def flip(self, probability: Rational, at: Any = None) -> bool:
        return True

    def draw(self, law: Law[T], at: Any = None) -> T:
        return next(iter(law))


def peek(node: DraftNode) -> Sequence[DraftNode]:
    """The children as *some* draw would have them.

    Their number and the laws that do not depend on drawn elders are the node's own; the tokens of sampled children mean nothing.
    """
    return tuple((node.redrawn(_First()) if isinstance(node, LazyNode) else node).children())
