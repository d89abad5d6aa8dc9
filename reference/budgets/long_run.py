"""Many rounds of different kinds: what counts is all tokens over all time, not each round's own ratio.

Maximising each round's (1 + Phi) / C is not that (arXiv 2606.01813, Appendix A.1, calls it a surrogate).  Dinkelbach: for the long-run rate
lambda, each round should maximise its tokens minus lambda times its cost, and the best lambda is the rate that this achieves.
Kinds must come as often whatever budgets are chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..laws import ONE, ZERO
from ..rational import Rational, rational
from .cost import RoundCost


@dataclass(frozen=True)
class Round:
    """A kind of round: how often it comes (any scale), the gains of its draft tree, and its cost."""

    weight: Any
    gains: Sequence[Rational]
    cost: RoundCost


def rate(rounds: Sequence[Round], sizes: Sequence[int]) -> Rational:
    """Tokens per unit of time in the long run when kind i gets a tree of ``sizes[i]`` nodes."""
    tokens = sum((rational(kind.weight) * (ONE + sum(kind.gains[:n])) for kind, n in zip(rounds, sizes, strict=True)), ZERO)
    time = sum((rational(kind.weight) * kind.cost(n) for kind, n in zip(rounds, sizes, strict=True)), ZERO)
    return tokens / time


def best_size(kind: Round, price: Rational) -> int:
    """The smallest n that maximises 1 + Phi(n) - price C(n), by looking at every n."""
    values = [tokens - price * kind.cost(n) for n, tokens in enumerate(accumulate(kind.gains, initial=ONE))]
    return values.index(max(values))


def priced_stop(kind: Round, price: Rational) -> int:
    """The same where the cost is convex: stop at the first node whose gain is not above ``price`` times its cost."""
    return next((n for n, gain in enumerate(kind.gains) if not gain > price * kind.cost.step(n)), len(kind.gains))


def long_run(rounds: Sequence[Round]) -> tuple[Rational, list[int]]:
    """The best long-run rate and sizes that reach it.  Exact and soon over: the rate rises strictly, and there are finitely many sizes."""
    sizes = [0] * len(rounds)
    reached = rate(rounds, sizes)
    while True:
        sizes = [best_size(kind, reached) for kind in rounds]
        following = rate(rounds, sizes)
        if following == reached:
            return reached, sizes
        reached = following
