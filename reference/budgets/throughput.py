"""What CaDDTree maximises (arXiv 2606.01813): expected tokens per unit of time, theta(n) = (1 + Phi(n)) / C(n); the 1 is the bonus token.

**One peak.**  Let D(n) = delta_{n+1} C(n) - c_{n+1} (1 + Phi(n)).  Cross-multiplying, theta(n+1) > theta(n) if and only if D(n) > 0, with equality
together.  Gains never increase; where the cost is convex its steps never decrease, and

    D(n+1) - D(n) = (delta_{n+2} - delta_{n+1}) C(n+1) - (c_{n+2} - c_{n+1}) (1 + Phi(n+1)) <= 0.

So theta rises, may be flat at its maximum, and falls, whatever the sign of the steps.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

from ..laws import ONE
from ..rational import Rational
from .cost import RoundCost

Rule = Callable[[Sequence[Rational], RoundCost], int]
"""(gains delta_1, delta_2, ..., cost) -> number of nodes; the gains end at the node cap or where no prefix of positive mass is left."""


def throughput(gains: Sequence[Rational], cost: RoundCost) -> list[Rational]:
    """theta(0), theta(1), ..., theta(len(gains))."""
    return [tokens / cost(n) for n, tokens in enumerate(accumulate(gains, initial=ONE))]


def smallest_maximiser(curve: Sequence[Rational]) -> int:
    """The first index of the maximum."""
    return curve.index(max(curve))


def one_peak(curve: Sequence[Rational]) -> bool:
    """Whether the curve rises strictly, is flat at its maximum only, then falls strictly."""
    top = max(curve)
    first, last = curve.index(top), len(curve) - 1 - curve[::-1].index(top)
    rises = all(curve[n] < curve[n + 1] for n in range(first))
    falls = all(curve[n] > curve[n + 1] for n in range(last, len(curve) - 1))
    return rises and falls and all(value == top for value in curve[first : last + 1])


def discriminants(gains: Sequence[Rational], cost: RoundCost) -> list[Rational]:
    """D(0), D(1), ...: positive where one more node raises the throughput.  Non-increasing certifies one peak."""
    tokens = accumulate(gains, initial=ONE)
    return [gain * cost(n) - cost.step(n) * before for n, (gain, before) in enumerate(zip(gains, tokens, strict=False))]
