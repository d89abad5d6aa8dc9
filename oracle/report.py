"""What a run says: verdicts, errors, and one outcome, as an object, as JSON and on a terminal."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from draftproof import __version__
from draftproof.reference.exact_json import printable

from .origins import environment
from .subjects import loadable
from .verdicts import Verdict

EXIT_CODES = {"conform": 0, "nonconform": 1, "error": 2, "inconclusive": 3}
WRONG = ("error", "nonconform", "inconclusive")
"""Outcomes that are no pass, worst first."""

LIFTED = " lifted by "
"""Between the name of an instance and that of its lift."""

KINDS = {
    "support": "largest impossible mass",
    "exactness": "largest total variation",
    "acceptance": "longest E[L]",
    "invariance": "rows changed",
    "declared law": "largest total variation",
    "slots": "dependent slots",
    "ending": "largest mass",
    "training signal": "largest relative error",
    "precision": "largest total variation",
}
"""Verdicts, with what the largest of their numbers is called."""


@dataclass(frozen=True)
class Failure:
    """A subject that could not be judged on an instance: it raised, hung, or returned nonsense."""

    subject: str
    instance: str
    message: str


@dataclass(frozen=True)
class NotJudged(Failure):
    """An instance that cannot be put to a subject, such as a lift for trees to one that takes chains: neither for it nor against it."""


T = TypeVar("T", bound=Failure)


@dataclass
class Report:
    """Everything a run found.  ``settings`` are the ones it ran under.

    The rest is for whoever reads it elsewhere: ``instances``, the sources of those that are not in the catalogue, by name; ``about``, what each
    subject declares and where it is defined (``origins``); ``shrunk``, smallest failing instances (``Shrunk.as_dict``).
    """

    verdicts: list[Verdict] = field(default_factory=list)
    errors: list[Failure] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    not_judged: list[NotJudged] = field(default_factory=list)
    instances: dict[str, dict[str, Any]] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    shrunk: list[dict[str, Any]] = field(default_factory=list)

    def put(self, item: Verdict | Failure) -> None:
        """Add a verdict or a failure where it belongs."""
        if isinstance(item, NotJudged):
            self.not_judged.append(item)
        elif isinstance(item, Failure):
            self.errors.append(item)
        else:
            self.verdicts.append(item)

    @property
    def outcome(self) -> str:
        """error, nonconform, inconclusive or conform: the first that occurs.  Nothing judged is an error, never a pass."""
        if self.errors or not self.verdicts:
            return "error"
        outcomes = {verdict.outcome for verdict in self.verdicts}
        return next((outcome for outcome in ("nonconform", "inconclusive") if outcome in outcomes), "conform")

    @property
    def said(self) -> str:
        """The outcome, and of conform what of it rests on sampling."""
        return f"conform{sampled_only(self.verdicts)}" if self.outcome == "conform" else self.outcome

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    @property
    def subjects(self) -> list[str]:
        items: list[Verdict | Failure] = [*self.verdicts, *self.errors, *self.not_judged]
        return list(dict.fromkeys(item.subject for item in items))

    def of(self, subject: str) -> "Report":
        """The part about one subject."""
        return Report(
            [verdict for verdict in self.verdicts if verdict.subject == subject],
            [error for error in self.errors if error.subject == subject],
            self.settings,
            [item for item in self.not_judged if item.subject == subject],
            self.instances,
            {name: about for name, about in self.about.items() if name == subject},
            [one for one in self.shrunk if one["subject"] == subject],
        )

    def add(self, other: "Report") -> None:
        self.verdicts += other.verdicts
        self.errors += other.errors
        self.not_judged += other.not_judged
        self.settings = self.settings or other.settings
        self.instances |= other.instances
        self.about |= other.about
        self.shrunk += other.shrunk

    def as_dict(self) -> dict[str, Any]:
        """As docs/report.md and page/report.schema.json say; what is empty is left out but for the first five entries."""
        items: list[Verdict | Failure] = [*self.verdicts, *self.errors]
        names = dict.fromkeys(one.instance.partition(LIFTED)[0] for one in items)
        sources = {**_sources(), **self.instances}
        more = {
            "not_judged": [vars(item) for item in self.not_judged],
            "subjects": self.about,
            "instances": {name: sources[name] for name in names if name in sources},
            "shrunk": self.shrunk,
            "environment": environment(),
        }
        return {
            "draftproof": __version__,
            "outcome": self.outcome,
            "settings": self.settings,
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "errors": [vars(error) for error in self.errors],
            **{key: value for key, value in more.items() if value},
        }

    @classmethod
    def from_dict(cls, read: Mapping[str, Any]) -> "Report":
        """What ``as_dict`` made, of this version or an older one; entries that are not known are passed over.  Raises KeyError, TypeError."""
        known = {each.name for each in fields(Verdict)}

        def failures(kind: type[T], key: str) -> list[T]:
            return [kind(one["subject"], one["instance"], one["message"]) for one in read.get(key, ())]

        return cls(
            [Verdict(**{key: value for key, value in one.items() if key in known}) for one in read["verdicts"]],
            failures(Failure, "errors"),
            dict(read.get("settings", {})),
            failures(NotJudged, "not_judged"),
            dict(read.get("instances", {})),
            dict(read.get("subjects", {})),
            list(read.get("shrunk", ())),
        )

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join(map(printable, lines(self)))


def lines(report: Report) -> Iterable[str]:
    """The report as plain text: a line per subject and verdict kind, then each failure with what went wrong and how to see it again."""
    for subject in report.subjects:
        part = report.of(subject)
        yield f"{part.said:<12} {subject}"
        if part.settings.get("tier") == "smoke":
            judged = len({verdict.instance for verdict in part.verdicts})
            yield f"  {'smoke tier':<12} {judged} instances, one for each kind of fault; --tier standard judges on the whole catalogue"
        for kind in KINDS:
            yield from _kind(part, kind)
        yield from _not_judged(part)
        for error in part.errors:
            yield f"  error        {f'instance {error.instance}: ' if error.instance else ''}{error.message}"
        yield from _failures(part)


def _kind(part: Report, kind: str) -> Iterable[str]:
    verdicts = [verdict for verdict in part.verdicts if verdict.verdict == kind]
    if not verdicts:
        return
    counts = {outcome: sum(verdict.outcome == outcome for verdict in verdicts) for outcome in (*EXIT_CODES, "not judged")}
    known = {"conform": sampled_only(verdicts)}
    said = ", ".join(f"{count} {outcome}{known.get(outcome, '')}" for outcome, count in counts.items() if count)
    ways = ", ".join(sorted({verdict.way for verdict in verdicts}))
    settled = [verdict for verdict in verdicts if verdict.outcome != "inconclusive"] or verdicts
    worst = max(settled, key=lambda verdict: verdict.number or 0.0)
    yield f"  {kind:<12} {said}   read by {ways}   {KINDS[kind]} {worst.number:.3g}"
    sampled = [verdict for verdict in verdicts if "sampled because" in verdict.effort]
    if sampled and kind == "exactness":
        yield f"  {'':<11} {len(sampled)} sampled, first {sampled[0].instance}, because: {sampled[0].effort.partition('sampled because ')[2]}"
    notes = [(verdict.instance, note) for verdict in verdicts for note in verdict.notes]
    if notes:
        instance, note = notes[0]
        yield f"  {'':<12} {len(notes)} boundary notes, first on {instance}: {note}"


def sampled_only(verdicts: Sequence[Verdict]) -> str:
    """" (7 of 22 only to 2e-2, by sampling)", to stand behind "conform": lossless as far as sampling tells; empty where everything was read."""
    held = [verdict for verdict in verdicts if verdict.verdict == "exactness" and verdict.outcome == "conform"]
    limits = [verdict.limit for verdict in held if verdict.way == "sample" and verdict.limit is not None and (verdict.number or 0.0) <= verdict.limit]
    return f" ({len(limits)} of {len(held)} only to {Decimal(str(max(limits))):e}, by sampling)" if limits else ""


def _not_judged(part: Report) -> Iterable[str]:
    """What a verdict leaves out, and instances that did not suit, each reason once."""
    left_out: dict[str, list[str]] = {}
    for verdict in part.verdicts:
        for what, why in verdict.details.get("not judged", {}).items():
            left_out.setdefault(why, []).append(what)
    for why, names in left_out.items():
        total = sum(verdict.verdict == "invariance" for verdict in part.verdicts)
        often = {name: names.count(name) for name in names}
        said = [name if times == total else f"{name} on {times} of {total}" for name, times in often.items()]
        yield f"  {'':<12} not judged: {', '.join(said)}: {why}"
    for message in dict.fromkeys(item.message for item in part.not_judged):
        yield f"  not judged   {message}"


def _failures(part: Report) -> Iterable[str]:
    for first, found in findings(part):
        others = len(found) - 1
        more = f" and {others} more instance{'s' * (others > 1)}" if others else ""
        yield ""
        yield f"{first.outcome}   {first.subject}   {first.verdict} on {first.instance}{more}      read by {first.way}: {first.effort}"
        yield f"  {first.message}"
        if said := purpose(first.instance):
            yield f"  what the instance is for: {said}"
        if command := see_again(first, part.settings):
            yield f"  see it again: {command}"


def findings(part: Report) -> Iterable[tuple[Verdict, Sequence[Verdict]]]:
    """Of one subject, by kind, what is nonconform, or else inconclusive: the verdict to read first, and all of them."""
    wrong = [verdict for verdict in part.verdicts if verdict.outcome == "nonconform"]
    for kind in dict.fromkeys([*KINDS, *(verdict.verdict for verdict in part.verdicts)]):
        found = [verdict for verdict in wrong or part.verdicts if verdict.verdict == kind and verdict.outcome in ("nonconform", "inconclusive")]
        if found:
            yield _telling(found), found


def purpose(instance: str) -> str:
    """What an instance of the catalogue was made for, and the kinds of fault; nothing about others."""
    source = _sources().get(instance.partition(LIFTED)[0])
    if source is None:
        return ""
    kinds = source["kinds"]
    return f"{source['note']} (kind{'s' * (len(kinds) > 1)} {', '.join(kinds)}: draftproof explain {kinds[0]})"


def _telling(found: Sequence[Verdict]) -> Verdict:
    """The first, that is, the smallest instance on which the number is at least half of what it is anywhere."""
    most = max(verdict.number or 0.0 for verdict in found)
    return next(verdict for verdict in found if (verdict.number or 0.0) >= most / 2)


@cache
def _sources() -> dict[str, dict[str, Any]]:
    """The instances of the catalogue, by name."""
    from .catalogue import catalogue

    return {instance.name: dict(instance.source) for instance in catalogue()}


def see_again(verdict: Verdict, settings: Mapping[str, Any]) -> str | None:
    """The command that shows the law behind a verdict, where subject and instance have names that a command line understands."""
    name, _, lift = verdict.instance.partition(LIFTED)
    if not loadable(verdict.subject) or not (name in _sources() or _is_file(name)):
        return None
    command = ["draftproof", "law", name, "--subject", verdict.subject]
    if verdict.verdict == "precision":
        command = ["draftproof", "precision", verdict.subject, "--instance", name, "--vocabulary", "0"]
    elif lift or verdict.verdict == "invariance":
        command = ["draftproof", "check", verdict.subject, "--instance", name] + (["--lift", lift] if lift else [])
    if verdict.way == "sample":
        command += ["--way", "sample"] + (["--seed", str(settings["seed"])] if settings.get("seed") else [])
    return shlex.join(command)


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name that no file can have, being too long for instance
        return False


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
