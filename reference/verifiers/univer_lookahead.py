"""UniVer with the siblings tried in a better order.  The order is this project's own; the paper tries the sampled child last.

Trying the children in another order keeps the rule lossless as long as the order does not depend on draws below them, and it changes what is
accepted: child i is visited with capacity m_i / r_i, r_i = 1 - masses tried before.  One-step lookahead takes the order with the largest

    sum_i r_i alpha_i(m_i / r_i),     alpha_i(a) = the optimum of child i's own candidates at capacity a (``transport.node``),

which needs the target rows and declared laws below the children, not the tokens drawn there.  Ties go to the draw order.

Proved in proofs/rocq/Univer_lookahead.v: univer_lookahead_exact.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations

from ..chance import Chance
from ..laws import ONE, ZERO, Law
from ..models import Model
from ..rational import Rational
from ..transport.candidates import draws_of, set_law
from ..transport.node import optimum
from ..trees import DraftNode, Draws
from .ascent import ascend
from .descent import Accepted
from .peek import peek
from .two_phase import Masses, two_phase
from .univer import allocate


def lookahead(target: Model, children: Sequence[DraftNode], masses: Masses) -> Sequence[int]:
    """Positions of the children in the best order; all orders are tried, so this is for few siblings."""
    below = [(target(child.path), draws_of(peek(child))) for child in children]

    def value(order: Sequence[int]) -> Rational:
        left, total = ONE, ZERO
        for position in order:
            if masses[position]:
                total += left * alpha(*below[position], masses[position] / left)
                left -= masses[position]
        return total

    return max(permutations(range(len(children))), key=value)


@lru_cache(maxsize=1 << 14)
def alpha(p: Law[int], draws: Draws, capacity: Rational) -> Rational:
    """The optimum of one node."""
    return optimum(p, set_law(draws), capacity).value


visit = two_phase(allocate, lookahead)
"""One node of the rule."""


def univer_lookahead(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """The whole tree, visited in post-order."""
    return ascend(visit)(target, root, chance)
