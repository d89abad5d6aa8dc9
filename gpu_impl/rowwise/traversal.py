"""Traversal on one tree, leaves first: residuals are made only where there is a younger sibling or the uniform could accept.

With its children rejected a node keeps m / (m + 1 - a) of its mass a, and m, the total of (a f - r)_+, is at most a less
what the last child's own token takes: a uniform beyond that rejects it whatever the residual is.  Rows are read again for a
residual rather than kept, since a path may be long.
"""
from collections.abc import Sequence
from dataclasses import dataclass

from .recursive_rejection import reject
from .rows import Row, share
from .trees import Tree

SLACK = 2.0**-20  # more than a sum of float32 is off

@dataclass
class Visit:
    """A node being visited with a mass; how many children were tried; the residual, once there is more to it than the target row.

    ``left``: the most that the residual can hold once the child tried last is rejected.
    """

    node: int
    mass: float
    tried: int = 0
    left: float = 0.0
    residual: Row | None = None


def traversal(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    stack = [Visit(0, 1.0)]
    while True:
        visit = stack[-1]
        children = tree.children[visit.node]
        if visit.tried:  # and came back rejected
            if visit.tried == len(children) and visit.node > 0 and uniforms[visit.node] >= most_kept(visit.mass, visit.left):
                stack.pop()
                continue
            _subtract(tree, visit, children[visit.tried - 1])
        if visit.tried < len(children) and visit.mass > 0:  # nothing below a mass of 0 is ever accepted
            child = children[visit.tried]
            token = tree.tokens[child]
            owed = visit.residual.mass(token) if visit.residual else tree.target_mass(child)
            wanted, offered = visit.mass * owed, tree.offer(child)
            visit.tried, visit.left = visit.tried + 1, visit.mass - min(wanted, offered)
            stack.append(Visit(child, share(wanted, offered)))
        elif visit.node == 0 or uniforms[visit.node] < visit.mass:
            return visit.node, (visit.residual or tree.target(visit.node)).draw(uniforms[0])
        else:
            stack.pop()


def most_kept(mass: float, left: float) -> float:
    """The most that a node visited with this mass can be accepted with, when no more than ``left`` is left to it."""
    return (left + SLACK) / (left + SLACK + (1 - mass)) if mass > 0 else 0.0


def _subtract(tree: Tree, visit: Visit, child: int) -> None:
    """(a f - r)_+ for f, and m / (m + 1 - a) for a."""
    residual = visit.residual or tree.target(visit.node)
    visit.residual, total = reject(residual, tree.declared(child), tree.tokens[child], visit.mass)
    visit.mass = total / (total + (1 - visit.mass)) if total > 0 else 0.0  # 1 - a first: a mass of 1 then stays exactly 1
