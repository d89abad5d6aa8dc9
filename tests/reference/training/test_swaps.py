from collections.abc import Iterator
from math import exp, log

import pytest

from draftproof.reference.exits import coverage
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, random_model
from draftproof.reference.rational import fraction
from draftproof.reference.training import Context, gradient, swap_gains, swap_optimal, swap_ranking, tree_of

from .batches import VOCABULARY, Logits, batch, near, score, slopes

HORIZON = 2


def trees(nodes: int) -> Iterator[tuple[Prefix, ...]]:
    """Every prefix-closed tree of so many nodes over two tokens, two deep."""
    everything = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    for mask in range(1 << 6):
        chosen = tuple(path for bit, path in enumerate(everything) if mask >> bit & 1)
        if len(chosen) == nodes and all(len(path) == 1 or path[:-1] in chosen for path in chosen):
            yield chosen


@pytest.mark.parametrize("seed", range(40))
def test_theorem_7(seed: int) -> None:
    """Over all trees of a size: no swap improves it exactly when it covers the most; and a swap changes coverage by its gain."""
    target: Model = random_model(seed, 2, zeros=0.2)
    for nodes in range(1, 6):
        covered = {paths: coverage(target, tree_of(paths)) for paths in trees(nodes)}
        best = max(covered.values())
        for paths, amount in covered.items():
            root = tree_of(paths)
            assert swap_optimal(target, root, HORIZON, 2) == (amount == best)
            for leaf, outside, gain in swap_gains(target, root, HORIZON, 2):
                swapped = [path for path in (*paths, outside) if path != leaf]
                assert coverage(target, tree_of(sorted(swapped, key=len))) == amount + gain


def test_gains_need_both_signs() -> None:
    """A tree that is not the best has a swap that gains: the theorem's test can fail."""
    target: Model = lambda prefix: Law.row([9, 1])  # noqa: E731
    assert not swap_optimal(target, tree_of([(1,)]), HORIZON, 2) and swap_optimal(target, tree_of([(0,)]), HORIZON, 2)


@pytest.mark.parametrize(("seed", "sharpness"), [(seed, 1 + seed % 2) for seed in range(12)])
def test_slope_is_that_of_the_ranking_loss(seed: int, sharpness: int) -> None:
    context = batch(seed, requests=1, depths=2)[0]
    exact = gradient(swap_ranking([context], VOCABULARY, sharpness)[0], context.draft, VOCABULARY)
    swaps = [(leaf, outside, float(fraction(gain))) for leaf, outside, gain in swap_gains(context.target, context.root, 2, VOCABULARY)]

    def loss(z: Logits) -> float:
        return sum(abs(gain) * log(1 + exp(-(1 if gain > 0 else -1) * sharpness * (score(z, c) - score(z, u)))) for u, c, gain in swaps)

    assert near(exact, slopes(loss, context.draft), 1e-7)


def test_what_the_draft_cannot_make_is_not_ranked() -> None:
    context = Context(lambda prefix: Law.row([1, 1, 8]), [Law.row([3, 2, 0])], tree_of([(0,)]))
    assert {token for _, token in swap_ranking([context], 3)[0]} <= {0, 1}
