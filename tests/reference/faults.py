"""Planted faults: verifiers and trees with one thing wrong each.  Every one of them must be found, at the place where it is."""

from collections.abc import Callable

from draftproof.reference.blocks import Block, block_law_on_tree
from draftproof.reference.chance import Chance
from draftproof.reference.laws import ONE, ZERO, Law, mixture
from draftproof.reference.models import Model, Prefix
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode, Node
from draftproof.reference.verifiers import Accepted, Family, Stop
from draftproof.reference.verifiers.descent import Level, descend


def residual_not_updated(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """Every sibling is tested against the target row itself; only the bonus token knows the last residual."""
    row = residual = target(node.path)
    for child in node.children():
        if chance.flip(min(ONE, row[child.token] / child.declared[child.token]), at=child):
            return child
        residual = row.excess(child.declared)[1] or row
    return Stop(residual)


def bonus_from_target(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """The bonus token comes from the target row, whatever was rejected before it."""
    residual = target(node.path)
    for child in node.children():
        if chance.flip(min(ONE, residual[child.token] / child.declared[child.token]), at=child):
            return child
        residual = residual.excess(child.declared)[1] or residual
    return Stop(target(node.path))


def residual_not_normalised(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """(f - r)_+ goes into the next ratio as it is."""
    left = dict(target(node.path).items())
    for child in node.children():
        if chance.flip(min(ONE, left.get(child.token, ZERO) / child.declared[child.token]), at=child):
            return child
        left = {token: max(ZERO, weight - child.declared[token]) for token, weight in left.items()}
    return Stop(Law(left if any(left.values()) else dict(target(node.path).items())))


def always_accept(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """The first draft is accepted without a test."""
    return next(iter(node.children()), Stop(target(node.path)))


def only_at(place: Prefix, fault: Level, sound: Level) -> Level:
    """``fault`` at the node of this path, ``sound`` everywhere else."""
    return lambda target, node, chance: (fault if node.path == place else sound)(target, node, chance)


def root_to_leaf(level: Level) -> Family:
    """A level as a family of its own."""
    return Family(level.__name__, descend(level), level)


def traversal_without(what: str) -> Family:
    """Traversal with a part of its update dropped: the "capacity" in everything, in the "residual" only, or the "update" of the capacity."""

    def visit(target: Model, node: DraftNode, capacity: Rational, chance: Chance) -> Accepted | None:
        residual = target(node.path)
        for child in node.children():
            share = min(ONE, capacity * residual[child.token] / child.declared[child.token])
            if accepted := visit(target, child, share, chance):
                return accepted
            mass, left = residual.excess(child.declared, ONE if what == "capacity" else capacity)
            if what == "residual":
                left = residual.excess(child.declared)[1] or left
            if what != "update":
                capacity = mass / (mass + 1 - capacity) if mass else ZERO
            residual = left or residual
        return Accepted(node, residual) if chance.flip(capacity, at=node) else None

    def verify(target: Model, root: DraftNode, chance: Chance) -> Accepted:
        return visit(target, root, ONE, chance) or Accepted(root, target(()))

    return Family(f"traversal_without_{what}", verify)


def reordered(node: Node, key: Callable[[Node], object]) -> Node:
    """Siblings verified in another order than they were drawn in."""
    return Node(node.path, node.declared, tuple(reordered(child, key) for child in sorted(node.below, key=key)))


def redeclared(node: Node, declare: Callable[[Prefix, Prefix], Law[int]], elders: Prefix = ()) -> Node:
    """Declared laws replaced by ``declare(prefix, elder siblings)``."""
    below = tuple(redeclared(child, declare, tuple(elder.token for elder in node.below[:rank])) for rank, child in enumerate(node.below))
    return Node(node.path, declare(node.path[:-1], elders) if node.path else None, below)


def averaged(family: Family, target: Model, trees: Law[Node]) -> Law[Block]:
    """Block law over populated trees, each taken as it stands."""
    return mixture((probability, block_law_on_tree(family, target, tree)) for tree, probability in trees.items())
