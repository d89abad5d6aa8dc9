"""What a verifier answers, and how a root-to-leaf rule written as one level becomes a verifier."""

from collections.abc import Callable
from dataclasses import dataclass

from ..chance import Chance
from ..laws import Law
from ..models import Model
from ..trees import DraftNode


@dataclass(frozen=True)
class Accepted:
    """The accepted node and the law of the bonus token, which is never drawn here: its law is part of the answer."""

    node: DraftNode
    bonus: Law[int]


@dataclass(frozen=True)
class Stop:
    """A level's answer "no child of this node": the node itself is accepted."""

    bonus: Law[int]


Level = Callable[[Model, DraftNode, Chance], DraftNode | Stop]
Verifier = Callable[[Model, DraftNode, Chance], Accepted]


def descend(level: Level) -> Verifier:
    """Apply ``level`` from the root down until it stops."""

    def verifier(target: Model, root: DraftNode, chance: Chance) -> Accepted:
        node = root
        while not isinstance(step := level(target, node, chance), Stop):
            node = step
        return Accepted(node, step.bonus)

    return verifier
