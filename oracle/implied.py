"""The law that a sampler by inverse CDF implies, at a full vocabulary.

White box (``of_cdf``): from the CDF array it uses and the bits of its uniform, the exact probability of every token, by counting grid points.
Black box (``ImpliedLaw``): for tokens drawn by mass, the exact interval of uniforms that gives each of them, by bisection from where the exact CDF
puts it.  With p the row and m the implied law, the total variation is the mean of (1 - m_t / p_t)_+ over t drawn from p, which importance weights
keep when half of the tokens are drawn by number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Literal

import numpy as np

Tokens = Callable[[np.ndarray], np.ndarray]
"""Grid points k [n] (the uniform is k 2^-bits) -> tokens [n]."""


def of_cdf(cdf: np.ndarray, bits: int, side: Literal["right", "left"] = "right", run_off: int | None = None) -> np.ndarray:
    """Number of the 2^``bits`` uniforms k 2^-bits that draw each token [V], exactly.

    Token t is drawn where cdf[t - 1] <= u < cdf[t], or with ``side`` left where cdf[t - 1] < u <= cdf[t] (``searchsorted``; u = 0 goes to token 0);
    uniforms beyond the last cdf draw ``run_off``, the last token where none is given.  ``cdf`` [V] is float32 or float64, compared as it is with the
    uniform as it is, and counts where it first comes to a value, as sampling by ``(cdf <= u).sum()`` does on a cdf that never decreases.
    Raises ValueError for a cdf that decreases or holds NaN, or for bits outside 1 to 53.
    """
    values = np.asarray(cdf, dtype=np.float64)
    if not 1 <= bits <= 53:
        raise ValueError(f"uniforms of {bits} bits: 1 to 53 are exact in float64")
    if values.ndim != 1 or not len(values) or np.isnan(values).any() or (np.diff(values) < 0).any():
        raise ValueError("a cdf is one row that never decreases, without NaN")
    scaled = np.clip(values, 0.0, 1.0) * 2.0**bits  # exact: a power of two
    below = np.ceil(scaled) if side == "right" else np.where(values < 0, 0.0, np.floor(scaled) + 1)
    upto = np.minimum(below, 2.0**bits).astype(np.int64)  # grid points that draw t or an earlier token
    counts = np.diff(upto, prepend=0)
    counts[-1 if run_off is None else run_off] += (1 << bits) - int(upto[-1])
    return counts


def total_variation(counts: np.ndarray, weights: np.ndarray) -> Fraction:
    """Between counts [V] and weights [V] (floats, their exact values), both normalised; exact."""
    whole, total = whole_numbers(weights)
    size = int(counts.sum())
    short = sum(max(weight * size - int(count) * total, 0) for weight, count in zip(whole, counts.tolist(), strict=True))
    return Fraction(short, total * size)


def whole_numbers(weights: np.ndarray) -> tuple[list[int], int]:
    """Whole numbers in the exact ratios of the weights, and their sum.  Raises ValueError where they are no weights."""
    values = np.asarray(weights, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise ValueError("weights must be finite, at least 0, and not all 0")
    mantissas, exponents = np.frexp(values)
    least = int(exponents[values > 0].min())
    digits = (mantissas * 2.0**53).astype(np.int64).tolist()
    whole = [digit << max(exponent - least, 0) for digit, exponent in zip(digits, exponents.tolist(), strict=True)]
    return whole, sum(whole)


def starts(weights: np.ndarray, bits: int) -> list[int]:
    """Where the exact law begins to draw each token: the first grid point at or above the mass of all earlier tokens [V + 1]."""
    whole, total = whole_numbers(weights)
    found, before = [0], 0
    for weight in whole:
        before += weight
        found.append(-(-(before << bits) // total))
    return found


class NoInverseCDF(Exception):
    """The token does not grow with the uniform; says where."""


@dataclass(frozen=True)
class Implied:
    """What was found of an implied law.

    ``total_variation``: estimate, and ``error`` its standard error were the tokens independent, which is more.  ``worst``: the largest relative error
    of a token's probability, and ``worst_token``.  ``never``: estimated number of tokens of positive mass that no uniform draws, ``never_mass`` their
    mass, ``never_example`` one of them.  ``none_mass``: of the uniforms below those of the first token of positive mass and above those of the last.
    ``looked_at``: tokens; ``points``: uniforms tried.  ``ideal``: the total variation that uniforms of so many bits leave to an exact CDF.
    """

    total_variation: float
    error: float
    worst: float
    worst_token: int
    never: float
    never_mass: float
    never_example: int | None
    none_mass: float
    looked_at: int
    points: int
    ideal: float


class ImpliedLaw:
    """Finds intervals of the uniform by bisection.  ``tokens``: the sampler; ``weights`` [V]: the row as the exact numbers handed over."""

    def __init__(self, tokens: Tokens, weights: np.ndarray, bits: int):
        self.weights, self.bits, self._tokens = np.asarray(weights, dtype=np.float64), bits, tokens
        whole, self._total = whole_numbers(self.weights)
        self._whole = whole
        self._starts = starts(self.weights, bits)
        self._seen: dict[int, int] = {}
        self.done = 0.0
        """Which part of the bisection is over, about: rounds, of those and as many as the widest bracket still needs."""

    @property
    def points(self) -> int:
        return len(self._seen)

    def of(self, count: int, seed: int = 0) -> Implied:
        """``count`` tokens by mass, and as many by number, among those of positive mass.  Raises NoInverseCDF."""
        rng = np.random.default_rng(seed)
        p = self.weights / self.weights.sum()
        positive = np.flatnonzero(p > 0)
        ranked = np.argsort(p, kind="stable")
        quantiles = (np.arange(count) + rng.random(count)) / count  # one token from each share of the mass, unlikely tokens first
        by_mass = ranked[np.searchsorted(p[ranked].cumsum(), quantiles * (1 - 2.0**-30), side="right").clip(max=len(p) - 1)]
        by_number = rng.choice(positive, count)
        looked_at = np.unique([*by_mass, *by_number])
        masses = dict(zip(looked_at.tolist(), self._counts(looked_at), strict=True))
        first, last = self._first(positive[[0, -1]] + [0, 1], np.array([0, (1 << self.bits) - 1]))
        none = Fraction(int(first) + (1 << self.bits) - int(last), 1 << self.bits)
        self._require_growth()

        def ratio(token: int) -> Fraction:
            return Fraction(masses[token] * self._total, self._whole[token] << self.bits)

        drawn_by = (p + (p > 0) / len(positive)) / 2  # half by mass, half by number: unlikely tokens weigh little
        both = np.concatenate([by_mass, by_number])
        short = np.array([max(float(1 - ratio(token)), 0.0) for token in both.tolist()]) * p[both] / drawn_by[both]
        worst = max(looked_at.tolist(), key=lambda token: abs(ratio(token) - 1))
        never = [token for token in by_number.tolist() if not masses[token]]
        ideal = total_variation(np.diff(np.array(self._starts, dtype=np.int64)), self.weights)
        return Implied(
            float(short.mean()),
            float(short.std(ddof=1) / sqrt(len(both))),
            float(abs(ratio(worst) - 1)),
            worst,
            len(never) / count * len(positive),
            float(p[never].sum()) / count * len(positive),
            never[0] if never else None,
            float(none),
            len(looked_at),
            self.points,
            float(ideal),
        )

    def _counts(self, tokens: np.ndarray) -> list[int]:
        """How many grid points draw each of the tokens."""
        bounds = np.concatenate([tokens, tokens + 1])
        found = self._first(bounds, np.array([self._starts[bound] for bound in bounds.tolist()], dtype=np.int64))
        low, high = np.split(found, 2)
        return [int(count) for count in high - low]

    def _first(self, bounds: np.ndarray, guesses: np.ndarray) -> np.ndarray:
        """The first grid point whose token is at least each bound; 2^bits where there is none."""
        size = 1 << self.bits
        low, high = np.full(len(bounds), -1, dtype=np.int64), np.full(len(bounds), size, dtype=np.int64)  # below at low, not at high
        step = np.full(len(bounds), 1 << max(self.bits - 40, 0), dtype=np.int64)
        probe, rounds = np.clip(guesses, 0, size - 1), 0
        while (open_ := np.flatnonzero(high - low > 1)).size:
            rounds, widest = rounds + 1, int(np.minimum(high - low, step)[open_].max())
            self.done = max(self.done, rounds / (rounds + widest.bit_length()))
            at_least = self._at(probe[open_]) >= bounds[open_]
            high[open_[at_least]], low[open_[~at_least]] = probe[open_[at_least]], probe[open_[~at_least]]
            probe = (low + high) // 2
            gallop = (low == -1) & (high - step > 0)
            probe[gallop] = (high - step)[gallop]
            gallop = (high == size) & (low + step < size - 1) & (low >= 0)
            probe[gallop] = (low + step)[gallop]
            step = np.minimum(step * 8, size)
        return high

    def _at(self, points: np.ndarray) -> np.ndarray:
        new = np.array(sorted({int(k) for k in points} - self._seen.keys()), dtype=np.int64)
        if len(new):
            self._seen.update(zip(new.tolist(), self._tokens(new).tolist(), strict=True))
        return np.array([self._seen[int(k)] for k in points])

    def _require_growth(self) -> None:
        points = sorted(self._seen)
        for before, after in zip(points, points[1:], strict=False):
            if self._seen[before] > self._seen[after]:
                at = f"{self._seen[before]} at u = {before * 2.0**-self.bits:.17g} and {self._seen[after]} at {after * 2.0**-self.bits:.17g}"
                raise NoInverseCDF(f"its token does not grow with the uniform: {at}")
