"""Target and draft models."""

import random

import pytest

from draftproof.reference.laws import Law
from draftproof.reference.models import MissingRow, marginal, markov, random_law, random_model, spell, table

A, B = Law.row([1, 2]), Law.row([3, 1])


def test_table_has_one_row_a_prefix() -> None:
    model = table({(): A, (0, 1): B}, name="target")
    assert model(()) is A and model((0, 1)) is B
    with pytest.raises(MissingRow) as error:
        model((1, 0))
    assert str(error.value) == 'target has no row for prefix "1 0"'


def test_marginal_knows_the_position_only() -> None:
    model = marginal([A, B])
    assert model(()) is A and model((0,)) is model((1,)) is B
    with pytest.raises(MissingRow, match="2 positions, none for depth 3"):
        model((0, 1))


def test_markov_knows_the_last_token_only() -> None:
    model = markov(A, {0: B})
    assert model(()) is A and model((0,)) is model((1, 1, 0)) is B
    with pytest.raises(MissingRow, match="no row after token 1"):
        model((0, 1))


def test_prefixes_are_spelled_with_one_space() -> None:
    assert spell(()) == "" and spell((3,)) == "3" and spell((0, 12, 1)) == "0 12 1"


def test_random_laws_have_zeros_and_are_never_empty() -> None:
    rng = random.Random(0)
    sizes = [len(random_law(rng, 3, zeros=0.6)) for _ in range(200)]
    assert set(sizes) == {1, 2, 3}
    assert len(random_law(rng, 3, zeros=1.0)) == 1
    assert {len(random_law(rng, 3)) for _ in range(50)} == {3}


def test_random_model_does_not_depend_on_the_order_of_questions() -> None:
    prefixes = [(), (0,), (1,), (0, 0), (0, 1)]
    one, two, other = random_model(5, 4, 0.3), random_model(5, 4, 0.3), random_model(6, 4, 0.3)
    assert [one(s) for s in prefixes] == [two(s) for s in reversed(prefixes)][::-1]
    assert one((0, 1)) is one((0, 1))
    assert len({one(s) for s in prefixes}) > 1
    assert [one(s) for s in prefixes] != [other(s) for s in prefixes]
