"""Recursive rejection on one tree: reads the target rows on the accepted path and the declared rows of the children tested."""
from collections.abc import Sequence

from .rows import Row
from .trees import Tree


def recursive_rejection(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node = 0
    while True:
        residual = tree.target(node)
        for child in tree.children[node]:
            token, declared = tree.tokens[child], tree.declared(child)
            if uniforms[child] * offer(declared, token) < residual.mass(token):
                node = child
                break
            residual = reject(residual, declared, token)[0]
        else:
            return node, residual.draw(uniforms[0])


def offer(declared: Row | None, token: int) -> float:
    """r(x)."""
    return 1.0 if declared is None else declared.mass(token)


def reject(residual: Row, declared: Row | None, token: int, mass: float = 1.0) -> tuple[Row, float]:
    """(mass f - r)_+ and its total; where that is 0, the row as it was.  Of a point mass only the one token is looked at."""
    if declared is not None:
        return residual.excess(declared, mass / residual.total)
    rest = residual.without([token])
    return (rest, mass * rest.total / (rest.total + residual.weight(token))) if mass * rest.total > 0 else (residual, 0.0)
