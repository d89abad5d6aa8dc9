"""Judge one item of a job in a process of its own: what runs on the threads of an executor, here or on another machine.

A thread keeps its process for the next item of the job.  One that dies or hangs costs the item it was judging, and the next item gets a new one.
"""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .report import Failure, Report
from .subjects import SubjectError
from .supervise import Send, Worker, WorkerLost

if TYPE_CHECKING:
    from .run import Job

IDLE = 60.0
"""Seconds after which a process that is asked nothing more ends."""

LOADING = 60.0
"""Seconds that loading a subject may take, at least: frameworks are imported."""

_kept: dict[int, tuple[str, Worker, "Listing | None"]] = {}
"""Thread -> the job it works for, its process, and what that has said about the job."""

_closed = set[str]()


@dataclass(frozen=True)
class Listing:
    """What a job consists of: subject and instance of every item, settings, seconds for an item; what is known of the subjects (``origins.about``),
    and the fingerprint of their source.
    """

    names: list[tuple[str, str]]
    settings: Mapping[str, Any]
    time_limit: float
    about: dict[str, dict[str, Any]]
    source: str | None


def listing(job: "Job") -> Listing:
    """Raises SubjectError when the subject cannot be loaded, ValueError for settings that make no sense."""
    try:
        return _worker(job)[1]
    except WorkerLost as lost:
        raise SubjectError(f"{job.name} {lost} while it was loaded") from None


def judge(job: "Job", number: int, name: tuple[str, str]) -> Report:
    """What item ``number``, of this subject and instance, finds."""
    began = time.monotonic()
    for may_try_again in (True, True, False):
        try:
            worker, listed = _worker(job)
            worker.send(number)
            kind, found = worker.receive(listed.time_limit)
            if kind != "done":  # it had ended before it was asked: after a hang, or idle for too long
                return cast(Report, found)
            message = "its process ended"
        except WorkerLost as lost:
            message = str(lost)
            if lost.exitcode != -signal.SIGKILL:  # else it may be somebody else who killed it, where memory runs out for instance
                may_try_again = False
        except (SubjectError, ValueError) as error:
            message, may_try_again = str(error), False
        _drop(threading.get_ident())
        if not may_try_again:
            break
    return Report(errors=[Failure(*name, message)], seconds={(*name, ""): round(time.monotonic() - began, 6)})


def close(job_id: str) -> None:
    """End the processes that the threads of this process keep for a job; it gets no new ones."""
    _closed.add(job_id)
    for thread in [thread for thread, (owner, *_) in list(_kept.items()) if owner == job_id]:
        _drop(thread)


def serve(send: Send, receive: Callable[[float], Any], job: "Job") -> None:
    """In the process: send ("listing", Listing) or (kind of error, message), then a Report for every number received."""
    try:
        plan, listed = job.plan()
    except SubjectError as error:
        return send(("subject", str(error)))
    except (ValueError, OSError) as error:
        return send(("value", str(error)))
    send(("listing", listed))
    while not plan.interrupted and (number := receive(IDLE)) is not None:  # another process goes on after a hang
        try:
            send(plan.judge(number))
        except KeyboardInterrupt:  # raised by the subject: the keyboard's is ignored here
            subject, instance = plan.names[number]
            send(Report(errors=[Failure(subject, instance, "raised KeyboardInterrupt")]))


def _worker(job: "Job") -> tuple[Worker, Listing]:
    thread = threading.get_ident()
    kept = _kept.get(thread)
    if kept is not None and kept[0] == job.id and kept[1].alive and kept[2] is not None:
        return kept[1], kept[2]
    _drop(thread)
    if job.id in _closed:
        raise SubjectError("the run has ended")
    worker = Worker(serve, {"job": job}, converses=True)
    _kept[thread] = job.id, worker, None
    kind, said = worker.receive(max(job.time_limit, LOADING))[1]
    if kind != "listing":
        raise (SubjectError if kind == "subject" else ValueError)(said)
    _kept[thread] = job.id, worker, said
    return worker, said


def _drop(thread: int) -> None:
    if (kept := _kept.pop(thread, None)) is not None:
        kept[1].end()
