"""Plans: best-first by path score, ties by rank; our acceptance score; temperatures."""

import pytest

from draftproof.reference.blocks import block_law
from draftproof.reference.drafters import at_temperature, markov_head, tempered
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, marginal, random_model
from draftproof.reference.planning import freeze, plan
from draftproof.reference.rational import fraction
from draftproof.reference.replay import replay
from draftproof.reference.slot_acceptance import acceptances, plan_by_acceptance
from draftproof.reference.verifiers import family


def mass(draft: Model, path: Prefix) -> object:
    total = fraction(1)
    for depth, token in enumerate(path):
        total *= fraction(draft(path[:depth])[token])
    return total


def test_plans_are_prefix_closed_nested_and_heaviest_first() -> None:
    for seed in range(20):
        draft = random_model(seed, 3, 0.3)
        paths = plan(draft, 8, 3)
        assert all(path[:-1] in ["", *paths[:place]] or len(path) == 1 for place, path in enumerate(paths))
        masses = [mass(draft, path) for path in paths]
        assert masses == sorted(masses, reverse=True)  # type: ignore[type-var]
        assert plan(draft, 5, 3) == paths[:5]
        assert all(masses)


def test_ties_go_to_the_lexicographically_smallest_ranks() -> None:
    even = marginal([Law.row([1, 1])] * 2)
    assert plan(even, 6, 2) == [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    sure = marginal([Law.point(2), Law.row([1, 1, 2])])  # a conditional of 1: child and parent weigh the same
    assert plan(sure, 2, 2) == [(2,), (2, 2)]
    three = marginal([Law.row([6, 3, 1]), Law.row([1, 1, 0])])  # (0, 0), (0, 1) and (1,) all weigh 3/10
    assert plan(three, 4, 2) == [(0,), (0, 0), (0, 1), (1,)]


def test_no_budget_no_plan() -> None:
    draft = marginal([Law.row([1, 1])])
    assert plan(draft, 0, 1) == plan(draft, 3, 0) == []
    assert freeze([]) == ()


def test_plan_at_another_temperature_stays_lossless() -> None:
    draft, target = marginal([Law.row([5, 4, 1]), Law.row([6, 5, 5])]), random_model(2, 3)
    shapes = {freeze(plan(tempered(draft, inverse), 2, 2)) for inverse in (1, 2, 5)}
    assert len(shapes) > 1
    for shape in shapes:
        for verifier in ("recursive_rejection", "traversal"):
            assert total_variation(block_law(family(verifier), target, shape, replay(draft, 3)), target) == 0


def test_temperatures_that_are_not_exact_are_refused() -> None:
    assert at_temperature(Law.row([1, 2, 3]), 2) == Law.row([1, 4, 9])
    for inverse in (0, -1, 0.5):
        with pytest.raises(ValueError, match="positive integer"):
            at_temperature(Law.row([1, 2]), inverse)  # type: ignore[arg-type]


def test_acceptances_are_what_recursive_rejection_accepts() -> None:
    draft, belief = random_model(3, 3), random_model(4, 3)
    law = block_law(family("recursive_rejection"), belief, ((), (), ()), replay(draft, 3))
    assert sum(acceptances(draft, belief, ())) == expected_length(law) - 1


def test_acceptance_plan_of_a_perfect_draft_is_a_chain() -> None:
    draft = marginal([Law.row([8, 7, 5])] * 3)
    assert freeze(plan_by_acceptance(draft, draft, 3, 3)) == (((((),),)),)
    assert freeze(plan(draft, 3, 3)) == ((), (), ())


def test_acceptance_plan_that_knows_the_target_accepts_more_on_average() -> None:
    gain = fraction(0)
    for seed in range(20):
        draft, target = random_model(seed, 3), random_model(100 + seed, 3)
        ours, theirs = (
            expected_length(block_law(family("recursive_rejection"), target, freeze(paths), replay(draft, 3)))
            for paths in (plan_by_acceptance(draft, target, 3, 3), plan(draft, 3, 3))
        )
        gain += fraction(ours) - fraction(theirs)
    assert gain > 0


def test_acceptance_plans_are_prefix_closed_and_elders_first() -> None:
    for seed in range(10):
        draft = markov_head([Law.row([3, 2, 1])] * 3, 0, lambda parent: {parent: 4})
        paths = plan_by_acceptance(draft, random_model(seed, 3), 7, 3)
        freeze(paths)  # raises for a missing parent
        assert len(set(paths)) == len(paths) == 7
