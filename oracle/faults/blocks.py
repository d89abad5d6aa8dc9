"""Faults of block verification (traversal on a chain) in batched numpy code.

What it should be: after i drafts the capacity is a <- min(1, a p(x) / q(x)), 1 before the first; the target is owed (a p - q)_+ there, of mass m.
The longest i with u (m + 1 - a) < m is accepted, the bonus token drawn from what is owed there; a later position may pass after an earlier one
failed.  After the last draft nothing is drafted: q = 0.  ``uniforms`` [B, K + 1]: column i tests position i, column 0 draws the bonus token.
"""

from collections.abc import Iterator

import numpy as np

from .rows import arrays, emitted, inverse_cdf

Arrays = tuple[np.ndarray, np.ndarray]


def positions(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """(i, capacity [B, 1], p [B, V], q [B, V]) for every position of the chain."""
    a, requests, padded = np.ones((len(drafts), 1)), np.arange(len(drafts)), np.pad(declared, ((0, 0), (0, 1), (0, 0)))
    for i in range(drafts.shape[1] + 1):
        yield i, a, target[:, i], padded[:, i]
        if i < drafts.shape[1]:
            x = drafts[:, i]
            a = np.minimum(1.0, a * (target[requests, i, x] / declared[requests, i, x])[:, None])


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_with_token_residual(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Accepts as block verification does, but draws the bonus token from the token-level residual (p - q)_+."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        mass = np.maximum(a * p - q, 0.0).sum(1, keepdims=True)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) | (i == 0)
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, np.maximum(p - q, 0.0), law)  # fault: a * p - q
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_without_owed_mass(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Tests every position against the capacity alone, the product of the ratios."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        owed = np.maximum(a * p - q, 0.0)
        owed = np.where(owed.any(1, keepdims=True), owed, p)
        passes = (uniforms[:, i, None] < a) | (i == 0)  # fault: uniforms * (mass + 1 - a) < mass, with mass = owed.sum(1)
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, owed, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_stops_at_first_failure(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Stops at the first position that fails, as token-level verification does."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        owed = np.maximum(a * p - q, 0.0)
        mass = owed.sum(1, keepdims=True)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) & (accepted[:, None] == i - 1) | (i == 0)  # fault: the second condition
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, owed, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_bonus_is_target(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Draws the bonus token from the target's row, not from what is owed there."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        mass = np.maximum(a * p - q, 0.0).sum(1, keepdims=True)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) | (i == 0)
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, p, law)  # fault: a * p - q
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_mass_without_capacity(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Weighs every position by the token-level residual, whatever its capacity."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        owed, mass = np.maximum(a * p - q, 0.0), np.maximum(p - q, 0.0).sum(1, keepdims=True)  # fault: owed.sum(1)
        owed = np.where(owed.any(1, keepdims=True), owed, p)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) | (i == 0)
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, owed, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_one_uniform(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Tests every position with the same uniform."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        owed = np.maximum(a * p - q, 0.0)
        mass = owed.sum(1, keepdims=True)
        passes = (uniforms[:, 1, None] * (mass + 1 - a) < mass) | (i == 0)  # fault: uniforms[:, i]
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, owed, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_capacity_of_last_ratio(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Starts the capacity anew at every position: the last ratio, not the product."""
    accepted, law, requests = np.zeros(len(drafts), dtype=np.int64), target[:, 0], np.arange(len(drafts))
    for i, _, p, q in positions(drafts, declared, target):
        x = drafts[:, max(i - 1, 0)]
        ratio = target[requests, i - 1, x] / declared[requests, i - 1, x]
        a = np.minimum(1.0, ratio)[:, None] if i else np.ones((len(drafts), 1))  # fault: the capacity that positions gives
        owed = np.maximum(a * p - q, 0.0)
        mass = owed.sum(1, keepdims=True)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) | (i == 0)
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, owed, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="traversal", randomness="uniforms", uniforms_dtype="float64")
def block_shortest_that_passes(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Takes the first position that passes, not the last."""
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, declared, target):
        owed = np.maximum(a * p - q, 0.0)
        mass = owed.sum(1, keepdims=True)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) & (accepted[:, None] == 0) | (i == 0)  # fault: the second condition
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes, owed, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))
