"""Precision: implied laws and grid sweeps against brute force, the measured facts, and the planted faults they see."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from draftproof.cli import main
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import precisions
from draftproof.oracle.faults.precisions import PRECISION_FAULTS
from draftproof.oracle.implied import Implied, ImpliedLaw, NoInverseCDF, of_cdf, starts, total_variation
from draftproof.oracle.lines import lines
from draftproof.oracle.precision import INSTANCES, Settings, _Judge, check_precision
from draftproof.oracle.subjects import Subject, load
from draftproof.oracle.sweep import Sweeper
from draftproof.oracle.verdicts import Verdict

torch.set_num_threads(1)
FULL = 151_936
SETTINGS = Settings(bits=16, vocabulary=0, tolerance=1e-4)


def row(scale: float, size: int = FULL) -> np.ndarray:
    """Softmax of Gaussian logits in float32."""
    return torch.randn(size, generator=torch.Generator().manual_seed(0)).mul(scale).softmax(0).numpy()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_of_a_cdf_are_those_of_every_uniform(side: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    for length in (0.97, 1.0, 1.02):
        cdf = np.sort(np.concatenate([rng.random(5), rng.integers(0, 16, 3) / 16, [1.0]])).astype(dtype) * dtype(length)
        drawn = np.minimum(np.searchsorted(cdf, np.arange(256) / 256, side=side), len(cdf) - 1)  # type: ignore[call-overload]
        assert of_cdf(cdf, 8, side).tolist() == np.bincount(drawn, minlength=len(cdf)).tolist()  # type: ignore[arg-type]


def test_run_off_goes_where_it_is_said_to() -> None:
    assert of_cdf(np.array([0.25, 0.5]), 2).tolist() == [1, 3]
    assert of_cdf(np.array([0.25, 0.5]), 2, run_off=0).tolist() == [3, 1]


@pytest.mark.parametrize(
    ("cdf", "bits", "said"), [([0.5, 0.4], 8, "never decreases"), ([np.nan], 8, "NaN"), ([1.0], 54, "1 to 53"), ([[1.0]], 8, "one row")]
)
def test_what_is_no_cdf(cdf: list[float], bits: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        of_cdf(np.array(cdf), bits)


def test_total_variation_is_exact() -> None:
    weights = np.array([1e-300, 0.1, 0.0, 0.7])
    exact = [Fraction(weight) / sum(map(Fraction, weights.tolist())) for weight in weights.tolist()]
    counts = np.array([0, 1, 1, 6])
    assert total_variation(counts, weights) == sum(abs(Fraction(int(c), 8) - p) for c, p in zip(counts, exact, strict=True)) / 2
    assert starts(np.array([0.25, 0.0, 0.75]), 8) == [0, 64, 64, 256]
    with pytest.raises(ValueError, match="at least 0"):
        total_variation(counts, -weights)


def test_measured_facts_at_full_vocabulary() -> None:
    """float32: off by 1.0e-3, 1.5e-3 with 24-bit uniforms, where fifty thousand tokens of mass 5e-4 are never drawn; float64: 4e-8 at most."""
    weights = row(2)
    single = np.minimum(torch.from_numpy(weights).cumsum(0).numpy(), np.float32(1))
    double = weights.astype(np.float64).cumsum()
    assert 0.9e-3 < total_variation(of_cdf(single, 53), weights) < 1.1e-3
    assert 1.4e-3 < total_variation(of_cdf(single, 24), weights) < 1.6e-3
    assert total_variation(of_cdf(double / double[-1], 53), weights) < 4e-8
    weights = row(3)
    counts = of_cdf(np.minimum(torch.from_numpy(weights).cumsum(0).numpy(), np.float32(1)), 24)
    lost = (counts == 0) & (weights > 0)
    assert 45_000 < lost.sum() < 60_000 and 4.5e-4 < weights[lost].sum() < 5.5e-4
    single = np.minimum(torch.from_numpy(weights).cumsum(0).numpy(), np.float32(1))
    double = weights.astype(np.float64).cumsum()
    double /= double[-1]
    for cdf, bits, left_out in ((single, 53, True), (double, 24, True), (double, 53, False)):
        assert ((of_cdf(cdf, bits) == 0) & (weights > 0)).any() == left_out  # neither is enough alone


@pytest.mark.parametrize("bits", [24, 53])
def test_bisection_finds_what_the_cdf_implies(bits: int) -> None:
    weights = row(3)
    cdf = np.minimum(weights.cumsum(), np.float32(1))
    exact = of_cdf(cdf, bits)
    law = ImpliedLaw(lambda k: np.minimum(np.searchsorted(cdf, k * 2.0**-bits, side="right"), FULL - 1), weights, bits)
    tokens = np.unique(np.random.default_rng(0).integers(FULL, size=200))
    assert law._counts(tokens) == exact[tokens].tolist()
    found = law.of(400)
    assert abs(found.total_variation - float(total_variation(exact, weights))) < 5 * found.error
    assert found.worst >= 1.0 and exact[found.never_example] == 0
    assert abs(found.never / ((exact == 0) & (weights > 0)).sum() - 1) < 0.3
    assert found.ideal == (pytest.approx(1.2e-3, rel=0.2) if bits == 24 else pytest.approx(0, abs=1e-11))


def test_mass_of_tokens_that_have_none() -> None:
    weights = np.array([0.0, 0.5, 0.5, 0.0])
    law = ImpliedLaw(lambda k: np.searchsorted([0.125, 0.5, 0.75, 1.0], k / 256, side="right"), weights, 8)
    assert law.of(50).none_mass == 0.375


def test_what_is_no_inverse_cdf_is_said() -> None:
    scrambled = ImpliedLaw(lambda k: (k * 7919 % 64).astype(np.int64), np.ones(64), 24)
    with pytest.raises(NoInverseCDF, match="does not grow with the uniform: 47 at u = 0.0156.* and 0 at 0.03125"):
        scrambled.of(16)


def test_lines_are_those_of_the_exact_reference() -> None:
    """Chain with one draft: the test of the draft, and the bonus token after it is accepted."""
    case = Case(precisions.sound, find("chain-opposed"))
    bonus, test = lines(case)
    assert [float(cut) for cut in test.cuts] == pytest.approx([2 / 11]) and [len(block) for block in test.blocks] == [2, 1]
    assert sum(bonus.law.values()) == 1 and len(bonus.cuts) == 2


def one(subject: Subject, settings: Settings, instance: str = "chain-opposed") -> list[Verdict]:
    report = check_precision([subject], [instance] if instance else [], settings)
    assert not report.errors and not report.not_judged, report
    return report.verdicts


def test_sound_verifiers_conform() -> None:
    for subject in (precisions.sound, precisions.sound_with_53_bits):
        assert [verdict.outcome for verdict in one(subject, SETTINGS)] == ["conform", "conform"]
    assert [verdict.outcome for verdict in one(precisions.sound, replace(SETTINGS, strict=True), "chain-zero-target")] == ["conform"]
    fine = Settings(vocabulary=512, tokens=8)
    assert [verdict.outcome for verdict in one(precisions.sound_with_53_bits, fine, "")] == ["conform"]


@pytest.mark.parametrize(("subject", "seen_by", "instance"), PRECISION_FAULTS, ids=[one.name.rpartition(":")[2] for one, _, _ in PRECISION_FAULTS])
def test_planted_faults_are_caught(subject: Subject, seen_by: str, instance: str) -> None:
    settings = Settings(vocabulary=2048, tokens=48) if seen_by == "implied law" else replace(SETTINGS, strict="strict" in seen_by)
    wrong = [verdict for verdict in one(subject, settings, instance) if verdict.outcome == "nonconform"]
    assert wrong and wrong[0].way == seen_by.removeprefix("strict ")
    ratio = "the ratio, and the uniform it is compared with, in float32"
    helps = {
        precisions.cdf_in_single_precision: {"a CDF summed"},
        precisions.run_off_to_last_token: {"a search that ends"},
        precisions.uniforms_of_a_thousandth: {ratio, "a CDF summed and searched in float64, and the uniform as it is"},
        precisions.uniforms_in_half_precision: {"a CDF summed and searched in float64, and the uniform as it is"},
        precisions.ratio_compared_in_bfloat16: {ratio},
        precisions.wrong_side_of_threshold: {"at a uniform that is itself a threshold, accept where u < threshold"},
    }
    for verdict in wrong:
        assert any(f"what helps: {said}" in verdict.message for said in helps[subject]), verdict.message
    assert all(any(f"what helps: {said}" in verdict.message for verdict in wrong) for said in helps[subject])


def test_what_no_rounding_does_is_not_taken_for_rounding() -> None:
    """Accepts at twice the ratio."""

    def lax(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> precisions.Arrays:
        return precisions.verified(drafts, declared, target, uniforms / np.where(np.arange(uniforms.shape[1]) > 0, 2, 1).astype(uniforms.dtype))

    (wrong,) = [verdict for verdict in one(replace(precisions.sound, call=lax), SETTINGS) if verdict.outcome == "nonconform"]
    assert "no rounding moves 1 threshold that far: the rule is another, and draftproof check says" in wrong.message


def test_every_nonconform_law_says_what_helps() -> None:
    exact = Implied(0.0, 0.0, 0.0, 0, 0.0, 0.0, None, 0.0, 2, 2, 0.0)
    look = _Judge(precisions.sound, replace(SETTINGS, strict=True, tolerance=1e-6), lambda what: None)
    said = {
        "a search that ends at tokens with mass": replace(exact, none_mass=2.0**-24),
        "uniforms of 53 bits (float64)": replace(exact, total_variation=1e-3, ideal=1e-3),
        "a CDF summed and searched in float64": replace(exact, total_variation=1e-3),
        "uniforms of 53 bits (float64) and a CDF summed and searched in float64": replace(
            exact, total_variation=1e-3, ideal=1e-3, never=5e4, never_mass=5e-4, never_example=7
        ),
    }
    assert look._of_law(exact, 24).outcome == "conform"
    for helps, found in said.items():
        verdict = look._of_law(found, 24)
        assert verdict.outcome == "nonconform" and verdict.message.endswith(f"; what helps: {helps}"), verdict.message


def test_progress_says_how_long_the_rest_takes() -> None:
    told = list[str]()
    look = Settings(bits=18, vocabulary=1 << 14, tokens=4, tolerance=1e-3)
    check_precision([precisions.sound_with_53_bits], ["chain-opposed"], look, observe=lambda what, done, total: told.append(what))
    lines = [int(what.split(", ")[2].removesuffix("%")) for what in told if "column 1" in what and "left of it" in what]
    assert lines == [25, 50, 75, 100]
    bonus = [what for what in told if "bonus token" in what and "s left of it" in what]
    parts = [int(what.split(", ")[1].removesuffix("%")) for what in bonus]
    assert len(parts) > 10 and parts[0] < 30 and 80 < parts[-1] <= 100 and parts == sorted(parts)


def test_a_boundary_event_is_a_note_unless_strict() -> None:
    (verdict,) = one(precisions.wrong_side_of_threshold, SETTINGS, "chain-zero-target")
    assert verdict.outcome == "conform" and verdict.notes == ("at u = 0 of column 0 it emits [0] where the reference emits [1]",)


def test_a_threshold_that_is_a_uniform_counts_strictly() -> None:
    verdicts = one(precisions.wrong_side_of_threshold, replace(SETTINGS, strict=True), "chain-truncated-draft")
    assert "1 differences at a uniform that is itself a threshold" in verdicts[0].message and verdicts[0].outcome == "nonconform"


def test_the_message_says_where() -> None:
    verdict = one(precisions.ratio_compared_in_bfloat16, SETTINGS)[1]
    assert "which decides" in verdict.message and "the first at u = 0.181640625: it emits" in verdict.message
    assert verdict.details["column"] == 1 and verdict.details["differs"] == pytest.approx(65536 * (verdict.number or 0))


def test_a_coarse_grid_does_not_certify_what_it_cannot_see() -> None:
    assert {verdict.outcome for verdict in one(precisions.sound, replace(SETTINGS, tolerance=1e-6))} == {"inconclusive"}


def test_what_is_not_done_in_time_is_inconclusive() -> None:
    for settings, instance in ((replace(SETTINGS, bits=20), "chain-opposed"), (Settings(vocabulary=4096), "")):
        report = check_precision([precisions.sound_with_53_bits], [instance] if instance else [], replace(settings, time_limit=1e-3))
        assert report.outcome == "inconclusive" and "within 0.001 s" in str(report)


def test_what_cannot_be_swept_is_said() -> None:
    other = load("draftproof.oracle.faults.chains:always_accepts")[0]
    for subject, why in (
        (other, "does not take its uniforms"),
        (replace(precisions.sound, batched=False), "row"),
        (replace(precisions.sound, layout=None), 'column 0 draws the bonus token, declare layout="draftproof", and'),
        (replace(precisions.sound, family=None), "declare a family"),
        (replace(precisions.sound, layout=None, columns=lambda nodes: nodes + 1), "an order of its own, and only our layout is swept"),
    ):
        report = check_precision([subject], settings=SETTINGS)
        assert not report.verdicts and why in report.not_judged[0].message and report.exit_code == 2


@pytest.mark.parametrize("wrong", [{"bits": 25}, {"bits": 7}, {"vocabulary": 3}, {"tokens": 1}, {"tolerance": -1.0}, {"time_limit": float("nan")}])
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Settings(**wrong)  # type: ignore[arg-type]


def test_thresholds_of_the_instances_are_no_short_decimals() -> None:
    """Uniforms rounded to thousandths would be right at those."""
    for name in INSTANCES:
        subject = load("gpu_impl.recursive_rejection")[0]
        cuts = [cut for line in lines(Case(subject, find(name))) for cut in line.cuts]
        assert any(abs(cut * 1000 - round(cut * 1000)) > Fraction(1, 20) for cut in cuts), name


@pytest.mark.parametrize("name", ["recursive_rejection", "traversal", "tree_exit"])
def test_ours_conform(name: str) -> None:
    report = check_precision(load(f"gpu_impl.{name}"), ["chain-opposed"], Settings(bits=12, vocabulary=512, tokens=8, tolerance=1e-3))
    assert report.outcome == "conform" and len(report.verdicts) == 3, report


@pytest.mark.slow
@pytest.mark.parametrize("name", ["predraw_follow", "tree_exit", "recursive_rejection", "traversal", "greedy_transport", "univer", "k_seq"])
def test_ours_conform_at_every_uniform_and_at_full_vocabulary(name: str) -> None:
    report = check_precision(load(f"gpu_impl.{name}"), ["chain-opposed"], Settings(tokens=32))
    assert report.outcome == "conform", report
    law = next(verdict for verdict in report.verdicts if verdict.way == "implied law")
    assert law.number is not None and law.number < 1.4e-7


@pytest.mark.slow
def test_every_uniform_of_a_float32_verifier_is_its_exact_law() -> None:
    """A threshold of no grid point is off by less than one of them, which is the law of 24-bit uniforms."""
    case = Case(precisions.sound, find("chain-opposed"))
    for line in lines(case):
        swept = Sweeper(case)(line, 24)
        assert swept.whole and swept.resolution == 0 and swept.differs == 0 and swept.counts.total() == 1 << 24
        assert 0 < swept.total_variation < len(line.cuts) * Fraction(1, 1 << 24)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.json"
    told = ["--bits", "16", "--vocabulary", "0", "--instance", "chain-opposed", "--quiet", "--json", str(out)]
    assert main(["precision", "draftproof.oracle.faults.precisions:ratio_compared_in_bfloat16", "--tolerance", "1e-5", *told]) == 1
    said = capsys.readouterr().out
    assert "see it again: draftproof precision" in said and json.loads(out.read_text())["outcome"] == "nonconform"
    assert main(["precision", "gpu_impl", "--bits", "30"]) == 2
    assert "not 2^30" in capsys.readouterr().err
