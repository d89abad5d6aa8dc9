"""Finite exact laws."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.reference.laws import ONE, ZERO, Law, mixture
from draftproof.reference.rational import rational

WEIGHTS = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)
LAWS = WEIGHTS.map(Law.row)


@given(WEIGHTS)
def test_weights_are_normalised_exactly(weights: list[int]) -> None:
    law = Law.row(weights)
    assert [law[token] for token in range(4)] == [rational(Fraction(weight, sum(weights))) for weight in weights]
    assert sum((weight for _, weight in law.items()), ZERO) == 1
    assert list(law) == [token for token in range(4) if weights[token]]
    assert (3 in law) == (weights[3] > 0)


def test_notations_agree_and_repeated_outcomes_add_up() -> None:
    law = Law({0: 1, 1: 3})
    assert law == Law({0: "1/4", 1: "0.75"}) == Law([(1, 1), (0, 1), (1, 2)]) == Law({0: Fraction(1, 4), 1: 0.75})
    assert hash(law) == hash(Law([(1, 1), (0, 1), (1, 2)]))
    assert law != Law({0: 3, 1: 1}) and law != {0: 1, 1: 3}
    assert repr(law) == "Law({0: 1/4, 1: 3/4})"


def test_order_is_kept() -> None:
    assert list(Law({2: 1, 0: 0, 1: 1})) == [2, 1]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1, "b": -1}, "weight of 'b' is negative: -1"),
        ({"a": 1, "b": float("nan")}, "weight of 'b': nan is not a finite number"),
        ({"a": float("inf")}, "weight of 'a': inf is not a finite number"),
        ({"a": "three"}, "weight of 'a': 'three' is not a finite number"),
        ({"a": 0}, "at least one positive weight"),
        ({}, "at least one positive weight"),
    ],
)
def test_faulty_weight_is_named(weights: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Law(weights)


def test_point_mass_and_without() -> None:
    assert Law.point(3) == Law({3: 5}) and len(Law.point(3)) == 1
    law = Law({0: 1, 1: 2, 2: 3})
    assert law.mass([1, 2, 2, 7]) == rational("5/6")
    assert law.without([1]) == Law({0: 1, 2: 3})
    assert law.without(iter([0, 2])) == Law.point(1)
    assert law.without([]) == law.without([9]) == law
    assert law.without([0, 1, 2]) is None


@given(LAWS, LAWS, st.fractions(0, 1))
def test_excess_is_what_a_draft_leaves(law: Law[int], declared: Law[int], mass: Fraction) -> None:
    """Kept mass min(r, a f) plus what is owed is a f, token by token."""
    a = rational(mass)
    total, left = law.excess(declared, a)
    for token in range(4):
        kept = min(declared[token], a * law[token])
        assert kept + (total * left[token] if left else ZERO) == a * law[token]
    assert (left is None) == (total == 0)
    assert law.excess(declared) == law.excess(declared, ONE)


def test_excess_by_hand() -> None:
    p, q = Law.row(["1/2", "3/10", "1/5"]), Law.row(["1/5", "3/10", "1/2"])
    assert p.excess(q) == (rational("3/10"), Law.point(0))
    assert p.excess(p) == (ZERO, None)
    assert p.excess(q, rational("1/2")) == (rational("1/20"), Law.point(0))


@given(LAWS, LAWS, LAWS)
def test_total_variation_is_a_distance(f: Law[int], g: Law[int], h: Law[int]) -> None:
    assert f.total_variation(g) == g.total_variation(f) == f.excess(g)[0]
    assert (f.total_variation(g) == 0) == (f == g)
    assert f.total_variation(h) <= f.total_variation(g) + g.total_variation(h) <= 2


@given(LAWS)
def test_map_and_expectation(law: Law[int]) -> None:
    parity = law.map(lambda token: token % 2)
    assert parity[1] == law.mass([1, 3])
    assert law.expectation(lambda token: token % 2) == parity[1]
    assert law.map(lambda token: token) == law


@given(LAWS, LAWS, st.fractions(0, 1))
def test_mixture_is_a_two_stage_draw(f: Law[int], g: Law[int], share: Fraction) -> None:
    a = rational(share)
    mixed = mixture([(a, f), (1 - a, g)])
    assert all(mixed[token] == a * f[token] + (1 - a) * g[token] for token in range(4))
