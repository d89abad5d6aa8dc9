"""Losses of ``gpu_impl.training`` against exact gradients; ``draftproof check`` does the same on hundreds of batches (tests/oracle)."""

import math
from collections.abc import Callable

import pytest
import torch

from draftproof.gpu_impl import training
from draftproof.gpu_impl.ddtree import ddtree
from draftproof.reference.exits import coverage, exit_law
from draftproof.reference.rational import rational
from draftproof.reference.training import (
    WEIGHTINGS,
    credit_ratio,
    distillation,
    lock_in,
    smoothed_coverage,
    swap_optimal,
    swap_ranking,
    token_credit,
    tree_credit,
)
from draftproof.reference.training.smoothed import budget
from draftproof.reference.training.weightings import combined

from .training_batches import DEPTHS, VOCABULARY, contexts, exact, slope, tensors

torch.set_num_threads(1)
LIMIT = {torch.float64: 1e-12, torch.float32: 1e-5}


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("seed", range(5))
def test_gradients(seed: int, dtype: torch.dtype) -> None:
    """Rounding logits to float32 moves the exact answer too: 1e-5 covers both."""
    batch = contexts(seed)
    logits, given = tensors(batch, dtype)
    losses = {
        "distillation": (training.on_tree_distillation(logits, *given), distillation(batch)),
        "swaps": (training.swap_ranking(logits, *given), swap_ranking(batch, VOCABULARY)),
        "swaps, all of many": (training.swap_ranking(logits, *given, tau=0.5, candidates=999), swap_ranking(batch, VOCABULARY, 2)),
        **{name: (training.tree_loss(logits, *given, weighting=name), tree_credit(batch, WEIGHTINGS[name])) for name in WEIGHTINGS},
    }
    level = rational("1/10")
    budgets = torch.tensor([float(budget(one, VOCABULARY, level)) for one in batch], dtype=torch.float64)
    losses["coverage"] = training.smoothed_coverage(logits, *given, budgets=budgets), smoothed_coverage(batch, VOCABULARY, [level] * len(batch))
    for name, (loss, credits) in losses.items():
        assert loss.dtype == dtype and loss.dim() == 0
        assert (slope(loss, logits) - exact(list(credits), batch)).abs().max() < LIMIT[dtype], name


def test_weights() -> None:
    """sum w = 1 - w(root), sum P = sum w d = C, nothing at root and padding."""
    batch = contexts(3)
    _, given = tensors(batch)
    found = {name: training.node_weights(*given, weighting=name) for name in training.WEIGHTINGS}
    for row, one in enumerate(batch):
        assert float(found["exit"].weights[row].sum()) == pytest.approx(1 - float(exit_law(one.target, one.root)[one.root]), abs=1e-14)
        for name in ("prefix", "depth"):
            assert float(found[name].weights[row].sum()) == pytest.approx(float(coverage(one.target, one.root)), abs=1e-14)
    for one in found.values():
        assert not one.weights[:, 0].any() and not one.weights[~given[2]].any() and one.nodes == 16 and not one.weights.requires_grad


def test_small_exits_are_not_lost_to_subtraction() -> None:
    """Children that cover all but 1e-9 of a float32 row: 1 minus their sum would be 0 or 6e-8."""
    row = torch.tensor([0.5, 0.5 - 1e-9, 1e-9], dtype=torch.float64).log().float()
    tokens, parents = torch.tensor([[0, 0, 0, 0, 1]]), torch.tensor([[0, 0, 1, 2, 2]])
    given = training.node_weights(tokens, parents, torch.ones(1, 5, dtype=torch.bool), row.expand(1, 5, 3))
    assert float(given.weights[0, 2]) == pytest.approx(0.25 * 1e-9, rel=1e-5)


def test_temperatures() -> None:
    """Other than 1 as softmax(z / T); 0 as argmax, where the weight is on the node that greedy decoding leaves at."""
    logits, (tokens, parents, valid, target) = tensors(contexts(5))
    cold = training.tree_loss(logits, tokens, parents, valid, target, temperature=0.5)
    assert torch.equal(slope(cold, logits), slope(training.tree_loss(logits, tokens, parents, valid, 2 * target), logits))
    greedy = training.node_weights(tokens, parents, valid, target, temperature=0).weights
    assert set(greedy.unique().tolist()) <= {0.0, 1.0} and (greedy.sum(1) <= 1).all()
    with pytest.raises(ValueError, match="temperature must be"):
        training.tree_loss(logits, tokens, parents, valid, target, temperature=-1)


def test_nothing_flows_into_the_target() -> None:
    for loss in (training.tree_loss, training.on_tree_distillation, training.swap_ranking, training.smoothed_coverage):
        logits, (*tree, target) = tensors(contexts(6))
        loss(logits, *tree, target.requires_grad_()).backward()
        assert target.grad is None and logits.grad is not None and logits.grad.abs().max() > 0


def test_padding_and_neighbours() -> None:
    """More padding changes nothing; a batch is the node-weighted mean of its requests."""
    batch = contexts(7)
    logits, given = tensors(batch)
    wide_logits, wide = tensors(batch, padding=9)
    with torch.no_grad():
        whole = training.tree_loss(logits, *given)
        assert float(whole) == pytest.approx(float(training.tree_loss(wide_logits, *wide)), abs=1e-15)
        alone = [training.tree_loss(*_row(logits, given, row)) for row in range(4)]
    assert float(whole) == pytest.approx(float(5 * alone[0] + 3 * alone[2] + 8 * alone[3]) / 16, abs=1e-14)
    assert float(alone[1]) == 0, "no nodes"


def _row(logits: torch.Tensor, given: tuple[torch.Tensor, ...], row: int) -> list[torch.Tensor]:
    return [part[row : row + 1] for part in (logits, *given)]


def test_half_precision_logits() -> None:
    batch = contexts(8)
    logits, given = tensors(batch)
    for dtype in (torch.bfloat16, torch.float16):
        rounded = logits.detach().to(dtype).requires_grad_()
        with torch.no_grad():
            loss = training.tree_loss(rounded, *given[:3], given[3].to(dtype))
        again = training.tree_loss(rounded.detach().double(), *given[:3], given[3].to(dtype).double())
        assert loss.dtype == torch.float32 and float(loss) == pytest.approx(float(again), rel=1e-5)


def test_impossible_logits_that_are_not_credited() -> None:
    """A token the drafter can never draft (-inf), here the one that fills padding, is no NaN."""
    logits = torch.tensor([[[-math.inf, 0.0, 1.0]]], requires_grad=True)
    tokens, parents, valid = torch.tensor([[0, 2, 0]]), torch.tensor([[0, 0, 2]]), torch.tensor([[True, True, False]])
    target = torch.zeros(1, 3, 3)
    for loss in (training.tree_loss, training.on_tree_distillation, training.swap_ranking, training.smoothed_coverage):
        value = loss(logits, tokens, parents, valid, target)
        finite = value.isfinite() and slope(value, logits).isfinite().all()
        assert finite == (loss is not training.on_tree_distillation), "which credits it, so that its loss is infinite"


def test_token_loss_combination_and_ratio() -> None:
    batch = contexts(9)
    logits, given = tensors(batch)
    labels: list[list[int | None]] = [[0, 1, 2], [3, None, None], [1, 1, 1], [2, None, 0]]
    tensor = torch.tensor([[training.NO_LABEL if token is None else token for token in row] for row in labels])
    found = training.combined(logits, tensor, *given, weight=0.25)
    token, tree, quarter = token_credit(labels), tree_credit(batch), rational("1/4")
    assert (slope(found.loss, logits) - exact(list(combined(token, tree, quarter)), batch)).abs().max() < 1e-14
    assert found.credit_ratio == pytest.approx(float(credit_ratio(tree, token, quarter)), abs=1e-15)
    assert float(found.loss.detach()) == pytest.approx(float((found.token + 0.25 * found.tree).detach()), abs=1e-15)


def test_fewer_candidates_keep_the_heaviest() -> None:
    """With one candidate a request, the ranking is between the leaves and the heaviest missing node."""
    batch = contexts(10, sizes=(4,))
    logits, given = tensors(batch)
    one, all_of_them = (training.swap_ranking(logits, *given, candidates=count) for count in (1, None))
    assert 0 < float(one.detach()) < float(all_of_them.detach())


def test_swap_ranking_finds_the_best_tree() -> None:
    """Descent on B alone, with trees rebuilt, ends where no swap gains, from the draft at which the exit objective leaves it."""
    target = torch.tensor([[[0.9, 0.1]]]).log()

    def rows(tokens: torch.Tensor) -> torch.Tensor:
        return torch.cat((target, torch.zeros(1, tokens.shape[1] - 1, 2)), 1)

    ends = {}
    for name, loss in (("exit", training.tree_loss), ("B", training.swap_ranking)):
        logits = torch.tensor([[[0.8, 0.2], [0.5, 0.5]]]).log().requires_grad_()
        optimiser = torch.optim.SGD([logits], lr=2.0)
        lengths = []
        for _ in range(400):
            trees = ddtree(logits.detach(), 4)
            given = trees.tokens, trees.parents, trees.valid, rows(trees.tokens)
            lengths.append(float(training.node_weights(*given, weighting="prefix").weights.sum()))
            optimiser.zero_grad()
            loss(logits, *given).backward()
            optimiser.step()
        ends[name] = lengths
    assert ends["exit"][0] == ends["B"][0] == pytest.approx(1.9)
    assert min(ends["exit"][-100:]) < 1.2, "it comes past the flip, where coverage is 11/10, again and again"
    assert min(ends["B"]) == pytest.approx(1.9)
    assert swap_optimal(lock_in.target, lock_in.built(lock_in.target, [lock_in.EVEN] * 2, 0).root, 2, 2), "no leaf, nothing to swap"


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"logits": torch.zeros(4, DEPTHS, 9)}, ValueError, "logits must be"),
        ({"logits": torch.zeros(4, 1, VOCABULARY)}, ValueError, "deep, the draft has 1 rows"),
        ({"logits": torch.zeros(4, DEPTHS, VOCABULARY, dtype=torch.int64)}, TypeError, "floating"),
        ({"parents": torch.full((4, 11), 5)}, ValueError, "batch row 0: the tree is malformed"),
        ({"target": torch.full((4, 11, VOCABULARY), torch.nan)}, ValueError, "batch row 0: a target row is no law"),
        ({"target": torch.full((4, 11, VOCABULARY), -torch.inf)}, ValueError, "no law"),
        ({"target": torch.zeros(4, 3, VOCABULARY)}, ValueError, "target must be"),
    ],
)
def test_bad_input(change: dict[str, torch.Tensor], error: type[Exception], said: str) -> None:
    logits, given = tensors(contexts(1))
    arguments = dict(zip(("logits", "tokens", "parents", "valid", "target"), (logits, *given), strict=True)) | change
    for loss in (training.tree_loss, training.on_tree_distillation, training.swap_ranking, training.smoothed_coverage):
        with pytest.raises(error, match=said):
            loss(**arguments)


def test_unknown_weighting() -> None:
    logits, given = tensors(contexts(1))
    with pytest.raises(ValueError, match="exit, prefix, depth"):
        training.tree_loss(logits, *given, weighting="exits")


LOSSES = [training.tree_loss, training.on_tree_distillation, training.swap_ranking, training.smoothed_coverage]


def _roots(batch: int, rows: int = 2) -> tuple[torch.Tensor, ...]:
    """Trees without a node besides the root."""
    logits, target = torch.zeros(batch, rows, 3, dtype=torch.float64, requires_grad=True), torch.zeros(batch, 1, 3, dtype=torch.float64)
    return logits, torch.zeros(batch, 1, dtype=torch.int64), torch.zeros(batch, 1, dtype=torch.int64), torch.ones(batch, 1, dtype=torch.bool), target


def _pair(first: int, second: int) -> tuple[torch.Tensor, ...]:
    logits = torch.tensor([[[0.3, -0.2, 0.1]]], dtype=torch.float64, requires_grad=True)
    target = torch.tensor([[[0.1, 0.7, -0.4]] * 3], dtype=torch.float64)
    return logits, torch.tensor([[0, first, second]]), torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.bool), target


@pytest.mark.parametrize("loss", LOSSES)
def test_ends_of_what_can_be_given(loss: Callable[..., torch.Tensor]) -> None:
    """An empty batch has the loss 0; no rows at all, and siblings with one token, are said; no temperature is too small."""
    assert float(loss(*_roots(0))) == 0
    with pytest.raises(ValueError, match="at least one row"):
        loss(*_roots(1, rows=0))
    with pytest.raises(ValueError, match="batch row 0: siblings carry the same token"):
        loss(*_pair(1, 1))
    assert float(loss(*_pair(1, 2), temperature=1e-320)) == float(loss(*_pair(1, 2), temperature=0.0))


def test_without_a_budget_nothing_is_covered() -> None:
    assert float(training.smoothed_coverage(*_roots(2))) == 0
