"""``selftest``: does the oracle see every planted fault in every way of reading that it says, and does it leave every control alone?

Each fault states beforehand what a way makes of it; any difference fails.  Every fault has to be caught by some way.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import inf
from multiprocessing import get_context
from statistics import median
from typing import Any

from draftproof.reference.growth import total_variation
from draftproof.reference.rational import fraction, rational

from . import detection
from .builders import Builder
from .cases import Case
from .catalogue import TIERS, find
from .check import check
from .construction import construction
from .controls import CONTROLS, Control
from .drafters import Drafter
from .faults import FAULTS, WAYS, Fault, family_of
from .faults.drafters import ROWS
from .faults.generators import TOYS
from .generator_invariance import generator_invariance
from .generators import Generator
from .invariance import invariance
from .judge_drafter import check_drafter
from .judge_generator import Runs, check_generator
from .marginal_instances import named_instance
from .plan import without_failures
from .precision import Settings, check_precision
from .reading import read
from .readings.refused import Refused
from .report import Failure, Report
from .sampling import FIRST_LOOK, Budget, sample
from .subjects import Subject, SubjectError
from .verdicts import Verdict, judge

ALPHA = 1e-6
MOST_BLOCKS = 1 << 20
"""Blocks that sampling may take for one fault, as in ``check``."""

FEW_BLOCKS = 1 << 14
"""Blocks for what more would not show: faults below resolution, verdicts on E[L], controls."""

PATIENCE, IMPATIENCE = 1200.0, 15.0
"""Time limits in seconds, by the clock: for what is to be read, however busy the machine, and for what is said to be unreadable."""


@dataclass(frozen=True)
class Finding:
    """One fault in one way of reading, or one control.

    ``found``: caught, missed, unreadable, below resolution, or an error's message.  ``seconds``: of processor time.  ``blocks``: how many were
    sampled.  ``implied``: how many its exact total variation asks a chi-square test for.  ``needed``: how many the e-process takes, by simulation
    from the exact law, and ``floor`` how many a sequential test that knows that law takes, at the same alpha.
    """

    kind: str
    name: str
    family: str
    instance: str
    way: str
    said: str
    found: str
    seconds: float
    message: str = ""
    total_variation: float | None = None
    blocks: int | None = None
    implied: int | None = None
    needed: float | None = None
    floor: float | None = None

    @property
    def as_said(self) -> bool:
        return self.found == self.said

    @property
    def ratio(self) -> float | None:
        return None if self.needed is None or not self.floor else self.needed / self.floor


@dataclass
class Selftest:
    """What a run found."""

    tier: str
    faults: list[Finding] = field(default_factory=list)
    controls: list[Finding] = field(default_factory=list)

    @property
    def differences(self) -> list[Finding]:
        return [finding for finding in (*self.faults, *self.controls) if not finding.as_said]

    @property
    def uncaught(self) -> list[str]:
        """Faults that no way caught."""
        caught = {finding.name for finding in self.faults if finding.found == "caught"}
        return sorted({finding.name for finding in self.faults} - caught)

    @property
    def score(self) -> Fraction:
        """Share of the faults that some way caught."""
        names = {finding.name for finding in self.faults}
        return Fraction(len(names) - len(self.uncaught), max(len(names), 1))

    @property
    def ratio(self) -> float | None:
        """Median ratio of the blocks that the e-process takes to those that a test knowing the fault takes."""
        ratios = [finding.ratio for finding in self.faults if finding.ratio is not None]
        return median(ratios) if ratios else None

    @property
    def seconds(self) -> float:
        """Processor time of all."""
        return sum(finding.seconds for finding in (*self.faults, *self.controls))

    @property
    def outcome(self) -> str:
        return "nonconform" if self.differences or self.uncaught or not self.faults or not self.controls else "conform"

    def as_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "tier": self.tier,
            "alpha": ALPHA,
            "score": float(self.score),
            "median_ratio_to_floor": self.ratio,
            "processor_seconds": self.seconds,
            "faults": [_shown(finding) for finding in self.faults],
            "controls": [_shown(finding) for finding in self.controls],
        }


def _shown(finding: Finding) -> dict[str, Any]:
    return {key: value for key, value in {**asdict(finding), "ratio": finding.ratio}.items() if value not in (None, "")}


Task = tuple[str, int, str, str]
"""("fault" or "control", place in its list, instance, way): what a worker is told, since subjects do not travel between processes."""


def tasks(tier: str) -> list[Task]:
    """Sampled ones first.  Smoke: one fault of each kind and family by its strongest way, one of each kind by sampling too, controls once."""
    found: list[Task] = []
    families, kinds = set[tuple[str, str]](), set[str]()
    for place, fault in enumerate(FAULTS):
        for way in reversed(fault.ways):
            if way == "sample":
                chosen = fault.kind not in kinds and fault.sample == "caught"
            else:
                chosen = (fault.kind, family_of(fault.subject)) not in families and way == strongest(fault) and way != "lift"
            if tier == "standard" or chosen:
                found.append(("fault", place, fault.instance, way))
                kinds |= {fault.kind} if way == "sample" else set()
        families.add((fault.kind, family_of(fault.subject)))
    for place, control in enumerate(CONTROLS):
        for instance in control.instances if tier == "standard" else control.instances[:1]:
            if control.way is None:
                found.append(("control", place, instance, "any"))
        if control.way == "sample" or (tier == "standard" and isinstance(control.subject, Subject)):
            found.append(("control", place, control.instances[0], "sample"))
    return sorted(found, key=lambda task: task[3] != "sample")


def strongest(fault: Fault) -> str:
    """The first way that is said to catch it."""
    return next(way for way in WAYS if fault.said(way) == "caught")


def run(tier: str = "standard", workers: int = 2, seed: int = 0, observe: Callable[[str, int, int], None] | None = None) -> Selftest:
    """Judge what the tier holds in ``workers`` processes.  ``observe(name, done, total)`` follows it."""
    if tier not in TIERS:
        raise ValueError(f"tier {tier!r} is not one of {', '.join(TIERS)}")
    work, result = tasks(tier), Selftest(tier)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        begun = {pool.submit(perform, task, seed): task for task in work}
        found: dict[Task, Finding] = {}
        for done, future in enumerate(as_completed(begun), 1):
            task = begun[future]
            found[task] = future.result()
            if observe:
                observe(found[task].name, done, len(work))
    order = sorted(work, key=lambda task: (task[1], WAYS.index(task[3]) if task[3] in WAYS else -1))
    result.faults = [found[task] for task in order if task[0] == "fault"]
    result.controls = [found[task] for task in order if task[0] == "control"]
    return result


def _one_thread() -> None:
    """The workers share the cores: more threads in each only get in each other's way."""
    import os

    os.environ["OMP_NUM_THREADS"] = "1"


def perform(task: Task, seed: int) -> Finding:
    what, place, instance, way = task
    return judge_fault(FAULTS[place], way, seed) if what == "fault" else judge_control(CONTROLS[place], instance, way, seed)


def judge_fault(fault: Fault, way: str, seed: int = 0) -> Finding:
    """What ``way`` makes of the fault."""
    said, begun, start = fault.said(way), time.monotonic(), time.process_time()
    limit = IMPATIENCE if said == "unreadable" else PATIENCE
    more: dict[str, Any] = {}
    try:
        if way == "compare":
            found, message = _judged(_compared(fault, seed, begun + limit))
        elif way == "lift":
            found, message = _lifted(fault, seed, limit)
        elif way == "precision":
            found, message = _precise(fault, seed)
        elif not isinstance(fault.subject, Subject):
            assert not isinstance(fault.subject, Builder)
            tolerance = 0.1 if way == "sample" and fault.verdict == "ending" else None  # an ending is wrong often, and needs few outputs
            found, message = _from_report(_on_own(fault.subject, fault.instance, way, seed, limit, tolerance), fault)
        elif way == "sample":
            found, message, more = _sampled(fault, fault.subject, seed)
        else:
            found, message, more = _read(fault, fault.subject, way, limit)
    except Refused as refusal:
        found, message = "unreadable", str(refusal)
    except SubjectError as error:
        found, message = f"error: {error}", str(error)
    seconds = time.process_time() - start
    return Finding(fault.kind, fault.name, family_of(fault.subject), fault.instance, way, said, found, seconds, message, **more)


def _compared(fault: Fault, seed: int, deadline: float) -> Verdict:
    if isinstance(fault.subject, Builder):
        return construction(fault.subject, named_instance(fault.instance))
    if isinstance(fault.subject, Generator):
        return generator_invariance(Runs(fault.subject, TOYS[fault.instance]), True, ALPHA, seed, deadline)
    assert isinstance(fault.subject, Subject)
    return invariance(Case(fault.subject, find(fault.instance)), True, ALPHA, seed, deadline)


def _lifted(fault: Fault, seed: int, limit: float) -> tuple[str, str]:
    assert isinstance(fault.subject, Subject)
    report = check(fault.subject, [find(fault.instance)], lifts=[fault.lift], alpha=ALPHA, seed=seed, time_limit=limit, strict=fault.strict)
    if fault.verdict == "error":
        return ("caught", report.errors[0].message) if report.errors else ("missed", "it raised no error")
    return _from_report(report, fault)


def _precise(fault: Fault, seed: int) -> tuple[str, str]:
    assert isinstance(fault.subject, Subject)
    swept = [] if fault.instance == "bonus token" else [fault.instance]
    look = Settings(bits=16, vocabulary=0 if swept else 2048, tokens=48, tolerance=1e-4 if swept else 1e-6, seed=seed, strict=fault.strict)
    report = check_precision([fault.subject], swept, look)
    if report.errors:
        return _from_report(report, fault)
    worst = next((verdict for verdict in report.verdicts if verdict.outcome == "nonconform"), None)
    return _judged(worst) if worst else ("missed", report.verdicts[0].message)


def _read(fault: Fault, subject: Subject, way: str, limit: float) -> tuple[str, str, dict[str, Any]]:
    case = Case(subject, find(fault.instance))
    reading = without_failures(read(case, way, time.monotonic() + limit / 3))
    law = {block: rational(mass) for block, mass in reading.law.items()}
    distance = fraction(total_variation(law, case.target))
    more: dict[str, Any] = {"total_variation": float(distance)}
    verdicts = {verdict.verdict: verdict for verdict in judge(case, reading, None, fault.strict)}
    if verdicts[fault.verdict].outcome != "nonconform" and subject.batched:  # in larger batches, perhaps
        found, message = _from_report(check(subject, [case.instance], way=way, time_limit=limit, strict=fault.strict), fault)
        return found, message, more
    if fault.verdict == "exactness" and distance > 0:
        more["implied"] = detection.implied(distance, len(law))
        if way == strongest(fault) and fault.sample == "caught":
            more["floor"] = detection.floor(reading.law, case.target, ALPHA / 3)
            more["needed"] = detection.blocks_needed(reading.law, case.target, ALPHA / 3)
    return *_judged(verdicts.get(fault.verdict)), more


def _sampled(fault: Fault, subject: Subject, seed: int) -> tuple[str, str, dict[str, Any]]:
    case, below = Case(subject, find(fault.instance)), fault.sample == "below resolution"
    blocks = FEW_BLOCKS if below or fault.verdict == "acceptance" else MOST_BLOCKS
    never = None if fault.verdict == "acceptance" else 0.0  # a tolerance that no number of blocks reaches: go on until it is caught
    seen, verdicts = sample(case, Budget(ALPHA, inf, blocks), never, seed)
    found, message = _judged({verdict.verdict: verdict for verdict in verdicts}.get(fault.verdict))
    more: dict[str, Any] = {"blocks": seen.observations}
    if below and found == "missed":
        assert fault.distance is not None, f"{fault.name} is said to be below resolution, and does not say its total variation"
        more["implied"] = detection.implied(fault.distance, len(seen.blocks))
        found = "below resolution" if more["implied"] > MOST_BLOCKS else f"missed, although {more['implied']} blocks would do"
    return found, message, more


def _on_own(subject: Drafter | Generator, instance: str, way: str | None, seed: int, limit: float, tolerance: float | None = None) -> Report:
    """A drafter on its rows, a generator on its task."""
    if isinstance(subject, Drafter):
        return check_drafter(subject, {instance: ROWS[instance]}, way=way, alpha=ALPHA, tolerance=tolerance, seed=seed, time_limit=limit)
    return check_generator(subject, [TOYS[instance]], way=way, alpha=ALPHA, tolerance=tolerance, seed=seed, time_limit=limit)


def _from_report(report: Report, fault: Fault) -> tuple[str, str]:
    if report.errors:
        message = report.errors[0].message
        return ("unreadable" if fault.said(str(report.settings.get("way"))) == "unreadable" else f"error: {message}"), message
    return _judged({verdict.verdict: verdict for verdict in report.verdicts}.get(fault.verdict))


def _judged(verdict: Verdict | None) -> tuple[str, str]:
    if verdict is None:
        return "missed", "no such verdict"
    return "caught" if verdict.outcome == "nonconform" else "missed", verdict.message


def judge_control(control: Control, instance: str, way: str, seed: int = 0) -> Finding:
    """Whether the control passes; by sampling, whether a few thousand blocks raise no alarm."""
    start, said = time.process_time(), "not rejected" if way == "sample" else "conform"
    subject, errors = control.subject, list[Failure]()
    if not isinstance(subject, Subject):
        report = _on_own(subject, instance, None if way == "any" else way, seed, PATIENCE, tolerance=0.1 if way == "sample" else None)
        verdicts, errors = report.verdicts, report.errors
    elif way == "sample":
        budget = Budget(ALPHA, inf, FIRST_LOOK // min(subject.rows_per_draft, 8))
        verdicts = sample(Case(subject, find(instance)), budget, None, seed)[1]
    else:
        report = check(subject, [find(instance)], seed=seed, time_limit=PATIENCE)
        verdicts, errors = report.verdicts, report.errors
    wrong = [verdict for verdict in verdicts if verdict.outcome == "nonconform" or (verdict.outcome != "conform" and said == "conform")]
    found, message = (wrong[0].outcome, wrong[0].message) if wrong else ("error", errors[0].message) if errors else (said, "")
    return Finding("O", control.name, family_of(subject), instance, way, said, found, time.process_time() - start, message)


def lines(result: Selftest) -> Iterator[str]:
    """The differences, as plain text."""
    for finding in result.differences:
        yield (
            f"kind {finding.kind}   {finding.name} on {finding.instance}, read by {finding.way}: said {finding.said}, found {finding.found}"
            + (f"   ({finding.message})" if finding.message else "")
        )
    for name in result.uncaught:
        yield f"{name} is caught by no way of reading"
