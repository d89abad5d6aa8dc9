"""C. Smoothed coverage (ours): sum_v P(v) sigma((s(v) - l) / tau) over tree and frontier, the level l such that the sigmoids sum to the budget.

tau -> 0 gives the coverage of the tree of that budget.  Moving l keeps the budget, which leaves the slope
(P(v) - Pbar) sigma'_v / tau in s(v), Pbar the sigma'-weighted mean of P: what is worth more than the average gains at the cost of what is worth less.
"""

from collections.abc import Sequence

from ..exits import reach
from ..laws import ONE, ZERO
from ..models import Prefix
from ..rational import Rational, rational
from .credit import Context, Credit, added, scaled


def candidates(context: Context, vocabulary: int) -> dict[Prefix, Rational]:
    """P of every node of tree and frontier besides the root that the draft can make."""
    mass = {node.path: probability for node, probability in reach(context.target, context.root).items()}
    below = {
        (*path, token): probability * context.target(path)[token]
        for path, probability in mass.items()
        if len(path) < len(context.draft)
        for token in range(vocabulary)
    }
    return {path: probability for path, probability in {**mass, **below}.items() if path and context.mass(path)}


def budget(context: Context, vocabulary: int, level: Rational, inverse_tau: int = 1) -> Rational:
    """What the sigmoids sum to at exp(l) = ``level``."""
    return sum((_kept(context.mass(path), level, inverse_tau) for path in candidates(context, vocabulary)), ZERO)


def smoothed_coverage(contexts: Sequence[Context], vocabulary: int, levels: Sequence[Rational], inverse_tau: int = 1) -> list[Credit]:
    """Credit of minus the smoothed coverage, a mean over the contexts, at levels exp(l) given instead of budgets, which makes the slopes rational."""
    credits: list[Credit] = []
    for one, level in zip(contexts, levels, strict=True):
        worth = candidates(one, vocabulary)
        kept = {path: _kept(one.mass(path), level, inverse_tau) for path in worth}
        slope = {path: share * (ONE - share) for path, share in kept.items()}
        whole = sum(slope.values(), ZERO)
        mean = sum((worth[path] * slope[path] for path in worth), ZERO) / whole if whole else ZERO
        parts = [(path, (worth[path] - mean) * slope[path] * inverse_tau) for path in worth]
        credits.append(scaled(added(parts, whole_path=True), rational(1) / len(contexts)))
    return credits


def _kept(mass: Rational, level: Rational, inverse_tau: int) -> Rational:
    """sigma((s - l) / tau) with s = log mass, l = log level."""
    return mass**inverse_tau / (mass**inverse_tau + level**inverse_tau)
