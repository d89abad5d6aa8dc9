"""Traversal on one tree, leaves first: of the rows visited, residuals are made only where the uniform could accept.

With its children rejected a node keeps m / (m + 1 - a) of its mass a, which is at most a: a uniform of a or more rejects it
whatever the residual is.
"""
from collections.abc import Sequence
from dataclasses import dataclass

from .recursive_rejection import offer, reject
from .rows import Row
from .trees import Tree


@dataclass
class Visit:
    """A node being visited with a mass: the residual after its rejected children, and the child on trial."""

    node: int
    mass: float
    residual: Row | None = None
    tried: int = 0
    declared: Row | None = None


def traversal(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    stack = [Visit(0, 1.0)]
    while True:
        visit = stack[-1]
        children = tree.children[visit.node]
        if visit.tried:  # the last child came back rejected
            more = visit.tried < len(children)
            if more or visit.node == 0 or uniforms[visit.node] < visit.mass:
                _subtract(tree, visit)
        if visit.tried < len(children) and visit.mass > 0:  # nothing below a mass of 0 is ever accepted
            child = children[visit.tried]
            visit.residual = visit.residual or tree.target(visit.node)
            visit.declared = tree.declared(child)
            visit.tried += 1
            wanted, offered = visit.mass * visit.residual.mass(tree.tokens[child]), offer(visit.declared, tree.tokens[child])
            stack.append(Visit(child, wanted / offered if wanted < offered else float(wanted > 0)))
        elif visit.node == 0 or uniforms[visit.node] < visit.mass:
            return visit.node, (visit.residual or tree.target(visit.node)).draw(uniforms[0])
        else:
            stack.pop()


def _subtract(tree: Tree, visit: Visit) -> None:
    """(a f - r)_+ for f, and m / (m + 1 - a) for a."""
    assert visit.residual is not None
    token = tree.tokens[tree.children[visit.node][visit.tried - 1]]
    visit.residual, total = reject(visit.residual, visit.declared, token, visit.mass)
    visit.mass = total / (total + (1 - visit.mass)) if total > 0 else 0.0  # 1 - a first: a mass of 1 then stays exactly 1
