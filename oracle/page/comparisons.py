"""Lengths against the ceiling, for judged subjects and for leagues; throughput against the budget."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..plain_text import plain
from ..report import Report
from ..verdicts import Verdict
from . import pictures
from .elements import Child, Html, described, details, table, tag, text
from .figures import counted, percent, short
from .findings import draft_tree, figure
from .results import Results, decimal
from .summary import badge

MOST_DRAWN = 12
"""Instances in a picture: those that are farthest below their ceiling."""

MOST_LISTED = 120
"""Rows of a table."""

MOST_ROWS = 1200
"""Rows of the tables of all subjects together; those after that list what they draw."""

MOST_SUBJECTS = 40
MOST_TREES = 12
MOST_LEAGUES = 60


def sections(results: Results) -> Iterable[Html | None]:
    """Acceptance, league, budget; None for those that have nothing to show."""
    return _acceptance(results.report), _leagues(results.leagues), _budgets(results.budgets)


def _acceptance(report: Report) -> Html | None:
    parts = [(subject, [one for one in report.of(subject).verdicts if one.verdict == "acceptance"]) for subject in report.subjects]
    parts = [(subject, found) for subject, found in parts if found]
    if not parts:
        return None
    rows, drawn, listed = list[list[Child]](), list[Html](), 0
    for place, (subject, found) in enumerate(parts[:MOST_SUBJECTS]):
        shares = [share for one in found if (share := _share(one)) is not None]
        wrong = sum(one.outcome == "nonconform" for one in found)
        rows.append(
            [
                tag("code", text(subject, 120)),
                percent(sum(shares) / len(shares)) if shares else "–",
                percent(min(shares)) if shares else "–",
                badge("nonconform", f"{wrong} of {len(found)} wrong") if wrong else counted(len(found), "instance"),
            ]
        )
        listed += min(len(found), MOST_LISTED)
        most = MOST_LISTED if listed <= MOST_ROWS else MOST_DRAWN
        figures = [_lengths(f"acceptance-{place}", found, most), _tree(f"acceptance-{place}", found, report) if place < MOST_TREES else None]
        drawn.append(details([tag("code", text(subject, 120)), " instance by instance"], tag("div", *figures, class_="figures")))
    left_out = tag("p", f"{len(parts) - MOST_SUBJECTS} more subjects are in the JSON.") if len(parts) > MOST_SUBJECTS else None
    said = "E[L] is the mean number of tokens that a call emits, bonus included; the ceiling is the most that a lossless verifier can have."
    lead = tag("p", said, class_="lead")
    heads = ["subject", "mean share of the ceiling", "smallest share", "judged on"]
    summary = table("Share of the ceiling", heads, rows)
    return tag("section", tag("h2", "Acceptance against the ceiling", id="acceptance"), lead, summary, left_out, *drawn, aria_labelledby="acceptance")


def _share(verdict: Verdict) -> float | None:
    length, bound = decimal(verdict.details.get("expected_length")), decimal(verdict.details.get("bound"))
    return None if length is None or not bound else length / bound


def _lengths(name: str, found: Sequence[Verdict], most: int) -> Html:
    order = sorted(found, key=lambda one: (one.outcome != "nonconform", _share(one) or 1.0))
    bars, rows = list[pictures.Length](), list[list[Child]]()
    for one in order[:most]:
        length, bound, exact = (decimal(one.details.get(key)) for key in ("expected_length", "bound", "reference"))
        if length is not None and len(bars) < MOST_DRAWN:
            bars.append(pictures.Length(one.instance, length, bound, one.outcome == "nonconform"))
        numbers = [short(length, 6), short(exact, 6), short(bound, 6), percent(_share(one))]
        rows.append([tag("code", text(one.instance, 80)), *numbers, badge(one.outcome)])
    heads = ["instance", "E[L]", "reference", "ceiling", "share", "verdict"]
    data = table(f"{counted(len(rows), 'instance')} of {len(order)}", heads, rows)
    title = "E[L] against the ceiling" + (f", the {MOST_DRAWN} instances that matter most" if len(found) > MOST_DRAWN else "")
    return figure(name, pictures.lengths(title, bars), "A bar for each instance, from a length of 1; a tick marks the ceiling.", data)


def _tree(name: str, found: Sequence[Verdict], report: Report) -> Html | None:
    """Of the instance on which most is left to gain."""
    least = min(found, key=lambda one: _share(one) or 1.0)
    return draft_tree(name, least.instance, report)


def _leagues(leagues: Sequence[tuple[str, Mapping[str, Any]]]) -> Html | None:
    if not leagues:
        return None
    shown = list[Html]()
    for source, league in leagues:
        for one in league["instances"][:MOST_LEAGUES]:
            shown.append(_league(f"league-{len(shown)}", plain(one["instance"], 80), one["scheme"], decimal(one["ceiling"]), one, source))
        schemes = dict.fromkeys(mean["scheme"] for mean in league["means"] if mean["instances"] > 1)
        for scheme in list(schemes)[:MOST_LEAGUES]:
            rows = [mean for mean in league["means"] if mean["scheme"] == scheme]
            count = max(mean["instances"] for mean in rows)
            ceiling = next((mean.get("ceiling") for mean in rows if mean["instances"] == count), None)
            shown.append(_league(f"league-{len(shown)}", f"Means over {count} instances", scheme, ceiling, {"rows": rows}, source))
    return tag("section", tag("h2", "League", id="league"), *shown, aria_labelledby="league")


def _league(name: str, title: str, scheme: str, ceiling: float | None, one: Mapping[str, Any], source: str) -> Html:
    bars = [pictures.Length(row["verifier"], row["expected_length"], ceiling, row["lossless"] is False) for row in one["rows"]]
    rows = [[text(row["verifier"], 80), short(row["expected_length"], 7), percent(row["share"]), _lossless(row)] for row in one["rows"][:MOST_LISTED]]
    said = f"{plain(scheme.replace('_', ' '), 40)} drafting; " + (f"ceiling {short(ceiling, 7)}" if ceiling is not None else "no certified ceiling")
    missing = [f"{word}: {', '.join(plain(name, 60) for name in one[key][:20])}" for key, word in MISSING if one.get(key)]
    return tag(
        "article",
        tag("h3", title),
        tag("p", said, *(f"; {part}" for part in missing), tag("span", f" ({plain(source, 80)})", class_="quiet"), class_="lead"),
        tag(
            "div",
            table("Longest blocks first", ["verifier", "E[L]", "of ceiling", "lossless"], rows),
            figure(name, pictures.lengths("E[L], from 1 up", bars), "A bar for each verifier, in the order of the table; a tick marks the ceiling."),
            class_="figures",
        ),
    )


MISSING = (("left_out", "left out"), ("late", "not done in time"))


def _lossless(row: Mapping[str, Any]) -> Child:
    if row["lossless"] is True:
        return "yes"
    if row["lossless"] is None:
        return badge("inconclusive", "undecided")
    return badge("nonconform", f"no, TV {short(row.get('total_variation'), 2)}")


def _budgets(budgets: Sequence[tuple[str, Mapping[str, Any]]]) -> Html | None:
    if not budgets:
        return None
    shown = [_budget(f"budget-{place}", source, one) for place, (source, one) in enumerate(budgets[:MOST_LEAGUES])]
    return tag("section", tag("h2", "Throughput against the budget", id="budget"), *shown, aria_labelledby="budget")


def _budget(name: str, source: str, one: Mapping[str, Any]) -> Html:
    curve, greedy, best = one["curve"], one["greedy"], one["optimum"]
    rates = [decimal(rate) for rate in curve]
    loss = decimal(one["loss"])
    stop = f"{counted(greedy, 'node')}, which loses {percent(loss)} of the throughput" if loss else "there, too"
    facts = described(
        [
            ("Best", f"{counted(best, 'draft node')}, {plain(curve[best], 40)} tokens per unit of time"),
            ("Stopping at the first node that does not pay", stop),
            ("Peaks", "one" if one.get("unimodal") else "more than one"),
            ("The cost is convex", "yes: greedy is right whatever is drafted" if one.get("convex") else "no: greedy may be wrong"),
        ],
        class_="facts",
    )
    known = [rate for rate in rates if rate is not None]
    picture: Html | None = None
    if len(known) == len(rates):
        chosen = sorted({*range(min(len(curve), 40)), greedy, best, len(curve) - 1})
        data = table("Throughput", ["draft nodes", "tokens / time", "exactly"], [[n, short(known[n], 6), plain(curve[n], 60)] for n in chosen])
        picture = figure(name, pictures.throughput(known, greedy, best), "Expected tokens per unit of time for every number of draft nodes.", data)
    return tag("article", tag("h3", plain(source, 80)), tag("div", facts, picture, class_="figures"))
