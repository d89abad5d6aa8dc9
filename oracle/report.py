"""What a run says: verdicts, errors, and one outcome, as an object, as JSON and on a terminal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

from draftproof import __version__
from draftproof.reference.exact_json import printable

from .origins import environment
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

    ``seconds``: (subject, instance, verdict) -> how long that took, reading the law counted to the verdict that came first; "" in place of a verdict
    for what could not be judged.  No part of the JSON, which is the same however fast a machine is and however often a run was interrupted.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    errors: list[Failure] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    not_judged: list[NotJudged] = field(default_factory=list)
    instances: dict[str, dict[str, Any]] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    shrunk: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[tuple[str, str, str], float] = field(default_factory=dict, compare=False)

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
            {key: seconds for key, seconds in self.seconds.items() if key[0] == subject},
        )

    def add(self, other: "Report") -> None:
        self.verdicts += other.verdicts
        self.errors += other.errors
        self.not_judged += other.not_judged
        self.settings = self.settings or other.settings
        self.instances |= other.instances
        self.about |= other.about
        self.shrunk += other.shrunk
        self.seconds |= other.seconds

    def as_dict(self) -> dict[str, Any]:
        """As docs/report.md and page/report.schema.json say; what is empty is left out but for the first five entries."""
        items: list[Verdict | Failure] = [*self.verdicts, *self.errors]
        names = dict.fromkeys(one.instance.partition(LIFTED)[0] for one in items)
        sources = {**catalogued(), **self.instances}
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
        from .report_text import lines

        return "\n".join(map(printable, lines(self)))


def sampled_only(verdicts: Sequence[Verdict]) -> str:
    """" (7 of 22 only to 2e-2, by sampling)", to stand behind "conform": lossless as far as sampling tells; empty where everything was read."""
    held = [verdict for verdict in verdicts if verdict.verdict == "exactness" and verdict.outcome == "conform"]
    limits = [verdict.limit for verdict in held if verdict.way == "sample" and verdict.limit is not None and (verdict.number or 0.0) <= verdict.limit]
    return f" ({len(limits)} of {len(held)} only to {Decimal(str(max(limits))):e}, by sampling)" if limits else ""


@cache
def catalogued() -> dict[str, dict[str, Any]]:
    """The instances of the catalogue, by name."""
    from .catalogue import catalogue

    return {instance.name: dict(instance.source) for instance in catalogue()}
