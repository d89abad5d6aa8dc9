"""UniVer: lossless, optimal at every node, never below the token-level rule, optimal on chains and fixed trees; and what breaks it."""

import random
from collections import Counter

import pytest

from draftproof.reference.blocks import block_law
from draftproof.reference.chance import law_of
from draftproof.reference.drafting import chain, greedy
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import random_law, random_model
from draftproof.reference.rational import rational
from draftproof.reference.transport.candidates import Greedy, set_law
from draftproof.reference.transport.certificate import check
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.node import optimum
from draftproof.reference.transport.record import one_node
from draftproof.reference.transport.tree import problem_of
from draftproof.reference.trees import LazyNode, Node, uniform_topology
from draftproof.reference.verifiers import Accepted, Family, ascend, family
from draftproof.reference.verifiers.univer import allocate, visit

from ..transport.instances import greedy_draws
from .transport import TwoLevels, accepted_at_least, two_levels
from .univer_faults import LOSSLESS, LOSSY, one_uniform_for_all, remaining_draft_mass, sometimes_greedy, univer_with

MUTATED = 29


@pytest.mark.parametrize("scheme", ["greedy", "top_k"])
def test_lossless_and_never_below_greedy_transport(scheme: str) -> None:
    """Total variation exactly 0 on 200 instances; at every depth at least as likely to get there as the token-level rule."""
    better = 0
    for case in two_levels(200):
        univer, token = case.law("univer", scheme), case.law("greedy_transport", scheme)
        assert total_variation(univer, case.target) == 0
        deeper = [accepted_at_least(univer, depth) - accepted_at_least(token, depth) for depth in (1, 2)]
        assert min(deeper) >= 0 and deeper[0] == 0
        better += deeper[1] > 0
    assert better > 30 or scheme == "top_k"


def test_the_plan_of_one_node_is_the_certified_optimum() -> None:
    """2,000 capacities, targets and drafts: the closed form hands its children exactly what no lossless rule can exceed, and every token its due."""
    rng = random.Random(0)
    for number in range(2000):
        vocabulary, count = rng.randint(2, 5), rng.randint(1, 3)
        p, q = random_law(rng, vocabulary, 0.3 * (number % 2)), random_law(rng, vocabulary, 0.3 * (number % 3 == 0))
        a = rational(rng.randint(0, 12)) / 12
        draws = greedy_draws(q, count)
        drawn = draws.law or Law.point(draws.hubs[-1])
        hubs = draws.hubs if draws.law else draws.hubs[:-1]
        found = optimum(p, set_law(draws), a)
        value, emitted = ZERO, dict.fromkeys(range(vocabulary), ZERO)
        for token, weight in drawn.items():
            children = [*(Node((hub,), Law.point(hub)) for hub in hubs), Node((token,), drawn)]
            masses, owed = allocate(p, children, a)
            assert min(masses) >= 0 and sum(masses, ZERO) <= 1
            value += weight * sum(masses, ZERO)
            for child, mass in zip(children, masses, strict=True):
                emitted[child.token] += weight * mass
        for token, mass in owed.items():
            emitted[token] += mass
        assert value == found.value and emitted == {token: a * p[token] for token in range(vocabulary)}
        if number % 10 == 0:
            assert check(one_node(p, set_law(draws), a, found))


def test_chain_is_block_verification_and_the_ceiling() -> None:
    for seed in range(20):
        p, q = random_model(2 * seed, 3, 0.3 * (seed % 2)), random_model(2 * seed + 1, 3, 0.3 * (seed % 3 == 0))
        topology = uniform_topology([1] * (1 + seed % 3))
        law = block_law(family("univer"), p, topology, chain(q))
        assert law == block_law(family("block"), p, topology, chain(q))
        assert seed > 5 or expected_length(law) == ceiling_of(problem_of(p, topology, chain(q))).ceiling


def test_fixed_trees_are_followed_by_the_target() -> None:
    """The same law as predraw_follow, so E[L] = 1 + coverage: all the gain of UniVer comes from draws."""
    for case in two_levels(40, seed=1):
        assert case.law("univer", "top_k") == case.law("predraw_follow", "top_k")


def test_one_level_is_greedy_transport() -> None:
    for case in two_levels(40, seed=2):
        topology, scheme = uniform_topology([case.siblings]), greedy(case.draft)
        assert block_law(family("univer"), case.target, topology, scheme) == block_law(family("greedy_transport"), case.target, topology, scheme)


def test_capacity() -> None:
    """Visited with capacity a, a subtree is accepted with probability a, averaged over its draws."""
    for number, case in enumerate(two_levels(30, largest=4, seed=3)):
        a = rational(number % 7) / 6

        def program(chance: object, case: TwoLevels = case, a: object = a) -> bool:
            def at(node: object, capacity: object) -> Accepted | None:
                return visit(case.target, node, capacity, chance, at)  # type: ignore[arg-type]

            return at(LazyNode(uniform_topology([2]), (), greedy(case.draft), chance), a) is not None  # type: ignore[arg-type]

        assert law_of(program)[True] == a


def test_whole_replay_is_the_law_by_nodes() -> None:
    rule = family("univer")
    for case in two_levels(6, largest=3, seed=4):
        whole = block_law(Family("whole", rule.verify), case.target, case.topology, greedy(case.draft))
        assert whole == case.law("univer", "greedy")


@pytest.mark.parametrize(
    ("tokens", "laws"),
    [
        ((0, 1), ([1, 1, 1], [0, 1, 1])),  # the elder was sampled
        ((0, 1), ([1, 0, 0], [1, 1, 1])),  # the drawn law covers a fixed child
        ((0, 0, 1), ([1, 0, 0], [1, 0, 0], [0, 1, 1])),  # a fixed child twice
    ],
)
def test_other_drafting_is_refused(tokens: tuple[int, ...], laws: tuple[list[int], ...]) -> None:
    children = [Node((token,), Law.row(law)) for token, law in zip(tokens, laws, strict=True)]
    with pytest.raises(ValueError, match="are not greedy: all but the last must be deterministic and distinct"):
        allocate(Law.row([1, 1, 1]), children, ONE)


def mutated() -> list[TwoLevels]:
    return list(two_levels(MUTATED, seed=5))


@pytest.mark.parametrize("fault", LOSSY)
def test_faults_are_rejected_exactly(fault: str) -> None:
    rare = fault == "residual at scale one"  # needs two tokens that are owed off the children, and a capacity below one
    cases = list(two_levels(80, seed=5, threes=80)) if rare else mutated()
    distances = [total_variation(case.law(univer_with(fault, case.draft), "greedy"), case.target) for case in cases]
    assert sum(distance > 0 for distance in distances) >= (3 if rare else 10), "the fault would go unseen"


def test_one_uniform_shared_by_all_tests_is_rejected() -> None:
    rule = Family("one uniform", one_uniform_for_all)
    cases = [case for case in mutated() if case.vocabulary < 5][:12]
    assert sum(total_variation(case.law(rule, "greedy"), case.target) > 0 for case in cases) > 8


def test_remaining_draft_mass_is_rejected() -> None:
    rule = Family("remaining draft mass", ascend(remaining_draft_mass), visit=remaining_draft_mass)
    assert sum(total_variation(case.law(rule, "without_replacement"), case.target) > 0 for case in mutated()) > 10


@pytest.mark.parametrize("variant", LOSSLESS)
def test_variants_that_are_lossless(variant: str) -> None:
    for case in mutated():
        law = case.law(univer_with(variant, case.draft), "greedy")
        assert total_variation(law, case.target) == 0
        assert variant != "reference" or law == case.law("univer", "greedy")


def test_deciding_before_the_draw_is_lossless() -> None:
    shapes = Counter[int]()
    for case in mutated():
        law = block_law(family("univer"), case.target, case.topology, sometimes_greedy(case.draft))
        assert total_variation(law, case.target) == 0
        shapes[law == case.law("univer", "greedy")] += 1
    assert shapes[False] > 5


def test_no_draws_is_a_fixed_set() -> None:
    """alpha = a p(S), stay = a (1 - p(S)) / (1 - a p(S))."""
    p, a = Law.row([1, 2, 3, 4]), rational("2/3")
    masses, owed = allocate(p, [Node((token,), Law.point(token)) for token in (3, 1)], a)
    assert masses == [rational("4/15"), rational("2/15")] and owed == {0: rational("1/15"), 2: rational("1/5")}
    assert sum(masses, ZERO) == optimum(p, set_law(Greedy((3, 1))), a).value
