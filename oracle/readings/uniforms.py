"""A Python or numpy number that is not known yet: a uniform, or a monotone function of one, until it is compared.

Comparisons branch. Arithmetic with known numbers is not carried out on an interval but put off: `value(k)` replays the very
float operations for the k-th grid point, so every branch is cut where the unmodified code would cut it.
Any other use needs the number itself and refuses the reading.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from . import scripted
from .scripted import Cell, Grid


class Uniform:
    """A non-decreasing or non-increasing function of one cell; `at` is None for the uniform itself."""

    __slots__ = ("cell", "kind", "at", "scale")

    def __init__(self, cell: Cell, at: Callable[[int], Any] | None = None, kind: type = float) -> None:
        if at is None and cell.grid.values is not None:
            at = cell.grid.values
        self.cell, self.at, self.kind = cell, at, kind
        self.scale = 2.0**cell.grid.bits

    def value(self, k: int) -> Any:
        """What the program would have in hand at grid point k, in its own type."""
        return self.kind(k / self.scale) if self.at is None else self.at(k)

    # comparisons

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, operator.lt, False, True)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, operator.le, False, False)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, operator.gt, True, False)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, operator.ge, True, True)

    def _compare(self, other: Any, op: Callable[[Any, Any], Any], above: bool, at_least: bool) -> bool:
        """`above`: true for large values. `at_least`: the truth changes at value >= other, else at value > other."""
        cell = self.cell
        if self.at is None and isinstance(other, (float, int)):
            point = other * self.scale  # exact: a power of two
            if point != point:
                return False
            point = min(max(point, -1.0), self.scale)
            return cell.reaches(math.ceil(point) if at_least else math.floor(point) + 1) is above
        if not self._is_number(other):
            return NotImplemented
        return cell.decide(lambda k: bool(op(self.value(k), other)))

    def _is_number(self, other: Any) -> bool:
        """False leaves the operation to `other`, an array or a tensor."""
        if isinstance(other, Uniform):
            self._refuse("combines two uniforms")
        return isinstance(other, numbers.Number)

    def __eq__(self, other: object) -> bool:
        if not self._is_number(other):
            return NotImplemented
        return self >= other and not self > other

    def __bool__(self) -> bool:
        return not self == 0

    # arithmetic with known numbers

    def apply(self, function: Callable[[Any], Any]) -> Uniform:
        """The number `function(value)`; the function must be monotone where it is defined."""
        low, high = function(self.value(self.cell.lo)), function(self.value(self.cell.hi))
        if (low != low) != (high != high):
            self._refuse("arithmetic with a uniform that is not defined over its whole range")
        return Uniform(self.cell, lambda k: function(self.value(k)))

    def _with(self, op: Callable[[Any, Any], Any], other: Any) -> Uniform:
        return self.apply(lambda value: op(value, other)) if self._is_number(other) else NotImplemented

    def _after(self, op: Callable[[Any, Any], Any], other: Any) -> Uniform:
        return self.apply(lambda value: op(other, value)) if self._is_number(other) else NotImplemented

    def __add__(self, other: Any) -> Uniform:
        return self._with(operator.add, other)

    def __radd__(self, other: Any) -> Uniform:
        return self._after(operator.add, other)

    def __sub__(self, other: Any) -> Uniform:
        return self._with(operator.sub, other)

    def __rsub__(self, other: Any) -> Uniform:
        return self._after(operator.sub, other)

    def __mul__(self, other: Any) -> Uniform:
        return self._with(operator.mul, other)

    def __rmul__(self, other: Any) -> Uniform:
        return self._after(operator.mul, other)

    def __truediv__(self, other: Any) -> Uniform:
        return self._with(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Uniform:
        if not self._is_number(other):
            return NotImplemented
        if self.value(self.cell.lo) * self.value(self.cell.hi) < 0:
            self._refuse("division by a number of either sign")
        if self.kind is float and self == 0:
            raise ZeroDivisionError("float division by zero")
        return self._after(operator.truediv, other)

    def __floordiv__(self, other: Any) -> Uniform:
        return self._with(operator.floordiv, other)

    def __neg__(self) -> Uniform:
        return self.apply(operator.neg)

    def __pos__(self) -> Uniform:
        return self

    # numpy's functions of an object call the method of that name

    def log(self) -> Uniform:
        return self.apply(np.log)

    def log1p(self) -> Uniform:
        return self.apply(np.log1p)

    def exp(self) -> Uniform:
        return self.apply(np.exp)

    def sqrt(self) -> Uniform:
        return self.apply(np.sqrt)

    # whole numbers: one branch a value

    def pin(self, whole: Callable[[Any], int]) -> int:
        """`whole(value)`, branching over its values."""
        low, high = (whole(self.value(k)) for k in (self.cell.lo, self.cell.hi))
        if abs(high - low) > scripted.MOST_CHOICES:
            self._refuse(f"a uniform rounded to one of {abs(high - low) + 1} whole numbers: too many branches")
        while low != high and not self.cell.decide(lambda k, low=low: whole(self.value(k)) == low):  # type: ignore[misc]
            low = whole(self.value(self.cell.lo))
        return low

    def __int__(self) -> int:
        return self.pin(int)

    def __trunc__(self) -> int:
        return self.pin(math.trunc)

    def __floor__(self) -> int:
        return self.pin(math.floor)

    def __ceil__(self) -> int:
        return self.pin(math.ceil)

    # everything else

    def _refuse(self, reason: str) -> NoReturn:
        self.cell.script.refuse(reason)

    def __float__(self) -> float:
        self._refuse("a uniform used as a plain number: float()")

    def __hash__(self) -> int:
        self._refuse("a uniform used as a key or returned")

    def __repr__(self) -> str:
        if scripted.active is not self.cell.script:
            return "<uniform>"
        self._refuse("prints a uniform")

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Element by element, with elements in their own types: a Python float is weak against float32 arrays."""
        if method != "__call__" or ufunc.__name__ not in OPERATORS or options:
            inputs = tuple(boxed(value) if isinstance(value, Uniform) else value for value in inputs)
            return getattr(ufunc, method)(*inputs, **options)
        forward, backward = OPERATORS[ufunc.__name__]
        name, other = (forward, inputs[1]) if inputs[0] is self else (backward, inputs[0])
        others = np.asarray(other)
        results = np.empty(others.shape, dtype=object)
        for place in np.ndindex(others.shape):
            results[place] = getattr(self, name)(others[place])
        if ufunc.types[0].endswith("->?"):
            results = results.astype(bool)
        return results[()]

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .tensors import dispatch

        return dispatch(function, args, kwargs or {})


OPERATORS = {
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "true_divide": ("__truediv__", "__rtruediv__"),
}


def boxed(value: Any) -> np.ndarray[Any, Any]:
    """An object array of no dimensions that holds the value."""
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def draw_uniform(grid: Grid, kind: type = float) -> Any:
    """One uniform of the run in progress: a `Uniform` while branches are explored, a number when a leaf is replayed."""
    drawn = scripted.current().draw(grid)
    return Uniform(drawn, kind=kind) if isinstance(drawn, Cell) else kind(drawn)
