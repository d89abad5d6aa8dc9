"""``selftest``: what is not as stated beforehand is found, said, and costs the exit code."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from draftproof.cli import main
from draftproof.oracle import selftest
from draftproof.oracle.controls import CONTROLS, Control
from draftproof.oracle.faults import FAULTS, Fault, chains, siblings, tapes
from draftproof.oracle.selftest import Selftest, judge_control, judge_fault, lines, perform, tasks

SOUND = Fault("A", siblings.sound, "tree-siblings")
"""A rule without a fault that is listed as one."""


def test_a_fault_that_is_missed_is_a_difference() -> None:
    for way in ("enumerate", "sample"):
        few = replace(SOUND, sample="below resolution", total_variation="1/1000000") if way == "sample" else SOUND
        finding = judge_fault(few, way)
        assert finding.found == ("missed" if way == "enumerate" else "below resolution")
    result = Selftest("standard", [judge_fault(SOUND, "enumerate")], [judge_control(CONTROLS[0], "chain-one-draft", "any")])
    assert result.outcome == "nonconform" and result.uncaught == ["sound"] and result.score == 0
    assert list(lines(result))[0].startswith("kind A   sound on tree-siblings, read by enumerate: said caught, found missed")


def test_a_fault_is_not_below_a_resolution_that_would_do() -> None:
    """Said to be below resolution, though a chi-square test of a few thousand blocks sees its total variation."""
    claimed = replace(SOUND, total_variation="1/10", sample="below resolution")
    assert judge_fault(claimed, "sample").found.startswith("missed, although")


def test_a_fault_that_is_caught_unexpectedly_is_a_difference() -> None:
    fault = Fault("A", chains.residual_is_target, "chain-one-draft", "3/20", sample="below resolution")
    assert judge_fault(fault, "sample").found == "caught"


@pytest.mark.parametrize(
    ("fault", "way"),
    [
        (Fault("A", chains.residual_is_target, "chain-one-draft", integrate="caught"), "integrate"),
        (Fault("C", tapes.seeded_anew_at_every_test, "chain-pairs"), "enumerate"),
    ],
)
def test_what_cannot_be_read_is_not_caught(fault: Fault, way: str) -> None:
    finding = judge_fault(fault, way)
    assert finding.found == "unreadable" and not finding.as_said


def test_a_subject_that_raises_is_not_caught() -> None:
    def broken(*_: object) -> None:
        """Raises."""
        raise ZeroDivisionError

    fault = Fault("A", replace(chains.residual_is_target, call=broken), "chain-one-draft")
    for way in ("enumerate", "sample"):
        assert judge_fault(fault, way).found.startswith("error: ")


def test_a_rejected_control_is_a_difference() -> None:
    for way in ("any", "sample"):
        finding = judge_control(Control(chains.residual_is_target, ("chain-one-draft",), "it is not lossless"), "chain-one-draft", way)
        assert finding.found == "nonconform" and not finding.as_said


def test_tasks_of_the_tiers() -> None:
    standard, smoke = tasks("standard"), tasks("smoke")
    assert set(smoke) <= set(standard) and len(standard) == len(set(standard))
    assert {(place, way) for what, place, _, way in standard if what == "fault"} == {(n, way) for n, fault in enumerate(FAULTS) for way in fault.ways}
    assert {place for what, place, _, _ in smoke if what == "control"} == set(range(len(CONTROLS)))
    assert {FAULTS[place].kind for what, place, _, _ in smoke if what == "fault"} == {fault.kind for fault in FAULTS}
    with pytest.raises(ValueError, match="tier 'large' is not one of smoke, standard"):
        selftest.run("large")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    right = next(task for task in tasks("smoke") if task[0] == "fault" and FAULTS[task[1]].name == "residual_is_target" and task[3] == "enumerate")
    found, control = perform(right, 0), judge_control(CONTROLS[0], "chain-one-draft", "any")
    assert found.ratio is not None and found.total_variation == pytest.approx(0.15)

    def pretend(result: Selftest) -> tuple[int, str]:
        monkeypatch.setattr(selftest, "run", lambda *_: result)
        code = main(["selftest", "--quiet", "--json", str(tmp_path / "out.json")])
        return code, capsys.readouterr().out

    code, said = pretend(Selftest("smoke", [found], [control]))
    assert code == 0 and "mutation score: 100.0% of 1 faults" in said and "as said" in said
    kept = json.loads((tmp_path / "out.json").read_text())
    assert kept["outcome"] == "conform" and kept["faults"][0]["found"] == "caught" and kept["faults"][0]["ratio"] == found.ratio

    code, said = pretend(Selftest("smoke", [replace(found, found="missed")], [control]))
    assert code == 1 and "NOT as said: kind A   residual_is_target on chain-one-draft" in said
    code, said = pretend(Selftest("smoke", [found], []))
    assert code == 1, "nothing judged is never a pass"
    assert main(["selftest", "--json", str(tmp_path / "no" / "folder.json")]) == 2


@pytest.mark.slow
def test_smoke_tier_is_as_said() -> None:
    result = selftest.run("smoke")
    assert result.outcome == "conform", list(lines(result))
    assert result.ratio is not None and result.ratio < 2
