"""Predraw and follow: draw the target's own next token at every node and walk the tree while it is there (the DDTree rule).

Known as target-only or sample-match verification.  Lossless for every tree that is independent of the target draws, since each emitted token
*is* a target draw; declared laws are never read.  On a fixed tree E[L] = 1 + coverage, the most any exact verifier can reach.
Siblings must carry distinct tokens.

Proved in proofs/rocq/Predraw_follow.v: predraw_follow_exact, predraw_follow_attains.
"""

from ..chance import Chance
from ..laws import Law
from ..models import Model
from ..trees import DraftNode
from .descent import Stop


def predraw_follow(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """One level: the child that carries the target's draw, else stop with that draw as the bonus token."""
    drawn = chance.draw(target(node.path), at=node)
    for child in node.children():
        if child.token == drawn:
            return child
    return Stop(bonus=Law.point(drawn))
