"""Polynomial identities on regions where every comparison is decided.

A program over symbolic rows compares expressions (min, positive part).  Along a branch every comparison has an answer; all branches together
cover all rows.  What a branch computes is rational in the symbols, and an identity on it is proved by cancelling to zero.

    for region, value in regions(program): ...

Branches that no row can take (their answers contradict each other) may be visited too; an identity that holds there as well is no less true.
Where a branch divides by zero, ``Impossible`` leaves it out: it is the boundary of other branches.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sympy

T = TypeVar("T")
Expression = Any


class Impossible(Exception):
    """No row takes this branch."""


@dataclass
class Region:
    """The answers along one branch: e >= 0 where ``signs[e]`` is True, else e <= 0."""

    planned: list[bool]
    signs: dict[Expression, bool] = field(default_factory=dict)
    asked: list[bool] = field(default_factory=list)

    def nonnegative(self, expression: Expression) -> bool:
        """Whether the expression is >= 0 here; its negative is answered the other way (on the boundary both programs agree)."""
        expression = sympy.cancel(expression)
        if expression.is_number:
            return bool(expression >= 0)
        if expression in self.signs:
            return self.signs[expression]
        if (negative := sympy.cancel(-expression)) in self.signs:
            return not self.signs[negative]
        answer = self.planned[len(self.asked)] if len(self.asked) < len(self.planned) else True
        self.asked.append(answer)
        self.signs[expression] = answer
        return answer

    def least(self, a: Expression, b: Expression) -> Expression:
        """min(a, b) of non-negative expressions."""
        if a == 0 or b == 0:
            return sympy.Integer(0)
        return a if self.nonnegative(b - a) else b

    def positive_part(self, expression: Expression) -> Expression:
        """max(0, e)."""
        return expression if self.nonnegative(expression) else sympy.Integer(0)


def regions(program: Callable[[Region], T]) -> Iterator[tuple[Region, T]]:
    """Every branch of ``program`` with what it returns, depth first."""
    plans: list[list[bool]] = [[]]
    while plans:
        region = Region(plans.pop())
        decided = len(region.planned)
        try:
            yield region, program(region)
        except Impossible:
            pass
        plans += [[*region.asked[:place], False] for place in range(decided, len(region.asked))]


def row(name: str, tokens: int) -> list[Expression]:
    """A symbolic law: free symbols, and a last entry that makes the sum one."""
    free = list(sympy.symbols(f"{name}:{tokens - 1}", nonnegative=True))
    return [*free, 1 - sum(free)]
