"""The step lemma and the unimodality step as questions to Z3: is there a counterexample, among all rows of V tokens?

Everything is stated without division: a residual g of mass D is any g with D g = excess.  Needs the z3-solver package.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import z3

Term = Any
Residual = Callable[[Term, Sequence[Term], Sequence[Term]], list[Term]]

SOUND = "sound"
"""The step that the verifiers take; every other name of ``STEPS`` is a mutant."""


def _kept(a: Term, f: Sequence[Term], r: Sequence[Term]) -> list[Term]:
    return [z3.If(a * x <= y, a * x, y) for x, y in zip(f, r, strict=True)]


def _excess(a: Term, f: Sequence[Term], r: Sequence[Term]) -> list[Term]:
    return [a * x - k for x, k in zip(f, _kept(a, f, r), strict=True)]


def _sound(a: Term, f: Sequence[Term], r: Sequence[Term], left: Sequence[Term], capacity: Term) -> list[Term]:
    excess = _excess(a, f, r)
    return [*_normalised(left, excess), capacity * (z3.Sum(excess) + 1 - a) == z3.Sum(excess)]


def _bonus_from_target(a: Term, f: Sequence[Term], r: Sequence[Term], left: Sequence[Term], capacity: Term) -> list[Term]:
    mass = z3.Sum(_excess(a, f, r))
    return [*(x == y for x, y in zip(left, f, strict=True)), capacity * (mass + 1 - a) == mass]


def _capacity_kept(a: Term, f: Sequence[Term], r: Sequence[Term], left: Sequence[Term], capacity: Term) -> list[Term]:
    return [*_normalised(left, _excess(a, f, r)), capacity == 1]


def _excess_of_all(a: Term, f: Sequence[Term], r: Sequence[Term], left: Sequence[Term], capacity: Term) -> list[Term]:
    mass = z3.Sum(_excess(a, f, r))
    return [*_normalised(left, _excess(1, f, r)), capacity * (mass + 1 - a) == mass]


def _normalised(left: Sequence[Term], excess: Sequence[Term]) -> list[Term]:
    mass = z3.Sum(excess)
    return [mass * x == e for x, e in zip(left, excess, strict=True)]


STEPS: dict[str, Callable[..., list[Term]]] = {
    SOUND: _sound,
    "bonus from target": _bonus_from_target,
    "+ 1 - a dropped": _capacity_kept,
    "excess of the whole target": _excess_of_all,
}
"""What the residual ``left`` and the capacity after a rejection satisfy: (a, f, r, left, capacity) -> equations."""

Rows = tuple[Fraction, list[Fraction], list[Fraction]]


def step_counterexample(step: str, tokens: int) -> Rows | None:
    """(a, f, r) for which  kept(x) + rejected a' g(x) = a f(x)  fails at some token; None when there is none.

    Renaming the tokens changes nothing, so it is enough to ask about token 0.
    """
    a, capacity = z3.Reals("a capacity")
    f, r, left = ([z3.Real(f"{name}{x}") for x in range(tokens)] for name in ("f", "r", "left"))
    solver = z3.Solver()
    solver.add(0 <= a, a <= 1, *_law(f), *_law(r))
    solver.add(*STEPS[step](a, f, r, left, capacity))
    kept = _kept(a, f, r)
    rejected = 1 - z3.Sum(kept)
    solver.add(rejected > 0)  # else nothing is rejected, and kept = a f follows from a f <= r or a = 1
    if step != SOUND:
        solver.add(0 < a, z3.Sum(_excess(a, f, r)) > 0)
    solver.add(kept[0] + rejected * capacity * left[0] != a * f[0])
    found = _solve(solver, [a, *f, *r])
    return None if found is None else (found[0], found[1 : 1 + tokens], found[1 + tokens :])


def nothing_rejected_counterexample(tokens: int) -> Rows | None:
    """(a, f, r) with rejection probability zero for which the kept mass of token 0, hence of any, is not a f; None when there is none."""
    a = z3.Real("a")
    f, r = ([z3.Real(f"{name}{x}") for x in range(tokens)] for name in ("f", "r"))
    solver = z3.Solver()
    kept = _kept(a, f, r)
    solver.add(0 <= a, a <= 1, *_law(f), *_law(r), z3.Sum(kept) == 1)
    solver.add(kept[0] != a * f[0])
    found = _solve(solver, [a, *f, *r])
    return None if found is None else (found[0], found[1 : 1 + tokens], found[1 + tokens :])


def unimodality_counterexample(convex: bool = True) -> tuple[list[Fraction], list[Fraction]] | None:
    """Gains d1 >= d2 and costs C0, C1, C2 where node 1 does not pay and yet node 2 does.  None when there are none.

    ``convex``: the cost steps do not fall.  Where they may, two nodes are asked to beat none, so that stopping at the first is a loss.
    """
    n0, d1, d2, c0, c1, c2 = z3.Reals("n0 d1 d2 c0 c1 c2")
    solver = z3.Solver()
    solver.add(n0 > 0, d1 >= d2, d2 >= 0, c0 > 0, c1 > 0, c2 > 0)
    solver.add((n0 + d1) * c0 <= n0 * c1)
    if convex:
        solver.add(c1 - c0 <= c2 - c1, (n0 + d1 + d2) * c1 > (n0 + d1) * c2)
    else:
        solver.add(n0 == 1, d1 <= 1, (n0 + d1 + d2) * c0 > n0 * c2)
    found = _solve(solver, [d1, d2, c0, c1, c2])
    return None if found is None else (found[:2], found[2:])


def _law(row: Sequence[Term]) -> list[Term]:
    return [*(x >= 0 for x in row), z3.Sum(row) == 1]


def _solve(solver: Any, variables: Sequence[Term]) -> list[Fraction] | None:
    """Values of the variables; None when there are none.  Raises RuntimeError when Z3 does not know."""
    solver.set("timeout", 60_000)
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:
        raise RuntimeError(f"Z3 does not know: {solver.reason_unknown()}")
    values = [solver.model().eval(variable, model_completion=True) for variable in variables]
    return [Fraction(value.numerator_as_long(), value.denominator_as_long()) for value in values]
