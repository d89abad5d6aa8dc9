import pytest

from draftproof.reference.budgets import optimum
from draftproof.reference.exits import coverage
from draftproof.reference.models import marginal
from draftproof.reference.training import tree_of
from draftproof.reference.trees import level_order

from .batches import batch


@pytest.mark.parametrize("seed", range(10))
def test_built_trees_are_best_for_the_draft(seed: int) -> None:
    for context in batch(seed):
        nodes = len(level_order(context.root)) - 1
        assert coverage(marginal(context.draft), context.root) == optimum.optimum(context.draft, nodes)


def test_tree_of_keeps_order_and_declares_nothing_sampled() -> None:
    root = tree_of([(2,), (0,), (0, 1), (2, 2)])
    assert [node.path for node in level_order(root)] == [(), (2,), (0,), (2, 2), (0, 1)]
    assert all(node.declared is not None and len(node.declared) == 1 for node in level_order(root)[1:])
