"""Recursive rejection: token-level speculative sampling, RRS, RRSw and one-hot siblings."""

import pytest

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.drafting import chain, fixed, top_k, with_replacement, without_replacement
from draftproof.reference.exits import coverage
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.rational import rational
from draftproof.reference.trees import Node, Slot, merged, one_hot, uniform_topology
from draftproof.reference.verifiers import family

from .. import faults
from ..instances import accepted, positions, random_cases
from .battery import assert_defined_law

RULE = family("recursive_rejection")


@pytest.mark.parametrize("scheme", ["chain", "with_replacement", "without_replacement"])
def test_law_of_the_definition(scheme: str) -> None:
    assert_defined_law("recursive_rejection", scheme, 40)


@pytest.mark.parametrize("scheme", ["fixed", "top_k"])
def test_one_hot_siblings_have_the_law_of_predraw_follow(scheme: str) -> None:
    for case in random_cases(scheme, 60, 64, start=400):
        law = case.law("recursive_rejection")
        assert law == case.law("predraw_follow") == case.law("tree_exit")
        (tree,) = tree_law(case.topology, case.scheme)
        assert expected_length(law) == 1 + coverage(case.target, tree)


def test_sampled_drafts_may_be_treated_as_deterministic() -> None:
    """A control that must pass: lossless, only shorter."""
    for case in random_cases("without_replacement", 30, 27, start=500):
        trees = tree_law(case.topology, case.scheme)
        law = faults.averaged(RULE, case.target, trees.map(one_hot))
        assert total_variation(law, case.target) == 0
        assert law == case.law("predraw_follow")


def test_published_acceptance() -> None:
    """Cases P1, P6, P10, T1 and T2 of the fault catalogue."""
    assert accepted("token", positions([5, 3, 2], [1, 0, 0]), ((),), chain(positions([2, 3, 5]))) == rational("0.70")
    assert accepted("token", positions([6, 3, 1], [1, 0, 0]), *fixed([(0,)])) == rational("0.6")
    p, q = positions(*[[4, 3, 2, 1]] * 4), positions(*[[1, 2, 3, 4]] * 3)
    assert accepted("token", p, ((),), chain(q)) == rational("0.6")
    assert accepted("token", p, uniform_topology((1, 1)), chain(q)) == rational("0.960")
    assert accepted("token", p, ((), ()), with_replacement(q)) == rational("0.720")
    assert accepted("token", p, ((), ()), without_replacement(q)) == rational("107/140")  # .7643
    assert accepted("token", positions([0, 30, 15, 5, 50], *[[1, 0, 0, 0, 0]]), *fixed([(1,), (2,), (3,)])) == rational("0.50")


def test_more_slots_than_support() -> None:
    """p = (.4,.3,.2,.1), three slots; a drafter that knows one or two tokens only."""
    p = positions([4, 3, 2, 1], *[[1, 0, 0, 0]])
    three: Slot = ((), (), ())
    assert accepted("token", p, three, without_replacement(positions([1, 0, 0, 0]))) == rational("2/5")
    assert accepted("token", p, three, with_replacement(positions([1, 0, 0, 0]))) == rational("2/5")
    assert accepted("token", p, three, without_replacement(positions([2, 1, 0, 0]))) == rational("7/10")
    assert accepted("token", p, three, with_replacement(positions([2, 1, 0, 0]))) == rational("7/10")
    assert accepted("token", p, three, top_k(positions([4, 3, 2, 1]))) == rational("9/10")


def test_repeated_draws() -> None:
    """q = (1/2,1/4,1/4), p = (1/10,3/10,3/5): with replacement 3/4, without 17/20; a twin dropped but still declared q is not lossless."""
    p, q = positions([1, 3, 6], [1, 0, 0]), positions([2, 1, 1])
    assert accepted("token", p, ((), ()), with_replacement(q)) == rational("3/4")
    assert accepted("token", p, ((), ()), without_replacement(q)) == rational("17/20")
    trees = tree_law(((), ()), with_replacement(q)).map(merged)
    dropped = faults.averaged(RULE, p, trees)
    assert total_variation(dropped, p) == rational("1/40")
    honest = trees.map(lambda tree: faults.redeclared(tree, lambda prefix, elders: q(prefix).without(elders) or q(prefix)))
    law = faults.averaged(RULE, p, honest)
    assert total_variation(law, p) == 0 and expected_length(law) - 1 == rational("29/40")


def test_draft_equal_to_the_target_is_always_accepted() -> None:
    p = positions([4, 3, 0, 1], [1, 2, 3, 4], [1, 0, 0, 0], [1, 1, 1, 1])
    law = block_law(RULE, p, uniform_topology((1, 1, 1)), chain(p))
    assert {len(block) for block in law} == {4}


# Sampled siblings against the same trees treated as deterministic (exit law, theorem 6).


def eldest_twins(node: Node) -> Node:
    """Same-token siblings dropped but the eldest, with all that is below them."""
    first = {child.token: child for child in reversed(node.below)}
    return Node(node.path, node.declared, tuple(eldest_twins(child) for child in node.below if first[child.token] is child))


@pytest.mark.parametrize("scheme", ["with_replacement", "without_replacement"])
def test_never_shorter_than_coverage_where_siblings_are_alike(scheme: str) -> None:
    """The theorem: every accepted node gets a fresh set of children, one subtree for each distinct token."""
    make = {"with_replacement": with_replacement, "without_replacement": without_replacement}[scheme]
    longer = 0
    for case in random_cases(scheme, 30, 64, start=600):
        for children in ((1,), (2,), (3,), (2, 1), (1, 2), (2, 2)):
            if case.vocabulary ** sum(children) > 81 or (children == (2, 2) and case.vocabulary > 2):
                continue
            topology = uniform_topology(children)
            trees = tree_law(topology, make(case.draft)).map(eldest_twins)
            covered = trees.expectation(lambda tree, p=case.target: coverage(p, tree))
            found = accepted("token", case.target, topology, make(case.draft))
            assert found >= covered
            longer += found > covered
    assert longer > 0


def test_shorter_than_coverage_where_siblings_are_not_alike() -> None:
    """q = p: the first sibling is always accepted, and here it is a leaf while the second is not.  The theorem needs its hypothesis."""
    p = positions([1, 1], [1, 1], [1, 1])
    topology: Slot = ((), ((),))
    assert accepted("token", p, topology, without_replacement(p)) == 1
    trees = tree_law(topology, without_replacement(p))
    assert trees.expectation(lambda tree: coverage(p, tree)) == rational("5/4")
