"""The bonus token of a verifier as a sampler from one row of a full vocabulary: its only draft is a token that the target cannot emit."""

import numpy as np

from draftproof.reference.instances import parse

from .calling import Caller
from .cases import Batch, Case
from .rounding import round_to
from .subjects import Subject, SubjectError
from .sweep import Advance

NUMBERS, ROWS = 1 << 22, 64
"""Numbers of target rows in one call, and rows, at most."""


class Bonus:
    """Grid points of the uniform of the bonus column -> tokens.  ``weights`` [V]: what the row means; ``bits``: of the uniform."""

    def __init__(self, subject: Subject, vocabulary: int, seed: int, advance: Advance):
        source = {"vocabulary": 2, "target": {"": [0, 1], "0": [1, 1]}, "drafting": {"scheme": "fixed", "tree": ["0"]}}
        self.advance = advance
        row, self.weights = _row(subject, vocabulary, seed)
        self.bits = 24 if subject.uniforms_dtype == "float32" else 53
        self.columns, self.column = subject.uniform_columns(2), subject.consumption(2)[-1]
        self.rows = max(1, min(NUMBERS // vocabulary, ROWS)) if subject.batched else 1
        two = np.zeros((1, 2), dtype=np.int64)
        self._batch = Batch(two, two, two == 0, np.stack([row, row])[None], None).take([0] * self.rows)
        self.caller = Caller(Case(subject, parse(source, name=f"bonus token of {vocabulary}")), held=self._batch)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        found = list[np.ndarray]()
        for start in range(0, len(points), self.rows):
            k = points[start : start + self.rows]
            tapes = np.full((self.rows, self.columns), 0.5)  # always so many: the rows are held, whose copies would take most of the time
            tapes[: len(k), self.column] = k * 2.0**-self.bits
            blocks = self.caller(self._batch, {"uniforms": self.caller.uniforms(tapes)})[: len(k)]
            if (blocks[:, 1:] >= 0).any():
                raise SubjectError("accepts a draft that its target cannot emit")
            found.append(blocks[:, 0])
            self.advance()
        return np.concatenate(found)


def _row(subject: Subject, vocabulary: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(the row handed over, what it means as weights): masses over many orders of magnitude; the first and the last token and one in 64 have none."""
    rng = np.random.default_rng([seed, 5])
    logits = 3 * rng.standard_normal(vocabulary)
    dead = rng.random(vocabulary) < 1 / 64
    dead[[0, -1]] = True
    dead[1] = False
    weights = np.where(dead, 0.0, np.exp(logits - logits.max()))
    weights /= weights.sum()
    if subject.rows == "probs":
        row = round_to(weights, subject.dtype)
        return row, row
    with np.errstate(divide="ignore"):
        row = round_to(np.log(weights), subject.dtype)
    return row, np.exp((row - row.max()) / (subject.temperature or 1.0))
