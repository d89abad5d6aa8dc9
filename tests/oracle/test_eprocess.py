"""The e-process: fair under every exact verifier, whatever it is stopped by, and sensitive to small faults."""

from collections import Counter
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betaln, gammaln
from scipy.stats import chi2

from draftproof.oracle.confidence import completed_total_variation
from draftproof.oracle.eprocess import (
    log_average,
    log_e_value,
    log_e_values,
    next_token_counts,
    padded,
    rejects,
    stream_log_e_value,
)

Rows = dict[tuple[int, ...], list[float]]
LAWS = [[0.5, 0.5], [0.9, 0.1], [0.5, 0.3, 0.2], [0.97, 0.02, 0.01], [0.001, 0.999], [1 - 1e-9, 1e-9], [0.6, 0.0, 0.4]]
P10 = np.array([0.4, 0.3, 0.2, 0.1])
Q10 = np.array([0.1, 0.2, 0.3, 0.4])


def block_rule(*, token_residual: bool = False) -> dict[tuple[int, ...], float]:
    """Exact block law of block verification, two drafts from Q10, target P10; the fault is the token-level residual."""
    law: Counter[tuple[int, ...]] = Counter()
    for x in product(range(4), repeat=2):
        drawn = Q10[x[0]] * Q10[x[1]]
        one = min(1.0, P10[x[0]] / Q10[x[0]])
        two = min(1.0, one * P10[x[1]] / Q10[x[1]])
        left = np.maximum(one * P10 - Q10, 0)
        stay = left.sum() / (left.sum() + 1 - one) if left.any() else 0.0
        inner = np.maximum(P10 - Q10, 0) if token_residual else left
        outer = np.maximum(P10 - Q10, 0)
        for t in range(4):
            law[(*x, t)] += drawn * two * P10[t]
            law[(x[0], t)] += drawn * (1 - two) * stay * inner[t] / (inner.sum() or 1)
            law[(t,)] += drawn * (1 - two) * (1 - stay) * outer[t] / outer.sum()
    return dict(law)


def null_runs(runs: int, looks: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Counts [runs, looks, K] of null streams, looked at every 25 tokens, and their law with a rare cell."""
    law = np.array([0.6, 0.38, 0.02])
    return np.random.default_rng(3).multinomial(25, law, size=(runs, looks)).cumsum(1), law


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [1, 3, 6])
def test_mean_is_one_exactly(law: list[float], n: int) -> None:
    sequences = np.array(list(product(range(len(law)), repeat=n)))
    counts = np.stack([(sequences == i).sum(1) for i in range(len(law))], 1)
    chance = np.prod(np.array(law)[sequences], 1)
    possible = chance > 0
    assert chance[possible] @ np.exp(log_e_values(counts[possible], law)) == pytest.approx(1, abs=2e-7)


def test_the_formula_as_written() -> None:
    x, p = np.array([40.0, 3.0, 7.0]), np.array([0.7, 0.1, 0.2])
    n = x.sum()
    dirichlet = [
        gammaln(c) - gammaln(c + n) + sum(gammaln(c * p + x) - gammaln(c * p) - x * np.log(p))
        for c in np.geomspace(3, 4e8, 24)
    ]
    cell = [
        betaln(c * p[i] + x[i], c * (1 - p[i]) + n - x[i])
        - betaln(c * p[i], c * (1 - p[i]))
        - x[i] * log(p[i])
        - (n - x[i]) * log(1 - p[i])
        for i in range(3)
        for c in np.geomspace(2, 4e8, 14)
    ]
    mean = (np.exp(dirichlet).mean() + np.exp(cell).mean()) / 2
    assert log_e_value(x, p) == pytest.approx(log(mean), abs=1e-6)


def test_rows_padding_and_edges() -> None:
    counts, law = [[5, 9, 2], [4, 0, 1]], [[0.5, 0.3, 0.2], [0.9, 0.0, 0.1]]
    both = log_e_values(counts, law)
    assert both[0] == log_e_value([5, 9, 2], [0.5, 0.3, 0.2])
    assert both[1] == pytest.approx(log_e_value([4, 1], [0.9, 0.1]), abs=1e-12)
    assert log_e_value([0, 0, 0], [0.5, 0.3, 0.2]) == pytest.approx(0, abs=1e-12)
    assert log_e_value([7, 0], [1, 0]) == 0
    assert log_e_value([7, 1], [1, 0]) == inf
    assert log_e_values(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0,)
    assert np.isfinite(log_e_value([10**6, 0], [1 - 1e-17, 1e-17]))
    assert padded([np.array([1.0]), np.array([2.0, 3.0])]).tolist() == [[1, 0], [2, 3]]


@pytest.mark.parametrize(("counts", "law"), [([1, 1], [0.5, 0.4]), ([1, -1], [0.5, 0.5]), ([1, 1], [1.5, -0.5])])
def test_malformed(counts: list[int], law: list[float]) -> None:
    with pytest.raises(ValueError):
        log_e_value(counts, law)


def test_large_chunks_agree_with_single_rows() -> None:
    rng = np.random.default_rng(0)
    counts, law = rng.poisson(5, size=(20_000, 3)), rng.dirichlet([1, 1, 1], 20_000)
    values = log_e_values(counts, law)
    assert all(values[i] == pytest.approx(log_e_value(counts[i], law[i]), abs=1e-12) for i in range(0, 20_000, 3_331))


def test_false_positives_under_peeking() -> None:
    counts, law = null_runs(2000, 60)
    best = log_e_values(counts.reshape(-1, 3), law).reshape(2000, 60).max(1)
    assert (best >= log(20)).mean() < 0.05


def test_peeking_chi_square_fails_the_same_test() -> None:
    counts, law = null_runs(2000, 60)
    expected = counts.sum(2, keepdims=True) * law
    statistic = ((counts - expected) ** 2 / expected).sum(2)
    assert (statistic >= chi2.isf(0.05, 2)).any(1).mean() > 0.15


@pytest.mark.parametrize("peeks", [False, True])
def test_stream_is_fair_unless_stopping_looks_ahead(peeks: bool) -> None:
    """Exact E[M] over three blocks: stopping may depend on the past and on the emitted tokens, not on the next one."""
    rows: Rows = {(): [0.7, 0.3], (0,): [0.2, 0.8], (1,): [0.6, 0.4]}

    def mean(past: tuple[tuple[int, ...], ...]) -> float:
        if len(past) == 3:
            return exp(stream_log_e_value(Counter(past), rows.__getitem__))
        total = 0.0
        for first, second in product(range(2), repeat=2):
            longer = (0.9, 0.3)[first] / (1 + sum(map(len, past)))
            if peeks:
                longer *= (0.3, 1.0)[second]
            chance = rows[()][first] * rows[(first,)][second]
            total += chance * (longer * mean((*past, (first, second))) + (1 - longer) * mean((*past, (first,))))
        return total

    if peeks:
        assert mean(()) > 1.0001
    else:
        assert mean(()) == pytest.approx(1, abs=1e-6)


def test_stream_value_is_the_sum_over_prefixes() -> None:
    blocks = {(0, 1): 5, (0, 2): 1, (1,): 4, (2, 0, 1): 0}
    assert next_token_counts(blocks) == {(): {0: 6, 1: 4}, (0,): {1: 5, 2: 1}}
    rows: Rows = {(): [0.5, 0.5], (0,): [0.1, 0.7, 0.2]}
    expected = log_e_value([6, 4], rows[()]) + log_e_value([0, 5, 1], rows[(0,)])
    assert stream_log_e_value(blocks, rows.__getitem__) == pytest.approx(expected, abs=1e-12)
    assert stream_log_e_value({}, rows.__getitem__) == 0


@pytest.mark.parametrize("block", [(1,), (0, 2), (-1,), (1, 0)])
def test_an_impossible_token_is_a_failure_at_once(block: tuple[int, ...]) -> None:
    rows: Rows = {(): [1.0, 0.0], (0,): [0.5, 0.5]}
    assert stream_log_e_value({block: 1, (0, 1): 9}, rows.__getitem__) == inf


def test_average_over_instances() -> None:
    assert log_average([log(3), log(1)]) == pytest.approx(log(2))
    assert log_average([0.0, inf]) == inf
    assert log_average([1000.0, 0.0]) == pytest.approx(1000 - log(2))
    assert rejects(log(20.001), 0.05) and not rejects(log(19.999), 0.05)


def test_small_block_fault_is_found() -> None:
    """Case P10: marginals and mean length are right, the joint law is off by TV .0125."""
    right, wrong = block_rule(), block_rule(token_residual=True)
    assert completed_total_variation(right, lambda s: P10.tolist()) == pytest.approx(0, abs=1e-12)
    assert completed_total_variation(wrong, lambda s: P10.tolist()) == pytest.approx(0.0125, abs=5e-4)
    rng = np.random.default_rng(7)

    def capitals(law: dict[tuple[int, ...], float], batch: int) -> list[float]:
        counts = rng.multinomial(batch, list(law.values()), size=30).cumsum(0).tolist()
        return [stream_log_e_value(dict(zip(law, row, strict=True)), lambda s: P10.tolist()) for row in counts]

    rejected = [next(i for i, e in enumerate(capitals(wrong, 1000), 1) if rejects(e, 1e-6)) for _ in range(6)]
    assert np.median(rejected) < 18
    assert not rejects(max(capitals(right, 2000)), 0.05)
