"""Measure what a verify pass costs."""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any


def profile(
    run: Callable[[int], Any], sizes: Sequence[int], warmups: int = 5, repeats: int = 20, clock: Callable[[], float] = perf_counter
) -> list[float]:
    """Median seconds of ``run(n + 1)`` for each number of nodes n in ``sizes``: ``run`` is given the number of **query tokens**.

    ``run`` must wait for its device before it returns.  Each size is warmed up on its own, since a new shape may compile or capture.
    Raises ValueError for a negative size or no repeats; whatever ``run`` raises is passed on.
    """
    if repeats < 1 or any(size < 0 for size in sizes):
        raise ValueError("sizes are 0 or above, repeats 1 or above")
    return [_median(run, size + 1, warmups, repeats, clock) for size in sizes]


def _median(run: Callable[[int], Any], tokens: int, warmups: int, repeats: int, clock: Callable[[], float]) -> float:
    for _ in range(warmups):
        run(tokens)
    times = []
    for _ in range(repeats):
        start = clock()
        run(tokens)
        times.append(clock() - start)
    return median(times)
