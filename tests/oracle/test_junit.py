"""JUnit XML: its shape, and that nothing passes but what conforms."""

from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree

import pytest

from draftproof.oracle import Report, junit
from draftproof.oracle.report import Failure, NotJudged
from draftproof.oracle.verdicts import Verdict

from .reports import hostile, ordinary

SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped"}, set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, set(), {"testcase"}),
    "testcase": ({"name", "classname", "time"}, set(), {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set(), set()),
    "error": ({"message", "type"}, set(), set()),
    "skipped": ({"message"}, set(), set()),
    "system-out": (set(), set(), set()),
}
"""Of the elements that we write: attributes, which are all needed in Jenkins' junit-10.xsd or always written by us, and children."""


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
    attributes, _, children = SHAPE[element.tag]
    odd = [f"{name} of {element.tag}" for name in set(element.attrib) ^ attributes]
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
