"""Drafting schemes: the declared law of the next sibling, by hand."""

import pytest

from draftproof.reference import drafting
from draftproof.reference.laws import Law
from draftproof.reference.models import marginal, table
from draftproof.reference.trees import Slot

Q = Law.row([4, 3, 2, 1])
SPARSE = Law.row([0, 3, 1, 0])
THREE: Slot = ((), (), ())


def siblings(scheme: str, law: Law[int], elders: tuple[int, ...], slot: Slot = THREE) -> Law[int] | None:
    make = {"chain": drafting.chain, "with": drafting.with_replacement, "without": drafting.without_replacement}
    return {**make, "top_k": drafting.top_k, "greedy": drafting.greedy}[scheme](marginal([law]))(slot, (), elders)


@pytest.mark.parametrize(
    ("scheme", "law", "elders", "declared"),
    [
        ("chain", Q, (), Q),
        ("with", Q, (0, 0), Q),
        ("with", Q, (0, 1, 2), None),
        ("without", Q, (), Q),
        ("without", Q, (0,), Law.row([0, 3, 2, 1])),
        ("without", Q, (2, 0), Law.row([0, 3, 0, 1])),
        ("without", Q, (2, 0, 1), None),
        ("without", SPARSE, (1,), Law.point(2)),
        ("without", SPARSE, (1, 2), None),
        ("top_k", Q, (), Law.point(0)),
        ("top_k", Q, (0, 1), Law.point(2)),
        ("top_k", Q, (0, 1, 2), None),
        ("top_k", SPARSE, (1,), Law.point(2)),
        ("top_k", SPARSE, (1, 2), None),
        ("top_k", Law.row([1, 3, 3, 1]), (), Law.point(1)),  # ties go to the smaller token
        ("top_k", Law.row([1, 3, 3, 1]), (1, 2), Law.point(0)),
        ("greedy", Q, (), Law.point(0)),
        ("greedy", Q, (0,), Law.point(1)),
        ("greedy", Q, (0, 1), Law.row([0, 0, 2, 1])),
        ("greedy", Q, (0, 1, 3), None),
        ("greedy", SPARSE, (1, 2), None),
        ("greedy", SPARSE, (1,), Law.point(2)),
    ],
)
def test_declared_law(scheme: str, law: Law[int], elders: tuple[int, ...], declared: Law[int] | None) -> None:
    assert siblings(scheme, law, elders) == declared


@pytest.mark.parametrize("scheme", ["chain", "with", "without", "top_k", "greedy"])
def test_a_leaf_has_no_children(scheme: str) -> None:
    assert siblings(scheme, Q, (), slot=()) is None


def test_a_single_greedy_child_is_sampled() -> None:
    assert siblings("greedy", Q, (), slot=((),)) == Q


def test_the_draft_is_asked_for_the_row_of_the_prefix() -> None:
    draft = table({(): Q, (3, 1): SPARSE})
    for scheme in (drafting.with_replacement, drafting.without_replacement, drafting.greedy):
        assert scheme(draft)(((),), (3, 1), ()) == SPARSE
    assert drafting.top_k(draft)(((),), (3, 1), ()) == Law.point(1)


def test_ranking() -> None:
    assert drafting.ranked(Law.row([1, 3, 0, 3, 1])) == [1, 3, 0, 4]


def test_fixed_tree_keeps_the_order_of_its_list() -> None:
    topology, scheme = drafting.fixed([(2,), (0, 1), (0,), (2, 0), (0, 0)])
    assert topology == (((),), ((), ()))
    assert [scheme(topology, (), elders) for elders in ((), (2,), (2, 0))] == [Law.point(2), Law.point(0), None]
    assert [scheme(topology[1], (0,), elders) for elders in ((), (1,))] == [Law.point(1), Law.point(0)]
    assert drafting.fixed([])[0] == ()


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([(0,), (1,), (0,)], 'tree lists "0" twice'),
        ([(0,), (1, 2)], 'tree has "1 2" but not its parent "1"'),
        ([(0,), ()], "tree lists the root"),
    ],
)
def test_faulty_fixed_tree_is_named(paths: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drafting.fixed(paths)
