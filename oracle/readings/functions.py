"""Functions of a grid point, one after another applied to the value of a uniform; what was found of them once is kept for every uniform like it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from math import ceil, floor
from typing import Any, NamedTuple

LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = operator.lt, operator.le, operator.gt, operator.ge


class Cut(NamedTuple):
    """A statement on the points from ``lo`` to ``hi``: it is ``low`` below the cut, and the contrary from there on."""

    low: bool
    cut: int
    lo: int
    hi: int


class Function:
    """``value(k)``, monotone where it is defined, is what the program has in hand at grid point k: the very float operations are replayed."""

    __slots__ = ("value", "_then", "_at", "_cuts")

    def __init__(self, value: Callable[[int], Any]) -> None:
        self.value = value
        self._then: dict[Hashable, Function] = {}
        self._at: dict[int, Any] = {}
        self._cuts: dict[Hashable, Cut] = {}

    def then(self, step: Callable[[Any, Any], Any], operand: Any) -> Function:
        """``step(value, operand)``."""
        kind = type(operand)
        key = (step, operand) if operand and (kind is float or kind is int) else (step, kind, repr(operand))  # 0.0 is not -0.0
        found = self._then.get(key)
        if found is None:
            value = self.value
            found = self.followed(key, lambda k: step(value(k), operand))
        return found

    def followed(self, by: Hashable, value: Callable[[int], Any]) -> Function:
        """``value``, which is what ``by`` makes of this one."""
        found = self._then.get(by)
        if found is None:
            self._then[by] = found = Function(value)
        return found

    def at(self, k: int) -> Any:
        """The value at an end of an interval, which is asked for again and again."""
        try:
            return self._at[k]
        except KeyError:
            self._at[k] = value = self.value(k)
            return value

    def cut(self, statement: Callable[[Any, Any], Any], operand: Any, lo: int, hi: int) -> Cut:
        """Where ``statement(value, operand)`` changes between ``lo`` and ``hi``, at most once; bisection finds it."""
        kind = type(operand)
        key = (statement, operand) if kind is float or kind is int else (statement, operand, kind)
        found = self._cuts.get(key)
        if found is None or lo < found[2] or hi > found[3]:
            self._cuts[key] = found = self._bisected(statement, operand, lo, hi)
        return found

    def _bisected(self, statement: Callable[[Any, Any], Any], operand: Any, lo: int, hi: int) -> Cut:
        low, high = bool(statement(self.at(lo), operand)), bool(statement(self.at(hi), operand))
        if low == high:
            return Cut(low, hi + 1, lo, hi)
        before, cut = lo, hi
        while cut - before > 1:
            middle = (before + cut) // 2
            if bool(statement(self.value(middle), operand)) == low:
                before = middle
            else:
                cut = middle
        return Cut(low, cut, lo, hi)


class Even(Function):
    """k / 2^bits, as a float or, with ``kind``, as a numpy float64."""

    __slots__ = ("scale", "last")

    def __init__(self, scale: float, kind: type) -> None:
        super().__init__((lambda k: k / scale) if kind is float else lambda k: kind(k / scale))
        self.scale, self.last = scale, int(scale) - 1

    def _bisected(self, statement: Callable[[Any, Any], Any], operand: Any, lo: int, hi: int) -> Cut:
        if type(operand) is not float and type(operand) is not int or statement not in (LESS, LESS_EQUAL, GREATER, GREATER_EQUAL):
            return super()._bisected(statement, operand, lo, hi)
        if type(operand) is int and abs(operand) > self.scale:  # what is no float, which numpy's raise for
            return super()._bisected(statement, operand, lo, hi)
        point = operand * self.scale  # exact
        low = statement is LESS or statement is LESS_EQUAL
        if point != point:
            return Cut(False, self.last + 1, 0, self.last)
        point = min(max(point, -1.0), self.scale)
        cut = ceil(point) if statement is LESS or statement is GREATER_EQUAL else floor(point) + 1
        return Cut(low, min(max(cut, 0), self.last + 1), 0, self.last)
