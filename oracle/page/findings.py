"""What is wrong: for every failure what happened, where, how sure that is, and how to see it again, with pictures and the smallest instance."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ..drawing import Drawing
from ..pattern import described as described_pattern
from ..plain_text import plain
from ..report import KINDS, LIFTED, Failure, Report
from ..report_text import errors, findings, purpose, see_again
from ..verdicts import Verdict
from . import pictures
from .elements import Child, Html, code, described, details, scrolled, table, tag, text
from .exits import NoPicture, exits
from .figures import counted, percent, short
from .results import Results
from .summary import badge

MOST = 60
"""Findings that are told in full; of more, the first of every subject come first, and the rest is in the tables below."""

MOST_OPEN = 5
"""Findings that are shown in full at first."""

MOST_ERRORS = 5
"""Messages of one subject that could not be judged."""

MOST_LISTED = 100
"""Instances and errors that are listed."""

SURE = {
    "enumerate": "Exact: every branch of the unmodified code was replayed.",
    "bracket": "Exact to the resolution stated: it was held against the reference on both sides of every threshold.",
    "integrate": "Exact to the resolution stated: its answer was integrated over the uniforms it takes.",
    "rerun": "Seen: the same rows with the same randomness gave other blocks.",
    "sweep": "Exact to the resolution stated: every uniform of the grid went through one decision.",
    "implied law": "Estimated from tokens whose exact intervals of the uniform were found by bisection.",
    "compare": "Exact: compared with the best choice on the numbers it was given.",
    "exact": "Exact: computed in rational arithmetic.",
}


def section(results: Results) -> Html | None:
    """All findings, the telling ones first; None where there are none."""
    told = list[tuple[tuple[bool, bool], Verdict | Failure, Sequence[Verdict | Failure], Report]]()
    for run in results.runs:
        for subject in run.report.subjects:
            part = run.report.of(subject)
            items: list[tuple[Verdict | Failure, Sequence[Verdict | Failure]]] = [*_errors(part), *findings(part)]
            for place, (first, found) in enumerate(items):
                told.append(((bool(place), getattr(first, "outcome", "error") == "inconclusive"), first, found, part))
    if not told:
        return None
    told.sort(key=lambda one: one[0])
    boxes = [_finding(f"finding-{place}", first, found, part, place < MOST_OPEN) for place, (_, first, found, part) in enumerate(told[:MOST])]
    left_out = tag("p", f"{len(told) - MOST} more are in the tables below.") if len(told) > MOST else None
    return tag("section", tag("h2", "What is wrong", id="wrong"), *boxes, left_out, aria_labelledby="wrong")


def _errors(part: Report) -> Iterable[tuple[Failure, Sequence[Failure]]]:
    """The first error of every message."""
    for found in islice(errors(part), MOST_ERRORS):
        yield found[0], found


def _finding(name: str, first: Verdict | Failure, found: Sequence[Verdict | Failure], part: Report, in_full: bool) -> Html:
    """A box; what happened is always seen, the rest opens where it is not shown ``in_full``."""
    outcome = first.outcome if isinstance(first, Verdict) else "error"
    kind = first.verdict if isinstance(first, Verdict) else "not judged"
    heading = tag("h3", badge(outcome), " ", tag("code", text(first.subject, 120), class_="name"), tag("span", f" {plain(kind, 40)}", class_="kind"))
    what = tag("p", text(first.message or "no message", 600), class_="what")
    body: list[Child] = [_facts(first, found, part)]
    if isinstance(first, Verdict):
        shrunk = next((one for one in part.shrunk if one["verdict"]["verdict"] == first.verdict), None)
        drawn = _drawn(name, first, part)
        if shrunk:
            body.append(_shrunk(name, shrunk))
            drawn = details(["The same on ", tag("code", text(first.instance, 80))], drawn) if drawn else None
        body += [drawn, _others(found), _instance(first.instance, part)]
    rest = body if in_full else [details("Where, how sure, and how to see it again", *body)]
    return tag("article", heading, what, *rest, id=name, data_outcome=outcome, data_subject=plain(first.subject, 200).lower())


def _facts(first: Verdict | Failure, found: Sequence[Verdict | Failure], part: Report) -> Html:
    where: list[Child] = [tag("code", text(first.instance, 120)) if first.instance else "before the first instance"]
    others = len(found) - 1
    if others > 0:
        where.append(f" and {counted(others, 'more instance')}")
    if isinstance(first, Verdict) and first.violation:
        prefix = plain(first.violation["prefix"], 120)
        where.append([", after ", tag("code", prefix)] if prefix else ", at the root")
    again = see_again(first, part.settings)
    of_verdict = [one for one in found if isinstance(one, Verdict)]
    return described(
        [
            ("Where", where),
            ("Pattern", [tag("p", text(line, 600)) for line in described_pattern(part, of_verdict)] if of_verdict else None),
            ("How sure", _sure(first, part.settings) if isinstance(first, Verdict) else None),
            ("See it again", code(plain(again, 1000), "the command") if again else None),
            ("The instance", text(purpose(first.instance))),
            ("Defined in", _place(part.about.get(first.subject, {}))),
        ],
        class_="facts",
    )


def _sure(verdict: Verdict, settings: Mapping[str, Any]) -> Child:
    if verdict.outcome == "inconclusive":
        said = "Not decided."
    elif verdict.way == "sample":
        said = f"A subject that is right would be rejected with probability at most {plain(settings.get('alpha', 1e-6), 20)} in the whole run."
    else:
        said = SURE.get(verdict.way, "")
    held = ""
    if verdict.number is not None:
        what = KINDS.get(verdict.verdict, "number").removeprefix("largest ").removeprefix("longest ")
        held = f" {what[0].upper()}{what[1:]}: {short(verdict.number, 6)}"
        limit = "compared with" if verdict.verdict == "acceptance" else "tolerance"
        held += f", {limit} {short(verdict.limit, 6)}." if verdict.limit is not None else "."
    return [said, held, tag("span", f" Read by {plain(verdict.way, 40)}: {plain(verdict.effort, 300)}.", class_="quiet") if verdict.effort else None]


def _place(about: Mapping[str, Any]) -> Child:
    return tag("code", f"{plain(about['file'], 200)}:{about.get('line', 1)}") if about.get("file") else None


def _drawn(name: str, verdict: Verdict, part: Report) -> Html | None:
    """The law at the telling prefix, all prefixes, and the draft tree."""
    figures = [*_laws(name, verdict), draft_tree(name, verdict.instance, part)]
    return tag("div", *figures, class_="figures") if any(figures) else None


def _laws(name: str, verdict: Verdict) -> list[Html]:
    laws = verdict.details.get("prefix_laws", [])
    if not laws:
        return []
    telling = (verdict.violation or {}).get("prefix", max(laws, key=lambda one: float(one["off"]))["prefix"])
    here = next((one for one in laws if one["prefix"] == telling), laws[0])
    place = f"after {plain(here['prefix'], 40)}" if here["prefix"] else "at the root"
    estimate = " (counted)" if verdict.way == "sample" else ""
    rows = [["other tokens" if token is None else token, short(should, 6), short(emitted, 6)] for token, should, emitted in here["tokens"]]
    one = figure(
        f"{name}-law",
        pictures.law(f"The next token {place}{estimate}", here["tokens"]),
        f"Two bars a token: what its probability {place} should be, and what it is.",
        table(f"Probabilities {place}", ["token", "should be", "is"], rows),
    )
    if len(laws) < 2:
        return [one]
    listed = [[tag("code", each["prefix"]) if each["prefix"] else "the root", percent(each["reached"]), short(each["off"], 6)] for each in laws]
    return [
        one,
        figure(
            f"{name}-prefixes",
            pictures.prefixes("Blocks that go wrong, by prefix", laws, telling),
            "A bar for each prefix; the orange one is where the picture beside it looks.",
            table("By prefix", ["after", "blocks that go on", "go wrong here"], listed),
        ),
    ]


def draft_tree(name: str, instance: str, part: Report) -> Html | None:
    """The tree of an instance, with what is lost where; None where the report does not have the instance."""
    source = part.instances.get(instance.partition(LIFTED)[0])
    return None if source is None else _tree(name, instance, source)


def _tree(name: str, instance: str, source: Mapping[str, Any]) -> Html:
    try:
        found = exits(source)
    except NoPicture as reason:
        return tag("p", f"No draft tree: {plain(reason, 200)}.", class_="quiet")
    rows = [[_path(one.path), percent(one.drafted), percent(one.reached), percent(one.lost)] for one in found[: pictures.MOST_ROWS]]
    drawn = pictures.tree(f"Where the target leaves the draft tree of {plain(instance, 60)}", found)
    said = "A line for each node of the draft tree; its bar is the probability that a path drawn from the target leaves the tree right after it."
    return figure(f"{name}-tree", drawn, said, table(f"Draft tree of {plain(instance, 80)}", ["node", "drafted", "reached", "left here"], rows))


def _path(tokens: Sequence[int]) -> Child:
    return tag("code", " ".join(map(str, tokens))) if tokens else "root"


def figure(name: str, drawing: Drawing, description: str, data: Html | None = None) -> Html:
    """A drawing under its title, with its numbers in a table that opens, where no other table has them."""
    shown = scrolled(Html(drawing.inline(name, description)), drawing.title)
    return tag("figure", tag("figcaption", drawing.title), shown, details("Numbers", data) if data else None)


def _others(found: Sequence[Verdict | Failure]) -> Html | None:
    if len(found) < 2:
        return None
    shown = [one for one in found[:MOST_LISTED] if isinstance(one, Verdict)]
    rows = [[tag("code", text(one.instance, 80)), short(one.number, 4), text(one.message, 240)] for one in shown]
    more = tag("p", f"{len(found) - MOST_LISTED} more are in the JSON.") if len(found) > MOST_LISTED else None
    return details(f"All {len(found)} instances on which it fails", table("Instances", ["instance", "number", "what happened"], rows), more)


def _shrunk(name: str, one: Mapping[str, Any]) -> Html:
    """The smallest failing instance, as a picture and as code to paste."""
    verdict = Verdict(**{"subject": "", "instance": "", "outcome": "", "way": "", **_known(one["verdict"])})
    source = one["instance"]
    size = f"V = {plain(source.get('vocabulary', '?'), 12)}, {counted(one['drafts'], 'draft')}"
    least = "nothing one step smaller fails" if one["minimal"] else "time or tries ran out"
    return details(
        f"Smallest instance that still fails: {size}",
        tag("p", text(verdict.message, 600), class_="what"),
        tag("p", f"Found by judging {one.get('tries', '?')} instances; {least}.", class_="quiet"),
        tag("div", *_laws(f"{name}-small", verdict), _tree(f"{name}-small", "the smallest instance", source), class_="figures"),
        tag("h4", "As a program"),
        code(one["python"], "the program"),
        tag("h4", "As an instance file"),
        code(json.dumps(source, ensure_ascii=True), "the instance file"),
        open=True,
        class_="small",
    )


def _known(read: Mapping[str, Any]) -> dict[str, Any]:
    return vars(Report.from_dict({"verdicts": [read]}).verdicts[0])


def _instance(instance: str, part: Report) -> Html | None:
    """As a file, where the catalogue does not have it."""
    name = instance.partition(LIFTED)[0]
    source = part.instances.get(name)
    if source is None or purpose(instance):
        return None
    return details("The instance as a file", code(json.dumps(source, ensure_ascii=True), "the instance file"))
