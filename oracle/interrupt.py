"""A time limit for code in this process, whoever wrote it."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

RING_AGAIN = 5.0
"""Seconds after which a subject that swallowed the interruption is interrupted again."""


class Hung(BaseException):
    """Not an Exception, so that a subject's own ``except Exception`` does not swallow it."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block after ``seconds`` (main thread of a POSIX system; elsewhere the caller has to supervise)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, ring)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, RING_AGAIN)
    start = time.monotonic()
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # it may have rung again just now
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:  # somebody else's alarm
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - start), 1e-3), again)
