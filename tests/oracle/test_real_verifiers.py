"""The verifiers that `make run` judges, in every way of reading that applies to them."""

from dataclasses import replace
from fractions import Fraction

import pytest

from draftproof.oracle import check, reading
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import catalogue, find, suits
from draftproof.oracle.subjects import Subject, load
from draftproof.reference.laws import Law

pytest.importorskip("torch")

FOUR = ("predraw_follow", "tree_exit", "recursive_rejection", "traversal")


def batched(name: str, dtype: str = "float32") -> Subject:
    return next(replace(subject, dtype=dtype) for subject in load("gpu_impl") if subject.family == name)


@pytest.mark.parametrize(("name", "dtype"), [
    *((name, "float32") for name in FOUR),
    *(pytest.param(name, "float64", marks=pytest.mark.slow if name != "traversal" else ()) for name in FOUR),
])
def test_batched_verifiers_conform_on_the_whole_catalogue_by_bracketing(name: str, dtype: str) -> None:
    subject = batched(name, dtype)
    report = check(subject)
    assert report.outcome == "conform", report
    exactness = [verdict for verdict in report.verdicts if verdict.verdict == "exactness"]
    assert len(exactness) == sum(suits(subject, instance) for instance in catalogue())
    assert {verdict.way for verdict in exactness} == {"bracket"}
    assert max(verdict.number or 0.0 for verdict in exactness) <= 1e-6


def assert_integrated(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(reading, "FRESH", 1 << 16)
    pairs = 0
    for name in FOUR:
        for instance in map(find, names):
            case = Case(batched(name), instance)
            found = reading.read(case, "integrate")
            wanted = case.reference_law
            assert found.way == "integrate" and wanted is not None
            assert Fraction(str(Law(found.law).total_variation(wanted))) <= Fraction(1, 10**6), (name, instance.name)
            pairs += len(case.trees)
    return pairs


def test_batched_verifiers_integrate_to_the_law_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    assert assert_integrated(("chain-one-draft", "tree-worked-example", "tree-greedy"), monkeypatch) == 4 * 7


@pytest.mark.slow
def test_batched_verifiers_integrate_on_two_hundred_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("chain-three-drafts", "chain-rows-by-position", "tree-siblings", "tree-ragged", "tree-top-two", "tree-covered")
    assert assert_integrated(names, monkeypatch) >= 200


def test_transformers_conforms_by_enumeration_with_its_boundary_notes() -> None:
    pytest.importorskip("transformers")
    instances = [find(name) for name in ("chain-one-draft", "chain-rows-by-position", "chain-zero-target", "chain-equal", "chain-two-tokens")]
    report = check("transformers", instances)
    assert report.outcome == "conform", report
    assert {verdict.way for verdict in report.verdicts if verdict.verdict != "invariance"} == {"enumerate"}
    exactness = [verdict for verdict in report.verdicts if verdict.verdict == "exactness"]
    assert max(verdict.number or 0.0 for verdict in exactness) <= 2e-7
    notes = {verdict.instance: " ".join(verdict.notes) for verdict in report.verdicts if verdict.notes}
    assert "which the target cannot" in notes["chain-zero-target"]  # a draft with p = 0 accepted at u = 0
    assert check("transformers", [find("chain-zero-target")], strict=True).outcome == "nonconform"


@pytest.mark.slow
def test_transformers_conforms_by_sampling() -> None:
    pytest.importorskip("transformers")
    report = check("transformers", [find("chain-one-draft")], way="sample", time_limit=600)
    assert report.outcome == "conform", report
