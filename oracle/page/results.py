"""JSON that our commands wrote, read back and checked: files may have been damaged, or made by somebody else."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from draftproof.reference.exact_json import FormatError, number

from ..report import Report

SCHEMA = Path(__file__).with_name("report.schema.json")


class ResultError(ValueError):
    """A file that holds no result of ours; says where it goes wrong."""


@dataclass(frozen=True)
class Run:
    """One report, with the machine it was made on, in the file ``source``, written at ``when``."""

    source: str
    report: Report
    version: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""


@dataclass(frozen=True)
class Results:
    """Everything the files hold; leagues and budgets as the schema says, each with the name of its file."""

    runs: list[Run] = field(default_factory=list)
    leagues: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    budgets: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def report(self) -> Report:
        """All runs as one; settings are those of the first."""
        whole = Report()
        for run in self.runs:
            whole.add(run.report)
        return whole


def load(paths: list[Path]) -> Results:
    """Read them all.  Raises ResultError naming the file and the entry."""
    found = Results()
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8-sig")
            when = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M UTC")
        except (OSError, ValueError) as error:
            raise ResultError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        try:
            put(found, json.loads(text, parse_constant=_constant, parse_int=_integer), path.name, when)
        except (ValueError, RecursionError) as error:
            said = error if isinstance(error, ResultError) else f"not JSON: {error}"
            raise ResultError(f"{path}: {said}") from None
    return found


def of(report: Report) -> Results:
    """A report at hand, exactly as it would be read from its file, and the seconds that the file has not."""
    run = _run(json.loads(report.to_json(), parse_constant=_constant), "this run")
    run.report.seconds = report.seconds
    return Results([run])


def put(found: Results, value: Any, source: str, when: str = "") -> None:
    """Add what a file holds.  Raises ResultError naming the entry."""
    parts = value if isinstance(value, list) and value else [value]
    for part in parts:
        kind = next((kind for kind, key in (("report", "verdicts"), ("league", "means"), ("budget", "curve")) if _has(part, key)), None)
        if kind is None:
            raise ResultError("neither a report (check --json), nor a league (league --json), nor a budget (budget --json)")
        if (wrong := next(_wrong(kind, part), None)) is not None:
            raise ResultError(wrong)
        if kind == "report":
            found.runs.append(_run(part, source, when))
        elif kind == "league":
            found.leagues.append((source, part))
        elif max(part["greedy"], part["optimum"]) < len(part["curve"]):
            found.budgets.append((source, part))
        else:
            raise ResultError("optimum: there is no such size in the curve")


def _run(part: Mapping[str, Any], source: str, when: str = "") -> Run:
    return Run(source, Report.from_dict(part), str(part.get("draftproof", "")), part.get("environment", {}), when)


def _constant(name: str) -> float | None:
    """NaN is no number to compare with, so it is none."""
    return None if name == "NaN" else float(name)


def _integer(digits: str) -> int | float:
    """One that is longer than a float can be is infinite."""
    return int(digits) if len(digits) <= 300 else float(digits)


def _has(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _wrong(kind: str, value: Any) -> Iterator[str]:
    """The first deviation from the schema, if any: where, and what."""
    from jsonschema.exceptions import best_match

    if (found := best_match(_validator(kind).iter_errors(value))) is not None:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in found.absolute_path).lstrip(".")
        message = " ".join(found.message.split())
        yield f"{where or f'the {kind}'}: {message if len(message) <= 200 else message[:197] + '...'}"


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)  # JSON Schema takes 2.0 for one
    return extend(Draft202012Validator, type_checker=whole)({**schema, "$ref": f"#/$defs/{kind}"})


def decimal(value: Any) -> float | None:
    """An exact number as it stands in a file, such as "17/10", as a float; None where there is none, or one that no float is near."""
    try:
        return None if value is None else float(Fraction(number(value, "it")))
    except (FormatError, ValueError, ZeroDivisionError, OverflowError):
        return None
