from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from draftproof.gpu_impl.caddtree import best_size, caddtree, first_stop
from draftproof.gpu_impl.ddtree import ddtree

SIZES = 9  # 0 to 8 nodes


def instances(count: int, seed: int, convex: bool) -> tuple[np.ndarray, np.ndarray]:
    """Gains [count, 8] in sixtieths, non-increasing, and integer round costs [count, 9], plateaus, zero and negative steps included."""
    rng = np.random.default_rng(seed)
    gains = -np.sort(-rng.integers(1, rng.choice([5, 13, 61], size=(count, 1)), size=(count, SIZES - 1)))
    low = rng.choice([-3, -1, 0, 0, 1], size=(count, 1))
    steps = rng.integers(low, low + 1 + rng.choice([0, 2, 8], size=(count, 1)), size=(count, SIZES - 1))
    steps = np.sort(steps) if convex else rng.permuted(np.where(rng.random(steps.shape) < 0.4, 0, steps * 3), axis=1)
    cost = np.concatenate([np.zeros((count, 1), dtype=int), steps.cumsum(1)], axis=1)
    return gains, cost - cost.min(1, keepdims=True) + rng.integers(1, 12, size=(count, 1))


def smallest_maximiser(gains: np.ndarray, cost: np.ndarray) -> list[int]:
    """Exactly, by comparing every size with the best so far in integers."""
    best = []
    for added, times in zip(gains.tolist(), cost.tolist(), strict=True):
        tokens, top, at = 60, (60, times[0]), 0
        for n, (gain, time) in enumerate(zip(added, times[1:], strict=True), 1):
            tokens += gain
            if tokens * top[1] > top[0] * time:
                top, at = (tokens, time), n
        best.append(at)
    return best


def tensors(gains: np.ndarray, cost: np.ndarray) -> tuple[Tensor, Tensor]:
    masses = np.concatenate([np.full((len(gains), 1), 60), gains], axis=1) / 60
    return torch.from_numpy(masses).log(), torch.from_numpy(cost).double()


def test_first_stop_is_the_smallest_maximiser_on_20000_convex_costs() -> None:
    gains, cost = instances(20_000, 0, convex=True)
    exact = smallest_maximiser(gains, cost)
    assert first_stop(*tensors(gains, cost)).tolist() == exact
    assert best_size(*tensors(gains, cost)).tolist() == exact
    assert len(set(exact)) == SIZES, "every size occurs"


def test_best_size_is_never_wrong_on_5000_other_costs_and_first_stop_often_is() -> None:
    gains, cost = instances(8000, 1, convex=False)
    bent = (np.diff(cost, n=2) < 0).any(1)
    gains, cost = gains[bent][:5000], cost[bent][:5000]
    assert len(gains) == 5000
    exact = smallest_maximiser(gains, cost)
    assert best_size(*tensors(gains, cost)).tolist() == exact
    wrong = sum(mine != best for mine, best in zip(first_stop(*tensors(gains, cost)).tolist(), exact, strict=True))
    assert wrong > 500


def test_trees_and_budgets_together() -> None:
    logits = torch.randn(5, 4, 30, generator=torch.Generator().manual_seed(0)) * 3
    verify = 20 + torch.arange(33.0, dtype=torch.float64) / 3 + (torch.arange(33) - 12).clamp(min=0)
    trees, budgets = caddtree(logits, 4.0, verify)
    full = ddtree(logits, 32)
    assert trees.valid.sum(1).tolist() == (1 + budgets).tolist() and 0 < budgets.min() and budgets.max() < 32
    for row, budget in enumerate(budgets.tolist()):
        assert torch.equal(trees.tokens[row, : budget + 1], full.tokens[row, : budget + 1])
        tokens = full.scores[row].exp().cumsum(0)
        assert int((tokens / (4 + verify)).argmax()) == budget
    assert caddtree(logits, 4.0, verify, convex=False)[1].tolist() == budgets.tolist()


def test_a_cost_table_for_each_row() -> None:
    logits = torch.zeros(2, 2, 2)
    logits[:, :, 0] = 3.0
    tables = torch.tensor([[1.0, 9, 17], [1, 1, 1]])
    assert caddtree(logits, 1.0, tables)[1].tolist() == [0, 2]


def test_the_published_counterexample() -> None:
    certain = torch.tensor([[[0.0, -1.0986122886681098], [0, -inf], [0, -inf]]], dtype=torch.float64)  # gains 3/4, 3/4, 3/4
    verify = torch.tensor([1.0, 3, 3, 3])
    assert caddtree(certain, 1.0, verify)[1].tolist() == [0]
    assert caddtree(certain, 1.0, verify, convex=False)[1].tolist() == [3]


def test_nan_extends_nothing() -> None:
    """Broken logits at any depth, a broken cost: no node beyond, where the published comparison runs to the cap."""
    logits = torch.zeros(3, 4, 8)
    logits[0], logits[1, 0], logits[2, 3] = nan, nan, nan
    free = torch.full((513,), 2.0)
    for convex in (True, False):
        assert caddtree(logits, 1.0, free, convex=convex)[1].tolist() == [0, 0, 512]
    free[3] = nan
    assert caddtree(torch.zeros(1, 4, 8), 1.0, free)[1].tolist() == [2]
    assert caddtree(torch.zeros(1, 4, 8), 1.0, torch.full((5,), nan), convex=False)[1].tolist() == [0]
    assert caddtree(torch.zeros(1, 4, 8), nan, torch.full((5,), 1.0))[1].tolist() == [0]


def test_free_nodes_of_no_mass_are_not_taken() -> None:
    logits = torch.tensor([[[0.0, -inf, -inf], [0.0, 0.0, -inf]]])
    for convex in (True, False):
        assert caddtree(logits, 1.0, torch.ones(20), convex=convex)[1].tolist() == [3]
    faint = torch.tensor([[[0.0, -800.0]]], dtype=torch.float64)
    assert caddtree(faint, 1.0, torch.ones(4))[1].tolist() == [1], "a mass that underflows to 0 adds nothing: equality, which stops"


def sizes_for(seed: int, change: Any) -> tuple[Tensor, Tensor]:
    """Sizes before and after a change of (draft cost, verify costs) on 1000 convex instances."""
    gains, cost = instances(1000, seed, convex=True)
    scores, verify = tensors(gains, cost)
    draft = 1 + torch.rand(1000, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    more_draft, more_verify = change(draft, verify)
    return first_stop(scores, draft + verify), first_stop(scores, more_draft + more_verify)


@pytest.mark.parametrize("seed", range(4))
def test_metamorphic_facts(seed: int) -> None:
    before, after = sizes_for(seed, lambda draft, verify: (draft + 1.5, verify))
    assert (after >= before).all() and (after > before).any(), "a dearer drafter never shrinks a tree"
    before, after = sizes_for(seed, lambda draft, verify: (draft, verify + 2.25))
    assert (after >= before).all() and (after > before).any(), "nor does a constant on the verify cost"
    before, after = sizes_for(seed, lambda draft, verify: (draft, verify * 1.75))
    assert (after <= before).all() and (after < before).any(), "a dearer verifier never grows one"
    before, after = sizes_for(seed, lambda draft, verify: (draft / 1024, verify / 1024))
    assert torch.equal(before, after), "the unit of time does not matter"


def test_a_model_within_eps_keeps_its_share() -> None:
    gains, cost = instances(2000, 9, convex=True)
    scores, model = tensors(gains, cost)
    noise = 1 + 0.2 * (2 * torch.rand(model.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1)
    rate = scores.exp().cumsum(1) / (model * noise)
    chosen = rate.gather(1, first_stop(scores, model).unsqueeze(1)).squeeze(1)
    assert (chosen >= rate.amax(1) * float(Fraction(4, 6)) - 1e-12).all()


def test_calls_that_cannot_be() -> None:
    logits = torch.zeros(2, 3, 4)
    for table, error in (
        (torch.ones(0), ValueError),
        (torch.ones(1, 1, 1), ValueError),
        (torch.ones(3, 5), ValueError),
        (torch.ones(5).long(), TypeError),
        ([1.0, 2.0], TypeError),
    ):
        with pytest.raises(error):
            caddtree(logits, 1.0, table)  # type: ignore[arg-type]
    assert caddtree(logits, 1.0, torch.ones(1))[1].tolist() == [0, 0], "a cap of 0 nodes"


@pytest.mark.parametrize("convex", [True, False])
def test_a_cost_that_is_not_positive_extends_nothing(convex: bool) -> None:
    """A negative C would turn the comparison round."""
    for draft, table in ((-9.0, [1.0, 2, 3, 4]), (-9.0, [4.0, 3, 2, 1]), (0.0, [0.0, 0, 0, 0]), (0.0, [1.0, -5, -50, -500]), (0.0, [1.0, 0, 0, 0])):
        assert caddtree(torch.zeros(1, 3, 4), draft, torch.tensor(table), convex=convex)[1].tolist() == [0], (draft, table)
