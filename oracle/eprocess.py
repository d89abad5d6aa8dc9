"""E-processes for black boxes: is this stream of blocks what a lossless verifier would emit?

Under every exact verifier, given that a block strictly extends prefix s, its next token is drawn from the target row
p(.|s), whatever the drafter, the tree and the stopping rule (growth identity). A bettor who spreads its capital over
the tokens by a law of its own, chosen before the token is seen, and is paid at odds 1 / p multiplies it by bet / p,
whose mean under p is 1. The capital M is a nonnegative martingale that starts at 1, so by Ville's inequality it ever
reaches 1 / alpha with probability at most alpha, at any sample size and under any stopping rule. All values here are
logarithms of M.

Capital multiplies along one stream of independent blocks, over all prefixes (`stream_log_e_value`): each factor has
conditional mean 1 given the blocks before and this block's earlier tokens. Across instances it is averaged
(`log_average`): a mean of martingales is one too, whatever the dependence, and idle instances cost nothing more than
their share. Rows that share a sampled tree, uniforms or a seed are one observation: see `oracle.grouped`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

Prefix = tuple[int, ...]
Target = Callable[[Prefix], Sequence[float]]
Floats = NDArray[np.float64]

_DIRICHLET_SCALES = 24
_CELL_SCALES = 14
_LARGEST_SCALE = 4e8
_CHUNK = 1 << 20


def log_e_values(counts: ArrayLike, law: ArrayLike) -> Floats:
    """Log of the mixture e-process of each row of counts [S, K] against the null law [S, K] of that row; returns [S].

    Cells with p_i = 0 and count 0 are ignored, so rows of different length can be padded with zeros; a count where
    p_i = 0 gives +inf. Counts may be fractional. With x the counts, n their sum, K the number of cells with p_i > 0:

        M_c    = Gamma(c)/Gamma(c + n) prod_i Gamma(c p_i + x_i)/Gamma(c p_i) / prod_i p_i^x_i
        M_ic   = B(c p_i + x_i, c (1 - p_i) + n - x_i) / B(c p_i, c (1 - p_i)) / (p_i^x_i (1 - p_i)^(n - x_i))
        M_dir  = mean of M_c over c in geomspace(K, 4e8, 24)
        M_cell = mean of M_ic over the cells and over c in geomspace(2, 4e8, 14)
        M      = (M_dir + M_cell) / 2,  and M = 1 if K = 1.

    Why M is a test martingale: M_c is the likelihood ratio of Polya's urn, which predicts token i with probability
    (c p_i + x_i) / (c + n), against p; the predictions sum to 1, so the ratio of the next token has mean
    sum_i p_i (prediction_i / p_i) = 1. M_ic is the same for the two-cell urn of "i or not i". The weights of the means
    are fixed beforehand, so the means are martingales as well. c near (K - 1) / (4 TV^2) is the sensitive scale.

    Raises ValueError for negative counts or a row of `law` that does not sum to 1 within 1e-9.
    """
    x, p = np.atleast_2d(np.asarray(counts, dtype=float)), np.atleast_2d(np.asarray(law, dtype=float))
    x, p = np.broadcast_arrays(x, p)
    if (x < 0).any() or (p < 0).any() or (abs(p.sum(1) - 1) > 1e-9).any():
        raise ValueError("counts must be at least 0 and every row of the law must sum to 1 within 1e-9")
    size = max(1, _CHUNK // (_DIRICHLET_SCALES * p.shape[1]))
    parts = [_log_mixture(x[i : i + size], p[i : i + size]) for i in range(0, len(x), size)]
    result = np.concatenate([np.zeros(0), *parts])
    result[((x > 0) & (p == 0)).any(1)] = np.inf
    return result


def log_e_value(counts: ArrayLike, law: ArrayLike) -> float:
    """`log_e_values` of one prefix: counts [K], law [K]."""
    return float(log_e_values(counts, law)[0])


def _log_mixture(x: Floats, p: Floats) -> Floats:
    from scipy.special import betaln, gammaln, logsumexp

    live = p > 0
    cells = live.sum(1)
    x, p = np.where(live, x, 0.0), np.where(live, p, 1.0)  # p = 1 is a placeholder that dead cells multiply by 0 below
    n = x.sum(1)

    low = np.log(np.maximum(cells, 1))[:, None]
    c = np.exp(low + (log(_LARGEST_SCALE) - low) * np.linspace(0, 1, _DIRICHLET_SCALES))  # [S, C]
    a = c[:, :, None] * p[:, None, :]
    rising = (gammaln(a + x[:, None, :]) - gammaln(a)) * live[:, None, :]
    log_dir = gammaln(c) - gammaln(c + n[:, None]) + rising.sum(2) - (x * np.log(p)).sum(1)[:, None]

    rest = 1 - p  # exact enough unless p is near 1: there the other cells are added up
    top = (p * live).argmax(1)[:, None]
    others = p * live
    np.put_along_axis(others, top, 0.0, 1)
    np.put_along_axis(rest, top, others.sum(1)[:, None], 1)
    rest = np.where(live & (cells[:, None] > 1), rest, 1.0)
    c = np.geomspace(2, _LARGEST_SCALE, _CELL_SCALES)[:, None]
    a, b, y = c * p[:, None, :], c * rest[:, None, :], n[:, None] - x
    log_cell = betaln(a + x[:, None, :], b + y[:, None, :]) - betaln(a, b) - (x * np.log(p) + y * np.log(rest))[:, None]
    log_cell = np.where(live[:, None, :], log_cell, -np.inf)  # [S, C, K]

    both = np.stack(
        [
            logsumexp(log_dir, axis=1) - log(2 * _DIRICHLET_SCALES),
            logsumexp(log_cell, axis=(1, 2)) - np.log(2 * _CELL_SCALES * cells),
        ]
    )
    return np.where(cells > 1, logsumexp(both, axis=0), 0.0)


def next_token_counts(blocks: Mapping[Prefix, int]) -> dict[Prefix, dict[int, int]]:
    """Counts of blocks -> for every prefix that a block extends, the counts of its next token."""
    table: dict[Prefix, dict[int, int]] = {}
    for block, times in blocks.items():
        for depth, token in enumerate(block if times else ()):
            row = table.setdefault(block[:depth], {})
            row[token] = row.get(token, 0) + times
    return table


def stream_log_e_value(blocks: Mapping[Prefix, int], target: Target) -> float:
    """Log capital after a stream of independent blocks, given how often each was seen: the product over prefixes.

    `target(s)` is the row p(.|s). A token outside its support gives +inf. The prefixes after such a token are not asked
    for, so `target` need not be defined there.
    """
    table = next_token_counts(blocks)
    counts: list[Floats] = []
    laws: list[Floats] = []
    for prefix in sorted(table, key=len):
        law = np.asarray(target(prefix), dtype=float)
        seen = np.zeros(len(law))
        for token, times in table[prefix].items():
            if not 0 <= token < len(law) or law[token] == 0:
                return float("inf")
            seen[token] = times
        counts.append(seen)
        laws.append(law)
    return float(log_e_values(padded(counts), padded(laws)).sum())


def padded(rows: Sequence[Floats]) -> Floats:
    """Rows of different length as one array, filled up with zeros."""
    table = np.zeros((len(rows), max(map(len, rows), default=1)))
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def log_average(log_values: ArrayLike) -> float:
    """Log of the mean of the capitals of several instances, given their logs."""
    from scipy.special import logsumexp

    values = np.asarray(log_values, dtype=float)
    return float(logsumexp(values) - log(values.size))


def rejects(log_value: float, alpha: float) -> bool:
    """Whether the capital reached 1 / alpha: the false-positive rate is at most alpha for the whole run."""
    return log_value >= -log(alpha)
