"""JUnit XML: its shape, and that nothing passes but what conforms."""

from collections import Counter
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import pytest

from draftproof.oracle import Report, chain, check, junit
from draftproof.oracle.faults import chains
from draftproof.oracle.page.results import of
from draftproof.oracle.report import Failure, NotJudged
from draftproof.oracle.verdicts import Verdict

from .reports import hostile, ordinary

SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped"}, {"time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"time"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"time"}, {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set(), set()),
    "error": ({"message", "type"}, set(), set()),
    "skipped": ({"message"}, set(), set()),
    "system-out": (set(), set(), set()),
}
"""Of the elements that we write: attributes that are needed in Jenkins' junit-10.xsd or always written by us, those that may be missing, children."""


def faults(document: bytes, report: Report) -> list[str]:
    """What is wrong with a document about ``report``."""
    root = ElementTree.fromstring(document)
    found = [fault for element in root.iter() for fault in _of_element(element)]
    for suite in [root, *root]:
        cases = list(suite.iter("testcase"))
        counted = {"tests": len(cases)} | {f"{kind}s": sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error")}
        counted["skipped"] = sum(case.find("skipped") is not None for case in cases)
        found += [f"{name} of {suite.tag}" for name, count in counted.items() if suite.get(name) != str(count)]
    passed = Counter(case.get("classname") for case in root.iter("testcase") if _result(case) == "passed")
    right = Counter(junit.plain(verdict.subject) for verdict in report.verdicts if verdict.outcome == "conform")
    found += [f"passed {passed}, conform {right}"] * (passed != right)
    wanted = len(report.verdicts) + len(report.errors) + len(report.not_judged)
    found += ["cases missing"] * (len(list(root.iter("testcase"))) != max(wanted, 1))
    wrong = {"nonconform": "failure", "inconclusive": "error", "not judged": "skipped"}
    for verdict in report.verdicts:
        if verdict.outcome in wrong:
            name = junit.plain(f"{verdict.verdict} on {verdict.instance}")
            results = {_result(case) for case in root.iter("testcase") if case.get("name") == name}
            found += [f"{verdict.outcome} is {results}"] * (wrong[verdict.outcome] not in results)
    found += ["a report that is no pass has only passes"] * (report.outcome != "conform" and passed.total() == len(list(root.iter("testcase"))))
    return found


def _of_element(element: ElementTree.Element) -> Iterable[str]:
    if element.tag not in SHAPE:
        return [f"element {element.tag}"]
    attributes, optional, children = SHAPE[element.tag]
    odd = [f"{name} of {element.tag}" for name in set(element.attrib) - optional ^ attributes]
    return odd + [f"{child.tag} in {element.tag}" for child in element if child.tag not in children]


def _result(case: ElementTree.Element) -> str:
    found = [kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None]
    return found[0] if found else "passed"


def of_every_kind() -> Report:
    outcomes = ("conform", "nonconform", "inconclusive", "not judged")
    report = Report([Verdict("engine:verify", f"i-{one}", "exactness", one, "sample", 0.1, 0.02, f"is {one}", "9 blocks") for one in outcomes])
    report.put(Failure("engine:verify", "chain-block", "crashed"))
    report.put(NotJudged("engine:verify", "tree-siblings", "it takes chains"))
    return report


@pytest.mark.parametrize("report", [of_every_kind(), ordinary(), hostile(), Report()], ids=["every kind", "ordinary", "hostile", "nothing"])
def test_shape(report: Report) -> None:
    assert faults(junit.junit(report), report) == []


def test_a_report_of_nothing_is_an_error_and_only_unsuited_instances_are_no_pass() -> None:
    root = ElementTree.fromstring(junit.junit(Report()))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    unsuited = ElementTree.fromstring(junit.junit(Report(not_judged=[NotJudged("engine:verify", "tree-siblings", "it takes chains")])))
    assert (unsuited.get("tests"), unsuited.get("errors"), unsuited.get("skipped")) == ("2", "1", "1")


def untimely(document: bytes, report: Report) -> list[str]:
    """What is wrong with the times of a document about ``report``."""
    root = ElementTree.fromstring(document)
    cases = list(root.iter("testcase"))
    found = [f"time of {suite.get('name')}" for suite in root if abs(float(suite.get("time", -1)) - _total(suite.iter("testcase"))) > 1e-9]
    found += ["time of testsuites"] * (abs(float(root.get("time", -1)) - _total(cases)) > 1e-9)
    found += ["time is missing"] * (sum("time" in case.attrib for case in cases) != len(report.seconds))
    return found + ["the sum"] * (abs(_total(cases) - sum(report.seconds.values())) > 1e-3 * len(cases))


def _total(cases: Iterable[ElementTree.Element]) -> float:
    return sum(float(case.get("time", 0)) for case in cases)


def test_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a report just made; one that was read from JSON has none, and says none."""
    report = check(chains.stops_at_once, ["chain-one-draft", "chain-block"])
    report.add(check(_crashes, ["chain-block"]))
    assert untimely(junit.junit(of(report).report), report) == [] and len(report.seconds) == 9 and all(report.seconds.values())
    assert b"time=" not in junit.junit(Report.from_dict(report.as_dict()))
    assert "the sum" in untimely(junit.junit(report), Report(seconds={**report.seconds, ("", "", ""): 1.0}))
    monkeypatch.setattr(junit, "_add_times", lambda whole: whole.set("time", "0"))
    assert untimely(junit.junit(report), report)[-1] == "time of testsuites"


@chain(framework="numpy", batched=False)
def _crashes(drafts: Any, declared: Any, target: Any) -> Any:
    raise IndexError


def test_words() -> None:
    text = junit.junit(ordinary()).decode()
    assert "at the root the next token should be 0 with probability 0.5; it is 0.35; total variation 0.15" in text
    assert 'type="nonconform"' in text and 'type="inconclusive"' in text and "SIGSEGV" in text


@pytest.mark.parametrize("outcome", ["nonconform", "inconclusive", "not judged"])
def test_a_wrong_mapping_is_found(outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(junit.MEANS, outcome, None)
    assert faults(junit.junit(of_every_kind()), of_every_kind()) != []


def test_a_lost_error_is_found() -> None:
    report = of_every_kind()
    assert faults(junit.junit(Report(report.verdicts, [], {}, report.not_judged)), report) != []


def test_characters_that_xml_has_no_place_for_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "plain", lambda text, most=2000, keep="": str(text)[:most])
    with pytest.raises((ElementTree.ParseError, UnicodeEncodeError)):
        faults(junit.junit(hostile()), hostile())
