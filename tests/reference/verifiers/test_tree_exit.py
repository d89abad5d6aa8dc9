"""Tree exit verification."""

import pytest

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafting import fixed
from draftproof.reference.exits import coverage, exit_law, reach, residual
from draftproof.reference.growth import expected_length, total_variation, violations
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, marginal, table
from draftproof.reference.rational import rational
from draftproof.reference.trees import DraftNode, merged
from draftproof.reference.verifiers import Accepted, Family, family, tree_exit

from ..instances import SCHEMES, random_cases


@pytest.mark.parametrize("scheme", SCHEMES)
def test_law_of_predraw_follow(scheme: str) -> None:
    for case in random_cases(scheme, 40, 64, start=200):
        assert case.law("tree_exit") == case.law("predraw_follow")


def test_mean_length_is_coverage() -> None:
    for scheme in ("fixed", "top_k", "with_replacement"):
        for case in random_cases(scheme, 40, 27, start=300):
            trees = tree_law(case.topology, case.scheme).map(merged)
            assert expected_length(case.law("tree_exit")) == 1 + trees.expectation(lambda tree, p=case.target: coverage(p, tree))


def test_one_draw_of_the_exit_node() -> None:
    case = next(random_cases("fixed", 1, start=8))
    (tree,) = tree_law(case.topology, case.scheme)
    found = law_of(lambda chance: tree_exit(case.target, tree, chance).node.path)
    assert found == exit_law(case.target, tree).map(lambda node: node.path)


def test_node_whose_children_cover_its_row_is_no_exit() -> None:
    target = table({(): Law.row([1, 1, 0]), (0,): Law.row([1, 2, 3]), (1,): Law.row([0, 0, 1])})
    law = block_law(family("tev"), target, *fixed([(0,), (1,)]))
    assert law == Law({(0, 0): 1, (0, 1): 2, (0, 2): 3, (1, 2): 6})


def planted(fault: str) -> Family:
    """The rule with one thing wrong."""

    def verify(target: Model, root: DraftNode, chance: Chance) -> Accepted:
        weights = exit_law(target, root)
        if fault == "reach instead of exit":
            weights = Law(reach(target, root))
        if fault == "leaves dropped":
            weights = Law({node: weight for node, weight in weights.items() if list(node.children())})
        node = chance.draw(weights)
        bonus = target(node.path) if fault == "bonus from the whole row" else residual(target, node)
        return Accepted(node, bonus or target(node.path))

    return Family(fault, verify, reads_declared=False)


@pytest.mark.parametrize("fault", ["reach instead of exit", "leaves dropped", "bonus from the whole row"])
def test_planted_fault_is_found(fault: str) -> None:
    """On the worked example of the exit law, with a third token so that every node can be left."""
    target = marginal([Law.row([5, 3, 2]), Law.row([2, 2, 6]), Law.row([1, 8, 1])])
    topology, scheme = fixed([(0,), (1,), (0, 0)])
    law = block_law(planted(fault), target, topology, scheme)
    found = next(violations(law, target))
    assert total_variation(law, target) > rational("1/20") and found.prefix == ()
    sound = block_law(family("tev"), target, topology, scheme)
    assert (expected_length(law) == expected_length(sound)) == (fault == "bonus from the whole row")  # mean length alone is blind to that one
