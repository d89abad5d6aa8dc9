"""``check``: judge a subject here and now, or on an executor; with a log, so that it can be interrupted and go on later."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from draftproof.reference.instances import Instance

from .items import Observe, Record
from .report import Report
from .run import Job, Run
from .subjects import Subject


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
    fail_fast: bool = False,
    log: str | Path | None = None,
    executor: Executor | None = None,
    observe: Observe | None = None,
    record: Record | None = None,
) -> Report:
    """Is this verifier lossless, and does it accept what it should?

    ``subject``: a callable of a native shape (see ``subjects``), a Subject, or a name as on the command line.  ``instances``: Instance objects,
    names in the catalogue or paths of instance files; default those of the catalogue that suit the subject.  ``way``: enumerate, integrate or
    sample; default the strongest that applies, instance by instance.  ``alpha``: bound on the probability that sampling rejects a lossless
    subject in the whole run.  ``tolerance``: largest total variation that conforms, default by way of reading.  ``time_limit``: seconds per
    instance; a subject that does not come back is an error (without an executor only in the main thread).
    ``strict``: count boundary events of mass <= 2^-23.  ``tier``: "standard", or "smoke", one instance for each kind of fault.  ``lifts``: judge
    on instances lifted to real sizes instead (see ``lifts``): names, or "all" for those that suit the subject; default instances ``lifts.HOSTS``.
    ``fail_fast``: nothing after the first nonconform item.  ``log``: append what is judged to this file, and skip what is judged there already.
    ``executor``: judge the items on it, wherever its workers are, each in a process of its own that may crash or hang; the subject must then be a
    name or importable.  ``observe(instance, done, total)`` and ``record(verdict)`` follow the run.

    Returns a Report; nothing that goes wrong in the subject raises.  Raises SubjectError when the subject cannot be loaded, InstanceError for
    a bad instance file, RunLogError for a log of another run, ValueError for settings that make no sense.
    """
    settings = {"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit, "strict": strict, "tier": tier}
    job = Job.of(subject, instances, {**settings, "lifts": None if lifts is None else list(lifts)})
    run = Run(job, log=None if log is None else Path(log), executor=executor, fail_fast=fail_fast)
    return run.go(observe, record)
