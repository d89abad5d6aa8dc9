"""The e-process for rows that share randomness: one group of rows is one observation.

Rows of a lossless verifier that share a sampled tree, uniforms or a seed have the right law each, but not jointly;
multiplying their bets as if they were independent raises false alarms without bound. Averaging is safe: each row's
product of bet / p along its block has mean 1 given the groups before, so the average over the rows of a group has
mean 1 too, whatever their dependence, and the product over independent groups is a martingale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from draftproof.oracle.eprocess import Prefix, Target, log_average, log_e_values, padded

Event = tuple[Prefix, int]
Floats = NDArray[np.float64]


def events(block: Prefix) -> list[Event]:
    """The events of one block: every token with the prefix before it."""
    return [(block[:depth], token) for depth, token in enumerate(block)]


class GroupedProcess:
    """Capital of a bettor who sees one group of dependent rows at a time; the groups are independent.

    Bets in a group are the predictions of the mixture of `log_e_values` after the *earlier* groups only. Two bettors
    share the capital: one counts every earlier row in full (right when the rows of a group hardly depend on each
    other), one counts every group as a single row (right when they are nearly copies). With one row in each group both
    are the plain process.
    """

    def __init__(self, target: Target) -> None:
        """`target(s)` is the row p(.|s); it is asked for prefixes inside the target's support only."""
        self._target = target
        self._laws: dict[Prefix, Floats] = {}
        self._bettors = (_Bettor(full=True), _Bettor(full=False))

    @property
    def log_e(self) -> float:
        """Log capital; reject when it is at least log(1 / alpha)."""
        return log_average([bettor.log_capital for bettor in self._bettors])

    def update(self, rows: Sequence[Iterable[Event]]) -> None:
        """Add one group: for each of its rows the (prefix, token) events along its block. Empty groups are ignored."""
        group = [list(row) for row in rows]
        if not group:
            return
        prefixes: dict[Prefix, None] = {}
        possible = []
        for row in group:
            for prefix, token in row:
                law = self._law(prefix)
                if not 0 <= token < len(law) or law[token] == 0:
                    break
                prefixes[prefix] = None
            else:
                possible.append(row)
        laws = {prefix: self._laws[prefix] for prefix in prefixes}
        for bettor in self._bettors:
            bettor.update(possible, len(group), laws)
            if len(possible) < len(group):
                bettor.log_capital = inf

    def _law(self, prefix: Prefix) -> Floats:
        if prefix not in self._laws:
            self._laws[prefix] = np.asarray(self._target(prefix), dtype=float)
        return self._laws[prefix]


class _Bettor:
    def __init__(self, *, full: bool) -> None:
        self.log_capital = 0.0
        self._full = full
        self._counts: dict[Prefix, Floats] = {}

    def update(self, rows: Sequence[Sequence[Event]], size: int, laws: dict[Prefix, Floats]) -> None:
        odds = self._odds(laws)
        factor = sum(float(np.prod([odds[prefix][token] for prefix, token in row])) for row in rows) / size
        self.log_capital += log(factor) if factor > 0 else -inf
        for row in rows:
            for prefix, token in row:
                self._counts[prefix][token] += 1 if self._full else 1 / size

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
