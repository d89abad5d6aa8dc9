"""What the objectives add up to: statements about one tree, each a function that returns both sides, or what a row tends to.

They hold for every target and every tree with distinct siblings (section 9.2; Training.v has proofs of the first three).
"""

from ..exits import coverage, exit_law
from ..laws import ZERO, Law
from ..models import Model
from ..rational import Rational
from ..trees import Node
from .credit import Credit, added, total
from .weightings import depth_weights, exit_weights, prefix_weights

Sides = tuple[Rational, Rational]


def credit_sums(target: Model, root: Node) -> Sides:
    """sum_{v != root} w(v) = 1 - w(root)."""
    return sum(exit_weights(target, root).values(), ZERO), 1 - exit_law(target, root)[root]


def depth_sums(target: Model, root: Node) -> Sides:
    """sum_v w(v) d(v) = C(T): the depth option has as much credit as the prefix one."""
    return sum(depth_weights(target, root).values(), ZERO), coverage(target, root)


def path_sides(target: Model, root: Node) -> tuple[Credit, Credit]:
    """Path identity: sum_v w(v) s(v) = sum_{u != root} P(u) log q_{d(u)}(u_last), as linear forms in the logarithms, so for every draft at once.

    The prefix objective is thus the exit-weighted log-score of whole paths, -E_Z s(V*(Z)); the paper's keeps the last token of each.
    """
    return added(exit_weights(target, root).items(), whole_path=True), added(prefix_weights(target, root).items())


def stationary_row(target: Model, root: Node, depth: int) -> Law[int] | None:
    """Pr(Z_d = a | the exit is at depth d): where the exit objective alone leaves row d at rest; None when no exit is there."""
    credit = added(exit_weights(target, root).items())
    if not total(credit, depth):
        return None
    return Law({token: share for (level, token), share in credit.items() if level == depth})
