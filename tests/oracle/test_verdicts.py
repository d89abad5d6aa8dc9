"""Verdicts from a law that was read."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.reading import Reading
from draftproof.oracle.subjects import Subject
from draftproof.oracle.verdicts import Verdict, apart, judge

F = Fraction
LOSSLESS = {(0,): F(3, 5), (1,): F(3, 10), (2,): F(1, 10)}
"""On chain-ngram (target .6 .3 .1, draft 0): one token a round."""


def verdicts(law: dict[tuple[int, ...], Fraction], strict: bool = False, tolerance: float | None = None, **more: Any) -> dict[str, Verdict]:
    declares = {key: more.pop(key) for key in ("family", "claims", "dtype") if key in more}
    case = Case(Subject(print, "s", dtype=declares.pop("dtype", "float64"), **declares), find(more.pop("instance", "chain-ngram")))
    return {verdict.verdict: verdict for verdict in judge(case, Reading(more.pop("way", "enumerate"), law, **more), tolerance, strict)}


def outcomes(found: dict[str, Verdict]) -> tuple[str, str, str]:
    return found["support"].outcome, found["exactness"].outcome, found["acceptance"].outcome


def test_lossless() -> None:
    found = verdicts(LOSSLESS)
    assert outcomes(found) == ("conform", "conform", "conform")
    assert found["acceptance"].message.startswith("E[L] = 1; ") and "1.6" in found["acceptance"].message


def test_first_violation_is_the_shortest_then_the_first_token() -> None:
    law = {(0, 0): F(1, 25), (0, 1): F(13, 25), (0, 2): F(1, 25), (1,): F(3, 10), (2,): F(1, 10)}  # after "0": .1 .2 .7
    found = verdicts(law)["exactness"]
    assert found.outcome == "nonconform" and found.violation is not None
    assert (found.violation["prefix"], found.violation["token"]) == ("0", 0)
    assert Fraction(found.violation["emitted"]) == F(1, 15)
    assert found.message.startswith('after "0" the next token should be 0 with probability 0.1; it is 0.0666667; total variation 0.4')


def test_impossible_tokens() -> None:
    law = {(1, 1): F(2, 5) - F(1, 1000), (1, 0): F(1, 1000), (2,): F(3, 5)}
    found = verdicts(law, instance="chain-zero-target")
    assert found["support"].outcome == "nonconform"
    assert found["support"].message == 'after "1" it emits 1, which the target cannot, with probability 0.399'
    edge = {(1,): F(2, 5) - F(1, 1 << 24), (2,): F(3, 5), (0,): F(1, 1 << 24)}
    found = verdicts(edge, instance="chain-zero-target")
    assert outcomes(found)[:2] == ("conform", "conform")
    assert found["support"].notes == ("at the root it emits 0, which the target cannot, with probability 5.96046e-08",)
    assert verdicts(edge, instance="chain-zero-target", strict=True)["support"].outcome == "nonconform"


def test_failures_at_the_boundary_are_notes() -> None:
    law = {(0,): F(3, 5) - F(1, 1 << 24), (1,): F(3, 10), (2,): F(1, 10)}
    failures = {"raised ValueError: nan (engine.py:3, in verify)": F(1, 1 << 24)}
    found = verdicts(law, failures=failures)
    assert outcomes(found)[:2] == ("conform", "conform")
    assert found["support"].notes == ("with probability 5.96046e-08 it raised ValueError: nan (engine.py:3, in verify)",)
    strict = verdicts(law, failures=failures, strict=True, tolerance=0)
    assert outcomes(strict)[:2] == ("nonconform", "nonconform")
    assert strict["exactness"].message.endswith("; with probability 5.96046e-08 it emits nothing")


def test_resolution_decides_between_yes_no_and_do_not_know() -> None:
    off = {(0,): F(3, 5) + F(1, 10**5), (1,): F(3, 10) - F(1, 10**5), (2,): F(1, 10)}
    known = F(1, 10**4)
    expected = {(F(0), 1e-6): "nonconform", (F(0), 1e-4): "conform", (known, 1e-6): "inconclusive", (known, 1e-3): "conform"}
    for (resolution, tolerance), outcome in expected.items():
        found = verdicts(off, way="integrate", resolution=resolution, tolerance=tolerance)["exactness"]
        assert found.outcome == outcome, found
    said = verdicts(off, way="bracket", resolution=F(1, 10**4))["exactness"].message
    assert "is known to within 0.0001 only: not told apart from the tolerance 1e-06" in said


def test_acceptance_against_the_family_and_the_bound() -> None:
    best = {(0, 0): F(3, 50), (0, 1): F(3, 25), (0, 2): F(21, 50), (1,): F(3, 10), (2,): F(1, 10)}
    found = verdicts(best, family="token")["acceptance"]
    assert found.message.startswith("E[L] = 1.6, and 1.6 is what recursive_rejection has here; ")
    assert found.message.endswith("no lossless verifier has more")
    found = verdicts(LOSSLESS, family="token")["acceptance"]
    assert found.outcome == "nonconform" and found.message == "E[L] = 1: it accepts less than 1.6, what recursive_rejection has here"
    for claims, outcome in ((("optimal_on_fixed_trees",), "nonconform"), (("optimal_on_chains",), "nonconform"), (("lossless",), "conform")):
        found = verdicts(LOSSLESS, claims=claims)["acceptance"]
        assert found.outcome == outcome
    assert "it accepts less than 1.6, which it claims to reach" in verdicts(LOSSLESS, claims=("optimal_on_chains",))["acceptance"].message
    fair = {(0,): F(4, 10), (1,): F(3, 10), (2,): F(2, 10), (3,): F(1, 10)}
    assert verdicts(fair, instance="tree-siblings", claims=("optimal_on_chains",))["acceptance"].outcome == "conform"  # no chain


def test_more_than_any_lossless_verifier_is_lossy() -> None:
    always = {(0, 2): F(1)}
    found = verdicts(always)["acceptance"]
    assert found.outcome == "nonconform" and found.message == "E[L] = 2: above 1.6, which no lossless verifier exceeds, so it is lossy"
    lossy = verdicts(always, claims=("lossy",))
    assert outcomes(lossy) == ("conform", "conform", "conform")
    assert lossy["exactness"].message == "lossy, as its author says: total variation 0.58"


def test_many_small_breaks_are_one_large_one() -> None:
    """No equality is broken by more than the tolerance, but the total variation is."""
    law = {(0,): F(3, 5) + F(8, 10**5), (1,): F(3, 10) - F(4, 10**5), (2,): F(1, 10) - F(4, 10**5)}
    found = verdicts(law, tolerance=7.9e-5)["exactness"]
    assert found.outcome == "nonconform" and found.violation is not None
    law = {(0,): F(3, 5) + F(4, 10**5), (1,): F(3, 10) - F(2, 10**5), (2,): F(1, 10) - F(2, 10**5)}
    assert verdicts(law, tolerance=5e-5)["exactness"].outcome == "conform"


def test_numbers_are_told_apart() -> None:
    assert apart(F(1, 3), F(1, 3) + F(1, 10**9)) == ["0.333333333", "0.333333334"]
    assert apart(0.5, 0.25) == ["0.5", "0.25"] and apart(0.1, 0.1) == ["0.1", "0.1"]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rounded_rows_are_the_measure(dtype: str) -> None:
    """The law of the numbers handed over is exact; the law of the numbers before rounding is not."""
    case = Case(Subject(print, "s", dtype=dtype), find("chain-ngram"))
    handed = {(token,): Fraction(str(case.target(())[token])) for token in range(3)}
    assert verdicts(handed, dtype=dtype, tolerance=0)["exactness"].number == 0
    assert verdicts(LOSSLESS, dtype=dtype, tolerance=0)["exactness"].outcome == "nonconform"
