"""Run a subject in a process of its own: one that crashes, hangs in native code or prints to stdout costs its own instance and nothing else."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

Send = Callable[[Any], None]

GRACE = 10.0
"""Seconds beyond the time limit before a worker that says nothing is ended; it interrupts itself first where it can."""


class WorkerLost(Exception):
    """The worker died or was ended; says how."""


def supervised(task: Callable[..., None], arguments: dict[str, Any], time_limit: float) -> Iterator[Any]:
    """Messages sent by ``task(send, **arguments)``, run in a new process with its stdout sent to stderr.

    Raises WorkerLost when it dies before it is done, or is silent for longer than ``time_limit`` and a grace.  ``task`` must be importable.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(theirs, task, arguments), daemon=True)
    worker.start()
    theirs.close()
    try:
        while True:
            if not ours.poll(time_limit + GRACE):
                raise WorkerLost(f"did not come back within the time limit of {time_limit:g} s and could not be interrupted; it was ended")
            try:
                kind, message = ours.recv()
            except EOFError:
                worker.join()
                raise WorkerLost(_obituary(worker.exitcode)) from None
            if kind == "done":
                return
            yield message
    finally:
        _end(worker.pid)
        worker.kill()
        worker.join()


def _end(group: int | None) -> None:
    """Kill the worker and whatever its subject started."""
    if group is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _work(connection: Connection, task: Callable[..., None], arguments: dict[str, Any]) -> None:
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own, so that what the subject forks can be ended with it
    owner = os.getpid()
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def send(message: Any) -> None:
        if os.getpid() != owner:
            os._exit(1)  # a copy of this process that the subject forked: it has no say
        connection.send(message)

    sys.stdout.flush()
    os.dup2(2, 1)  # whatever the subject or a solver prints stays out of machine-readable output
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    try:
        task(lambda message: send(("message", message)), **arguments)
    except KeyboardInterrupt:  # raised by the subject, since the signal is ignored: it ends the process as it would have elsewhere
        sys.exit("KeyboardInterrupt")
    send(("done", None))


def _end_with_parent() -> None:
    """A worker does not outlive whoever asked for it, however that one ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    _end(os.getpid())
    os._exit(1)


def _obituary(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"crashed: the process died of {signal_name(-exitcode)}"
    return f"ended the process, with exit status {exitcode}"


def signal_name(number: int) -> str:
    """Its name; real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
