"""A run is a list of work items, folded by addition: what goes wrong costs its item, and neither order nor repetition matters."""

import time
from collections.abc import Iterator
from dataclasses import replace
from math import nan
from typing import Any

import pytest

from draftproof.oracle.budget import judge_rule
from draftproof.oracle.builders import BudgetRule
from draftproof.oracle.items import Fold, Item, Plan
from draftproof.oracle.readings.refused import Refused
from draftproof.oracle.report import Failure, Report
from draftproof.oracle.subjects import SubjectError
from draftproof.oracle.verdicts import Verdict


def verdict(instance: str) -> Verdict:
    return Verdict("subject", instance, "budget", "conform", "compare", 0.0, 0.0, "")


def test_failures_cost_their_instance_only() -> None:
    def fails(error: BaseException) -> Any:
        def verdicts() -> Iterator[Verdict]:
            yield verdict("half")
            raise error

        return verdicts

    seen: list[str] = []
    errors = (SubjectError("nonsense"), Refused("no"), ValueError("bad"), MemoryError("Unable to allocate 86.0 GiB"), GeneratorExit())
    work = [*((type(error).__name__, fails(error)) for error in errors), ("fine", lambda: [verdict("fine")])]
    items = [Item(f"subject {number // 2}", *one) for number, one in enumerate(work)]
    report = Plan(items, {"seed": 3}, 10.0).run(lambda name, done, total: seen.append(f"{name} {done}/{total}"))
    line = fails(errors[0]).__code__.co_firstlineno + 2
    memory = f"ran out of memory: Unable to allocate 86.0 GiB (test_items.py:{line}, in verdicts)"
    said = ["nonsense", "no", "raised ValueError: bad", memory, "raised GeneratorExit: "]
    assert [failure.message for failure in report.errors] == said
    assert len(report.verdicts) == 6 and report.outcome == "error" and report.settings == {"seed": 3}
    assert seen[0] == "subject 0 on SubjectError 0/6" and seen[-1] == "subject 2 on fine 5/6"


def test_a_hang_is_an_error_and_nothing_more_is_asked() -> None:
    """Of that subject in this process: it was interrupted in its middle, in the import of a library for instance."""
    found: list[Any] = []

    def hangs() -> list[Verdict]:
        while True:
            try:
                time.sleep(60)
            except Exception:  # a subject's own safety net
                pass

    start = time.monotonic()
    items = [Item("subject", "a", lambda: [verdict("a")]), Item("subject", "b", hangs), Item("subject", "c", hangs)]
    report = Plan([*items, Item("another", "d", lambda: [verdict("d")])], {}, 0.3).run(record=found.append)
    assert time.monotonic() - start < 5
    (failure,) = report.errors
    assert failure.instance == "b"
    assert failure.message == "did not come back within the time limit of 0.3 s; nothing more is asked of it"
    assert [(one.instance, one.message) for one in report.not_judged] == [("c", "not tried: the subject did not come back before")]
    assert found == [report.verdicts[0], failure, report.verdicts[1]] and [one.instance for one in report.verdicts] == ["a", "d"]


def test_the_keyboard_interrupts() -> None:
    def interrupted() -> list[Verdict]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Plan([Item("subject", "a", interrupted)], {}, 1.0).run()


NAMES = [("one", str(number)) for number in range(6)] + [("two", "0"), ("two", "1")]


def finds(number: int, bad: set[int] = frozenset({1, 3, 4}), wrong: int = 6) -> Report:  # type: ignore[assignment]
    subject, instance = NAMES[number]
    if number in bad:
        return Report(errors=[Failure(subject, instance, "no")])
    return Report([replace(verdict(instance), subject=subject, outcome="nonconform" if number == wrong else "conform")])


@pytest.mark.parametrize("fail_fast", [False, True])
def test_order_and_repetition_do_not_matter(fail_fast: bool) -> None:
    """A subject ends with its third failure, a fail-fast run with the first nonconform item, whenever these are found."""
    reports = list[Any]()
    for order in (range(8), reversed(range(8)), [4, 4, 6, 0, 5, 7, 1, 3, 2, 2], [7, 3, 6, 4, 1, 2, 0]):
        fold = Fold(NAMES, {}, fail_fast)
        for number in order:
            fold.add(number, finds(number))
            fold.add(number, Report())  # said again, it counts once
        reports.append(fold.report())
        assert not list(fold.wanted())
    assert all(report == reports[0] for report in reports)
    judged = [(one.subject, one.instance) for one in (*reports[0].verdicts, *reports[0].errors)]
    assert judged == [("one", "0"), ("one", "2"), ("two", "0"), *([] if fail_fast else [("two", "1")]), ("one", "1"), ("one", "3"), ("one", "4")]


def test_what_is_no_longer_wanted() -> None:
    fold = Fold(NAMES, {}, fail_fast=True)
    for number in (4, 1):
        fold.add(number, finds(number))
    assert list(fold.wanted()) == [0, 2, 3, 5, 6, 7] and fold.progress() == (2, 8)
    fold.add(3, finds(3))
    assert list(fold.wanted()) == [0, 2, 6, 7] and fold.progress() == (3, 7)  # three failures: 5 will not be asked for
    fold.add(6, finds(6))
    assert list(fold.wanted()) == [0, 2] and fold.progress() == (4, 6)


@pytest.mark.parametrize(
    ("settings", "time_limit", "said"),
    [
        ({"alpha": 0}, 1, r"alpha must be in \(0, 1\), not 0"),
        ({"alpha": nan}, 1, r"alpha must be in \(0, 1\), not nan"),
        ({"tolerance": nan}, 1, r"tolerance must be in \[0, 1\), not nan"),
        ({"tolerance": -1}, 1, r"tolerance must be in \[0, 1\), not -1"),
        ({"tolerance": 1}, 1, r"tolerance must be in \[0, 1\), not 1"),
        ({}, 0, "the time limit must be positive, not 0"),
        ({}, nan, "the time limit must be positive, not nan"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], time_limit: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Plan([], settings, time_limit)


def test_no_tolerance_lets_everything_pass() -> None:
    """Nothing is more than NaN."""
    with pytest.raises(ValueError, match=r"tolerance must be in \[0, 1\), not nan"):
        judge_rule(BudgetRule(lambda *_: [0], "zero", framework="numpy"), tolerance=nan)


def test_instances_that_were_not_tried_are_said() -> None:
    """After three errors: a report of which the others were missing would look as if all had been judged."""

    def fails() -> list[Verdict]:
        raise ValueError("no")

    items = [Item("subject", name, fails) for name in "abc"] + [Item("subject", name, lambda: [verdict("d")]) for name in "de"]
    report = Plan(items, {}, 60).run()
    assert [one.instance for one in report.errors] == ["a", "b", "c"] and not report.verdicts
    assert [one.instance for one in report.not_judged] == ["d", "e"]
    assert "not judged   2 instances not tried: the subject could not be judged on 3 instances before" in str(report)
