import random
from fractions import Fraction
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.reference.budgets import RoundCost, caddtree, full_scan, safe_stop, throughput
from draftproof.reference.budgets.stopping import looked_at, worth_it
from draftproof.reference.budgets.throughput import discriminants, one_peak
from draftproof.reference.rational import Rational, rational

from .draws import any_cost, convex_cost, random_gains, round_pair


@pytest.mark.parametrize("count", [4000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_greedy_is_the_smallest_maximiser_on_convex_costs(count: int) -> None:
    rng = random.Random(5)
    plateaus = negative = flat = 0
    for _ in range(count):
        gains = random_gains(rng, most=8)
        cost = convex_cost(rng, len(gains))
        curve = throughput(gains, cost)
        assert caddtree(gains, cost) == curve.index(max(curve))
        assert one_peak(curve)
        certificate = discriminants(gains, cost)
        assert certificate == sorted(certificate, reverse=True)
        plateaus += curve.count(max(curve)) > 1
        negative += cost.step(0) < 0
        flat += any(cost.step(n) == 0 for n in range(len(gains)))
    assert min(plateaus, negative, flat) > count // 100, "the costs are too tame to mean anything"


@pytest.mark.parametrize("count", [1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_safe_stop_is_never_wrong_on_costs_of_any_shape(count: int) -> None:
    rng = random.Random(6)
    wrong, worst, tried, looked, gained = 0, rational(0), 0, 0, 0
    while tried < count:
        gains = random_gains(rng)
        cost = any_cost(rng, len(gains))
        if cost.convex_up_to(len(gains)):
            continue
        tried += 1
        curve = throughput(gains, cost)
        best = curve.index(max(curve))
        assert safe_stop(gains, cost) == best == full_scan(gains, cost)
        looked, gained = looked + looked_at(gains, cost), gained + len(gains)
        greedy = caddtree(gains, cost)
        if curve[greedy] != curve[best]:
            wrong += 1
            worst = max(worst, 1 - curve[greedy] / curve[best])
    print(f"non-convex costs: plain greedy wrong on {wrong} of {tried}, worst loss {float(worst):.1%}; safe stop 0 wrong")
    assert wrong > count // 5 and worst > rational("1/3")
    assert looked < gained, "it stops early sometimes"


def test_the_example_where_greedy_loses() -> None:
    gains, cost = [rational("3/4")] * 3, RoundCost(1, [1, 3, 3, 3])
    assert list(map(str, throughput(gains, cost))) == ["1/2", "7/16", "5/8", "13/16"]
    assert (caddtree(gains, cost), full_scan(gains, cost), safe_stop(gains, cost)) == (0, 3, 3)
    assert cost.first_dent(3) == 1 and not one_peak(throughput(gains, cost))


def test_nan_stops() -> None:
    """The published form, stop if theta_new <= theta, goes on for ever on NaN; the cross-multiplied one stops, as it does on equality."""
    assert not worth_it(nan, 1.0, 1.0, 1.0) and not worth_it(0.5, nan, 1.0, 1.0) and not worth_it(0.5, 1.0, nan, 0.0)
    assert not worth_it(0.5, 1.0, 1.0, 0.5) and worth_it(0.5, 1.0, 1.0, 0.25)
    published_goes_on = not (nan <= 1.0)
    assert published_goes_on


def test_boundaries() -> None:
    free, dear, half = RoundCost(1, [1]), RoundCost(1, [1, 9]), rational("1/2")
    assert caddtree([half] * 4, free) == 4, "a cost that does not grow: up to the cap"
    assert caddtree([half] * 4, dear) == 0, "root only"
    assert caddtree([half, rational(0)], free) == 1, "a gain of zero at no cost is equality, which stops"
    assert caddtree([], free) == full_scan([], free) == safe_stop([], free) == 0
    ones = [rational(1)] * 3
    assert caddtree(ones, RoundCost(1, [0, 1, 2, 3])) == 0, "a plateau at the maximum: the smallest"


Pair = tuple[list[Rational], RoundCost]


@given(round_pair(), st.fractions(0, 20))
def test_a_dearer_drafter_never_shrinks_the_tree(pair: Pair, more: Fraction) -> None:
    gains, cost = pair
    assert caddtree(gains, RoundCost(cost.draft + rational(more), cost.verify)) >= caddtree(gains, cost)


@given(round_pair(), st.fractions(0, 20))
def test_a_constant_on_the_verify_cost_never_shrinks_the_tree(pair: Pair, more: Fraction) -> None:
    gains, cost = pair
    assert caddtree(gains, RoundCost(cost.draft, [entry + rational(more) for entry in cost.verify])) >= caddtree(gains, cost)


@given(round_pair(), st.fractions(1, 20))
def test_a_dearer_verifier_never_grows_the_tree(pair: Pair, factor: Fraction) -> None:
    """The verify cost scaled up with the drafter's kept."""
    gains, cost = pair
    assert caddtree(gains, RoundCost(cost.draft, [entry * rational(factor) for entry in cost.verify])) <= caddtree(gains, cost)


@given(round_pair(convex=False), st.fractions("1/1000", 1000))
def test_the_unit_of_time_does_not_matter(pair: Pair, factor: Fraction) -> None:
    gains, cost = pair
    unit = rational(factor)
    scaled = RoundCost(cost.draft * unit, [entry * unit for entry in cost.verify])
    for rule in (caddtree, full_scan, safe_stop):
        assert rule(gains, scaled) == rule(gains, cost)


@given(round_pair(convex=False), st.integers(0, 1 << 32))
def test_a_model_within_eps_loses_at_most_that(pair: Pair, seed: int) -> None:
    """True costs within (1 +- eps) of the model: the choice has at least (1 - eps) / (1 + eps) of the optimum."""
    gains, model = pair
    rng, eps = random.Random(seed), rational("1/5")
    noise = [1 + eps * rng.randint(-8, 8) / 8 for _ in range(len(gains) + 1)]
    true = RoundCost(0, [model(n) * noise[n] for n in range(len(gains) + 1)])
    curve = throughput(gains, true)
    assert curve[full_scan(gains, model)] >= max(curve) * (1 - eps) / (1 + eps)


def test_costs() -> None:
    cost = RoundCost("1/2", [1, "1.5", 3])
    assert [str(cost(n)) for n in range(5)] == ["3/2", "2", "7/2", "5", "13/2"], "the last slope goes on"
    assert cost.step(0) == rational("1/2") and RoundCost(1, [2])(9) == 3
    with pytest.raises(ValueError, match="at least one entry"):
        RoundCost(1, [])
    with pytest.raises(ValueError, match="5 nodes would cost -1"):
        RoundCost(1, [3, 2])(5)
    with pytest.raises(ValueError, match="not a finite number"):
        RoundCost(1, [nan])
