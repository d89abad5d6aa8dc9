"""What goes wrong in a subject costs its instance, and what was found before is kept."""

import time
from collections.abc import Iterator
from math import nan
from typing import Any

import pytest

from draftproof.oracle.budget import judge_rule
from draftproof.oracle.builders import BudgetRule
from draftproof.oracle.one_by_one import one_by_one
from draftproof.oracle.readings.refused import Refused
from draftproof.oracle.subjects import SubjectError
from draftproof.oracle.verdicts import Verdict


def verdict(instance: str) -> Verdict:
    return Verdict("subject", instance, "budget", "conform", "compare", 0.0, 0.0, "")


def test_failures_cost_their_instance_only() -> None:
    def fails(error: Exception) -> Any:
        def verdicts() -> Iterator[Verdict]:
            yield verdict("half")
            raise error

        return verdicts

    seen: list[str] = []
    errors = (SubjectError("nonsense"), Refused("no"), ValueError("bad"), MemoryError())
    work = [*((type(error).__name__, fails(error)) for error in errors), ("fine", lambda: [verdict("fine")])]
    report = one_by_one("subject", work, {"seed": 3}, 10.0, lambda name, done, total: seen.append(f"{name} {done}/{total}"))
    assert [failure.message for failure in report.errors] == ["nonsense", "no", "raised ValueError: bad", "raised MemoryError: "]
    assert len(report.verdicts) == 5 and report.outcome == "error" and report.settings == {"seed": 3}
    assert seen[0] == "subject on SubjectError 0/5" and seen[-1] == "subject on fine 4/5"


def test_a_hang_is_an_error_and_nothing_more_is_asked() -> None:
    found: list[Any] = []

    def hangs() -> list[Verdict]:
        while True:
            try:
                time.sleep(60)
            except Exception:  # a subject's own safety net
                pass

    start = time.monotonic()
    report = one_by_one("subject", [("a", lambda: [verdict("a")]), ("b", hangs), ("c", hangs)], {}, 0.3, record=found.append)
    assert time.monotonic() - start < 5
    (failure,) = report.errors
    assert failure.instance == "b" and "did not come back within the time limit of 0.3 s" in failure.message
    assert found == [*report.verdicts, failure] and len(report.verdicts) == 1


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
        one_by_one("subject", [], settings, time_limit)


def test_no_tolerance_lets_everything_pass() -> None:
    """Nothing is more than NaN."""
    with pytest.raises(ValueError, match=r"tolerance must be in \[0, 1\), not nan"):
        judge_rule(BudgetRule(lambda *_: [0], "zero", framework="numpy"), tolerance=nan)
