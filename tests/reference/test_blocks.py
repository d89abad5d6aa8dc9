"""The exact block law: lazily drawn and merged, up front, level by level or replayed as a whole, it is the same law."""

import pytest

from draftproof.reference.blocks import block_law, block_law_on_tree, tree_law
from draftproof.reference.chance import Chance
from draftproof.reference.drafting import without_replacement
from draftproof.reference.laws import mixture
from draftproof.reference.models import Model, random_model
from draftproof.reference.trees import DraftNode, merged, uniform_topology
from draftproof.reference.verifiers import Family, Stop, family, recursive_rejection
from draftproof.reference.verifiers.descent import descend

from .instances import ANY_SCHEME, SCHEMES, random_cases


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ANY_SCHEME)
def test_lazily_and_up_front(name: str, scheme: str) -> None:
    for case in random_cases(scheme, 25, 64, start=2000):
        trees = tree_law(case.topology, case.scheme)
        if not family(name).reads_declared:
            trees = trees.map(merged)
        laws = ((probability, block_law_on_tree(family(name), case.target, tree)) for tree, probability in trees.items())
        assert case.law(name) == mixture(laws)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["predraw_follow", "recursive_rejection", "traversal"])
def test_piecewise_and_replayed_as_a_whole(name: str, scheme: str) -> None:
    whole = Family(name, family(name).verify, reads_declared=family(name).reads_declared)
    for case in random_cases(scheme, 15, 27, start=3000):
        assert case.law(name) == block_law(whole, case.target, case.topology, case.scheme)


def test_twins_matter_to_rules_that_ignore_declared_laws() -> None:
    """Their law on trees with twins unmerged is another one, so `test_lazily_and_up_front` can fail."""
    differs = 0
    for case in random_cases("with_replacement", 20, 64, start=2000):
        laws = [(p, block_law_on_tree(family("predraw_follow"), case.target, tree)) for tree, p in tree_law(case.topology, case.scheme).items()]
        differs += case.law("predraw_follow") != mixture(laws)
    assert differs > 0


def test_equal_contexts_are_evaluated_once() -> None:
    """Vocabulary 6, three siblings, depth three: 259 places (1 + 6 + 36 + 216), against 120^13 populated trees."""
    calls: dict[tuple[int, ...], int] = {}

    def counted(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
        calls[node.path] = calls.get(node.path, 0) + 1
        return recursive_rejection(target, node, chance)

    rule = Family("counted", descend(counted), counted)
    law = block_law(rule, random_model(1, 6), uniform_topology((3, 3, 3)), without_replacement(random_model(2, 6)))
    assert len(calls) <= 259 and sum(calls.values()) < 3000
    assert max(calls.values()) <= 6 + 6 * 5 + 6 * 5 * 4 * 2  # accepted at the first sibling, at the second, at the third or not
    assert all(calls[path] == 1 for path in calls if len(path) == 3)
    assert len(law) > 1000
