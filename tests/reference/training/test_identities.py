import pytest

from draftproof.reference.chance import Chance, law_of
from draftproof.reference.laws import Law
from draftproof.reference.training import gradient, tree_credit
from draftproof.reference.training.credit import added, total
from draftproof.reference.training.identities import credit_sums, depth_sums, path_sides, stationary_row
from draftproof.reference.training.weightings import prefix_weights
from draftproof.reference.trees import Node, level_order

from .batches import VOCABULARY, batch


@pytest.mark.parametrize("seed", range(200))
def test_sums_and_path_identity(seed: int) -> None:
    for context in batch(seed):
        for sides in (credit_sums, depth_sums):
            left, right = sides(context.target, context.root)
            assert left == right
        assert len(set(map(frozenset, (side.items() for side in path_sides(context.target, context.root))))) == 1


def test_path_identity_needs_the_right_weights() -> None:
    """With P on whole paths in place of w the two forms differ: the comparison can fail."""
    context = batch(3)[0]
    whole = added(prefix_weights(context.target, context.root).items(), whole_path=True)
    assert whole != path_sides(context.target, context.root)[1]


@pytest.mark.parametrize("seed", range(40))
def test_rows_at_rest(seed: int) -> None:
    """The row is the law of the token at the exit given its depth, by enumeration of target paths; there the gradient vanishes."""
    context = batch(seed, requests=1)[0]
    children = {node: {child.token: child for child in node.below} for node in level_order(context.root) if isinstance(node, Node)}

    def leaves(chance: Chance) -> tuple[int, int | None]:
        node = context.root
        while (token := chance.draw(context.target(node.path))) in children[node]:
            node = children[node][token]
        return len(node.path), node.path[-1] if node.path else None

    exits = law_of(leaves)
    for depth in (1, 2, 3):
        row = stationary_row(context.target, context.root, depth)
        there = {token: weight for (level, token), weight in exits.items() if level == depth}
        assert (row is None) == (not there)
        if row is not None:
            assert row == Law({token: weight for token, weight in there.items()})
            credit = tree_credit([context])[0]
            rows = [*context.draft[: depth - 1], row, *context.draft[depth:]]
            alone = {key: share for key, share in credit.items() if key[0] == depth}
            assert gradient(alone, rows, VOCABULARY)[depth - 1] == [0] * VOCABULARY
            assert total(credit, depth) > 0
