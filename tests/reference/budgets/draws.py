"""Random exact instances for the tests of this folder."""

import random
from fractions import Fraction

from hypothesis import strategies as st

from draftproof.reference.budgets import RoundCost
from draftproof.reference.laws import Law
from draftproof.reference.models import random_law
from draftproof.reference.rational import Rational, rational


def random_marginals(rng: random.Random) -> list[Law[int]]:
    """One to four depths over one to four tokens; small weights, so ties are common; zeros and certainties."""
    vocabulary, depth = rng.randint(1, 4), rng.randint(1, 4)
    zeros, largest = rng.choice([0.0, 0.0, 0.4]), rng.choice([1, 2, 9])
    certain = rng.choice([0.0, 0.0, 0.3])
    return [
        Law.point(rng.randrange(vocabulary)) if rng.random() < certain else random_law(rng, vocabulary, zeros, largest) for _ in range(depth)
    ]


def random_gains(rng: random.Random, most: int = 12) -> list[Rational]:
    """Positive, non-increasing, at most 1; plateaus included."""
    scale = rng.choice([4, 12, 60])
    drawn = sorted((rng.randint(1, scale) for _ in range(rng.randint(1, most))), reverse=True)
    return [rational(Fraction(value, scale)) for value in drawn]


def convex_cost(rng: random.Random, nodes: int) -> RoundCost:
    """Steps that never decrease, zero and negative ones included."""
    low = rng.choice([-3, -1, 0, 0, 1])
    steps = sorted(rng.randint(low, low + rng.choice([0, 2, 8])) for _ in range(nodes))
    return _cost(rng, steps)


def any_cost(rng: random.Random, nodes: int) -> RoundCost:
    """Steps in no order: tiles, cliffs, humps."""
    steps = [rng.choice([0, 0, 1, rng.randint(-2, 12)]) for _ in range(nodes)]
    return _cost(rng, steps)


def _cost(rng: random.Random, steps: list[int]) -> RoundCost:
    verify, total = [0], 0
    for step in steps:
        total += step
        verify.append(total)
    lift = 1 - min(verify) + rng.randint(0, 9)
    return RoundCost(Fraction(rng.randint(1, 8), 2), [entry + lift for entry in verify])


def round_pair(convex: bool = True) -> st.SearchStrategy[tuple[list[Rational], RoundCost]]:
    """(gains, cost) as a Hypothesis strategy."""

    def drawn(seed: int) -> tuple[list[Rational], RoundCost]:
        rng = random.Random(seed)
        gains = random_gains(rng)
        return gains, (convex_cost if convex else any_cost)(rng, len(gains))

    return st.integers(0, 1 << 32).map(drawn)
