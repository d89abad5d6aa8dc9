"""What a sample excludes: an upper confidence bound on total variation, and an interval for the mean block length.

Both hold at all sample sizes at once, so they may be looked at after every batch and sampling may stop when it suits.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from draftproof.oracle.eprocess import Prefix, Target

Floats = NDArray[np.float64]

_TUNED_FOR = 50_000  # blocks at which the total variation bound is tightest
_BETS = 24  # bets of MeanLength on either side


def completed_total_variation(blocks: Mapping[Prefix, float], target: Target) -> float:
    """TV between the target and the completed empirical law: a block drawn from the counts, continued by the target.

    The completed law of a string z is P(z) times r(z) = sum over the blocks b that z begins with of freq(b) / P(b), and
    r stays constant after the last observed block on the way to z; so the sum over all strings of P(z) |r(z) - 1| / 2
    is a sum over the observed prefixes and their children, for every horizon at least as long as the longest block.
    Blocks that the target cannot emit count with all their mass. `blocks` must not be empty.
    """
    total = sum(blocks.values())
    inner = {block[:depth] for block, times in blocks.items() if times for depth in range(len(block))}
    inside = 0.0  # mass of the observed blocks in the support of the target
    twice = 0.0
    stack: list[tuple[Prefix, float, float]] = [((), 1.0, 0.0)]
    while stack:
        prefix, path, ratio = stack.pop()
        here = blocks.get(prefix, 0) / total
        inside += here
        ratio += here / path
        if prefix not in inner:
            twice += path * abs(ratio - 1)
            continue
        for token, p in enumerate(target(prefix)):
            if p > 0:
                stack.append(((*prefix, token), path * float(p), ratio))
    return min(1.0, (twice + 1 - inside) / 2)


def total_variation_upper_bound(blocks: Mapping[Prefix, float], target: Target, delta: float) -> float:
    """Upper bound on TV(completed law of the subject, target), valid with probability 1 - delta at all times at once.

    `blocks` counts how often each block was seen; the blocks are independent and equally distributed. Rows that share
    a sampled tree, uniforms or a seed are one observation: count each row of a group of m as 1/m. `target(s)` is the
    row p(.|s). With n observations and the empirical completed law c_n,

        bound = TV(c_n, P) + sqrt((v + rho) (2 ln(1/delta) + ln((v + rho) / rho))) / n,      v = n / 4.

    Proof. Let c be the completed law and A = {z : c(z) > P(z)}, fixed though unknown; TV(c, P) = c(A) - P(A). Let W_i =
    Pr(Z in A | block i), Z the block continued by the target: it lies in [0, 1], has mean c(A), and averages to c_n(A).
    Put S_n = sum of c(A) - W_i. By Hoeffding's lemma exp(l S_n - l^2 v / 2) is a supermartingale for every l, and so is
    its mixture over l ~ N(0, 1/rho), which is sqrt(rho / (v + rho)) exp(S_n^2 / (2 (v + rho))). By Ville's inequality
    it stays below 1/delta with probability 1 - delta: then c(A) <= c_n(A) + the second term of the bound at every n,
    and c_n(A) - P(A) <= TV(c_n, P). There is no union over sets and no term in the number of strings: A is one set.

    rho makes the second term tightest near n = 50,000. For delta = 1e-6 it is 1.08 times Hoeffding's
    sqrt(ln(1/delta) / (2 n)) there, 1.36 times at n = 2,000 and 1.18 times at n = 10^8.

    Raises ValueError unless 0 < delta < 1.
    """
    if not 0 < delta < 1:
        raise ValueError("delta must be between 0 and 1")
    n = sum(blocks.values())
    if n == 0:
        return 1.0
    need = 2 * log(1 / delta)
    v, rho = n / 4, _TUNED_FOR / 4 / (need + log(need + 1))
    radius = sqrt((v + rho) * (need + log((v + rho) / rho))) / n
    return min(1.0, completed_total_variation(blocks, target) + radius)


class MeanLength:
    """Confidence sequence for the mean of block lengths in low..high, by betting.

    Whoever bets the fraction l of the capital on "longer than m" multiplies it by 1 + l (length - m). If m is the mean
    of every length given the past, the capital is a martingale for each fixed |l| <= 1 / (high - low), and so is the
    mean of the capitals over a fixed grid of such l. Means m at which it reached 2 / alpha are excluded, by the bets
    l > 0 from below and by l < 0 from above. Both capitals are monotone in m, so what is left is an interval; it
    contains the sample mean, and by Ville's inequality the true mean at all sample sizes at once with probability
    1 - alpha. The capitals depend on the counts of the lengths only. (Betting confidence sequences: Waudby-Smith and
    Ramdas, "Estimating means of bounded random variables by betting".)
    """

    def __init__(self, low: int, high: int) -> None:
        """Lengths from `low` to `high`: 1 and D + 1 for draft trees of depth D."""
        if low > high:
            raise ValueError("low must be at most high")
        self._low, self._high = low, high
        self._counts: dict[int, int] = {}

    def update(self, lengths: Mapping[int, int]) -> None:
        """Add a batch: length -> how many blocks had it. Raises ValueError for a length outside low..high."""
        for length, times in lengths.items():
            if not self._low <= length <= self._high or times < 0:
                raise ValueError(f"{times} blocks of length {length}, which is not in {self._low}..{self._high}")
            if times:
                self._counts[length] = self._counts.get(length, 0) + times

    def interval(self, alpha: float) -> tuple[float, float]:
        """The means not excluded at level alpha, to 1e-9 of the range."""
        seen = np.array(sorted(self._counts), dtype=float)
        times = np.array([self._counts[int(length)] for length in seen], dtype=float)
        lower = _excluded_below(seen, times, self._low, self._high, alpha)
        upper = -_excluded_below(-seen, times, -self._high, -self._low, alpha)
        return lower, upper


def _excluded_below(lengths: Floats, times: Floats, low: int, high: int, alpha: float) -> float:
    """The least mean not excluded by bets on longer blocks, rounded down."""
    floor, ceiling = float(low), float(high)  # the capital falls as the mean grows, and is at most 1 at the ceiling
    bets = np.geomspace(1e-5, 1, _BETS)[:, None] / max(1, high - low)
    while ceiling - floor > 1e-9 * (high - low):
        mean = (floor + ceiling) / 2
        with np.errstate(divide="ignore"):
            log_capitals = np.log1p(bets * (lengths - mean)) @ times
        peak = log_capitals.max()
        if peak + log(np.exp(log_capitals - peak).mean()) >= log(2 / alpha):
            floor = mean
        else:
            ceiling = mean
    return floor
