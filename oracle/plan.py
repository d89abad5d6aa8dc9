"""The plan of a run: a verifier on the catalogue, or on instances of one's own; drafters, generators and losses by what judges them."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from draftproof.reference.instances import Instance
from draftproof.reference.models import MissingRow

from .cases import Case
from .catalogue import find, named, suiting, suits
from .invariance import invariance
from .items import Item, Plan, require_sense, said
from .lifts import ALL, NotSuited, hosts_of, lifted, refusal
from .reading import Reading, read
from .readings.refused import Refused
from .report import LIFTED, Failure, NotJudged
from .sampling import FIRST_LOOK, Budget, sample
from .subjects import Subject, SubjectError
from .verdicts import BOUNDARY, DEFAULT_TOLERANCE, Verdict, judge

SMALL_BATCH = 3
"""Rows of a batch in which what is wrong with one row, the last for instance, can be seen."""

GLANCE = 2.0
"""Seconds for each look at a subject that is already known to be right where it can be read exactly."""


def plan(
    subjects: Sequence[Subject],
    instances: Iterable[Instance | str] | None = None,
    *,
    way: str | None = None,
    alpha: float = 1e-6,
    tolerance: float | None = None,
    seed: int = 0,
    time_limit: float = 120.0,
    strict: bool = False,
    tier: str = "standard",
    lifts: Iterable[str] | None = None,
) -> Plan:
    """The items of a run under these settings, which are those of ``check``.

    Raises InstanceError for a bad instance file, ValueError for settings that make no sense.
    """
    require_sense(alpha, tolerance, time_limit, way, seed)
    if (plan_otherwise := getattr(subjects[0].call, "__draftproof_plan__", None)) is not None:  # a drafter, a generator or a loss
        if instances is not None or lifts is not None:
            raise ValueError("instances and lifts are for verifiers; drafters and generators are judged on their own")
        otherwise: Plan = plan_otherwise(way=way, alpha=alpha, tolerance=tolerance, seed=seed, time_limit=time_limit)
        return otherwise
    lifts = None if lifts is None else list(lifts)
    settings = {"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit, "strict": strict}
    given = None if instances is None else [named(one) if isinstance(one, str) else one for one in instances]
    work = [(one, _tasks(one, given, lifts, tier)) for one in subjects]
    items = list[Item]()
    for one, tasks in work:
        judge_ = _Judge(one, way, alpha, tolerance, seed, time_limit, strict, len(tasks) * len(subjects))
        for instance, lift in tasks:
            name = f"{instance.name}{LIFTED}{lift}" if lift else instance.name
            items.append(Item(one.name, name, partial(judge_, name, instance, lift, lift in (lifts or ()))))
    part: dict[str, Any] = {"lifts": lifts} if lifts is not None else {"tier": tier} if given is None else {}
    return Plan(items, settings | part, time_limit)


def _tasks(subject: Subject, given: list[Instance] | None, lifts: Iterable[str] | None, tier: str) -> list[tuple[Instance, str]]:
    """Instances, each with the name of a lift or ""."""
    if lifts is None:
        return [(instance, "") for instance in (suiting(subject, tier) if given is None else given)]
    tasks = list[tuple[Instance, str]]()
    for name in lifts:
        for one in ALL if name == "all" else [name]:
            hosts = [find(host) for host in hosts_of(one)] if given is None else given
            suited = [(instance, one) for instance in hosts if given is not None or suits(subject, instance)]
            tasks += suited[:1] if refusal(subject, one) else suited  # said once
    return tasks


class _Judge:
    """One subject under fixed settings."""

    def __init__(
        self, subject: Subject, way: str | None, alpha: float, tolerance: float | None, seed: int, time_limit: float, strict: bool, shares: int
    ):
        self.subject, self.way, self.alpha, self.tolerance = subject, way, alpha, tolerance
        self.seed, self.time_limit, self.strict, self.shares = seed, time_limit, strict, shares

    def __call__(self, name: str, instance: Instance, lift: str, required: bool) -> Iterator[Verdict | Failure]:
        """The verdicts on an instance, or on a lift of it.  ``required``: a lift that does not suit the subject is an error."""
        start = time.monotonic()
        try:
            yield from self._judge(lifted(self.subject, instance, lift) if lift else Case(self.subject, instance), start)
        except NotSuited as reason:
            yield (Failure if required else NotJudged)(self.subject.name, name, str(reason))
        except Refused as refusal:
            kept = "it keeps random numbers from call to call, scripted ones too: give --way sample"
            raise SubjectError(f"cannot be read by {self.way}: {refusal}" if self.way else f"{kept} ({refusal})") from None
        except MissingRow as error:
            raise SubjectError(f"the instance is incomplete: {error}") from None
        except Exception as error:  # the subject's own code may raise anything
            if "NoneType" in said(error) and instance.deterministic:
                hint = "drafts are deterministic here, so declared is None: each was drawn from a point mass"
                raise SubjectError(f"{said(error)}; {hint}") from error
            raise

    def _judge(self, case: Case, start: float) -> Iterator[Verdict]:
        yield from (found := self._of_law(case, start))
        if case.embedding is None:  # a lift is one of the changes that must not matter
            deadline = time.monotonic() + self.time_limit / 6
            yield invariance(case, self._right(found, "inconclusive"), self.alpha / (2 * self.shares), self.seed, deadline)

    def _right(self, found: Sequence[Verdict], *other: str) -> bool:
        """Whether the law was found to be the target's (``other``: outcomes that will do, too), and not only near enough for a generous tolerance."""
        return all(verdict.outcome in ("conform", *other) for verdict in found) and (self.tolerance or 0) <= DEFAULT_TOLERANCE["sample"]

    def _of_law(self, case: Case, start: float) -> list[Verdict]:
        note = ""
        if self.way != "sample":
            try:
                reading = without_failures(read(case, self.way, start + self.time_limit / 3))
                found = judge(case, reading, self.tolerance, self.strict)
                return self._unscripted(case, found) if reading.way == "enumerate" else found
            except Refused as refusal:
                if self.way is not None:
                    raise
                note = f"; sampled because {refusal}"
        budget = Budget(self.alpha / (2 * self.shares), time.monotonic() + self.time_limit / 3)
        return sample(case, budget, self.tolerance, self.seed, note)[1]

    def _unscripted(self, case: Case, found: list[Verdict]) -> list[Verdict]:
        """Branches are replayed with scripted numbers, one row at a time; the subject is also glanced at as it is, in large and small batches."""
        if not self._right(found):
            return found
        glances = [(FIRST_LOOK // 2, None), (FIRST_LOOK // 2, SMALL_BATCH)] if self.subject.batched else [(FIRST_LOOK // 16, None)]
        note = "; right in batches of one row, wrong in larger ones" if self.subject.batched else "; right with scripted numbers, wrong with its own"
        for blocks, rows in glances:
            budget = Budget(self.alpha / (4 * self.shares), time.monotonic() + min(self.time_limit / 6, GLANCE), blocks, rows)
            sampled = sample(case, budget, self.tolerance, self.seed, note)[1]
            if any(verdict.outcome == "nonconform" for verdict in sampled):
                return sampled
        return found


def without_failures(reading: Reading) -> Reading:
    """The reading, unless the subject fails on more than boundary events.  Raises SubjectError then."""
    for message, mass in reading.failures.items():
        if mass > BOUNDARY:
            raise SubjectError(("always " if mass == 1 else f"with probability {float(mass):.3g} ") + message)
    return reading
