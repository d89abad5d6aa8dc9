"""Tree exit verification, TEV (arXiv 2610.11750, Algorithm 1): one draw of the exit node, one law of the bonus token.

The exit law w(v) = P(v) (1 - sum of p over v's children) is the law of the deepest tree node on a target path; after it the bonus token is
a target draw off v's children.  Jointly Pr(v, a) = P(v) p(a|v) 1[va not in T], the unique law with E[L] = 1 + coverage on this tree.
Siblings must carry distinct tokens; declared laws are never read.

Proved in proofs/rocq/Tree_exit.v: tree_exit_attains.
"""

from ..chance import Chance
from ..exits import exit_law, residual
from ..models import Model
from ..trees import DraftNode
from .descent import Accepted


def tree_exit(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """The whole tree at once.  A node whose children cover its target row has exit probability zero, so its residual is never needed."""
    node = chance.draw(exit_law(target, root), at="exit")
    bonus = residual(target, node)
    assert bonus is not None
    return Accepted(node, bonus)
