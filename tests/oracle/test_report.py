"""The report: one outcome, JSON, and text for someone who did not write the oracle."""

import io
import json
import shlex
from dataclasses import replace

import pytest
from rich.console import Console

from draftproof.cli import main
from draftproof.oracle import Report, check
from draftproof.oracle.annotations import summary
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import chains
from draftproof.oracle.junit import junit
from draftproof.oracle.page import page
from draftproof.oracle.page.results import Results, Run
from draftproof.oracle.report import Failure
from draftproof.oracle.report_table import table
from draftproof.oracle.report_text import see_again
from draftproof.oracle.verdicts import Verdict


def verdict(outcome: str = "conform", subject: str = "engine:verify", instance: str = "chain-pairs", **more: str) -> Verdict:
    kind, way = more.get("kind", "exactness"), more.get("way", "enumerate")
    return Verdict(subject, instance, kind, outcome, way, 0.25, 1e-6, "what happened", "12 branches")


def test_one_outcome() -> None:
    crash = Failure("engine:verify", "chain-block", "crashed")
    assert Report().outcome == "error"  # nothing judged is no pass
    for verdicts, errors, outcome, code in (
        ([verdict()], [], "conform", 0),
        ([verdict(), verdict("inconclusive")], [], "inconclusive", 3),
        ([verdict("inconclusive"), verdict("nonconform")], [], "nonconform", 1),
        ([verdict("nonconform")], [crash], "error", 2),
    ):
        report = Report(verdicts, errors)
        assert (report.outcome, report.exit_code) == (outcome, code)


def test_json() -> None:
    report = check(chains.always_accepts, [find("chain-one-draft")], seed=3)
    read = json.loads(report.to_json())
    assert read["outcome"] == "nonconform" and read["settings"]["seed"] == 3 and read["draftproof"]
    (exactness,) = (verdict for verdict in read["verdicts"] if verdict["verdict"] == "exactness")
    assert exactness["violation"] == {"prefix": "", "token": 0, "emitted": exactness["violation"]["emitted"], "should_be": "1/2"}
    assert exactness["number"] == pytest.approx(0.3)


def test_text_of_a_failure_and_the_command_it_prints(capfd: pytest.CaptureFixture[str]) -> None:
    name = "draftproof.oracle.faults.chains:residual_is_target"
    text = str(check(name, [find("chain-one-draft")]))
    sentence = "at the root the next token should be 0 with probability 0.5; it is 0.35"
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == f"nonconform {name}"
    assert "exactness 1 nonconform read by enumerate largest total variation 0.15" in lines
    wrong = lines.index(f"nonconform {name} exactness on chain-one-draft read by enumerate: 12 branches on 3 trees, exact")
    assert lines[wrong + 1].startswith(f"{sentence}; total variation 0.15")
    assert lines[-1] == f"see it again: draftproof law chain-one-draft --subject {name}"
    assert main(shlex.split(text.rpartition("see it again: draftproof ")[2])) == 0
    assert sentence in capfd.readouterr().out


def test_nonconform_hides_what_is_merely_inconclusive() -> None:
    text = str(Report([verdict("nonconform"), verdict("inconclusive", kind="acceptance")]))
    assert "inconclusive   engine" not in text and "nonconform   engine:verify   exactness on chain-pairs" in text
    assert "inconclusive   engine:verify   exactness on chain-pairs and 1 more instance " in str(Report([verdict("inconclusive")] * 2))


def test_see_again() -> None:
    assert see_again(verdict(), {}) == "draftproof law chain-pairs --subject engine:verify"
    sampled = see_again(verdict(way="sample", subject="a b.py:f@block"), {"seed": 4})
    assert sampled == "draftproof law chain-pairs --subject 'a b.py:f@block' --way sample --seed 4"
    assert see_again(verdict(subject="tests:case.<locals>.verify"), {}) is None
    assert see_again(verdict(instance="made on the spot"), {}) is None
    assert see_again(verdict(instance="x" * 100_000), {}) is None and see_again(verdict(instance="\0"), {}) is None


def test_errors_stand_beside_what_was_judged() -> None:
    report = Report([verdict()], [Failure("engine:verify", "chain-block", "crashed: the process died of SIGSEGV")])
    assert "  error        instance chain-block: crashed: the process died of SIGSEGV" in str(report)
    other = Report([verdict(subject="other:verify")])
    report.add(other)
    assert report.subjects == ["engine:verify", "other:verify"] and report.of("other:verify").outcome == "conform"


def test_what_could_not_be_judged_is_said_once_with_a_command() -> None:
    crash = [Failure("engine:verify", name, "raised IndexError") for name in ("chain-block", "chain-pairs", "made up")]
    text = str(Report([], [*crash, Failure("engine:verify", "chain-zero-target", "hung")]))
    assert text.count("raised IndexError") == 1 and "instance chain-block and 2 more instances: raised IndexError" in text
    assert "see it again: draftproof check engine:verify --instance chain-block\n" in text and "chain-zero-target: hung" in text


def test_instances_that_fail_are_listed() -> None:
    names = [f"instance-{number}" for number in range(30)]
    text = str(Report([verdict("nonconform", instance=name) for name in names]))
    assert "exactness on instance-0 and 29 more instances" in text
    assert f"fails on all 30 instances: {', '.join(names[:8])} and 22 more, which --json lists" in text
    assert "fails" not in str(Report([verdict("nonconform")]))


def test_no_line_on_stderr_is_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """What fails is said while the run goes on, once however many instances it is; what is wrong is in the report."""
    subject = "draftproof.oracle.faults.chains:residual_is_target"
    assert main(["check", subject, "--instance", "chain-one-draft", "--instance", "chain-block"]) == 1
    out, err = capsys.readouterr()
    assert err == f"draftproof: nonconform   {subject}   exactness, first on chain-one-draft\n"
    assert out.count("it is 0.35") == 1 and "fails on all 2 instances: chain-one-draft, chain-block\n" in out


def test_table() -> None:
    out = io.StringIO()
    Console(file=out, width=200).print(table(Report([verdict("nonconform"), verdict(subject="other:verify")]), {"engine:verify": "nonconform"}))
    text = out.getvalue()
    assert "verify" in text and "nonconform" in text and "0.25" in text


def test_what_rests_on_sampling_is_said_wherever_it_conforms() -> None:
    read, sampled = verdict(), replace(verdict(way="sample", instance="chain-block"), number=0.015, limit=0.02)
    said = "conform (1 of 2 only to 2e-2, by sampling)"
    report = Report([read, sampled])
    assert str(report).splitlines()[0] == f"{said} engine:verify" and f"2 {said}" in str(report)
    assert said in summary(report).replace("\\", "")
    assert f"C{said[1:]}" in page(Results([Run("report.json", report)]))
    assert b"conform (1 of 1 only to 2e-2, by sampling)" in junit(report)
    assert "by sampling" not in str(Report([read])) and b"by sampling" not in junit(Report([read]))
    wrong = Report([sampled, verdict("nonconform")])
    assert wrong.said == "nonconform" and str(wrong).startswith("nonconform   engine:verify")
