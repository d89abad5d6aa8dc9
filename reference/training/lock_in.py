"""How the exit objective alone loses coverage: two tokens, two positions, four nodes, and a well covered node whose weight is zero.

The target starts with 0 (9/10) or 1 (1/10) and goes on evenly; row 2 of the draft is even.  While q_1(0) > 1/2 the builder makes {0, 00, 01, 1}: both
children of 0 are in, so w(0) = 0, while w(1) = 1/10 asks for token 1 at row 1.  Minimising drives q_1(0) down, at 1/2 the tree flips to
{1, 10, 11, 0} and coverage falls from 19/10, the most possible, to 11/10; there 0 is asked for, so training hovers at the flip.
"""

from dataclasses import dataclass

from ..exits import coverage
from ..laws import Law
from ..models import Prefix
from ..rational import Rational, rational
from ..trees import level_order
from .building import built
from .credit import gradient
from .weightings import Weighting, exit_weights, tree_credit

VOCABULARY, NODES = 2, 4
EVEN = Law.row([1, 1])


def target(prefix: Prefix) -> Law[int]:
    """9/10 for token 0 at the root, even below."""
    return EVEN if prefix else Law.row([9, 1])


@dataclass(frozen=True)
class Moment:
    """The tree at one draft, what it covers, and the gradient [2][2] of the objective in the logits."""

    tree: tuple[Prefix, ...]
    coverage: Rational
    gradient: list[list[Rational]]


def at(share: object, weighting: Weighting = exit_weights) -> Moment:
    """The example with q_1(0) = ``share``, rebuilt from there."""
    first = rational(share)
    context = built(target, [Law.row([first, 1 - first]), EVEN], NODES)
    credit = tree_credit([context], weighting)[0]
    tree = tuple(node.path for node in level_order(context.root)[1:])
    return Moment(tree, coverage(target, context.root), gradient(credit, context.draft, VOCABULARY))
