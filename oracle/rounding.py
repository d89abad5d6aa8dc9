"""The law of the bits handed over: exact laws are rounded to the subject's dtype first, and the numbers after rounding are what is judged.

A row of probabilities means its exact values normalised; a row of logits means its softmax, taken in float64.  Processors which the subject
applies itself (temperature, top-k, top-p) are applied to the rounded row before it is read as a law.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from draftproof.reference.laws import Law

from .subjects import Subject


class Rounding:
    """Hands laws over as rows in the subject's dtype.  ``hand`` is memoised: a law is always handed over as the same bits.

    ``offset`` is added to every logit, ``share`` is the number of tokens that each token's mass is to be split among: the row holds one part.
    """

    def __init__(self, subject: Subject, vocabulary: int, offset: float = 0.0, share: int = 1):
        self.subject, self.vocabulary, self.offset, self.share = subject, vocabulary, offset, share
        self._handed: dict[Law[int], tuple[np.ndarray, Law[int]]] = {}
        self._rows: dict[Law[int], np.ndarray] = {}

    def hand(self, law: Law[int]) -> tuple[np.ndarray, Law[int]]:
        """(row [V] float64 holding values of the subject's dtype, the law that row means)."""
        if law not in self._handed:
            probabilities = np.zeros(self.vocabulary)
            for token, weight in law.items():
                probabilities[token] = float(weight)
            if self.subject.rows == "probs":
                row = round_to(probabilities / self.share, self.subject.dtype)
            else:
                with np.errstate(divide="ignore"):
                    row = round_to(np.log(probabilities / self.share) + self.offset, self.subject.dtype)
            self._handed[law] = row, self._meaning(row)
            self._rows.setdefault(self._handed[law][1], row)
        return self._handed[law]

    def row(self, meaning: Law[int]) -> np.ndarray:
        """The row that was handed over for a law returned by ``law``."""
        return self._rows[meaning]

    def law(self, law: Law[int]) -> Law[int]:
        """What ``law`` means once handed over."""
        return self.hand(law)[1]

    def _meaning(self, row: np.ndarray) -> Law[int]:
        if self.subject.rows == "probs":
            weights = [float(weight) for weight in row]
        else:
            scale = self.subject.temperature or 1.0
            top = float(row.max())
            weights = [math.exp((float(logit) - top) / scale) for logit in row]
        return Law.row(_kept(weights, self.subject.top_k, self.subject.top_p))


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """float64 values rounded to the nearest value of ``dtype``, as float64."""
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return np.where(np.isfinite(values), nearest.astype(np.uint32).view(np.float32), values).astype(np.float64)
    return values.astype(dtype).astype(np.float64)


def _kept(weights: Sequence[float], top_k: int | None, top_p: float | None) -> list[Fraction]:
    """Weights after top-k, then top-p (smallest set of most probable tokens of total at least top_p); ties go to the smaller token."""
    exact = [Fraction(weight) for weight in weights]
    ranked = sorted(range(len(exact)), key=lambda token: (-exact[token], token))
    keep = ranked[:top_k] if top_k else ranked
    if top_p is not None:
        total, so_far, count = sum(exact[token] for token in keep), Fraction(0), 0
        for token in keep:
            if so_far >= Fraction(top_p) * total:
                break
            so_far, count = so_far + exact[token], count + 1
        keep = keep[: max(count, 1)]
    return [weight if token in set(keep) else Fraction(0) for token, weight in enumerate(exact)]
