"""The convex table nearest to measured latencies, in least squares (cvxpy)."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..rational import Rational, rational
from .convexify import lower_hull


class FitError(RuntimeError):
    """The solver did not reach an optimum.  There is no fallback: raw measurements are not convex, and everything after relies on that."""


def convex_fit(sizes: Sequence[int], latencies: Sequence[float], solver: str = "CLARABEL") -> list[Rational]:
    """C_v(0), ..., C_v(max(sizes)) minimising sum_i (C_v(sizes_i) - latencies_i)^2 over convex, non-decreasing tables.

    ``sizes`` are numbers of nodes (query tokens minus one), increasing, any spacing: slopes, not second differences, are what must not decrease,
    since second differences on a sparse grid mean something else.  Between sizes the table is linear; below the first it is flat.
    The result is exactly convex: the solver's rounding is removed by the lower hull.

    Raises ValueError for sizes that do not increase or latencies that are not finite, FitError when the solver fails.
    """
    import numpy as np

    cvxpy: Any = import_module("cvxpy")  # two seconds, so only when asked for
    at, measured = np.asarray(sizes, dtype=float), np.asarray(latencies, dtype=float)
    if at.shape != measured.shape or at.ndim != 1 or not len(at):
        raise ValueError("at least one size is needed, and one latency for each")
    if not np.isfinite(at).all() or at[0] < 0 or (at % 1).any() or (np.diff(at) <= 0).any():
        raise ValueError("sizes must be integers that increase from 0 or above")
    if not np.isfinite(measured).all():
        raise ValueError("a latency is not finite")
    unit = float(np.abs(measured).max()) or 1.0  # the solver's tolerances are absolute: nanoseconds and hours must fit alike
    fitted = cvxpy.Variable(len(at))
    rules = [fitted[0] >= 0]
    if len(at) > 1:
        slopes = cvxpy.multiply(cvxpy.diff(fitted), 1 / np.diff(at))
        rules += [slopes[0] >= 0] + ([cvxpy.diff(slopes) >= 0] if len(at) > 2 else [])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(fitted - measured / unit)), rules)
    try:
        problem.solve(solver=solver)
    except cvxpy.SolverError as error:
        raise FitError(f"the convex fit failed: {error}") from error
    if problem.status != "optimal" or fitted.value is None:
        raise FitError(f"the convex fit failed: the solver says {problem.status}")
    every = np.interp(np.arange(int(at[-1]) + 1), at, fitted.value * unit)
    return lower_hull([rational(float(value)) for value in np.maximum.accumulate(np.maximum(every, 0))])
