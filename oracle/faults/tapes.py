"""Faults in how random numbers are used, and across the requests of a batch, in batched numpy code.

``uniforms`` [B, K + 1]: column i + 1 tests draft i and column 0 draws the bonus token.
"""

import numpy as np

from ..rounding import round_to
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


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def ratio_off_by_a_twentieth(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Accepts with 1.05 times the ratio."""
    accepted = passed(drafts, declared, target, uniforms[:, :-1] / 1.05)  # fault: uniforms[:, :-1]
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), uniforms[:, -1]))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def bonus_by_first_test(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Draws the bonus token with the uniform that tested the first draft."""
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), uniforms[:, 0]))  # fault: uniforms[:, -1]


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def bonus_by_mirrored_test(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Draws the bonus token with one minus the uniform of the last test."""
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    mirrored = 1 - 2.0**-53 - uniforms[:, -2]  # fault: uniforms[:, -1]
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), mirrored))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def eight_bit_uniforms(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Makes its uniforms from one random byte each."""
    coarse = np.floor(uniforms * 256) / 256  # fault: all the bits there are
    accepted = passed(drafts, declared, target, coarse[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), coarse[:, -1]))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def cdf_in_half_precision(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Adds the residual up in float16 for the inverse CDF."""
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    cdf = owed(declared, target, accepted).astype(np.float16).cumsum(1).astype(np.float64)  # fault: float64 throughout
    return emitted(drafts, accepted, (cdf <= uniforms[:, -1:] * cdf[:, -1:]).sum(1))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def last_token_on_run_off(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Normalises the residual in float16, and takes the last token of the vocabulary when the CDF ends below the uniform."""
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    left = owed(declared, target, accepted).astype(np.float16)
    cdf = (left / left.sum(1, keepdims=True)).cumsum(1) * np.float16(0.999)
    bonus = (cdf <= uniforms[:, -1:]).sum(1)
    return emitted(drafts, accepted, np.minimum(bonus, target.shape[2] - 1))  # fault: the last token that has mass


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def ratio_in_bfloat16(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Tests against rows rounded to bfloat16, and draws from the residual of the rows as they are."""
    rounded = round_to(target, "bfloat16")  # fault: target
    accepted = passed(drafts, declared, rounded, uniforms[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), uniforms[:, -1]))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def rows_of_neighbour(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Reads the target rows of the next request in the batch."""
    mixed = np.roll(target, -1, axis=0)  # fault: target
    accepted = passed(drafts, declared, mixed, uniforms[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(declared, mixed, accepted), uniforms[:, -1]))


@arrays("chain", family="recursive_rejection", randomness="uniforms", uniforms_dtype="float64", order=range)
def bonus_row_of_neighbour(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Strides over the bonus rows as if every request had one row less: all but the first bonus come from elsewhere."""
    size, rows, vocabulary = target.shape
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    flat = target.reshape(size * rows, vocabulary)
    mixed = flat[np.minimum(np.arange(size)[:, None] * (rows - 1) + np.arange(rows), size * rows - 1)]  # fault: target
    last = np.where((accepted == rows - 1)[:, None, None], mixed, target)
    return emitted(drafts, accepted, inverse_cdf(owed(declared, last, accepted), uniforms[:, -1]))
