"""Draft trees: a frozen topology of slots, a token in each slot, and the law the token was really drawn from (its declared law).

A **slot** is its own ordered tuple of child slots, so a leaf is ``()`` and the root of a chain of two drafts is ``(((),),)``.  Two places with
equal subtrees below are the same slot: that is what lets exact evaluation merge them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .chance import Chance
from .laws import Law
from .models import Prefix

Slot: TypeAlias = "tuple[Slot, ...]"
Tokens = tuple[int, ...]

Scheme = Callable[[Slot, Prefix, Tokens], Law[int] | None]
"""A drafting scheme: (slot, prefix, tokens of the elder siblings) -> declared law of the next child, or None when there is none."""

Draws = Callable[[Tokens], Law[int] | None]
"""A scheme at one node: tokens of the elder siblings -> declared law of the next child, or None when there are no more."""


@dataclass(frozen=True)
class DrawsAt:
    """How ``scheme`` draws the children of the node at ``prefix``, which has the slots ``slot`` below it."""

    scheme: Scheme
    slot: Slot
    prefix: Prefix

    def __call__(self, elders: Tokens) -> Law[int] | None:
        return self.scheme(self.slot, self.prefix, elders) if len(elders) < len(self.slot) else None


@dataclass(frozen=True)
class Node:
    """A node of a populated tree.  The root has an empty path and no declared law.

    ``draws``: how it and its siblings were drawn, where that is known; their declared laws say it for the draws that were made only.
    """

    path: Prefix
    declared: Law[int] | None = None
    below: "tuple[Node, ...]" = ()
    draws: Draws | None = field(default=None, compare=False, repr=False)

    @property
    def token(self) -> int:
        return self.path[-1]

    def children(self) -> "Iterator[Node]":
        """Children in draw order."""
        return iter(self.below)


class LazyNode:
    """A node whose children are drawn from the scheme when a verifier first looks at them: same law, far fewer branches.

    Equal when slot and path are equal, since what happens below depends on nothing else.  ``distinct`` joins same-token siblings (possible when
    drawing with replacement) into one node with the slots of both, recursively, as verifiers that do not read declared laws need.
    """

    __slots__ = ("slot", "path", "declared", "distinct", "_among", "_scheme", "_chance", "_drawn", "_elders", "_joined")

    def __init__(
        self,
        slot: Slot,
        path: Prefix,
        scheme: Scheme,
        chance: Chance,
        declared: Law[int] | None = None,
        distinct: bool = False,
        among: "Slot | None" = None,
    ):
        self.slot, self.path, self.declared, self.distinct, self._among = slot, path, declared, distinct, among
        self._scheme, self._chance = scheme, chance
        self._drawn: list[LazyNode] = []
        self._elders: Tokens = ()
        self._joined: list[LazyNode] | None = None

    @property
    def token(self) -> int:
        return self.path[-1]

    @property
    def draws(self) -> Draws | None:
        """How it and its siblings are drawn; None for the root."""
        return None if self._among is None else DrawsAt(self._scheme, self._among, self.path[:-1])

    def children(self) -> "Iterator[LazyNode]":
        """Children in draw order, each drawn when first looked at."""
        return self._join() if self.distinct else self._draw()

    def _join(self) -> "Iterator[LazyNode]":
        if self._joined is None:
            twins: dict[int, LazyNode] = {}
            for child in self._draw():
                slot = twins[child.token].slot + child.slot if child.token in twins else child.slot
                twins[child.token] = LazyNode(slot, child.path, self._scheme, self._chance, child.declared, True)
            self._joined = list(twins.values())
        return iter(self._joined)

    def _draw(self) -> "Iterator[LazyNode]":
        for rank, slot in enumerate(self.slot):
            if rank == len(self._drawn):
                law = self._scheme(self.slot, self.path, self._elders)
                if law is None:
                    return
                token = self._chance.draw(law)
                self._elders += (token,)
                self._drawn.append(LazyNode(slot, (*self.path, token), self._scheme, self._chance, law, self.distinct, self.slot))
            yield self._drawn[rank]

    def redrawn(self, chance: Chance) -> "LazyNode":
        """The same place with its children still to be drawn, by ``chance``."""
        return LazyNode(self.slot, self.path, self._scheme, chance, self.declared, self.distinct, self._among)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyNode) and (self.path, self.slot) == (other.path, other.slot)

    def __hash__(self) -> int:
        return hash((self.path, self.slot))


DraftNode = Node | LazyNode


def uniform_topology(children: Sequence[int]) -> Slot:
    """``children[d]`` siblings below every node of depth d; ``(1, 1, 1)`` is a chain of three drafts."""
    slot: Slot = ()
    for count in reversed(children):
        slot = (slot,) * count
    return slot


def populate(topology: Slot, scheme: Scheme, chance: Chance) -> Node:
    """Draw the whole tree, parents before children and elder siblings first."""

    def freeze(node: LazyNode) -> Node:
        return Node(node.path, node.declared, tuple(freeze(child) for child in list(node.children())), node.draws)

    return freeze(LazyNode(topology, (), scheme, chance))


def level_order(root: DraftNode) -> list[DraftNode]:
    """All nodes, root first, depth by depth, siblings in draw order: the order of the arrays handed to an implementation."""
    nodes: list[DraftNode] = [root]
    for node in nodes:
        nodes.extend(node.children())
    return nodes


def merged(root: Node) -> Node:
    """Same-token siblings (with-replacement draws) joined recursively, as target-only verifiers need; declared laws of the eldest are kept."""
    groups: dict[int, list[Node]] = {}
    for child in root.below:
        groups.setdefault(child.token, []).append(child)
    joined = (Node(twins[0].path, twins[0].declared, sum((twin.below for twin in twins), ())) for twins in groups.values())
    return Node(root.path, root.declared, tuple(merged(node) for node in joined))


def one_hot(root: Node) -> Node:
    """The same tree with every declared law replaced by a point mass: drafts treated as deterministic."""
    declared = None if root.declared is None else Law.point(root.token)
    return Node(root.path, declared, tuple(one_hot(child) for child in root.below))
