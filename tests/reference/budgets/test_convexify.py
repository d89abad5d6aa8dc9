import random
from fractions import Fraction

from draftproof.reference.budgets import RoundCost, caddtree, throughput
from draftproof.reference.budgets.convexify import convex_envelope, guarantee, lower_hull
from draftproof.reference.rational import rational

from .draws import any_cost, random_gains


def test_choosing_by_the_envelope_keeps_the_guarantee() -> None:
    rng = random.Random(9)
    tight, lost = Fraction(1), 0
    for _ in range(2000):
        gains = random_gains(rng)
        cost = any_cost(rng, len(gains))
        model = convex_envelope(cost, len(gains))
        assert model.convex_up_to(len(gains)) and all(model(n) <= cost(n) for n in range(len(gains) + 1))
        eps, share = guarantee(cost, model, len(gains))
        assert share == (1 - eps) / (1 + eps) and 0 <= eps < 1
        curve = throughput(gains, cost)
        kept = curve[caddtree(gains, model)] / max(curve)
        assert kept >= share
        lost += kept < 1
        if share < 1:
            tight = min(tight, Fraction(str(kept - share)))
    assert lost > 100 and tight < Fraction(1, 10), "the bound is not idle"


def test_a_factor_on_the_model_changes_nothing() -> None:
    cost, model = RoundCost(1, [1, 3, 3, 3]), RoundCost(2, [2, 6, 6, 6])
    assert guarantee(cost, model, 3) == (0, 1)


def test_hull() -> None:
    assert lower_hull([rational(x) for x in (1, 3, 3, 4)]) == [1, 2, 3, 4]
    assert lower_hull([rational(x) for x in (4, 1, 0, 1)]) == [4, 1, 0, 1], "convex already, negative slopes kept"
    assert lower_hull([rational(2)]) == [2] and lower_hull([]) == []
