"""Run a subject in a process of its own: one that crashes, hangs in native code or prints to stdout costs its own instance and nothing else."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

Send = Callable[[Any], None]

GRACE = 10.0
"""Seconds beyond the time limit before a worker that says nothing is ended; it interrupts itself first where it can."""


class WorkerLost(Exception):
    """The worker died or was ended; says how.  ``exitcode`` as in multiprocessing, None when it was ended for its silence."""

    def __init__(self, how: str, exitcode: int | None = None):
        super().__init__(how)
        self.exitcode = exitcode


class Worker:
    """``task(send, **arguments)`` in a new process, with its stdout sent to stderr; it ends with this one.  ``task`` must be importable.

    ``converses``: the task is also given ``receive(seconds)``, which returns what ``send`` was given here, or None when that takes longer.
    """

    def __init__(self, task: Callable[..., None], arguments: dict[str, Any], converses: bool = False):
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe(duplex=converses)
        self._process = context.Process(target=_work, args=(theirs, task, arguments, converses), daemon=True)
        with _allowed_children():
            self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def send(self, message: Any) -> None:
        """To the task.  One that has ended does not get it, which shows when its answer is waited for."""
        with suppress(BrokenPipeError):
            self._ours.send(message)

    def receive(self, time_limit: float) -> Any:
        """The next ("message", what the task sent), or ("done", None).

        Raises WorkerLost when it died before it was done, or is silent for longer than ``time_limit`` and a grace.
        """
        try:
            if not self._ours.poll(time_limit + GRACE):
                raise WorkerLost(f"did not come back within the time limit of {time_limit:g} s and could not be interrupted; it was ended")
            return self._ours.recv()
        except (EOFError, OSError):
            self._process.join()
            raise WorkerLost(_obituary(self._process.exitcode), self._process.exitcode) from None

    def end(self) -> None:
        """Kill it, and whatever its subject started."""
        _end(self._process.pid)
        self._process.kill()
        self._process.join()


def supervised(task: Callable[..., None], arguments: dict[str, Any], time_limit: float) -> Iterator[Any]:
    """Messages sent by ``task(send, **arguments)``, run in a Worker.  Raises WorkerLost as its ``receive`` does."""
    worker = Worker(task, arguments)
    try:
        while (received := worker.receive(time_limit))[0] != "done":
            yield received[1]
    finally:
        worker.end()


@contextmanager
def _allowed_children() -> Iterator[None]:
    """A daemonic process, such as a worker of Dask, may not start others lest they outlive it; ours do not."""
    config: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    daemon = config.pop("daemon", None)
    try:
        yield
    finally:
        if daemon is not None:
            config["daemon"] = daemon


def _end(group: int | None) -> None:
    """Kill the worker and whatever its subject started."""
    if group is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _work(connection: Connection, task: Callable[..., None], arguments: dict[str, Any], converses: bool) -> None:
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own, so that what the subject forks can be ended with it
    owner = os.getpid()
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def receive(seconds: float) -> Any:
        return connection.recv() if connection.poll(seconds) else None

    def send(message: Any) -> None:
        if os.getpid() != owner:
            os._exit(1)  # a copy of this process that the subject forked: it has no say
        connection.send(message)

    sys.stdout.flush()
    os.dup2(2, 1)  # whatever the subject or a solver prints stays out of machine-readable output
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    try:
        task(lambda message: send(("message", message)), **arguments, **({"receive": receive} if converses else {}))
    except SystemExit:
        raise
    except BaseException as error:  # KeyboardInterrupt too, raised by the subject since the signal is ignored: nobody is served by a traceback
        sys.exit(f"{type(error).__name__}: {error}")
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
