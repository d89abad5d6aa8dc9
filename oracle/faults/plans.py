"""Faults of greedy transport and UniVer, on trees whose siblings are fixed except perhaps the last.

What they should be: a node visited with capacity a has fixed children H and the last, b, drawn from r, which is r off H.  With Z the sum of
(r - a p)_+, m_b = min(1, a p(b) / r(b)), every fixed y gets m_y = a p(y) (1 - m_b) / Z, and (a p - r)_+ off H is owed, of total s.  A child is
gone on from with m over what its elders left; after that the node is accepted with s / (s + 1 - a), the root always, and the bonus token is drawn
from what is owed.  Greedy transport takes a = 1 at every node reached.
"""

import random
from collections.abc import Sequence

from .rows import Row, Sibling, by_level, on_tree, pick


def plan(p: Row, children: Sequence[Sibling], a: float) -> tuple[Row, Row]:
    """(m of every child, what is owed to every token)."""
    if not children:
        return [], [a * weight for weight in p]
    *fixed, drawn = children
    r, off = drawn.declared, {child.token for child in fixed}
    m = min(1.0, a * p[drawn.token] / r[drawn.token])
    spare = sum(max(b - (0.0 if token in off else a * w), 0.0) for token, (w, b) in enumerate(zip(p, r, strict=True)))
    masses = [a * p[child.token] * (1 - m) / spare if spare else 0.0 for child in fixed]
    return [*masses, m], [0.0 if token in off else max(a * w - b, 0.0) for token, (w, b) in enumerate(zip(p, r, strict=True))]


def walk(children: Sequence[Sibling], masses: Row) -> Sibling | None:
    """A child by its mass, or none: each with its mass over what its elders left."""
    left = 1.0
    for child, mass in zip(children, masses, strict=True):
        if random.random() * left < mass:
            return child
        left -= mass
    return None


@by_level(family="greedy_transport")
def fixed_mass_not_carried(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Gives the fixed children the target's own mass, and not what the sampled one cannot use."""
    masses, owed = plan(p, siblings, 1.0)
    masses = [*(p[child.token] * (1 - masses[-1]) for child in siblings[:-1]), *masses[-1:]]  # fault: ... / Z
    return walk(siblings, masses) or pick(owed)


@by_level(family="greedy_transport")
def owed_to_fixed_tokens(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Keeps the tokens of the fixed children in the bonus law."""
    masses, owed = plan(p, siblings, 1.0)
    off = {child.token for child in siblings[:-1]}
    return walk(siblings, masses) or pick([p[token] if token in off else weight for token, weight in enumerate(owed)])  # fault: pick(owed)


@by_level(family="greedy_transport")
def masses_not_conditioned(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Does not divide a child's mass by what its elders left."""
    masses, owed = plan(p, siblings, 1.0)
    for child, mass in zip(siblings, masses, strict=True):
        if random.random() < mass:  # fault: random.random() * left < mass
            return child
    return pick(owed if any(owed) else p)


@by_level(family="greedy_transport")
def sampled_law_not_renormalised(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Uses the sampled child's probability before the fixed tokens were taken out of its law."""
    if not siblings:
        return pick(p)
    *fixed, drawn = siblings
    scale = 1.0 / (1 + len(fixed))  # fault: drawn.declared as it is
    shrunk = Sibling(drawn.index, drawn.token, [scale * weight for weight in drawn.declared], drawn.target, drawn.children)
    masses, owed = plan(p, [*fixed, shrunk], 1.0)
    step = walk([*fixed, drawn], masses)
    return step or pick(owed)


@by_level(family="greedy_transport")
def one_uniform_for_plan(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests all children with the same uniform, each against its share of what is left."""
    masses, owed = plan(p, siblings, 1.0)
    left, u = 1.0, random.random()
    for child, mass in zip(siblings, masses, strict=True):
        if u * left < mass:  # fault: a uniform of its own
            return child
        left -= mass
    return pick(owed)


@by_level(family="univer")
def forgets_capacity_below(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Plans every node from capacity 1 and never looks back: lossless, but that is greedy transport, which accepts less."""
    masses, owed = plan(p, siblings, 1.0)
    return walk(siblings, masses) or pick(owed)


@on_tree(family="univer")
def planned_at_full_capacity(root: Sibling) -> list[int]:
    """Plans every node at capacity 1, and decides with the capacity it has."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, 1.0)  # fault: a
        left, total = 1.0, sum(owed)
        for child, mass in zip(node.children, masses, strict=True):
            if mass and (block := visit(child, mass / left, [*path, child.token])) is not None:
                return block
            left -= mass
        return [*path, pick(owed)] if total and random.random() < total / (total + 1 - a) else None

    return visit(root, 1.0, []) or []


@on_tree(family="univer")
def accepted_with_what_is_owed(root: Sibling) -> list[int]:
    """Accepts a node with the mass it owes, not with its share of what is left."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, a)
        left, total = 1.0, sum(owed)
        for child, mass in zip(node.children, masses, strict=True):
            if mass and (block := visit(child, mass / left, [*path, child.token])) is not None:
                return block
            left -= mass
        return [*path, pick(owed)] if total and random.random() < (total if path else 1.0) else None  # fault: total / (total + 1 - a)

    return visit(root, 1.0, []) or []


@on_tree(family="univer")
def offers_not_conditioned(root: Sibling) -> list[int]:
    """Does not divide a child's mass by what its elders left."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, a)
        left, total = 1.0, sum(owed)
        for child, mass in zip(node.children, masses, strict=True):
            if mass and (block := visit(child, mass, [*path, child.token])) is not None:  # fault: mass / left
                return block
            left -= mass
        return [*path, pick(owed)] if total and random.random() < total / (total + 1 - a) else None

    return visit(root, 1.0, []) or []


@on_tree(family="univer")
def owed_is_target_below(root: Sibling) -> list[int]:
    """Draws the bonus token from the target's row at the node accepted."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, a)
        left, total = 1.0, sum(owed)
        for child, mass in zip(node.children, masses, strict=True):
            if mass and (block := visit(child, mass / left, [*path, child.token])) is not None:
                return block
            left -= mass
        return [*path, pick(node.target)] if total and random.random() < total / (total + 1 - a) else None  # fault: pick(owed)

    return visit(root, 1.0, []) or []


@on_tree(family="univer")
def one_uniform_for_all_nodes(root: Sibling) -> list[int]:
    """Tests every node with the same uniform."""
    u = random.random()  # fault: one for every node

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, a)
        left, total = 1.0, sum(owed)
        for child, mass in zip(node.children, masses, strict=True):
            if mass and (block := visit(child, mass / left, [*path, child.token])) is not None:
                return block
            left -= mass
        return [*path, pick(owed)] if total and u < total / (total + 1 - a) else None

    return visit(root, 1.0, []) or []


@on_tree(family="univer")
def owed_without_capacity(root: Sibling) -> list[int]:
    """Subtracts the draft's law from the whole target row, whatever capacity the node has."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, a)[0], plan(node.target, node.children, 1.0)[1]  # fault: the second 1.0 is a
        left, total = 1.0, sum(owed)
        for child, mass in zip(node.children, masses, strict=True):
            if mass and (block := visit(child, mass / left, [*path, child.token])) is not None:
                return block
            left -= mass
        return [*path, pick(owed)] if total and random.random() < total / (total + 1 - a) else None

    return visit(root, 1.0, []) or []
