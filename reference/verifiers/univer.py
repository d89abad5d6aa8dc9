"""UniVer (arXiv 2605.04543): conditional optimal transport at every node, in closed form for greedy drafting.

Greedy drafting (arXiv 2502.18779) proposes deterministic children H and one child b drawn from a law r off H.  At a node visited with capacity a,

    m_b = min(1, a p(b) / r(b)),     m_h = a p(h) (1 - m_b) / Z for h in H,     Z = sum_x (r(x) - a p(x))_+,

which is the maximal coupling on the drawn token and the product coupling of what is left.  Averaged over b the children carry a p(h) and
min(a p(x), r(x)), the most any lossless rule can give them at this capacity; (a p - r)_+ off H stays owed.  Without a sampled child (a last child
with a point mass) the same formulas give m_y = a p(y).  On a chain this is block verification, at depth one the rule of ``greedy_transport``.
Siblings must carry distinct tokens.

Proved in proofs/rocq/Univer.v: univer_exact, conditionally_optimal.
"""

from collections.abc import Sequence

from ..chance import Chance
from ..laws import ONE, ZERO, Law
from ..models import Model
from ..rational import Rational
from ..trees import DraftNode
from .ascent import ascend
from .descent import Accepted
from .two_phase import two_phase


def allocate(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], dict[int, Rational]]:
    """Masses of the drawn children and the owed mass of every other token.  Raises ValueError where the children were not drafted greedily."""
    owed = {token: capacity * weight for token, weight in p.items()}
    if not children:
        return [], owed
    *hubs, drawn = children
    law = drawn.declared
    assert law is not None
    if any(hub.declared != Law.point(hub.token) or law[hub.token] for hub in hubs) or len({hub.token for hub in hubs}) < len(hubs):
        raise ValueError(f"siblings {[child.token for child in children]} are not greedy: all but the last must be deterministic and distinct")
    carried = [owed.pop(hub.token, ZERO) for hub in hubs]
    mass = min(ONE, owed.get(drawn.token, ZERO) / law[drawn.token])
    spare = sum((max(weight - owed.get(token, ZERO), ZERO) for token, weight in law.items()), ZERO)
    share = (1 - mass) / spare if spare else ZERO
    return [part * share for part in carried] + [mass], {token: weight - law[token] for token, weight in owed.items() if weight > law[token]}


visit = two_phase(allocate)
"""One node of UniVer, its children tried in draw order: the sampled one last."""


def univer(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """The whole tree, visited in post-order."""
    return ascend(visit)(target, root, chance)
