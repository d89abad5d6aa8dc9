"""The optimum of one node at full vocabulary, for k drafts from q with or without replacement: O(V log V), floats.

The minimising token set A of  1 + min_A [a p(A) - D(S subset of A)]  (see ``node``) is a prefix of the tokens sorted by p/q, so V + 1 values are
enough.  With replacement D(S subset of A) = q(A)^k.  Without replacement the drafts are the first k arrivals of exponential clocks with rates q;
all k are in A unless the first clock off A, whose time has density c exp(-c t) with c = 1 - q(A), rings before the k-th of A:

    D(S subset of A) = 1 - integral over t > 0 of c exp(-c t) Pr(fewer than k of A's clocks have rung by t) dt,

    Pr(...) = exp(-q(A) t) sum_{j<k} e_j({exp(q_i t) - 1 : i in A}),     e_j elementary symmetric, hence cumulative along the sorted tokens.

The integral is a sum over a few nodes t.  Almost all tokens have a small q t, for which the power sums behind e_j are polynomials in t whose
coefficients are prefix sums of q^m, the same for all nodes; the few others are taken one by one.
"""

import math

import numpy as np

ORDER = 8
SMALL = 0.25
"""exp(q t) - 1 is expanded up to (q t)^ORDER where q t <= SMALL: off by less than 1e-11 of q t."""

STEP = 0.33
"""Mesh width of the trapezoidal rule; its error falls like exp(-pi^2 / STEP)."""

CHUNK = 1024
"""Tokens handled at once, so that the work stays in the cache."""


def with_replacement(p: np.ndarray, q: np.ndarray, drafts: int, capacity: float = 1.0) -> float:
    """Optimum for ``drafts`` independent draws; p, q [V] float64 probabilities."""
    p, q = _sorted(p, q)
    return _least(p, np.cumsum(q) ** drafts, capacity)


def without_replacement(p: np.ndarray, q: np.ndarray, drafts: int, capacity: float = 1.0) -> float:
    """Optimum for ``drafts`` draws from q, each off its elders; p, q [V] float64 probabilities."""
    p, q = _sorted(p, q)
    return _least(p, covered(q, min(drafts, int((q > 0).sum()))), capacity)


def _sorted(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both rows by p/q ascending, tokens without draft mass last."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(q > 0, p / q, np.inf)
    order = np.argsort(ratio)
    return p[order].astype(np.float64), q[order].astype(np.float64)


def _least(p: np.ndarray, inside: np.ndarray, capacity: float) -> float:
    return 1.0 + min(0.0, float((capacity * np.cumsum(p) - inside).min()))


def covered(q: np.ndarray, drafts: int) -> np.ndarray:
    """D(S subset of A) for every prefix A of the tokens as they stand [V]; ``drafts`` at most the number of tokens with q > 0."""
    inside = np.cumsum(q)
    if drafts == 1:
        return inside
    times, weights = _nodes(max(1.0 - float(np.partition(q, 1 - drafts)[1 - drafts :].sum()), 1e-300))
    large = np.flatnonzero(q * times[-1] > SMALL)
    rings = _rings(q[large], drafts, times) * weights  # [number of large tokens + 1, drafts, nodes]
    small = q.copy()
    small[large] = 0.0
    moments = np.empty((ORDER, len(q)))
    power = np.ones_like(q)
    for row in moments:
        power *= small
        np.cumsum(power, out=row)
    spread = _expansion(drafts, times)
    missed = np.empty_like(q)
    for count, (start, stop) in enumerate(zip([0, *large], [*large, len(q)], strict=True)):  # the large tokens before are the same in a run
        for first in range(start, stop, CHUNK):
            run = slice(first, min(first + CHUNK, stop))
            missed[run] = _missed(spread, moments[:, run], rings[count])
    return np.asarray(1.0 - np.maximum(inside[-1] - inside, 0.0) * missed)


def _nodes(slowest: float) -> tuple[np.ndarray, np.ndarray]:
    """Ascending times and their weights, which integrate exp(-s t) over t > 0 for all s in [slowest, 1].

    Gauss-Laguerre where few nodes are enough, else the trapezoidal rule in x, t = exp(x - exp(-x)), exponentially good for all s at once.
    """
    x = np.arange(-3.2, math.log(32.0 / slowest) + STEP, STEP)
    spread = (1.0 - slowest) / (1.0 + slowest)  # n nodes of Gauss-Laguerre are off by about spread^(2n)
    laguerre = 2 + math.ceil(math.log(1e-12) / (2 * math.log(spread))) if spread > 0 else 2
    if laguerre < len(x):
        times, weights = np.polynomial.laguerre.laggauss(laguerre)
        return times, weights * np.exp(times)
    times = np.exp(x - np.exp(-x))
    return times, STEP * times * (1.0 + np.exp(-x))


def _rings(large: np.ndarray, drafts: int, times: np.ndarray) -> np.ndarray:
    """[n, j, t]: exp(-(1 - q of the first n large tokens) t) Pr(at most drafts - 1 - j of them have rung by t)."""
    exactly = np.zeros((drafts, len(times)))
    exactly[0] = 1.0
    rows, still = [exactly], np.exp(-np.multiply.outer(large, times))
    for quiet in still:
        later = exactly * quiet
        later[1:] += exactly[:-1] * (1.0 - quiet)
        rows.append(exactly := later)
    at_most = np.cumsum(rows, axis=1)[:, ::-1]
    rest = 1.0 - np.concatenate(([0.0], np.cumsum(large)))
    return np.asarray(at_most * np.exp(-np.multiply.outer(np.maximum(rest, 0.0), times))[:, None])


def _expansion(drafts: int, times: np.ndarray) -> np.ndarray:
    """[r - 1, t, m - 1]: coefficient of q^m in (exp(q t) - 1)^r, up to ORDER."""
    single = np.array([0.0, *(1.0 / math.factorial(m) for m in range(1, ORDER + 1))])
    power, rows = np.array([1.0]), []
    for _ in range(1, drafts):
        power = np.convolve(power, single)[: ORDER + 1]
        rows.append(power[1:] * times[:, None] ** np.arange(1, ORDER + 1))
    return np.array(rows)


def _missed(spread: np.ndarray, moments: np.ndarray, rings: np.ndarray) -> np.ndarray:
    """The integral over the density of the first clock off A, divided by its rate, for a run of prefixes [n]."""
    sums = spread @ moments  # power sums of exp(q t) - 1 [r - 1, t, n]
    total = rings[0].sum() + rings[1] @ sums[0]
    symmetric = [np.float64(1.0), sums[0]]
    for order in range(2, len(rings)):  # Newton's identities
        terms = (symmetric[order - i] * sums[i - 1] if i % 2 else -symmetric[order - i] * sums[i - 1] for i in range(1, order + 1))
        symmetric.append(sum(terms) / order)
        total += rings[order] @ symmetric[order]
    return np.asarray(total)
