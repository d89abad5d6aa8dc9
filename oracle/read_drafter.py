"""Reading the law of a drafter's draw: enumerate or integrate where they apply, else counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .declared import Draw
from .drafters import DraftCaller
from .readings.refused import Refused
from .subjects import SubjectError

BATCH = 1 << 14
SKETCH = 1 << 16
"""Fresh tapes that must agree with an integrated law before it is looked at."""


@dataclass(frozen=True)
class DraftLaw:
    """``law``: draw -> probability, within total variation ``resolution``; ``effort`` is what it took, for people."""

    way: str
    law: Mapping[Draw, Fraction]
    resolution: Fraction
    effort: str


def enumerated(caller: DraftCaller, deadline: float) -> DraftLaw:
    """The exact law of unmodified code, every branch of it.  Raises Refused where that does not apply, SubjectError where the drafter fails."""
    from .readings.enumerate import enumerate_law, scripted_generator

    subject = caller.subject
    if subject.randomness == "uniforms":
        raise Refused(f"{subject.name} takes its uniforms as an argument: integrate it")

    def program() -> Draw:
        return caller(1, {} if subject.randomness == "internal" else {"generator": scripted_generator(subject.framework)})[0]

    found = enumerate_law(program, deadline=deadline)
    if found.failures:
        raise SubjectError(f"{subject.name} fails: {next(iter(found.failures))}")
    law: Any = found.law
    how = f"races to {found.slack:.1g}" if found.slack else "exact"
    return DraftLaw("enumerate", law, Fraction(found.slack), f"{found.leaves} branches, {how}")


def integrated(caller: DraftCaller, deadline: float, fresh: int = SKETCH) -> DraftLaw:
    """The law of a drafter that takes its uniforms, one column after the other, column 0 last.  Raises Refused as ``integrate_law``."""
    from .readings.integrate import integrate_law

    subject = caller.subject
    if subject.randomness != "uniforms":
        raise Refused(f"{subject.name} does not take its uniforms as an argument, so it cannot be integrated")
    known: dict[Draw, int] = {}

    def outcomes(values: np.ndarray) -> np.ndarray:
        parts = [values[start : start + BATCH] for start in range(0, len(values), BATCH)]
        return np.concatenate([_numbered(caller, caller.arrays(len(part), {"uniforms": caller.uniforms(part)}), known) for part in parts])

    found = integrate_law(outcomes, subject.columns, order=[*range(1, subject.columns), 0], fresh=fresh, deadline=deadline)
    names = list(known)
    law = {names[number]: Fraction(mass) for number, mass in found.law.items()}
    return DraftLaw("integrate", law, Fraction(found.certified), f"{found.tapes} tapes")


def distinct(caller: DraftCaller, arrays: tuple[np.ndarray, ...]) -> tuple[list[Draw], np.ndarray]:
    """The different draws among rows of arrays, and which of them every row is."""
    flat = np.concatenate([part.reshape(len(part), -1).astype(np.float64) for part in arrays], axis=1)
    _, first, inverse = np.unique(flat.view(f"V{flat.shape[1] * 8}").ravel(), return_index=True, return_inverse=True)
    return caller.draws(tuple(part[first] for part in arrays)), inverse


def _numbered(caller: DraftCaller, arrays: tuple[np.ndarray, ...], known: dict[Draw, int]) -> np.ndarray:
    draws, which = distinct(caller, arrays)
    numbers = np.array([known.setdefault(draw, len(known)) for draw in draws], dtype=np.int64)
    return np.take(numbers, which)


class DraftRandomness:
    """Fresh randomness for a batch, in the form the drafter takes."""

    def __init__(self, caller: DraftCaller, seed: int):
        self.caller, self.rng = caller, np.random.default_rng(seed)
        self.generator: Any = self.rng if caller.subject.randomness == "generator" else None
        if self.generator is not None and caller.subject.framework == "torch":
            import torch

            self.generator = torch.Generator(device=caller.subject.device).manual_seed(seed)

    def __call__(self, size: int) -> dict[str, Any]:
        if self.caller.subject.randomness == "uniforms":
            return {"uniforms": self.caller.uniforms(self.rng.random((size, self.caller.subject.columns)))}
        return {} if self.generator is None else {"generator": self.generator}
