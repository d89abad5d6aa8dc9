"""Assisted generation of the installed transformers, end to end and exactly: lossless as it comes, lossy where it is asked to be."""

import runpy
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest

from draftproof.oracle import Report, check
from draftproof.oracle.engine import Toy, toys
from draftproof.oracle.subjects import load

transformers = pytest.importorskip("transformers")
from draftproof.oracle.adapters.transformers_generate import logits, subject  # noqa: E402

_, THREE, STOPS = toys()
SHORT = [replace(THREE, length=2), replace(STOPS, length=2)]


def judged(tasks: list[Toy], **settings: Any) -> Report:
    return check(subject(tasks=tasks, **settings))


def distance(report: Report) -> float:
    assert not report.errors, report
    exactness = [verdict for verdict in report.verdicts if verdict.verdict == "exactness"]
    assert {verdict.way for verdict in exactness} == {"enumerate"}
    return max(verdict.number or 0.0 for verdict in exactness)


LONGER = [pytest.param(each, marks=pytest.mark.slow) for each in ({"num_assistant_tokens": 1}, {"assistant_confidence_threshold": 0.9})]


@pytest.mark.parametrize("settings", [{}, *LONGER, {"prompt_lookup_num_tokens": 2}], ids=str)
def test_it_is_lossless_however_it_drafts(settings: dict[str, Any]) -> None:
    report = judged(SHORT[:1] if settings else SHORT, **settings)
    assert report.outcome == "conform" and distance(report) < 1e-6, report


@pytest.mark.slow
def test_it_is_lossless_on_the_default_tasks() -> None:
    report = check("transformers.generate", time_limit=600)
    assert report.outcome == "conform" and distance(report) < 1e-6, report


def test_the_temperature_is_applied_once_on_both_sides() -> None:
    assert judged(SHORT[:1], temperature=2.0, raw=lambda law: [2 * logit for logit in logits(law)]).outcome == "conform"
    assert judged(SHORT[:1], temperature=2.0).outcome == "nonconform"


def test_top_k_is_applied_on_both_sides() -> None:
    """Rows of three tokens, two of which the law wants: the third is there, and cut."""

    def raw(law: Any) -> list[float]:
        least = min(mass for mass in law if mass)
        return [log(mass or least / 2) for mass in law]

    two_of_three = replace(STOPS, length=2, target=_two(STOPS.target), draft=_two(STOPS.draft))
    assert judged([two_of_three], top_k=2, raw=raw).outcome == "conform"
    assert judged([two_of_three], raw=raw).outcome == "nonconform"


def _two(model: Any) -> Any:
    """The model with tokens 0 and 1 or 1 and 2 only, by the length of the prefix."""
    from draftproof.reference.laws import Law

    def law(prefix: tuple[int, ...]) -> Any:
        return Law.row([3, 2, 0] if len(prefix) % 2 else [0, 1, 4])

    return law


def test_the_ensemble_weight_is_lossy_as_documented() -> None:
    """``assistant_ensemble_weight`` = w accepts by w p + (1 - w) q: a wrong law, exactly measured."""
    report = judged(SHORT, assistant_ensemble_weight=0.5)
    assert report.outcome == "nonconform" and distance(report) == pytest.approx(0.234375, abs=1e-6), report  # 0.249 at full length


def test_a_cache_that_is_not_cropped_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rejected drafts stay in the cache, so later rows are those of another text."""
    from transformers.cache_utils import DynamicCache

    assert hasattr(DynamicCache, "crop")
    monkeypatch.setattr(DynamicCache, "crop", lambda self, *length: None)
    report = judged([replace(THREE, length=2)])
    assert report.outcome in ("nonconform", "error"), report


def test_by_name_and_by_what_is_missing() -> None:
    (found,) = load("transformers.generate?assistant_ensemble_weight=0.5,num_assistant_tokens=2")
    assert found.name == "transformers.generate?assistant_ensemble_weight=0.5,num_assistant_tokens=2"


@pytest.mark.slow
def test_the_assistant_of_gemma_4() -> None:
    """A real pair of models, tiny: right without the assistant; with it wrong in the release in which that was found (docs/adapters.md)."""
    if not hasattr(transformers, "Gemma4AssistantForCausalLM"):
        pytest.skip(f"transformers {transformers.__version__} has no Gemma 4 assistant")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "adapters" / "gemma4_assistant.py"))
    without, with_it = (example["judged"](assisted) for assisted in (False, True))
    assert without.outcome == "conform" and distance(without) < 1e-6, without
    assert not with_it.errors, with_it
    if transformers.__version__ == "5.24.0":
        assert with_it.outcome == "nonconform" and distance(with_it) > 0.1, with_it
