"""Faults in how random numbers are used, and across the requests of a batch, in batched numpy code.

``uniforms`` [B, K + 1]: column i + 1 tests draft i and column 0 draws the bonus token.
"""

import numpy as np

from .rows import arrays, emitted, inverse_cdf

Arrays = tuple[np.ndarray, np.ndarray]


def passed(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Number of leading drafts [B] that pass u q(x) < p(x), by uniforms [B, K]."""
    here = drafts[..., None]
    p, q = (np.take_along_axis(rows, here, 2)[..., 0] for rows in (target[:, :-1], declared))
    accepted: np.ndarray = (uniforms * q < p).cumprod(1).sum(1)
    return accepted


def owed(declared: np.ndarray, target: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """(p - q)_+ at the position after the last accepted draft [B, V]; after the last draft of all nothing is subtracted."""
    requests, padded = np.arange(len(target)), np.pad(declared, ((0, 0), (0, 1), (0, 0)))
    left: np.ndarray = np.maximum(target[requests, accepted] - padded[requests, accepted], 0.0)
    return left


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def uniform_of_test_reused(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Draws the residual token with the very uniform that rejected the draft."""
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    reused = uniforms[np.arange(len(uniforms)), accepted]  # fault: uniforms[:, -1]
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), reused))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def one_uniform_for_all_tests(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Tests every draft of a request with the same uniform."""
    accepted = passed(drafts, declared, target, uniforms[:, :1])  # fault: uniforms[:, :-1]
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), uniforms[:, -1]))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def draft_law_of_first_request(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Uses the first request's draft law for the whole batch."""
    mixed = np.broadcast_to(declared[:1], declared.shape)  # fault: declared
    accepted = passed(drafts, mixed, target, uniforms[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(mixed, target, accepted), uniforms[:, -1]))


@arrays("chain", family="recursive_rejection", randomness="seeds")
def seeded_anew_at_every_test(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, seeds: np.ndarray) -> Arrays:
    """Seeds a generator for every position from the request's seed alone, so that all positions see the same numbers."""
    positions = range(drafts.shape[1] + 1)
    uniforms = np.array([[np.random.default_rng(seed).random() for _ in positions] for seed in seeds])  # fault: (seed, position)
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), uniforms[:, -1]))
