"""Traversal verification (arXiv 2505.12398): leaf to root; on a chain it is block verification (arXiv 2403.10444).

Every node is visited with a capacity a: the probability with which its subtree may be accepted, 1 at the root.  A child x drawn from r gets
capacity min(1, a f(x) / r(x)), f the node's current residual.  When the child's whole subtree is rejected, with m = sum_x (a f(x) - r(x))_+,

    f <- (a f - r)_+ / m,     a <- m / (m + 1 - a)        (m = 0: a <- 0),

which conserves the owed mass a f and the mass 1 - a of "nothing accepted here".  After the last child the node itself is accepted with
probability a; its bonus token then has law f.  The root always accepts.

Proved in proofs/rocq/Traversal.v: traversal_exact, block_exact.
"""

from collections.abc import Callable
from typing import TypeVar

from ..chance import Chance
from ..laws import ONE
from ..models import Model
from ..rational import Rational
from ..trees import DraftNode
from .ascent import ascend
from .descent import Accepted

T = TypeVar("T")


def traversal(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """The whole tree, visited in post-order."""
    return ascend(visit)(target, root, chance)


def visit(
    target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
) -> Accepted | T | None:
    """One node: accept in its subtree with probability ``capacity`` on average over its draws, or return None."""
    residual = target(node.path)
    for child in node.children():
        assert child.declared is not None
        share = min(ONE, capacity * residual[child.token] / child.declared[child.token])
        if (accepted := below(child, share)) is not None:
            return accepted
        mass, left = residual.excess(child.declared, capacity)
        if left is None:
            return None
        residual, capacity = left, mass / (mass + 1 - capacity)
    return Accepted(node, residual) if chance.flip(capacity, at=node) else None
