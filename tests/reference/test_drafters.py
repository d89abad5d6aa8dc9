"""Heads: a bias by the parent token, or by a state carried along the branch."""

import pytest

from draftproof.reference.drafters import low_rank, markov_head, recurrent_head
from draftproof.reference.laws import Law
from draftproof.reference.models import MissingRow

BASE = [Law.row([1, 1, 2]), Law.row([2, 1, 1])]


def test_markov_head_multiplies_the_base_row_by_the_parents_factors() -> None:
    model = markov_head(BASE, 2, lambda parent: {parent: 3})
    assert model(()) == Law.row([1, 1, 6])  # the anchor is token 2
    assert model((0,)) == Law.row([6, 1, 1])
    assert model((1,)) == Law.row([2, 3, 1])


def test_recurrent_head_carries_its_state_along_each_branch() -> None:
    seen = lambda state, token: (*state, token)  # noqa: E731
    model = recurrent_head([*BASE, Law.row([1, 1, 1])], (), seen, lambda state: {token: 0 for token in state[:2]})
    assert model((0, 1)) == Law.point(2)
    assert model((0, 2)) == Law.point(1)
    assert model((2, 0)) == Law.point(1)


def test_low_rank_factors_are_a_product_of_two_tables() -> None:
    factors = low_rank([[1, 0], [0, 1], [1, 1]], [[1, 2, 3], [4, 0, 1]])
    assert [list(factors(parent).values()) for parent in range(3)] == [[1, 2, 3], [4, 0, 1], [5, 2, 4]]
    assert markov_head(BASE, 0, factors)((1,)) == Law.row([8, 0, 1])


def test_no_row_beyond_the_block_and_no_empty_row() -> None:
    with pytest.raises(MissingRow, match="2 positions, none for depth 3"):
        markov_head(BASE, 0, lambda parent: {})((0, 0))
    with pytest.raises(ValueError, match="at least one positive weight"):
        markov_head(BASE, 0, lambda parent: {0: 0, 1: 0, 2: 0})(())
