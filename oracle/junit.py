"""A report as JUnit XML, as continuous-integration servers read it: a suite for each subject, a case for each instance and verdict.

The shape is that of Jenkins' junit-10.xsd.  Only what conforms passes: nonconform is a failure, inconclusive is an error as it is for the pytest
plugin, and what was not judged is skipped.
"""

from collections.abc import Iterable
from xml.etree import ElementTree

from .plain_text import plain
from .report import Failure, NotJudged, Report, sampled_only
from .verdicts import Verdict

LONGEST = 20_000

MEANS = {"conform": None, "nonconform": "failure", "inconclusive": "error", "not judged": "skipped"}
"""What an outcome is called; None passes."""


def junit(report: Report) -> bytes:
    """The document, in UTF-8.  Characters that XML has no place for, and those that cannot be seen, are spelled (``plain_text``)."""
    root = ElementTree.Element("testsuites", name="draftproof")
    for subject in report.subjects:
        _suite(root, subject, _cases(report.of(subject)))
    if not report.verdicts and not report.errors:
        _suite(root, "draftproof", [_case("draftproof", "nothing was judged", "error", "error", "nothing was judged: that is never a pass")])
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.attrib[count]) for suite in root)))
    _add_times(root)
    ElementTree.indent(root, " ")
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: ElementTree.Element, name: str, cases: Iterable[ElementTree.Element]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=plain(name))
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{kind}"))))
    _add_times(suite)


def _add_times(whole: ElementTree.Element) -> None:
    """The sum of what is known of the parts."""
    known = [float(part.attrib["time"]) for part in whole if "time" in part.attrib]
    if known:
        whole.set("time", f"{sum(known):.3f}")


def _cases(part: Report) -> Iterable[ElementTree.Element]:
    """Each with its seconds, where the report was just made or comes from a run log; a report read from JSON has none."""
    left = dict(part.seconds)  # what was measured is given once, so that the sums are what the run took
    items: list[Verdict | Failure] = [*part.verdicts, *part.errors, *part.not_judged]
    for item in items:
        case = _of(item) if isinstance(item, Verdict) else _missing(item, "skipped" if isinstance(item, NotJudged) else "error")
        seconds = left.pop((item.subject, item.instance, getattr(item, "verdict", "")), None)
        if seconds is not None:
            case.set("time", f"{seconds:.3f}")
        yield case


def _of(verdict: Verdict) -> ElementTree.Element:
    name = f"{verdict.verdict} on {verdict.instance}"
    case = _case(verdict.subject, name, MEANS[verdict.outcome], verdict.outcome, verdict.message, verdict.effort)
    said = [f"not judged: {what}: {why}" for what, why in verdict.details.get("not judged", {}).items()] + list(verdict.notes)
    if known := sampled_only([verdict]):
        said.append(f"conform{known}; read: {verdict.effort}")
    if said:
        ElementTree.SubElement(case, "system-out").text = plain("\n".join(said), LONGEST, keep="\n")
    return case


def _missing(item: Failure, kind: str) -> ElementTree.Element:
    return _case(item.subject, f"judged on {item.instance or 'any instance'}", kind, kind.replace("skipped", "not judged"), item.message)


def _case(subject: str, name: str, kind: str | None, outcome: str, message: str, effort: str = "") -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=plain(subject), name=plain(name))
    if kind is not None:
        inside = ElementTree.SubElement(case, kind, message=plain(message))
        if kind != "skipped":
            inside.set("type", outcome)
        inside.text = plain(f"{outcome}: {message}" + (f"\nread: {effort}" if effort else ""), LONGEST, keep="\n")
    return case
