"""The sorted-ratio rule against certified optima at small vocabularies, and against itself at full vocabulary."""

import random

import numpy as np
import pytest

from draftproof.reference.laws import Law
from draftproof.reference.rational import fraction, rational
from draftproof.reference.transport import sorted_ratio
from draftproof.reference.transport.candidates import WithoutReplacement, WithReplacement, set_law
from draftproof.reference.transport.node import optimum
from draftproof.reference.trees import Draws

VOCABULARY = 151_936


def row(rng: random.Random, vocabulary: int) -> Law[int]:
    """Mild, with zeros, or over nine orders of magnitude."""
    kind = rng.choice(["mild", "zeros", "sharp"])
    weights = [10 ** rng.randint(0, 8) if kind == "sharp" else rng.randint(1, 9) for _ in range(vocabulary)]
    if kind == "zeros":
        weights = [weight * (rng.random() < 0.7) for weight in weights]
    return Law.row(weights if any(weights) else [1] * vocabulary)


def floats(law: Law[int], vocabulary: int) -> np.ndarray:
    return np.array([float(law[token]) for token in range(vocabulary)])


def test_it_is_the_certified_optimum() -> None:
    rng = random.Random(0)
    for _ in range(400):
        vocabulary, count = rng.randint(2, 6), rng.randint(1, 3)
        p, q, a = row(rng, vocabulary), row(rng, vocabulary), rational(rng.randint(0, 10)) / 10
        schemes: list[tuple[Draws, float]] = [
            (WithReplacement(q, count), sorted_ratio.with_replacement(floats(p, vocabulary), floats(q, vocabulary), count, float(a))),
            (WithoutReplacement(q, count), sorted_ratio.without_replacement(floats(p, vocabulary), floats(q, vocabulary), count, float(a))),
        ]
        for draws, value in schemes:
            assert abs(value - fraction(optimum(p, set_law(draws), a).value)) < 1e-9


def test_cover_of_every_prefix() -> None:
    """D(S subset of A) without replacement, the tokens in any order."""
    rng = random.Random(1)
    for _ in range(60):
        q = row(rng, 6)
        count = rng.randint(1, min(4, len(q)))
        sets = set_law(WithoutReplacement(q, count))
        exact = [float(sum((weight for members, weight in sets.items() if max(members) <= last), rational(0))) for last in range(6)]
        assert np.abs(sorted_ratio.covered(floats(q, 6), count) - exact).max() < 1e-9


@pytest.mark.parametrize("spread", [1.0, 3.0, 8.0])
def test_full_vocabulary(spread: float) -> None:
    """Two drafts have a closed form; more drafts accept more, at most 1, and without replacement at least as much as with."""
    random_rows = np.random.default_rng(0)
    p = np.exp(spread * random_rows.standard_normal(VOCABULARY))
    q = p**0.8 * np.exp(random_rows.standard_normal(VOCABULARY))
    p, q = p / p.sum(), q / q.sum()
    order = np.argsort(p / q)
    by_ratio = q[order]
    inside = np.cumsum(by_ratio)
    pairs = inside * np.cumsum(by_ratio / (1 - by_ratio)) - np.cumsum(by_ratio**2 / (1 - by_ratio))
    two = 1 + min(0.0, float((np.cumsum(p[order]) - pairs).min()))
    values = [sorted_ratio.without_replacement(p, q, count) for count in (1, 2, 3)]
    assert abs(values[0] - np.minimum(p, q).sum()) < 1e-9 and abs(values[1] - two) < 1e-9
    assert values == sorted(values) and values[2] <= 1
    assert all(sorted_ratio.with_replacement(p, q, count) <= value + 1e-12 for count, value in zip((1, 2, 3), values, strict=True))


def test_wrong_covers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value with replacement in place of the one without is off by far more than the tolerance."""
    monkeypatch.setattr(sorted_ratio, "covered", lambda q, drafts: np.cumsum(q) ** drafts)
    p, q = Law.row([1, 4, 2, 3]), Law.row([4, 2, 3, 1])
    value = sorted_ratio.without_replacement(floats(p, 4), floats(q, 4), 2)
    assert abs(value - fraction(optimum(p, set_law(WithoutReplacement(q, 2))).value)) > 1e-3
