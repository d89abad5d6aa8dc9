"""Verifiers whose law is off by what their number formats round away: too little for samples to show, seen by ``precision``.

``uniforms`` [B, K + 1]: column i + 1 tests draft i and column 0 draws the bonus token, as 24 bits in float32.
"""

from typing import Any

import numpy as np

from ..rounding import round_to
from ..subjects import Subject
from .batches import TAKES_UNIFORMS
from .rows import arrays, emitted
from .tapes import owed

Arrays = tuple[np.ndarray, np.ndarray]
SINGLE: dict[str, Any] = {**TAKES_UNIFORMS, "dtype": "float32", "uniforms_dtype": "float32"}
DOUBLE: dict[str, Any] = {**TAKES_UNIFORMS, "dtype": "float32"}


def tested(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ratio p / q of every draft [B, K], in float64, and the declared laws [B, K, V]."""
    laws = (drafts[..., None] == np.arange(target.shape[2])) if declared is None else declared
    p, q = (np.take_along_axis(rows, drafts[..., None], 2)[..., 0].astype(np.float64) for rows in (target[:, :-1], laws))
    return p / q, laws


def residual(laws: np.ndarray, target: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """The law of the bonus token [B, V] in float64."""
    left = owed(laws.astype(np.float64), target.astype(np.float64), accepted)
    law: np.ndarray = left / left.sum(1, keepdims=True)
    return law


def drawn(law: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The token [B] whose interval of the CDF holds the uniform [B]; the last that has mass where rounding leaves none."""
    last = law.shape[1] - 1 - (law[:, ::-1] > 0).argmax(1)
    token: np.ndarray = np.minimum((law.cumsum(1) <= u[:, None]).sum(1), last)
    return token


def verified(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """The right answer."""
    ratio, laws = tested(drafts, declared, target)
    accepted = (uniforms[:, 1:] < ratio).cumprod(1).sum(1)
    return emitted(drafts, accepted, drawn(residual(laws, target, accepted), uniforms[:, 0].astype(np.float64)))


@arrays("chain", **SINGLE)
def sound(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """No fault: float64 throughout."""
    return verified(drafts, declared, target, uniforms)


@arrays("chain", **DOUBLE)
def sound_with_53_bits(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """No fault, and uniforms fine enough for a full vocabulary."""
    return verified(drafts, declared, target, uniforms)


@arrays("chain", **SINGLE)
def uniforms_of_a_thousandth(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Makes its uniforms from an integer below 1000."""
    return verified(drafts, declared, target, np.floor(uniforms * 1000) / 1000)  # fault: uniforms


@arrays("chain", **SINGLE)
def uniforms_in_half_precision(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Casts its uniforms to float16 on the way."""
    return verified(drafts, declared, target, uniforms.astype(np.float16).astype(np.float32))  # fault: uniforms


@arrays("chain", **SINGLE)
def ratio_compared_in_bfloat16(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Rounds the ratio to bfloat16 before it is compared with the uniform."""
    ratio, laws = tested(drafts, declared, target)
    accepted = (uniforms[:, 1:] < round_to(ratio, "bfloat16")).cumprod(1).sum(1)  # fault: ratio
    return emitted(drafts, accepted, drawn(residual(laws, target, accepted), uniforms[:, 0].astype(np.float64)))


@arrays("chain", **SINGLE)
def wrong_side_of_threshold(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Searches the CDF from the left: a uniform that is itself a threshold draws the token below it."""
    ratio, laws = tested(drafts, declared, target)
    accepted = (uniforms[:, 1:] < ratio).cumprod(1).sum(1)
    cdf = residual(laws, target, accepted).cumsum(1)
    return emitted(drafts, accepted, (cdf < uniforms[:, :1].astype(np.float64)).sum(1))  # fault: <=


@arrays("chain", **DOUBLE)
def cdf_in_single_precision(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Adds the residual up in float32 for the inverse CDF."""
    ratio, laws = tested(drafts, declared, target)
    accepted = (uniforms[:, 1:] < ratio).cumprod(1).sum(1)
    law = residual(laws, target, accepted).astype(np.float32)  # fault: float64
    return emitted(drafts, accepted, drawn(law, uniforms[:, 0]))


@arrays("chain", **DOUBLE)
def run_off_to_last_token(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Divides the residual by its sum in float16, and gives what the CDF lacks to the last token of the vocabulary."""
    ratio, laws = tested(drafts, declared, target)
    accepted = (uniforms[:, 1:] < ratio).cumprod(1).sum(1)
    law = residual(laws, target, accepted)
    law = law / np.nextafter(law.sum(1, keepdims=True).astype(np.float16), np.float16(2)).astype(np.float64)  # fault: float64 throughout
    return emitted(drafts, accepted, np.minimum((law.cumsum(1) <= uniforms[:, :1]).sum(1), law.shape[1] - 1))


PRECISION_FAULTS: tuple[tuple[Subject, str, str], ...] = (
    (uniforms_of_a_thousandth, "sweep", "chain-opposed"),
    (uniforms_in_half_precision, "sweep", "chain-opposed"),
    (ratio_compared_in_bfloat16, "sweep", "chain-opposed"),
    (wrong_side_of_threshold, "strict sweep", "chain-zero-target"),
    (cdf_in_single_precision, "implied law", ""),
    (run_off_to_last_token, "implied law", ""),
)
"""Each with what sees it, and the instance to sweep."""
