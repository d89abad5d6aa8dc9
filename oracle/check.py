"""``check``: judge a verifier on the catalogue, or on instances of one's own; drafters and generators by what judges them."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from draftproof.reference.instances import Instance
from draftproof.reference.models import MissingRow

from .cases import Case
from .catalogue import find, named, suiting, suits
from .invariance import invariance
from .lifts import ALL, NotSuited, hosts_of, lifted, refusal
from .reading import Reading, read
from .readings.refused import Refused
from .report import Failure, NotJudged, Report
from .sampling import FIRST_LOOK, Budget, sample
from .subjects import Subject, SubjectError, load, subject_of
from .verdicts import BOUNDARY, DEFAULT_TOLERANCE, Verdict, judge

MAX_ERRORS = 3
"""A subject that could not be judged on this many instances is given up."""

SMALL_BATCH = 3
"""Rows of a batch in which what is wrong with one row, the last for instance, can be seen."""

GLANCE = 2.0
"""Seconds for each look at a subject that is already known to be right where it can be read exactly."""

RING_AGAIN = 5.0
"""Seconds after which a subject that swallowed the interruption is interrupted again."""


def check(
    subject: "Subject | str | Callable[..., Any]",
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
    observe: Callable[[str, int, int], None] | None = None,
    record: Callable[[Verdict | Failure], None] | None = None,
) -> Report:
    """Is this verifier lossless, and does it accept what it should?

    ``subject``: a callable of a native shape (see ``subjects``), a Subject, or a name as on the command line.  ``instances``: Instance objects,
    names in the catalogue or paths of instance files; default those of the catalogue that suit the subject.  ``way``: enumerate, integrate or
    sample; default the strongest that applies, instance by instance.  ``alpha``: bound on the probability that sampling rejects a lossless
    subject in the whole run.  ``tolerance``: largest total variation that conforms, default by way of reading.  ``time_limit``: seconds per
    instance; a subject that does not come back is an error (only enforced in the main thread).
    ``strict``: count boundary events of mass <= 2^-23.  ``tier``: "standard", or "smoke", one instance for each kind of fault.  ``lifts``: judge
    on instances lifted to real sizes instead (see ``lifts``): names, or "all" for those that suit the subject; default instances ``lifts.HOSTS``.
    ``observe(instance, done, total)`` and ``record(verdict)`` follow the run.

    Returns a Report; nothing that goes wrong in the subject raises.  Raises SubjectError when the subject cannot be loaded, InstanceError for
    a bad instance file, ValueError for settings that make no sense.
    """
    require_sense(alpha, tolerance, time_limit)
    subjects = load(subject) if isinstance(subject, str) else [subject_of(subject)]
    if (judge_otherwise := getattr(subjects[0].call, "__draftproof_check__", None)) is not None:  # a drafter or a generator
        if instances is not None or lifts is not None:
            raise ValueError("instances and lifts are for verifiers; drafters and generators are judged on their own")
        judged: Report = judge_otherwise(
            way=way, alpha=alpha, tolerance=tolerance, seed=seed, time_limit=time_limit, observe=observe, record=record
        )
        return judged
    lifts = None if lifts is None else list(lifts)
    settings = {"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit, "strict": strict}
    report = Report(settings=settings if lifts is None else {**settings, "lifts": lifts})
    given = None if instances is None else [named(one) if isinstance(one, str) else one for one in instances]
    asked = set(lifts or ())
    work = [(one, _tasks(one, given, lifts, tier)) for one in subjects]
    total = sum(len(tasks) for _, tasks in work)
    done = 0
    for one, tasks in work:
        run = _Run(one, way, alpha, tolerance, seed, time_limit, strict, len(tasks) * len(subjects))
        errors = 0
        for instance, lift in tasks:
            if observe:
                observe(f"{one.name} on {instance.name}" + (f" lifted by {lift}" if lift else ""), done, total)
            found = run.judge(instance, lift, required=lift in asked)
            for item in found:
                report.put(item)
                if record:
                    record(item)
            done += 1
            errors += sum(type(item) is Failure for item in found)
            if errors >= MAX_ERRORS or run.hung:
                break
    return report


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


class _Run:
    """One subject under fixed settings."""

    def __init__(
        self, subject: Subject, way: str | None, alpha: float, tolerance: float | None, seed: int, time_limit: float, strict: bool, shares: int
    ):
        self.subject, self.way, self.alpha, self.tolerance = subject, way, alpha, tolerance
        self.seed, self.time_limit, self.strict, self.shares = seed, time_limit, strict, shares
        self.hung = False

    def judge(self, instance: Instance, lift: str = "", required: bool = False) -> "Sequence[Verdict | Failure]":
        """Verdicts, or what went wrong.  ``required``: a lift that does not suit the subject is an error."""
        start = time.monotonic()
        name = f"{instance.name} lifted by {lift}" if lift else instance.name
        try:
            with _alarm(self.time_limit):
                return self._judge(lifted(self.subject, instance, lift) if lift else Case(self.subject, instance), start)
        except NotSuited as reason:
            return [(Failure if required else NotJudged)(self.subject.name, name, str(reason))]
        except _Hung:
            self.hung = True
            message = f"did not come back within the time limit of {self.time_limit:g} s; nothing more is asked of it"
        except SubjectError as error:
            message = str(error)
        except Refused as refusal:
            message = f"cannot be read by {self.way}: {refusal}"
        except MissingRow as error:
            message = f"the instance is incomplete: {error}"
        except MemoryError:
            message = "ran out of memory"
        except Exception as error:  # the subject's own code may raise anything
            message = f"raised {type(error).__name__}: {error}"
        if "NoneType" in message and instance.deterministic:
            message += "; drafts are deterministic here, so declared is None: each was drawn from a point mass"
        return [Failure(self.subject.name, name, message)]

    def _judge(self, case: Case, start: float) -> list[Verdict]:
        found = self._of_law(case, start)
        if case.embedding is not None:  # a lift is one of the changes that must not matter
            return found
        deadline = time.monotonic() + self.time_limit / 6
        return [*found, invariance(case, self._right(found), self.alpha / (2 * self.shares), self.seed, deadline)]

    def _right(self, found: Sequence[Verdict]) -> bool:
        """Whether the law was found to be the target's, and not only near enough for a generous tolerance."""
        return all(verdict.outcome == "conform" for verdict in found) and (self.tolerance or 0) <= DEFAULT_TOLERANCE["sample"]

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


def require_sense(alpha: float, tolerance: float | None, time_limit: float) -> None:
    """Raises ValueError for settings that make no sense, NaN among them: nothing is more than a tolerance of NaN."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), not {alpha}")
    if tolerance is not None and not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be in [0, 1), not {tolerance}")
    if not time_limit > 0:
        raise ValueError(f"the time limit must be positive, not {time_limit}")


class _Hung(BaseException):
    """Not an Exception, so that a subject's own ``except Exception`` does not swallow it."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block after ``seconds`` (main thread of a POSIX system; elsewhere the caller has to supervise)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise _Hung

    before = signal.signal(signal.SIGALRM, ring)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, RING_AGAIN)
    start = time.monotonic()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:  # somebody else's alarm
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - start), 1e-3), again)
