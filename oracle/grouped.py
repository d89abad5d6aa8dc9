"""The e-process for rows that share randomness: one group of rows is one observation.

Rows of a lossless verifier that share a sampled tree, uniforms or a seed have the right law each, but not jointly;
multiplying their bets as if they were independent raises false alarms without bound. Averaging is safe: each row's
product of bet / p along its block has mean 1 given the groups before, so the average over the rows of a group has
mean 1 too, whatever their dependence, and the product over independent groups is a martingale.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draftproof.oracle.eprocess import Prefix, Target, log_average, log_e_values, padded

Event = tuple[Prefix, int]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GroupedProcess:
    """Capital of a bettor who sees groups of dependent rows; the groups are independent.

    Bets on a group are the predictions of the mixture of `log_e_values` after *earlier* groups only; so that many groups
    cost little, they are made for an eighth more groups at a time. Two bettors share the capital: one counts every
    earlier row in full (right when the rows of a group hardly depend on each other), one counts every group as a single
    row (right when they are nearly copies). With one row in each group both are the plain process.
    """

    def __init__(self, target: Target) -> None:
        """`target(s)` is the row p(.|s); it is asked for prefixes inside the target's support only."""
        self._target = target
        self._laws: dict[Prefix, Floats] = {}
        self._groups = 0
        self._bettors = (_Bettor(full=True), _Bettor(full=False))

    @property
    def log_e(self) -> float:
        """Log capital; reject when it is at least log(1 / alpha)."""
        return log_average([bettor.log_capital for bettor in self._bettors])

    def update(self, blocks: Sequence[Prefix], members: ArrayLike) -> None:
        """Add groups [G, m]: row j of group g emitted `blocks[members[g, j]]`. Blocks that the target cannot emit bet nothing."""
        rows = np.asarray(members, dtype=np.int64)
        paths = [self._events(block) for block in blocks]
        while len(rows):
            size = 1 + self._groups // 8
            for bettor in self._bettors:
                bettor.update(paths, rows[:size], self._laws)
            self._groups += len(rows[:size])
            rows = rows[size:]

    def _events(self, block: Prefix) -> list[Event]:
        """Every token of a block with the prefix before it; none when the target cannot emit the block."""
        for depth, token in enumerate(block):
            prefix = block[:depth]
            if prefix not in self._laws:
                self._laws[prefix] = np.asarray(self._target(prefix), dtype=float)
            if not 0 <= token < len(self._laws[prefix]) or self._laws[prefix][token] == 0:
                return []
        return [(block[:depth], token) for depth, token in enumerate(block)]


class _Bettor:
    def __init__(self, *, full: bool) -> None:
        self.log_capital = 0.0
        self._full = full
        self._counts: dict[Prefix, Floats] = {}

    def update(self, paths: Sequence[Sequence[Event]], members: Ints, laws: dict[Prefix, Floats]) -> None:
        times = np.bincount(members.ravel(), minlength=len(paths)) / (1 if self._full else members.shape[1])
        seen = [int(number) for number in np.flatnonzero(times)]
        odds = self._odds({prefix: laws[prefix] for number in seen for prefix, _ in paths[number]})
        factors = np.ones(len(paths))
        for number in seen:
            factors[number] = prod((float(odds[prefix][token]) for prefix, token in paths[number]), start=1.0)
        self.log_capital += float(np.log(factors[members].mean(1)).sum())
        for number in seen:
            for prefix, token in paths[number]:
                self._counts[prefix][token] += times[number]

    def _odds(self, laws: dict[Prefix, Floats]) -> dict[Prefix, Floats]:
        """bet / p for every token after each prefix: how the mixture M would grow, M(x + token) / M(x)."""
        if not laws:
            return {}
        for prefix, law in laws.items():
            self._counts.setdefault(prefix, np.zeros(len(law)))
        p = padded(list(laws.values()))
        x = padded([self._counts[prefix] for prefix in laws])
        s, k = p.shape
        grown = (x[:, None, :] + np.eye(k) * (p > 0)[:, :, None]).reshape(s * k, k)
        growth = log_e_values(grown, np.repeat(p, k, axis=0)).reshape(s, k) - log_e_values(x, p)[:, None]
        odds = np.exp(growth)
        odds /= (odds * p).sum(1, keepdims=True)  # 1 up to rounding, which would add up over many groups
        return dict(zip(laws, odds, strict=True))
