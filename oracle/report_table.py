"""Reports as a table, one row per subject."""

from typing import Any

from .report import Report


def table(report: Report, expected: dict[str, str] | None = None) -> Any:
    """A rich table, one row per subject.  ``expected`` maps a subject to the outcome it should have (default: conform)."""
    from rich.table import Table

    shown = Table(title="draftproof", title_justify="left")
    for column in ("subject", "outcome", "read by", "instances", "largest TV"):
        shown.add_column(column, overflow="fold", min_width=12 if column == "outcome" else None)
    for subject in report.subjects:
        part = report.of(subject)
        exactness = [verdict for verdict in part.verdicts if verdict.verdict == "exactness"]
        worst = max((verdict.number or 0.0 for verdict in exactness), default=None)
        wanted = (expected or {}).get(subject, "conform")
        colour = "green" if part.outcome == wanted else "red"
        shown.add_row(
            subject.rpartition(":")[2],
            f"[{colour}]{part.said}[/]",
            ", ".join(sorted({verdict.way for verdict in part.verdicts if verdict.verdict != "invariance"})),
            str(len({verdict.instance for verdict in part.verdicts})),
            "" if worst is None else f"{worst:.2g}",
        )
    return shown
