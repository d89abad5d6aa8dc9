"""Traversal verification; block verification on a chain."""

import pytest

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafting import chain, top_k, with_replacement, without_replacement
from draftproof.reference.exits import length_bound
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.models import random_model
from draftproof.reference.rational import Rational, rational
from draftproof.reference.trees import DraftNode, LazyNode, Slot, uniform_topology
from draftproof.reference.verifiers import Accepted, family
from draftproof.reference.verifiers.traversal import visit

from .. import faults
from ..instances import Case, accepted, positions, random_cases
from .battery import assert_defined_law

RULE = family("traversal")


@pytest.mark.parametrize("scheme", ["chain", "with_replacement", "without_replacement"])
def test_law_of_the_definition(scheme: str) -> None:
    assert_defined_law("traversal", scheme, 40)


def test_one_level_is_recursive_rejection() -> None:
    for make in (with_replacement, without_replacement):
        for case in random_cases("chain", 30, 64, start=700):
            for siblings in (1, 2, 3):
                laws = [block_law(family(name), case.target, ((),) * siblings, make(case.draft)) for name in ("token", "block")]
                assert laws[0] == laws[1]


def test_block_verification_is_optimal_on_chains() -> None:
    """It attains the bound of every lossless verifier, and so is never shorter than the token-level rule."""
    longer = 0
    for case in random_cases("chain", 100, 64, start=800):
        block, token = expected_length(case.law("block")), expected_length(case.law("token"))
        assert block == length_bound(case.target, tree_law(case.topology, case.scheme))
        assert block >= token
        longer += block > token
    assert longer > 20


def test_published_acceptance() -> None:
    """Cases P1 and P10 of the fault catalogue."""
    assert accepted("block", positions([5, 3, 2], [1, 0, 0]), ((),), chain(positions([2, 3, 5]))) == rational("0.70")
    p, q = positions(*[[4, 3, 2, 1]] * 3), positions(*[[1, 2, 3, 4]] * 2)
    assert accepted("block", p, uniform_topology((1, 1)), chain(q)) == rational("1.030")
    assert accepted("token", p, uniform_topology((1, 1)), chain(q)) == rational("0.960")


def test_deterministic_tree_sampled_chain_and_replay() -> None:
    """Three nodes for each: the worked comparison of the tree-replay mathematics."""
    p, q = positions([2, 6, 2], [3, 6, 1], [3, 1, 6], [1, 1, 1]), positions([1, 3, 6], [2, 3, 5], [5, 3, 2])
    line, plan = uniform_topology((1, 1, 1)), (((),), ())
    assert accepted("tev", p, plan, top_k(q)) == rational("41/50")
    assert accepted("token", p, line, chain(q)) == rational("147/125")
    assert accepted("block", p, line, chain(q)) == rational("169/125")
    assert accepted("token", p, plan, without_replacement(q)) == rational("34/25")
    assert accepted("block", p, plan, without_replacement(q)) == rational("36/25")
    assert accepted("token", p, plan, with_replacement(q)) == rational("28/25")
    assert accepted("block", p, plan, with_replacement(q)) == rational("6/5")
    same = positions(*[[8, 7, 5]] * 4)
    assert [accepted("block", same, topology, without_replacement(same)) for topology in (((), (), ()), line)] == [1, 3]
    certain = positions([1, 0], [1, 0])
    assert accepted("tev", certain, ((),), top_k(positions([3, 2]))) == 1
    assert accepted("token", certain, ((),), chain(positions([3, 2]))) == rational("3/5")


def test_it_is_not_always_longer_on_trees() -> None:
    """Only on chains is it never shorter than recursive rejection."""
    p, q = positions([1, 1], [3, 1], [1, 1], [1, 1]), positions([1, 3], [1, 1], [1, 1])
    topology: Slot = (((), ((),)),)
    assert accepted("recursive_rejection", p, topology, without_replacement(q)) == rational("27/16")
    assert accepted("traversal", p, topology, without_replacement(q)) == rational("25/16")


def test_capacity() -> None:
    """A subtree visited with capacity a is accepted with probability a, averaged over its draws, whatever its shape."""
    for scheme in ("chain", "with_replacement", "without_replacement", "greedy"):
        for case in random_cases(scheme, 25, 27, start=900):
            for a in (rational("1/3"), rational("9/10"), rational(0), rational(1)):

                def program(chance: Chance, case: Case = case, a: Rational = a) -> bool:
                    def at(node: DraftNode, capacity: Rational) -> Accepted | None:
                        return visit(case.target, node, capacity, chance, at)

                    return at(LazyNode(case.topology, (), case.scheme, chance), a) is not None

                assert law_of(program)[True] == a


def test_siblings_declared_wrong_are_found() -> None:
    """Drawn off their elders, declared as if they were not; faults of the rule itself are planted in test_growth."""
    found = 0
    for seed in range(12):
        p, q = random_model(seed, 4), random_model(-1 - seed, 4)
        trees = tree_law(((), ((),)), without_replacement(q))
        assert total_variation(faults.averaged(RULE, p, trees), p) == 0
        wrong = trees.map(lambda tree, q=q: faults.redeclared(tree, lambda prefix, elders: q(prefix)))
        found += total_variation(faults.averaged(RULE, p, wrong), p) > 0
    assert found > 5  # a residual of few tokens hides the fault in the others
