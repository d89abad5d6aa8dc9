import pytest

from draftproof.reference.exits import coverage
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import Prefix
from draftproof.reference.rational import rational
from draftproof.reference.training import WEIGHTINGS, Context, distillation, gradient, token_credit, total, tree_credit, tree_of
from draftproof.reference.training.weightings import combined, exit_weights
from draftproof.reference.trees import level_order

from .batches import VOCABULARY, batch

ROWS = {(): [7, 3], (0,): [3, 2], (0, 0): [1, 3], (1,): [1, 1]}


def target(prefix: Prefix) -> Law[int]:
    return Law.row(ROWS[prefix])


EXAMPLE = Context(target, [Law.row([2, 3]), Law.row([5, 1])], tree_of([(0,), (0, 0), (1,)]))


def test_worked_example() -> None:
    """By hand: w = 7/25, 21/50, 3/10 at 0, 00, 1, over three nodes."""
    credit = tree_credit([EXAMPLE])[0]
    assert credit == {(1, 0): rational("7/75"), (2, 0): rational("7/50"), (1, 1): rational("1/10")}
    assert gradient(credit, EXAMPLE.draft, 2)[0] == [rational("-2/125"), rational("2/125")], "29/150 q - k, q = 2/5"


@pytest.mark.parametrize("seed", range(30))
def test_no_token_outside_the_tree_is_promoted(seed: int) -> None:
    """Support lock-in: descent raises a logit only of tokens that some node of that depth carries, for every weighting."""
    contexts = batch(seed)
    for weighting in WEIGHTINGS.values():
        for context, credit in zip(contexts, tree_credit(contexts, weighting), strict=True):
            carried = {(len(node.path), node.path[-1]) for node in level_order(context.root)[1:]}
            for depth, row in enumerate(gradient(credit, context.draft, VOCABULARY), 1):
                assert all(slope >= 0 for token, slope in enumerate(row) if (depth, token) not in carried)


def test_distillation_promotes_tokens_outside_the_tree() -> None:
    context = Context(lambda prefix: Law.row([1, 8, 1]), [Law.row([8, 1, 1])] * 2, tree_of([(0,)]))
    assert gradient(tree_credit([context])[0], context.draft, 3)[0][1] > 0
    assert gradient(distillation([context])[0], context.draft, 3)[0][1] < 0


@pytest.mark.parametrize("seed", range(30))
def test_distillation_credits_all_that_follows_the_tree(seed: int) -> None:
    """Row d + 1 has the mass that reaches depth d: 1 at the root, and 1 + C in all, but for leaves at the horizon."""
    for context in batch(seed, requests=1):
        credit = distillation([context])[0]
        assert total(credit, 1) == 1
        last = sum((weight for path, weight in WEIGHTINGS["prefix"](context.target, context.root).items() if len(path) == 3), ZERO)
        assert total(credit) == 1 + coverage(context.target, context.root) - last


def test_root_and_empty_trees_are_not_counted() -> None:
    alone = tree_credit([EXAMPLE])[0]
    empty = Context(target, EXAMPLE.draft, tree_of([]))
    assert tree_credit([EXAMPLE, empty, empty]) == [alone, {}, {}]
    assert tree_credit([empty]) == [{}]
    assert () not in exit_weights(target, EXAMPLE.root)


def test_token_loss_and_combination() -> None:
    token = token_credit([[0, 1], [1, None]])
    assert total(token[0]) + total(token[1]) == 1 and token[1] == {(1, 1): rational("1/3")}
    both = combined(token, [tree_credit([EXAMPLE])[0], {}], rational("1/10"))
    assert both[0][1, 0] == rational("1/3") + rational("7/750") and both[0][1, 1] == rational("1/100") and both[1] == token[1]
    with pytest.raises(ValueError, match="no label"):
        token_credit([[None]])
