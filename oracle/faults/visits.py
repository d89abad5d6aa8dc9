"""Faults of traversal verification on draft trees, with a numpy generator.

What they should be: a node is visited with a capacity a, 1 at the root; a child x drawn from r gets min(1, a f(x) / r(x)), f what its elders left
of the target.  When its whole subtree is rejected, with m the mass of (a f - r)_+, f becomes that normalised and a becomes m / (m + 1 - a).  After
its children the node is accepted with probability a, the bonus token drawn from f.
"""

import numpy as np

from .rows import Row, Sibling, on_tree


def excess(a: float, f: Row, r: Row) -> Row:
    """(a f - r)_+"""
    return [max(a * weight - other, 0.0) for weight, other in zip(f, r, strict=True)]


@on_tree(family="traversal", randomness="generator")
def residual_without_capacity(root: Sibling, generator: np.random.Generator) -> list[int]:
    """Subtracts a sibling's law from the whole residual, whatever capacity its parent has."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        f = node.target
        for child in node.children:
            share = min(1.0, a * f[child.token] / child.declared[child.token])
            if (block := visit(child, share, [*path, child.token])) is not None:
                return block
            left, mass = excess(1.0, f, child.declared), sum(excess(a, f, child.declared))  # fault: excess(a, ...) in both
            if not mass:
                return None
            f, a = [weight / sum(left) for weight in left], mass / (mass + 1 - a)
        return [*path, int(generator.choice(len(f), p=f))] if generator.random() < a else None

    return visit(root, 1.0, []) or []


@on_tree(family="traversal", randomness="generator")
def capacity_not_updated(root: Sibling, generator: np.random.Generator) -> list[int]:
    """Keeps a node's capacity when the subtree of a child is rejected."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        f = node.target
        for child in node.children:
            share = min(1.0, a * f[child.token] / child.declared[child.token])
            if (block := visit(child, share, [*path, child.token])) is not None:
                return block
            left = excess(a, f, child.declared)
            if not sum(left):
                return None
            f = [weight / sum(left) for weight in left]  # fault: and a = sum(left) / (sum(left) + 1 - a)
        return [*path, int(generator.choice(len(f), p=f))] if generator.random() < a else None

    return visit(root, 1.0, []) or []


@on_tree(family="traversal", randomness="generator")
def visit_bonus_is_target(root: Sibling, generator: np.random.Generator) -> list[int]:
    """Draws the bonus token from the node's target row, not from what its children left."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        f = node.target
        for child in node.children:
            share = min(1.0, a * f[child.token] / child.declared[child.token])
            if (block := visit(child, share, [*path, child.token])) is not None:
                return block
            left = excess(a, f, child.declared)
            if not sum(left):
                return None
            f, a = [weight / sum(left) for weight in left], sum(left) / (sum(left) + 1 - a)
        return [*path, int(generator.choice(len(f), p=node.target))] if generator.random() < a else None  # fault: p=f

    return visit(root, 1.0, []) or []


@on_tree(family="traversal", randomness="generator")
def share_without_capacity(root: Sibling, generator: np.random.Generator) -> list[int]:
    """Gives a child its ratio whatever capacity its parent has."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        f = node.target
        for child in node.children:
            share = min(1.0, f[child.token] / child.declared[child.token])  # fault: a * f
            if (block := visit(child, share, [*path, child.token])) is not None:
                return block
            left = excess(a, f, child.declared)
            if not sum(left):
                return None
            f, a = [weight / sum(left) for weight in left], sum(left) / (sum(left) + 1 - a)
        return [*path, int(generator.choice(len(f), p=f))] if generator.random() < a else None

    return visit(root, 1.0, []) or []


@on_tree(family="traversal", randomness="generator")
def visit_tested_with_first_capacity(root: Sibling, generator: np.random.Generator) -> list[int]:
    """Accepts a node with the capacity it had before its children were rejected."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        f, given = node.target, a
        for child in node.children:
            share = min(1.0, a * f[child.token] / child.declared[child.token])
            if (block := visit(child, share, [*path, child.token])) is not None:
                return block
            left = excess(a, f, child.declared)
            if not sum(left):
                return None
            f, a = [weight / sum(left) for weight in left], sum(left) / (sum(left) + 1 - a)
        return [*path, int(generator.choice(len(f), p=f))] if generator.random() < given else None  # fault: < a

    return visit(root, 1.0, []) or []


@on_tree(family="traversal", randomness="generator")
def visit_siblings_sorted(root: Sibling, generator: np.random.Generator) -> list[int]:
    """Visits the siblings by token id, not in the order in which they were drawn."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        f = node.target
        for child in sorted(node.children, key=lambda child: child.token):  # fault: node.children
            share = min(1.0, a * f[child.token] / child.declared[child.token])
            if (block := visit(child, share, [*path, child.token])) is not None:
                return block
            left = excess(a, f, child.declared)
            if not sum(left):
                return None
            f, a = [weight / sum(left) for weight in left], sum(left) / (sum(left) + 1 - a)
        return [*path, int(generator.choice(len(f), p=f))] if generator.random() < a else None

    return visit(root, 1.0, []) or []
