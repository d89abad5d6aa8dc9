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
from .catalogue import catalogue, named, suits
from .reading import Reading, read
from .readings.refused import Refused
from .report import Failure, Report
from .sampling import FIRST_LOOK, Budget, sample
from .subjects import Subject, SubjectError, load, subject_of
from .verdicts import BOUNDARY, DEFAULT_TOLERANCE, Verdict, judge

MAX_ERRORS = 3
"""A subject that could not be judged on this many instances is given up."""


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
    observe: Callable[[str, int, int], None] | None = None,
    record: Callable[[Verdict | Failure], None] | None = None,
) -> Report:
    """Is this verifier lossless, and does it accept what it should?

    ``subject``: a callable of a native shape (see ``subjects``), a Subject, or a name as on the command line.  ``instances``: Instance objects,
    names in the catalogue or paths of instance files; default those of the catalogue that suit the subject.  ``way``: enumerate, integrate or
    sample; default the strongest that applies, instance by instance.  ``alpha``: bound on the probability that sampling rejects a lossless
    subject in the whole run.  ``tolerance``: largest total variation that conforms, default by way of reading.  ``time_limit``: seconds per
    instance; a subject that does not come back is an error (only enforced in the main thread).
    ``strict``: count boundary events of mass <= 2^-23.  ``observe(instance, done, total)`` and ``record(verdict)`` follow the run.

    Returns a Report; nothing that goes wrong in the subject raises.  Raises SubjectError when the subject cannot be loaded, InstanceError for
    a bad instance file, ValueError for settings that make no sense.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), not {alpha}")
    if tolerance is not None and not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be in [0, 1), not {tolerance}")
    if time_limit <= 0:
        raise ValueError(f"the time limit must be positive, not {time_limit}")
    subjects = load(subject) if isinstance(subject, str) else [subject_of(subject)]
    if (judge_otherwise := getattr(subjects[0].call, "__draftproof_check__", None)) is not None:  # a drafter or a generator
        if instances is not None:
            raise ValueError("instances are for verifiers; drafters and generators are judged on their own")
        judged: Report = judge_otherwise(
            way=way, alpha=alpha, tolerance=tolerance, seed=seed, time_limit=time_limit, observe=observe, record=record
        )
        return judged
    settings = {"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit, "strict": strict}
    report = Report(settings=settings)
    given = None if instances is None else [named(one) if isinstance(one, str) else one for one in instances]
    work = [
        (one, [instance for instance in (catalogue() if given is None else given) if given is not None or suits(one, instance)]) for one in subjects
    ]
    total = sum(len(chosen) for _, chosen in work)
    done = 0
    for one, chosen in work:
        run = _Run(one, way, alpha, tolerance, seed, time_limit, strict, len(chosen) * len(subjects))
        errors = 0
        for instance in chosen:
            if observe:
                observe(f"{one.name} on {instance.name}", done, total)
            found = run.judge(instance)
            for item in found:
                (report.errors if isinstance(item, Failure) else report.verdicts).append(item)  # type: ignore[arg-type]
                if record:
                    record(item)
            done += 1
            errors += sum(isinstance(item, Failure) for item in found)
            if errors >= MAX_ERRORS or run.hung:
                break
    return report


class _Run:
    """One subject under fixed settings."""

    def __init__(
        self, subject: Subject, way: str | None, alpha: float, tolerance: float | None, seed: int, time_limit: float, strict: bool, shares: int
    ):
        self.subject, self.way, self.alpha, self.tolerance = subject, way, alpha, tolerance
        self.seed, self.time_limit, self.strict, self.shares = seed, time_limit, strict, shares
        self.hung = False

    def judge(self, instance: Instance) -> "Sequence[Verdict | Failure]":
        start = time.monotonic()
        try:
            with _alarm(self.time_limit):
                return self._judge(instance, start)
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
        return [Failure(self.subject.name, instance.name, message)]

    def _judge(self, instance: Instance, start: float) -> list[Verdict]:
        case = Case(self.subject, instance)
        note = ""
        if self.way != "sample":
            try:
                reading = without_failures(read(case, self.way, start + self.time_limit / 3))
                found = judge(case, reading, self.tolerance, self.strict)
                return self._in_batches(case, found) if reading.way == "enumerate" else found
            except Refused as refusal:
                if self.way is not None:
                    raise
                note = f"; sampled because {refusal}"
        budget = Budget(self.alpha / self.shares, time.monotonic() + self.time_limit / 3)
        return sample(case, budget, self.tolerance, self.seed, note)[1]

    def _in_batches(self, case: Case, found: list[Verdict]) -> list[Verdict]:
        """Branches are replayed in batches of one row; a subject that takes more is also glanced at in a large batch."""
        right = all(verdict.outcome == "conform" for verdict in found) and (self.tolerance or 0) <= DEFAULT_TOLERANCE["sample"]
        if not self.subject.batched or not right:
            return found
        budget = Budget(self.alpha / self.shares, time.monotonic() + self.time_limit / 3, blocks=FIRST_LOOK)
        sampled = sample(case, budget, self.tolerance, self.seed, "; right in batches of one row, wrong in larger ones")[1]
        return sampled if any(verdict.outcome == "nonconform" for verdict in sampled) else found


def without_failures(reading: Reading) -> Reading:
    """The reading, unless the subject fails on more than boundary events.  Raises SubjectError then."""
    for message, mass in reading.failures.items():
        if mass > BOUNDARY:
            raise SubjectError(("always " if mass == 1 else f"with probability {float(mass):.3g} ") + message)
    return reading


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
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
