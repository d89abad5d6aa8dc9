"""Subjects by verdicts, with a filter; and for each subject its instances by verdicts."""

from collections import Counter
from collections.abc import Sequence

from ..plain_text import plain
from ..report import KINDS, Report
from ..verdicts import Verdict
from .elements import Child, Html, described, details, scrolled, table, tag, text
from .figures import counted, short
from .results import Results
from .summary import MARKS, badge, outcomes, shade

MOST_SUBJECTS = 500
MOST_KINDS = 12
LONGEST_KIND = 24
MOST_INSTANCES = 120
"""Rows of the table of one subject, failures first."""

MOST_CELLS = 12_000
"""Cells of all those tables together; subjects after that have none."""

ORDER = ("error", "nonconform", "inconclusive", "not judged", "conform")


def section(results: Results) -> Html | None:
    """None where there is no report."""
    report = results.report
    if not report.subjects:
        return None
    found = outcomes(report)
    kinds = _kinds(report)
    names = sorted(found, key=lambda subject: ORDER.index(found[subject]))[:MOST_SUBJECTS]
    parts = {name: report.of(name) for name in names}
    left_out = tag("p", f"{len(found) - len(names)} more subjects are in the JSON.") if len(found) > len(names) else None
    rows = [_row(f"subject-{place}", name, found[name], parts[name], kinds) for place, name in enumerate(names)]
    heads = [tag("th", one, scope="col", role="columnheader") for one in ("subject", *map(_short, kinds))]
    head = tag("thead", tag("tr", *heads, role="row"), role="rowgroup")
    caption = tag("caption", "Each subject, and on how many instances each verdict came out how")
    grid = tag("table", caption, head, tag("tbody", *rows, role="rowgroup"), class_="subjects", role="table")
    about: list[Child] = []
    cells = 0
    for place, name in enumerate(names):
        size = min(len({one.instance for one in parts[name].verdicts}), MOST_INSTANCES) * len(kinds)
        cells += size
        about.append(_details(f"subject-{place}", name, found[name], parts[name], kinds if cells <= MOST_CELLS else None))
    return tag(
        "section",
        tag("h2", "Subjects and verdicts", id="subjects"),
        scrolled(grid, "Subjects and verdicts"),
        left_out,
        tag("h3", "Instance by instance"),
        *about,
        aria_labelledby="subjects",
    )


def _kinds(report: Report) -> list[str]:
    """Ours in their order, then any others."""
    seen = dict.fromkeys(verdict.verdict for verdict in report.verdicts)
    return [kind for kind in dict.fromkeys([*KINDS, *seen]) if kind in seen][:MOST_KINDS]


def controls(results: Results) -> Html | None:
    """A filter by outcome, and by a part of the name; the script makes it work, and shows it.  None for fewer than two subjects."""
    counts = Counter(outcomes(results.report).values())
    if counts.total() < 2:
        return None
    said = [("all", f"all {counts.total()}"), *((outcome, f"{counts[outcome]} {outcome}") for outcome in ORDER if counts[outcome])]
    choices = [
        tag("label", tag("input", type="radio", name="outcome", value=value, checked=value == "all"), tag("span", words, class_=f"is-{value}"))
        for value, words in said
    ]
    box = tag("input", type="search", name="subject", autocomplete="off", spellcheck="false")
    search = tag("label", tag("span", "Name contains"), box, class_="search")
    fields = tag("fieldset", tag("legend", "Show"), *choices, search)
    return tag("form", fields, tag("p", role="status", class_="quiet", id="shown"), id="filter", role="search", aria_label="Filter", hidden=True)


def _row(name: str, subject: str, outcome: str, part: Report, kinds: Sequence[str]) -> Html:
    mark = badge(outcome, part.said if outcome == "conform" else None)
    first = tag("th", mark, " ", tag("a", tag("code", text(subject, 120)), href=f"#{name}"), scope="row", role="rowheader")
    cells = [tag("td", _counts(part, kind), data_label=_short(kind), role="cell") for kind in kinds]
    return tag("tr", first, *cells, role="row", data_outcome=outcome, data_subject=plain(subject, 200).lower())


def _short(kind: str) -> str:
    return plain(kind, LONGEST_KIND)


def _counts(part: Report, kind: str) -> Child:
    counts = Counter(verdict.outcome for verdict in part.verdicts if verdict.verdict == kind)
    if not counts:
        return tag("span", "–", class_="quiet")
    said = (tag("span", f"{MARKS[outcome]} {counts[outcome]} {outcome}", class_=f"count {shade(outcome)}") for outcome in ORDER if counts[outcome])
    return tag("span", *said, class_="counts")


def _details(name: str, subject: str, outcome: str, part: Report, kinds: Sequence[str] | None) -> Html:
    """What it declares, errors, what was not judged, boundary notes, and the verdict on every instance."""
    instances = len({verdict.instance for verdict in part.verdicts})
    mark = badge(outcome, part.said if outcome == "conform" else None)
    summary = [mark, " ", tag("code", text(subject, 120), class_="name"), tag("span", f" {counted(instances, 'instance')}", class_="quiet")]
    return details(
        summary,
        _declared(part.about.get(subject, {})),
        _listed("Errors", [f"{one.instance}: {one.message}" if one.instance else one.message for one in part.errors]),
        tag("p", "Its table is left out of this page for size; it is in the JSON.", class_="quiet") if kinds is None else _matrix(part, kinds),
        _listed("Not judged", _unjudged(part)),
        _listed("Boundary notes", [f"{one.instance}: {note}" for one in part.verdicts for note in one.notes]),
        id=name,
        data_outcome=outcome,
        data_subject=plain(subject, 200).lower(),
    )


def _declared(about: dict[str, object]) -> Html | None:
    """What the subject says of itself, and where it is."""
    said = {key: ", ".join(map(str, value)) if isinstance(value, list) else value for key, value in about.items() if key not in ("file", "line")}
    where = [("defined in", tag("code", f"{plain(about['file'], 200)}:{about.get('line', 1)}"))] if "file" in about else []
    terms = [*where, *((plain(key, 40), text(value, 120)) for key, value in list(said.items())[:20])]
    return described(terms, class_="terms columns") if terms else None


def _unjudged(part: Report) -> list[str]:
    out = dict.fromkeys(f"{item.instance}: {item.message}" for item in part.not_judged)
    for verdict in part.verdicts:
        left = verdict.details.get("not judged", {})
        out |= dict.fromkeys(f"{what}: {why}" for what, why in left.items())
    return list(out)


def _listed(heading: str, messages: Sequence[str], most: int = 8) -> Html | None:
    if not messages:
        return None
    rest = f"and {len(messages) - most} more" if len(messages) > most else None
    items = [tag("li", text(message, 300)) for message in messages[:most]]
    return tag("div", tag("h4", heading), tag("ul", *items, tag("li", rest) if rest else None))


def _matrix(part: Report, kinds: Sequence[str]) -> Html | None:
    """Instances by verdicts: the mark and the number that decided it."""
    rows: dict[str, dict[str, Verdict]] = {}
    for verdict in part.verdicts:
        rows.setdefault(verdict.instance, {})[verdict.verdict] = verdict
    if not rows:
        return None
    own = [kind for kind in kinds if any(kind in found for found in rows.values())]
    names = sorted(rows, key=lambda name: min(ORDER.index(one.outcome) for one in rows[name].values()))
    listed = [[tag("code", text(name, 100)), *(_cell(rows[name].get(kind)) for kind in own)] for name in names[:MOST_INSTANCES]]
    more = None
    if hidden := names[MOST_INSTANCES:]:
        wrong = sum(any(one.outcome != "conform" for one in rows[name].values()) for name in hidden)
        more = tag("p", f"{counted(len(hidden), 'more instance')} ({wrong} of them not conform) in the JSON.")
    marks = ", ".join(f"{mark} {outcome}" for outcome, mark in MARKS.items() if outcome != "error")
    grid = table(f"Verdicts, each with the number that decided it ({marks})", ["instance", *map(_short, own)], listed, class_="matrix")
    return Html(grid + (more or ""))


def _cell(verdict: Verdict | None) -> Child:
    if verdict is None:
        return ""
    said = f"{MARKS[verdict.outcome]} {short(verdict.number, 3)}"
    return said if verdict.outcome == "conform" else tag("b", said, class_=shade(verdict.outcome))


