"""Greedy transport (Hu et al., arXiv 2502.18779): the optimal transport of greedy drafting at every node, from the root down.

The plan of ``univer`` at capacity 1 on every node reached.  It accepts the most a lossless rule can at one node, and forgets at the next what
the node above had left over; ``univer`` never accepts less at any depth.  Siblings must carry distinct tokens, all but the last deterministic.

Proved in proofs/rocq/Greedy_transport.v: greedy_transport_exact, univer_dominates.
"""

from ..chance import Chance
from ..laws import ONE, Law
from ..models import Model
from ..trees import DraftNode
from .descent import Stop
from .univer import allocate


def greedy_transport(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """One level: child y with probability m_y, else stop with what is owed as the law of the bonus token."""
    children: tuple[DraftNode, ...] = tuple(node.children())
    masses, owed = allocate(target(node.path), children, ONE)
    left = ONE
    for child, mass in zip(children, masses, strict=True):
        if mass and chance.flip(mass / left, at=child):
            return child
        left -= mass
    return Stop(bonus=Law(owed))
