"""A run: the items of a job, judged here or on an executor, with or without a log."""

import pickle
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from draftproof import __version__
from draftproof.reference.instances import Instance, parse

from . import workers
from .catalogue import catalogue, named
from .fingerprint import fingerprint
from .items import Fold, Keep, Observe, Plan, Record
from .origins import about
from .plan import plan
from .report import Failure, Report
from .run_log import run_log
from .subjects import Subject, load, subject_of
from .workers import Listing


@dataclass(frozen=True)
class Job:
    """What is judged, and how: a subject or its name, the settings of ``plan``, instances or None for those that suit.

    ``transcript``: where a command's conversation is written.  Pickled, instances travel as the files they were read from.
    """

    subject: Any
    settings: Mapping[str, Any]
    instances: tuple[Instance, ...] | None = None
    transcript: Path | None = None
    id: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of(
        cls,
        subject: "Subject | str | Callable[..., Any]",
        instances: Iterable[Instance | str] | None,
        settings: Mapping[str, Any],
        transcript: Path | None = None,
    ) -> "Job":
        """Raises InstanceError for a bad instance file."""
        given = None if instances is None else tuple(named(one) if isinstance(one, str) else one for one in instances)
        return cls(subject, settings, given, transcript)

    @property
    def name(self) -> str:
        return self.subject if isinstance(self.subject, str) else subject_of(self.subject).name

    @property
    def time_limit(self) -> float:
        return float(self.settings["time_limit"])

    @property
    def sources(self) -> list[dict[str, Any]] | None:
        """The instances as JSON."""
        return None if self.instances is None else [{**instance.source, "name": instance.name} for instance in self.instances]

    def plan(self) -> tuple[Plan, Listing]:
        """The items, and what is to be known about them elsewhere.  Raises SubjectError, ValueError, OSError."""
        if self.transcript is not None:
            self.transcript.touch()
        subjects = load(self.subject, self.transcript) if isinstance(self.subject, str) else [subject_of(self.subject)]
        made = plan(subjects, self.instances, **self.settings)
        known = {one.name: about(one) for one in subjects}
        return made, Listing(made.names, made.settings, made.time_limit, known, fingerprint(subjects))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.subject, self.settings, self.sources, self.transcript, self.id)


def _unpickled(subject: Any, settings: Mapping[str, Any], sources: list[dict[str, Any]] | None, transcript: Path | None, id: str) -> Job:
    return Job(subject, settings, None if sources is None else tuple(parse(source, name=source["name"]) for source in sources), transcript, id)


class Run:
    """A job that is judged item by item; ``report`` is what it has found so far, also when ``go`` was interrupted."""

    def __init__(self, job: Job, log: Path | None = None, executor: Executor | None = None, fail_fast: bool = False):
        """As for ``check``.  Raises ValueError when the subject cannot be sent to other processes, as an executor needs."""
        self.job, self._log, self._executor, self._fail_fast = job, log, executor, fail_fast
        self._fold, self._about, self._began = Fold([], {}), dict[str, dict[str, Any]](), False
        if executor is not None:
            try:
                pickle.dumps(job)
            except Exception as error:  # pickling runs whatever the subject is made of
                raise ValueError(f"{job.name} cannot be sent to another process ({error}): name it as module:callable") from None

    def report(self) -> Report:
        report, known = self._fold.report(), {instance.name for instance in catalogue()}
        report.about = self._about
        report.instances = {one["name"]: one for one in self.job.sources or () if one["name"] not in known}
        return report

    @property
    def began(self) -> bool:
        """Whether the subject could be loaded and the log opened."""
        return self._began

    def go(self, observe: Observe | None = None, record: Record | None = None) -> Report:
        """Judge what is not judged yet.  Raises as ``check`` does."""
        try:
            here, listed = self._listed()
            self._about, more = listed.about, {"fail_fast": True} if self._fail_fast else {}
            self._fold = Fold(listed.names, {**listed.settings, **more}, self._fail_fast)
            with nullcontext() if self._log is None else run_log(self._log, self._header(listed)) as log:
                for number, found in ({} if log is None else log.found).items():
                    self._fold.add(number, found)
                keep, self._began = None if log is None else log.add, True
                if here is not None:
                    here.run(observe, record, self._fold, keep)
                elif self._executor is not None:
                    self._elsewhere(self._executor, observe, record, keep)
        finally:
            workers.close(self.job.id)
        return self.report()

    def _listed(self) -> tuple[Plan | None, Listing]:
        if self._executor is not None:
            return None, self._executor.submit(workers.listing, self.job).result()
        return self.job.plan()

    def _header(self, listed: Listing) -> dict[str, Any]:
        settings = {**self.job.settings, **listed.settings}
        what = {"subject": self.job.name, "source": listed.source, "settings": settings, "instances": self.job.sources}
        return {"draftproof": __version__, **what, "items": listed.names}

    def _elsewhere(self, executor: Executor, observe: Observe | None, record: Record | None, keep: Keep | None) -> None:
        fold = self._fold
        pending: dict[Future[Report], int] = {
            executor.submit(workers.judge, self.job, number, fold.names[number]): number for number in fold.wanted()
        }
        try:
            while pending:
                if observe:
                    observe(fold.name(min(pending.values())), *fold.progress())
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    number = pending.pop(future)
                    try:
                        found, kept = future.result(), keep
                    except (Exception, CancelledError) as error:  # lost with a machine, not by the item: another run may have more luck
                        message = f"was lost by the executor: {type(error).__name__}: {error}"
                        found, kept = Report(errors=[Failure(*fold.names[number], message)]), None
                    fold.take(number, found, record, kept)
                wanted = set(fold.wanted())
                for future in [future for future, number in pending.items() if number not in wanted]:
                    future.cancel()
                    del pending[future]
        finally:
            for future in pending:
                future.cancel()
