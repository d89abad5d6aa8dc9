"""UniVer over optimal plans: lossless with every drafting scheme, optimal at every node, never below recursive rejection."""

import random
from collections.abc import Sequence

import pytest

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafting import without_replacement
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Prefix, random_law, random_model
from draftproof.reference.rational import Rational, rational
from draftproof.reference.transport.candidates import WithoutReplacement, WithReplacement, draws_of, set_law
from draftproof.reference.transport.node import Plan, optimum
from draftproof.reference.trees import DraftNode, Draws, Node, Scheme, Slot, uniform_topology
from draftproof.reference.verifiers import Family, ascend, family
from draftproof.reference.verifiers.two_phase import two_phase
from draftproof.reference.verifiers.univer_transport import Planner, augmented, rejection_plan, unguided, univer_transport_by

from ..transport.instances import declared_only
from .transport import accepted_at_least, two_levels


def rule(planner: Planner) -> Family:
    visit = univer_transport_by(planner)
    return Family(planner.__name__, ascend(visit), visit=visit)


@pytest.mark.parametrize("scheme", ["with_replacement", "without_replacement"])
def test_lossless_and_never_below_recursive_rejection(scheme: str) -> None:
    """Total variation exactly 0; at every depth at least as likely to get there as recursive rejection on the same drafts."""
    better = 0
    for case in two_levels(36, threes=6):
        law, token = case.law("univer_transport", scheme), case.law("recursive_rejection", scheme)
        assert total_variation(law, case.target) == 0
        deeper = [accepted_at_least(law, depth) - accepted_at_least(token, depth) for depth in (1, 2)]
        assert min(deeper) >= 0
        better += deeper[1] > 0
    assert better > 15


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["with_replacement", "without_replacement", "greedy", "top_k"])
def test_lossless_on_two_hundred_instances(scheme: str) -> None:
    for case in two_levels(200, seed=1):
        law = case.law("univer_transport", scheme)
        assert total_variation(law, case.target) == 0
        assert expected_length(law) >= expected_length(case.law("recursive_rejection", scheme))


@pytest.mark.parametrize("scheme", ["greedy", "top_k"])
def test_lossless_with_other_drafting(scheme: str) -> None:
    """With greedy drafts the children get what UniVer's closed form gives them; only leftovers are coupled differently."""
    for case in two_levels(70, seed=2):
        law, closed = case.law("univer_transport", scheme), case.law("univer", scheme)
        assert total_variation(law, case.target) == 0
        assert accepted_at_least(law, 1) == accepted_at_least(closed, 1)
        assert scheme == "greedy" or law == closed


def test_any_optimal_plan_is_lossless() -> None:
    for case in two_levels(20, seed=3, threes=12):
        for scheme in ("with_replacement", "without_replacement"):
            assert total_variation(case.law(rule(unguided), scheme), case.target) == 0


def test_wasteful_plans_are_lossless_too() -> None:
    """Losslessness asks for feasibility only: half of the optimal plan, or nothing at all."""

    def half(p: Law[int], draws: Draws, capacity: object) -> Plan:
        return {pair: mass / 2 for pair, mass in optimum(p, set_law(draws), capacity).plan.items()}  # type: ignore[arg-type]

    def nothing(p: Law[int], draws: Draws, capacity: object) -> Plan:
        return {}

    for case in two_levels(10, seed=4, threes=6):
        laws = [case.law(rule(planner), "without_replacement") for planner in (half, nothing)]
        assert all(total_variation(law, case.target) == 0 for law in laws)
        assert expected_length(laws[0]) > expected_length(laws[1]) == 1


def test_infeasible_plans_are_found() -> None:
    """One token gets a little more than it is owed, another one less."""

    def moved_plan(p: Law[int], draws: Draws, capacity: object) -> Plan:
        plan = dict(optimum(p, set_law(draws), capacity).plan)  # type: ignore[arg-type]
        pairs = [(pair, other) for pair in plan for other in sorted(pair[0] & set(p)) if other != pair[1]]
        if pairs:
            (members, token), other = pairs[0]
            moved = plan[members, token] / 3
            plan[members, token] -= moved
            plan[members, other] = plan.get((members, other), ZERO) + moved
        return plan

    found = 0
    for case in two_levels(20, seed=5, threes=12):
        try:
            found += total_variation(case.law(rule(moved_plan), "without_replacement"), case.target) > 0
        except ValueError:  # a token is owed a negative mass
            found += 1
    assert found > 10


def test_plan_of_recursive_rejection() -> None:
    """Its sets and totals are those of the rule itself, and scaled plans are feasible at their capacity."""
    rng = random.Random(6)
    for number in range(60):
        p, q, count = random_law(rng, 4, 0.3 * (number % 2)), random_law(rng, 4, 0.3), rng.randint(1, 3)
        draws: Draws = (WithReplacement if number % 3 else WithoutReplacement)(q, count)
        plan, sets = rejection_plan(p, draws), set_law(draws)
        for members, weight in sets.items():
            assert sum((mass for (used, _), mass in plan.items() if used == members), ZERO) <= weight
        for token in range(4):
            assert sum((mass for (_, given), mass in plan.items() if given == token), ZERO) <= p[token]
        assert sum(plan.values(), ZERO) <= optimum(p, sets).value
        for a in (rational("1/3"), ONE):
            better = augmented(p, draws, a)
            assert sum(better.values(), ZERO) == optimum(p, sets, a).value
            for token in range(4):
                given = [sum((mass for (_, y), mass in one.items() if y == token), ZERO) for one in (plan, better)]
                assert given[1] >= a * given[0]


def test_acceptance_at_one_level_is_that_of_the_plan() -> None:
    for seed in range(20):
        p, q = random_model(2 * seed, 4, 0.3 * (seed % 2)), random_model(2 * seed + 1, 4, 0.3 * (seed % 2))
        topology = uniform_topology([2])
        laws = {name: block_law(family(name), p, topology, without_replacement(q)) for name in ("recursive_rejection", "univer_transport")}
        plan = rejection_plan(p(()), WithoutReplacement(q(()), 2))
        assert accepted_at_least(laws["recursive_rejection"], 1) == sum(plan.values(), ZERO)
        assert accepted_at_least(laws["univer_transport"], 1) == optimum(p(()), set_law(WithoutReplacement(q(()), 2))).value


def by_draws(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], dict[int, Rational]]:
    """Siblings tested with min(1, a f / r), f and a updated as in Traversal; what stays owed is averaged over all draws."""
    owed = {token: capacity * weight for token, weight in p.items()}
    for tokens, probability in law_of(lambda chance: draw_all(draws_of(children), chance)).items():
        for token, mass in zip(tokens, capacities(p, draws_of(children), tokens, capacity), strict=True):
            if mass:
                owed[token] -= probability * mass
    masses = capacities(p, draws_of(children), tuple(child.token for child in children), capacity)
    return masses, {token: mass for token, mass in owed.items() if mass}


def draw_all(draws: Draws, chance: Chance) -> tuple[int, ...]:
    tokens: tuple[int, ...] = ()
    while (law := draws(tokens)) is not None:
        tokens += (chance.draw(law),)
    return tokens


def capacities(p: Law[int], draws: Draws, tokens: tuple[int, ...], a: Rational) -> list[Rational]:
    """The mass that each drawn token carries."""
    masses, left, residual = list[Rational](), ONE, p
    for rank, token in enumerate(tokens):
        law = draws(tokens[:rank])
        assert law is not None
        keep = min(ONE, a * residual[token] / law[token])
        masses.append(left * keep)
        left *= 1 - keep
        mass, rest = residual.excess(law, a)
        residual, a = (rest, mass / (mass + 1 - a)) if rest else (residual, ZERO)
    return masses


def test_scaled_recursive_rejection_is_traversal() -> None:
    """The two phases over a plan that is not optimal: the same block law as Traversal on without-replacement drafts."""
    visit = two_phase(by_draws)
    for case in two_levels(20, largest=4, seed=7, threes=6):
        law = case.law(Family("by draws", ascend(visit), visit=visit), "without_replacement")
        assert law == case.law("traversal", "without_replacement")


def in_eighths(law: Law[int] | None) -> Law[int] | None:
    """As a drafter with few bits would have it; every token that was possible stays possible."""
    return None if law is None else Law({token: 1 + int(8 * weight) for token, weight in law.items()})


def test_rounded_declared_laws() -> None:
    """Each declared law rounded by itself: later siblings no longer have the first one's law off their elders, but nodes know how they were drawn."""
    unknown = 0
    for case in two_levels(12, largest=4, seed=20, threes=6):
        exact = without_replacement(case.draft)

        def scheme(slot: Slot, prefix: Prefix, elders: tuple[int, ...], exact: Scheme = exact) -> Law[int] | None:
            return in_eighths(exact(slot, prefix, elders))

        law = block_law(family("univer_transport"), case.target, case.topology, scheme)
        assert total_variation(law, case.target) == 0
        assert expected_length(law) >= expected_length(block_law(family("recursive_rejection"), case.target, case.topology, scheme))
        for tree in tree_law(uniform_topology([case.siblings]), scheme):
            try:
                draws_of(declared_only(tree.below))
            except ValueError:
                unknown += 1
    assert unknown > 40, "the declared laws alone do not say how the siblings were drawn"


def test_unknown_drafting_is_refused() -> None:
    children = (Node((0,), Law.row([1, 1])), Node((1,), Law.row([1, 2])))
    with pytest.raises(ValueError, match="follow no drafting scheme"):
        family("univer_transport").verify(lambda prefix: Law.row([1, 1]), Node((), None, children), None)  # type: ignore[arg-type]
