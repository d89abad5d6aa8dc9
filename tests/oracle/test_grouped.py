"""Rows that share randomness: one group is one observation."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import product
from math import exp, log

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.oracle.eprocess import log_e_value, rejects, stream_log_e_value
from draftproof.oracle.grouped import GroupedProcess

TARGET, DRAFT = np.array([0.7, 0.3]), np.array([0.5, 0.5])
AFTER: dict[tuple[int, ...], list[float]] = {(): TARGET.tolist(), (0,): [0.5, 0.5], (1,): [0.1, 0.9]}


def given(draft: int) -> dict[tuple[int, ...], float]:
    """Block law of token-level speculative sampling when the one draft token is fixed: not the target's law."""
    accept = min(1.0, TARGET[draft] / DRAFT[draft])
    residual = np.maximum(TARGET - DRAFT, 0) / np.maximum(TARGET - DRAFT, 0).sum()
    law: dict[tuple[int, ...], float] = {(draft, t): accept * AFTER[(draft,)][t] for t in range(2)}
    law |= {(t,): (1 - accept) * residual[t] for t in range(2)}
    return {block: mass for block, mass in law.items() if mass > 0}


def add(process: GroupedProcess, rows: Sequence[tuple[int, ...]]) -> None:
    """One group of rows."""
    process.update(rows, [list(range(len(rows)))])


def test_mean_is_one_exactly_when_two_rows_share_a_draft() -> None:
    groups = [(DRAFT[x] * a[1] * b[1], (a[0], b[0])) for x in range(2) for a, b in product(given(x).items(), repeat=2)]
    total = 0.0
    for (chance, first), (chance2, second) in product(groups, repeat=2):
        process = GroupedProcess(AFTER.__getitem__)
        for rows in (first, second):
            add(process, rows)
        total += chance * chance2 * exp(process.log_e)
    assert total == pytest.approx(1, abs=1e-12)


def test_rows_counted_as_independent_explode() -> None:
    """Exact E[M] of the plain process on one group of 64 rows of a lossless rule that share a sampled draft."""
    k = np.arange(65)
    first = [sum(mass for block, mass in given(x).items() if block[0] == 1) for x in range(2)]
    chance = sum(DRAFT[x] * binom.pmf(k, 64, first[x]) for x in range(2))
    values = [log_e_value([64 - i, i], TARGET) for i in k]
    assert chance @ np.exp(values) > 1e6


def test_grouped_does_not_alarm_where_the_plain_process_does() -> None:
    rng = np.random.default_rng(5)
    laws = [given(x) for x in range(2)]
    for _ in range(5):
        process = GroupedProcess(AFTER.__getitem__)
        pooled: dict[tuple[int, ...], int] = {}
        highest = plain = 0.0
        for _ in range(60):
            law = laws[rng.choice(2, p=DRAFT)]
            rows = [list(law)[i] for i in rng.choice(len(law), size=64, p=list(law.values()))]
            add(process, rows)
            for block in rows:
                pooled[block] = pooled.get(block, 0) + 1
            highest = max(highest, process.log_e)
            plain = max(plain, stream_log_e_value(pooled, AFTER.__getitem__))
        assert not rejects(highest, 0.05)
        assert rejects(plain, 1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_grouped_finds_a_fault(shared: bool) -> None:
    """Every draft is accepted: token 1 comes out with .5 instead of .3."""
    rng = np.random.default_rng(2)
    process = GroupedProcess(lambda s: TARGET.tolist())
    for _ in range(600):
        tokens = rng.choice(2, size=1 if shared else 16, p=DRAFT) * np.ones(16, int)
        add(process, [(int(token),) for token in tokens])
        if rejects(process.log_e, 1e-6):
            return
    pytest.fail(f"not found in 600 groups: {process.log_e}")


def test_one_row_a_group_is_the_plain_process() -> None:
    rng = np.random.default_rng(4)
    process = GroupedProcess(AFTER.__getitem__)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(100):
        first, second = rng.choice(2), rng.choice(2)
        block = (int(first), int(second))[: rng.integers(1, 3)]
        add(process, [block])
        seen[block] = seen.get(block, 0) + 1
    assert process.log_e == pytest.approx(stream_log_e_value(seen, AFTER.__getitem__), abs=1e-5)


def test_an_impossible_token_bets_nothing() -> None:
    rows: dict[tuple[int, ...], list[float]] = {(): [1.0, 0.0], (0,): [0.5, 0.5]}
    process, other = GroupedProcess(rows.__getitem__), GroupedProcess(rows.__getitem__)
    process.update([], np.zeros((0, 2)))
    assert process.log_e == 0
    add(process, [(1,), (1, 0)])
    assert process.log_e == 0
    add(process, [(0, 1), (1, 0)])
    add(other, [(0, 1), (0, 1)])
    assert process.log_e == pytest.approx(0) and other.log_e == pytest.approx(0)


def test_groups_added_at_once_bet_on_earlier_ones_only() -> None:
    """The mean growth by two groups of two rows is one, exactly."""
    groups = [(DRAFT[x] * a[1] * b[1], (a[0], b[0])) for x in range(2) for a, b in product(given(x).items(), repeat=2)]
    start = GroupedProcess(AFTER.__getitem__)
    for _ in range(8):
        add(start, [(0,), (1, 1)])
    growth = 0.0
    for (chance, first), (chance2, second) in product(groups, repeat=2):
        process = deepcopy(start)
        process.update([*first, *second], [[0, 1], [2, 3]])
        growth += chance * chance2 * exp(process.log_e - start.log_e)
    assert growth == pytest.approx(1, abs=1e-12)


def test_idle_capital_is_kept() -> None:
    """Two bettors: copies of a row cost at most log 2 more than the row itself."""
    alone, copied = GroupedProcess(AFTER.__getitem__), GroupedProcess(AFTER.__getitem__)
    for i in range(100):
        row = (int(i % 10 >= 7),)
        add(alone, [row])
        add(copied, [row] * 64)
    assert copied.log_e >= alone.log_e - log(2) - 1e-6
