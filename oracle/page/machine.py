"""How to have the same again: settings and seeds, versions, platform and devices, for each file."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..plain_text import plain
from .elements import Child, Html, described, tag, text
from .results import Results, Run

MOST = 40
"""Runs that are listed."""


def section(results: Results) -> Html | None:
    """None where there is no report."""
    if not results.runs:
        return None
    shown = [_run(run) for run in results.runs[:MOST]]
    left_out = tag("p", f"{len(results.runs) - MOST} more runs are in the JSON.") if len(results.runs) > MOST else None
    return tag("section", tag("h2", "Settings and machine", id="machine"), *shown, left_out, aria_labelledby="machine")


def _run(run: Run) -> Html:
    settings = [(plain(key, 40), _said(value)) for key, value in list(run.report.settings.items())[:40]]
    packages = run.environment.get("packages", {})
    versions = [(plain(name, 40), _said(value)) for name, value in list(packages.items())[:40]] if isinstance(packages, Mapping) else []
    cards = dict.fromkeys(plain(f"{one['device']}: {one['card']}", 80) for one in run.report.about.values() if one.get("card") and one.get("device"))
    devices = dict.fromkeys(plain(one["device"], 40) for one in run.report.about.values() if one.get("device"))
    machine = [(plain(key, 40), _said(value)) for key, value in run.environment.items() if key != "packages"]
    return tag(
        "article",
        tag("h3", text(run.source, 80), tag("span", f" {run.when}", class_="quiet")),
        tag(
            "div",
            _list("Settings", settings),
            _list("Machine", [*machine, ("device", ", ".join(cards or devices))]),
            _list("Versions", [("draftproof", text(run.version, 40)), *versions]),
            class_="columns",
        ),
    )


def _list(heading: str, terms: Sequence[tuple[Child, Child]]) -> Html | None:
    said = [(term, value) for term, value in terms if value]
    return tag("div", tag("h4", heading), described(said, class_="terms")) if said else None


def _said(value: Any) -> Child:
    """A value of JSON; None is what was not given."""
    if value is None:
        return tag("span", "default", class_="quiet")
    return text(value if isinstance(value, str) else json.dumps(value), 200)
