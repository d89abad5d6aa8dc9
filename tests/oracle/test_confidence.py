"""Bounds that hold at all sample sizes at once: coverage, tightness, and naive bounds that fail the same tests."""

from collections import Counter
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from draftproof.oracle.confidence import MeanLength, completed_total_variation, total_variation_upper_bound

Block = tuple[int, ...]
ROWS: dict[Block, list[float]] = {
    (): [0.5, 0.3, 0.2],
    (0,): [0.2, 0.0, 0.8],
    (1,): [0.1, 0.6, 0.3],
    (2,): [1.0, 0.0, 0.0],
}


def row(prefix: Block) -> list[float]:
    return ROWS.get(prefix, [0.25, 0.25, 0.5])


def path(string: Block, start: int = 0) -> float:
    return float(np.prod([row(string[:i])[string[i]] for i in range(start, len(string))]))


def brute_force(blocks: dict[Block, int], horizon: int) -> float:
    n = sum(blocks.values())
    return 0.5 * sum(
        abs(sum(blocks.get(z[:i], 0) * path(z, i) for i in range(1, horizon + 1)) / n - path(z))
        for z in product(range(3), repeat=horizon)
    )


@pytest.mark.parametrize(
    "blocks",
    [
        {(0,): 3, (1, 1): 2, (2, 0, 2): 1},
        {(0, 2, 1): 1},
        {(0, 2): 8, (1,): 6, (2,): 4, (0, 0): 2},
        {(0, 1): 5, (1, 0, 2): 3, (2, 1, 0): 2},
        {(0,): 5, (0, 2): 5, (1, 1, 1): 0},
    ],
)
def test_completed_tv_is_that_of_all_strings(blocks: dict[Block, int]) -> None:
    for horizon in (3, 4):
        assert completed_total_variation(blocks, row) == pytest.approx(brute_force(blocks, horizon), abs=1e-12)


def test_target_is_not_asked_outside_its_support() -> None:
    rows: dict[Block, list[float]] = {(): [1.0, 0.0]}
    assert completed_total_variation({(1, 0, 0): 1, (0,): 1}, rows.__getitem__) == pytest.approx(0.5)


def binary_misses(bound: bool, runs: int = 400) -> float:
    """Share of runs in which TV = .1 is undercut at one of 12 looks, at delta = .05."""
    rng = np.random.default_rng(1)
    looks = np.unique(np.geomspace(10, 20_000, 12).astype(int))
    missed = 0
    for _ in range(runs):
        ones = np.cumsum(rng.binomial(np.diff(looks, prepend=0), 0.4))
        for n, k in zip(looks.tolist(), ones.tolist(), strict=True):
            blocks: dict[Block, int] = {(0,): n - k, (1,): k}
            if bound:
                value = total_variation_upper_bound(blocks, lambda s: [0.7, 0.3], 0.05)
            else:
                value = completed_total_variation(blocks, lambda s: [0.7, 0.3])
            if value < 0.1:
                missed += 1
                break
    return missed / runs


def test_tv_bound_covers_at_every_look() -> None:
    assert binary_misses(True) < 0.05


def test_the_plain_estimate_fails_the_same_test() -> None:
    assert binary_misses(False) > 0.5


def test_tv_bound_excludes_small_deviations_from_enough_blocks_only() -> None:
    rng = np.random.default_rng(0)
    uniform = [1 / 3] * 3
    blocks: Counter[Block] = Counter()
    bounds = []
    for n in (10, 990, 69_000):
        blocks.update(map(tuple, rng.integers(3, size=(n, 3)).tolist()))
        bounds.append(total_variation_upper_bound(blocks, lambda s: uniform, 1e-6))
    assert bounds[0] == 1 and 0.1 < bounds[1] < 0.3 and bounds[2] < 2e-2
    hoeffding = sqrt(log(1e6) / 2 / 70_000)
    assert bounds[2] - completed_total_variation(blocks, lambda s: uniform) < 1.1 * hoeffding


def test_rows_of_a_group_count_as_one() -> None:
    blocks: dict[Block, int] = {(0,): 700, (1,): 300}
    whole = total_variation_upper_bound(blocks, lambda s: [0.7, 0.3], 1e-6)
    grouped = total_variation_upper_bound({b: n / 50 for b, n in blocks.items()}, lambda s: [0.7, 0.3], 1e-6)
    assert grouped > 5 * whole


def test_tv_bound_arguments() -> None:
    assert total_variation_upper_bound({}, row, 0.05) == 1
    with pytest.raises(ValueError):
        total_variation_upper_bound({(0,): 1}, row, 0)


def length_counts(runs: int) -> NDArray[np.int64]:
    """Cumulative counts [runs, looks, 4] of lengths 1..4, mean 1.34, at 12 looks."""
    looks = np.unique(np.geomspace(20, 20_000, 12).astype(int))
    rng = np.random.default_rng(2)
    each = [rng.multinomial(n, [0.8, 0.1, 0.06, 0.04], size=runs) for n in np.diff(looks, prepend=0)]
    return np.stack(each, 1).cumsum(1)


def mean_length(counts: NDArray[np.int64], alpha: float) -> tuple[float, float]:
    process = MeanLength(1, 4)
    process.update(dict(zip(range(1, 5), counts.tolist(), strict=True)))
    return process.interval(alpha)


def test_mean_length_covers_at_every_look() -> None:
    runs = length_counts(150)
    intervals = np.array([[mean_length(counts, 0.05) for counts in run] for run in runs])
    assert ((intervals[..., 0] <= 1.34) & (1.34 <= intervals[..., 1])).all(1).mean() > 0.95


def test_peeking_normal_interval_fails_the_same_test() -> None:
    runs = length_counts(150)
    lengths, n = np.arange(1, 5), runs.sum(2)
    mean = runs @ lengths / n
    error = np.sqrt((runs @ lengths**2 / n - mean**2) / n)
    assert (abs(mean - 1.34) <= norm.isf(0.025) * error).all(1).mean() < 0.92


def test_mean_length_shrinks_like_one_over_root_n() -> None:
    law = np.array([0.4, 0.3, 0.2, 0.1])  # mean 2, variance 1
    for n in (10**4, 10**5, 10**6, 10**7):
        low, high = mean_length((n * law).astype(np.int64), 1e-6)
        assert low < 2 < high
        assert 1 < (high - low) / (2 * norm.isf(5e-7) / sqrt(n)) < 1.3


def test_mean_length_detects_a_longer_block() -> None:
    n = 10**6
    low, high = mean_length((n * np.array([0.4, 0.29, 0.2, 0.11])).astype(np.int64), 1e-6)  # mean 2.02
    assert 2.0 < low < 2.02 < high


def test_mean_length_edges() -> None:
    assert MeanLength(1, 4).interval(0.05) == pytest.approx((1, 4))
    assert MeanLength(3, 3).interval(0.05) == (3, 3)
    constant = MeanLength(1, 4)
    constant.update({1: 10_000, 4: 0})
    assert constant.interval(1e-6) == pytest.approx((1, 1.0053), abs=1e-3)
    with pytest.raises(ValueError):
        constant.update({5: 1})
    with pytest.raises(ValueError):
        MeanLength(4, 1)


def test_batches_add_up() -> None:
    one, two = MeanLength(1, 3), MeanLength(1, 3)
    one.update({1: 5, 2: 7, 3: 9})
    two.update({1: 5})
    two.update({3: 9, 2: 7})
    assert one.interval(0.1) == two.interval(0.1)
