"""A report as GitHub Actions shows it: a workflow command for each finding, at the line where the subject is defined, and a summary in Markdown."""

import os
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from .plain_text import plain
from .report import KINDS, Failure, Report
from .report_text import AGAIN, errors, findings, see_again
from .verdicts import Verdict

LEVELS = {"nonconform": "error", "error": "error", "inconclusive": "warning"}
MOST_ROWS = 200
MOST_FINDINGS = 50
LARGEST = 1 << 19
"""Bytes of a summary; GitHub takes twice as many for a step, and drops what is larger."""


def annotations(report: Report) -> list[str]:
    """``::error file=...,line=...,title=...::message`` lines, the worst first, since GitHub shows ten of each level for a step."""
    found = list[tuple[str, str]]()
    for subject in report.subjects:
        part = report.of(subject)
        place = _place(part.about.get(subject, {}))
        for failed in errors(part):
            title = f"draftproof: {subject} could not be judged"
            found.append(("error", command("error", {**place, "title": title}, _said(failed[0], len(failed) - 1, part))))
        for first, group in findings(part):
            message = _said(first, len(group) - 1, part)
            title = f"draftproof: {first.verdict} of {subject} is {first.outcome}"
            found.append((first.outcome, command(LEVELS[first.outcome], {**place, "title": title}, message)))
    if not report.verdicts and not report.errors:
        found.append(("error", command("error", {"title": "draftproof"}, "nothing was judged")))
    return [line for _, line in sorted(found, key=lambda one: list(LEVELS).index(one[0]))]


def command(name: str, properties: Mapping[str, Any], message: str) -> str:
    """A workflow command, on one line whatever is in it.

    Escapes as the runner undoes them: ``%``, carriage return and line feed everywhere, ``:`` and ``,`` in properties too (actions/toolkit,
    packages/core/src/command.ts).
    """
    told = ",".join(f"{key}={_escaped(plain(value, 500)).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items())
    return f"::{name} {told}::{_escaped(plain(message, keep=chr(10)))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _said(first: Verdict | Failure, others: int, part: Report) -> str:
    more = f"\nand {others} more instance{'s' * (others > 1)}" if others else ""
    again = see_again(first, part.settings)
    where = f"on {first.instance}: " if first.instance else ""
    return where + first.message + more + (f"\n{AGAIN}{again}" if again else "")


def _place(about: Mapping[str, Any]) -> dict[str, Any]:
    """File, as GitHub names it, and line, where the file is one of the checkout.  Names only: nothing is looked up."""
    if not about.get("file"):
        return {}
    here = os.getcwd()
    try:
        file = os.path.relpath(os.path.join(here, str(about["file"])), os.environ.get("GITHUB_WORKSPACE") or here)
    except ValueError:  # on another drive
        return {}
    return {} if file.startswith(os.pardir) else {"file": file.replace(os.sep, "/"), "line": about.get("line", 1)}


def summary(report: Report) -> str:
    """Markdown: the outcome, a table of subjects by verdicts, and each finding."""
    kinds = [kind for kind in KINDS if any(verdict.verdict == kind for verdict in report.verdicts)]
    rows = [f"## draftproof: {report.said}", "", _line("subject", "outcome", *kinds), "|---" * (len(kinds) + 2) + "|"]
    for subject in report.subjects[:MOST_ROWS]:
        part = report.of(subject)
        rows.append(_line(markdown(subject), part.said, *(_counts(part, kind) for kind in kinds)))
    if len(report.subjects) > MOST_ROWS:
        rows.append(f"\n{len(report.subjects) - MOST_ROWS} more subjects are in the report.")
    told = [line for subject in report.subjects for line in _told(report.of(subject))]
    rows += ["", *told[:MOST_FINDINGS]]
    if len(told) > MOST_FINDINGS:
        rows.append(f"\n{len(told) - MOST_FINDINGS} more findings are in the report.")
    whole = "\n".join(rows) + "\n"
    return whole if len(whole.encode()) <= LARGEST else whole.encode()[:LARGEST].decode(errors="ignore") + "\n\n(cut here)\n"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _counts(part: Report, kind: str) -> str:
    outcomes = [verdict.outcome for verdict in part.verdicts if verdict.verdict == kind]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes)) or "–"


def _told(part: Report) -> Iterable[str]:
    items: list[Verdict | Failure] = [*(found[0] for found in islice(errors(part), 5)), *(first for first, _ in findings(part))]
    for one in items:
        outcome, kind = (one.outcome, one.verdict) if isinstance(one, Verdict) else ("error", "not judged")
        yield f"- **{outcome}** {markdown(one.subject)}, {markdown(kind)} on {markdown(one.instance or 'no instance')}: {markdown(one.message)}"


def markdown(text: str) -> str:
    """As text: nothing in it is markup, a mention, or the end of a cell."""
    told = re.sub(r"([\\`*_{}\[\]()#+!|<>~@$:-])", r"\\\1", plain(text, 500).replace("&", "&amp;"))
    return told.replace(r"\<", "&lt;").replace(r"\>", "&gt;").replace(r"\@", "&#64;")
