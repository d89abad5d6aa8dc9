"""The law of the bits handed over."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from draftproof.oracle.rounding import Rounding, round_to
from draftproof.oracle.subjects import Subject
from draftproof.reference.laws import Law
from draftproof.reference.rational import fraction


def subject(**declares: object) -> Subject:
    return Subject(print, "s", **declares)  # type: ignore[arg-type]


def values() -> np.ndarray:
    rng = np.random.default_rng(0)
    ties = np.float64(1) + np.arange(8) * 2.0**-9  # halfway between neighbours of bfloat16
    return np.concatenate([rng.random(2000), -rng.random(2000) * 20, 2.0 ** rng.integers(-14, 3, 200), [0.0, 1.0, -np.inf, 1 / 3], ties])


def test_bfloat16_rounds_as_torch_does() -> None:
    np.testing.assert_array_equal(round_to(values(), "bfloat16"), torch.from_numpy(values()).float().bfloat16().double().numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rounded_values_are_values_of_the_dtype(dtype: str) -> None:
    rounded = round_to(values(), dtype)
    assert (torch.from_numpy(rounded).to(getattr(torch, dtype)).double().numpy() == rounded).all()
    finite = np.isfinite(values())
    exact, near = values()[finite], rounded[finite]
    half_unit = torch.finfo(getattr(torch, dtype)).eps / 2 * np.maximum(np.abs(exact), 2.0**-14)
    assert (np.abs(near - exact) <= half_unit * (1 + 1e-6)).all()


def test_probabilities_mean_their_bits_normalised() -> None:
    row, law = Rounding(subject(dtype="float32"), 3).hand(Law.row([5, 3, 2]))
    exact = [Fraction(float(np.float32(p))) for p in (0.5, 0.3, 0.2)]
    assert [fraction(law[token]) for token in range(3)] == [p / sum(exact) for p in exact]
    assert row.tolist() == [float(p) for p in exact]
    assert sum(exact) != 1  # so normalising matters


def test_logits_mean_their_softmax() -> None:
    row, law = Rounding(subject(dtype="float16", rows="logits"), 3).hand(Law.row([5, 3, 2]))
    assert row.tolist() == [float(np.float16(math.log(p))) for p in (0.5, 0.3, 0.2)]
    weights = [math.exp(logit - row.max()) for logit in row]
    for token in range(3):
        assert float(law[token]) == pytest.approx(weights[token] / sum(weights), rel=1e-15)


def test_zeros_stay_zeros() -> None:
    for rows in ("probs", "log_probs", "logits"):
        row, law = Rounding(subject(rows=rows), 4).hand(Law.row([0, 1, 3, 0]))
        assert set(law) == {1, 2} and not law[0] and row[0] == (0 if rows == "probs" else -math.inf)


def test_the_same_law_is_the_same_bits_and_back() -> None:
    rounding, law = Rounding(subject(), 3), Law.row([5, 3, 2])
    assert rounding.hand(law) is rounding.hand(Law.row([10, 6, 4]))
    assert (rounding.row(rounding.law(law)) == rounding.hand(law)[0]).all()


def test_processors_that_the_subject_applies() -> None:
    law = Law.row([4, 3, 2, 1])
    weights = [math.sqrt(p) for p in (0.4, 0.3, 0.2, 0.1)]
    cooled = Rounding(subject(rows="logits", temperature=2.0, dtype="float64"), 4).law(law)
    assert [float(cooled[t]) for t in range(4)] == pytest.approx([w / sum(weights) for w in weights])
    assert kept(law, top_k=2) == pytest.approx([4 / 7, 3 / 7, 0, 0])
    assert kept(law, top_p=0.65) == pytest.approx([4 / 7, 3 / 7, 0, 0])
    assert kept(law, top_p=0.75) == pytest.approx([4 / 9, 3 / 9, 2 / 9, 0])
    assert kept(law, top_k=3, top_p=0.5) == pytest.approx([4 / 7, 3 / 7, 0, 0])  # top-p of what top-k left: 4/9 is below one half
    assert kept(Law.row([1, 3, 3, 3]), top_k=2) == pytest.approx([0, 0.5, 0.5, 0])  # ties go to the smaller token


def kept(law: Law[int], **declares: object) -> list[float]:
    rounded = Rounding(subject(dtype="float64", **declares), 4).law(law)
    return [float(rounded[token]) for token in range(4)]
