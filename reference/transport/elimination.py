"""Exact solutions of linear equations near a floating-point guess: how a certificate is read off a solver's basis."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from ..rational import Rational, rational

K = TypeVar("K", bound=Hashable)
Equation = tuple[Mapping[K, Rational], Rational]
"""(coefficients by unknown, right-hand side)"""

ROUND = 1 << 40
"""Unknowns that the equations leave free are rounded to multiples of 1 / ROUND."""


def solve_near(equations: Iterable[Equation[K]], guess: Mapping[K, float]) -> dict[K, Rational] | None:
    """An exact solution whose free unknowns are those of ``guess``, rounded; None when the equations contradict each other.

    Gauss-Jordan elimination; every unknown of the equations must be in ``guess``.
    """
    solved: dict[K, tuple[dict[K, Rational], Rational]] = {}  # pivot -> (coefficients of free unknowns, constant): pivot = constant - sum
    for coefficients, constant in equations:
        row, rest = _substituted(coefficients, constant, solved)
        if not row:
            if rest:
                return None
            continue
        pivot = max(row, key=lambda unknown: abs(row[unknown]))
        scale = row.pop(pivot)
        row, rest = {unknown: value / scale for unknown, value in row.items()}, rest / scale
        for other, (old, old_rest) in list(solved.items()):
            if pivot in old:
                solved[other] = _substituted(old, old_rest, {pivot: (row, rest)})
        solved[pivot] = row, rest
    answer = {unknown: rational(round(value * ROUND)) / ROUND for unknown, value in guess.items() if unknown not in solved}
    for pivot, (row, rest) in solved.items():
        answer[pivot] = rest - sum((value * answer[unknown] for unknown, value in row.items()), rational(0))
    return answer


def _substituted(
    coefficients: Mapping[K, Rational], constant: Rational, solved: Mapping[K, tuple[Mapping[K, Rational], Rational]]
) -> tuple[dict[K, Rational], Rational]:
    """An equation with the solved unknowns replaced by what they are."""
    row: dict[K, Rational] = {}
    for unknown, value in coefficients.items():
        if unknown in solved:
            inner, inner_constant = solved[unknown]
            constant -= value * inner_constant
            for free, factor in inner.items():
                row[free] = row.get(free, rational(0)) - value * factor
        else:
            row[unknown] = row.get(unknown, rational(0)) + value
    return {unknown: value for unknown, value in row.items() if value}, constant
