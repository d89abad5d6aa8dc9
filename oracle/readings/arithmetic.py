"""What a program may do with a number that is not known yet, besides comparing it.

Arithmetic with known numbers gives another such number; rounding to whole numbers branches; combining two of them, or
any use that needs the number itself, refuses the reading.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

if TYPE_CHECKING:
    from .uniforms import Derived, Uniform

MOST_VALUES = 10_000  # that a draw or a rounding may branch over


class Number:
    """A non-decreasing or non-increasing function of one uniform."""

    __slots__ = ()
    derived: ClassVar[type[Derived]]

    @property
    def uniform(self) -> Uniform:
        raise NotImplementedError

    def value(self, k: int) -> Any:
        """What the program would have in hand at grid point k of the uniform, in its own type."""
        raise NotImplementedError

    def ends(self) -> tuple[Any, Any]:
        """Its values where the uniform is lowest and highest, as far as is known by now."""
        return self.value(self.uniform.lo), self.value(self.uniform.hi)

    def _decide(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        if other is self:
            return op in (operator.le, operator.ge)  # numpy's search compares a key with itself
        if isinstance(other, Number):
            from .races import compare

            return compare(op, self, other)
        if not self._is_number(other):
            return NotImplemented
        return self.uniform.decide(lambda k: bool(op(self.value(k), other)), lambda: tuple(bool(op(end, other)) for end in self.ends()))

    def _is_number(self, other: Any) -> bool:
        """False leaves the operation to `other`, an array or a tensor."""
        if type(other) is float or type(other) is int:
            return True
        if isinstance(other, Number):
            self._refuse("combines two uniforms")
        return isinstance(other, (numbers.Number, np.bool_))  # numpy does not register its bool

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Number) and other.uniform is not self.uniform:
            return False  # but for a tie
        if not self._is_number(other):
            return NotImplemented
        return bool(self >= other and not self > other)  # type: ignore[operator]

    def __bool__(self) -> bool:
        return not self == 0

    def apply(self, function: Callable[[Any], Any]) -> Derived:
        """The number `function(value)`; the function must be monotone where it is defined."""
        uniform, value = self.uniform, self.value
        low, high = map(function, self.ends())
        if (low != low) != (high != high):
            self._refuse("arithmetic with a uniform that is not defined over its whole range")
        return self.derived(uniform, lambda k: function(value(k)), (uniform.lo, low, uniform.hi, high))

    def _with(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        return self.apply(lambda value: op(value, other)) if self._is_number(other) else NotImplemented

    def _after(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        return self.apply(lambda value: op(other, value)) if self._is_number(other) else NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._with(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._after(operator.add, other)

    def __sub__(self, other: Any) -> Any:
        return self._with(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._after(operator.sub, other)

    def __mul__(self, other: Any) -> Any:
        return self._with(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._after(operator.mul, other)

    def __truediv__(self, other: Any) -> Any:
        return self._with(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        if not self._is_number(other):
            return NotImplemented
        low, high = self.value(self.uniform.lo), self.value(self.uniform.hi)
        if low * high < 0:
            self._refuse("division by a number of either sign")
        if type(low) is float and self == 0:
            raise ZeroDivisionError("float division by zero")
        return self._after(operator.truediv, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(operator.floordiv, other)

    def __neg__(self) -> Any:
        return self.apply(operator.neg)

    def __pos__(self) -> Number:
        return self

    # numpy's functions of an object call the method of that name

    def log(self) -> Any:
        return self.apply(_log)

    def log1p(self) -> Any:
        return self.apply(np.log1p)

    def exp(self) -> Any:
        return self.apply(np.exp)

    def sqrt(self) -> Any:
        return self.apply(np.sqrt)

    def pin(self, whole: Callable[[Any], int]) -> int:
        """`whole(value)`, branching over its values."""
        uniform, value = self.uniform, self.value
        low, high = whole(value(uniform.lo)), whole(value(uniform.hi))
        if abs(high - low) >= MOST_VALUES:
            self._refuse(f"rounds a uniform to one of {abs(high - low) + 1} whole numbers: too many branches")
        while not uniform.decide(lambda k: whole(value(k)) == low):  # noqa: B023 (called at once)
            low = whole(value(uniform.lo))
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
        self.uniform.script.refuse(reason)

    def __float__(self) -> float:
        self._refuse("a uniform used as a plain number: float()")

    def __getattr__(self, name: str) -> NoReturn:
        """What a float has and this has not is refused: an AttributeError the program might catch, and go on in another way."""
        if name in FLOATS_OWN:
            self._refuse(f"a uniform used as a plain number: {name}")
        raise AttributeError(name)

    def __hash__(self) -> int:
        self._refuse("a uniform used as a key, or returned")

    def __repr__(self) -> str:
        if not self.uniform.script.running:
            return "<uniform>"
        self._refuse("prints a uniform")

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Element by element, with elements in their own types: a Python float is weak against float32 arrays."""
        if method != "__call__" or ufunc.__name__ not in OPERATORS or options:
            inputs = tuple(boxed(value) if isinstance(value, Number) else value for value in inputs)
            return getattr(ufunc, method)(*inputs, **options)
        forward, backward = OPERATORS[ufunc.__name__]
        name, other = (forward, inputs[1]) if inputs[0] is self else (backward, inputs[0])
        others = np.asarray(other)
        results = np.empty(others.shape, dtype=object)
        for place in np.ndindex(others.shape):
            results[place] = getattr(self, name)(others[place])
        compares = name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
        return (results.astype(bool) if compares else results)[()]

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .tensor_operations import dispatch

        return dispatch(function, args, kwargs or {})


def _log(value: Any) -> Any:
    """Of 0 too, which the program may never draw: without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(value)


FLOATS_OWN = {name for name in dir(float) if not name.startswith("_")}


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Number, *_: Any) -> NoReturn:
        self._refuse(f"a uniform used as a plain number: {name}")

    return refuse


for _name in ("abs", "pow", "rpow", "mod", "rmod", "divmod", "rdivmod", "rfloordiv", "round", "complex"):
    setattr(Number, f"__{_name}__", _refusing(f"__{_name}__"))

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


def index_in(edges: list[float], number: Number, right: bool) -> int:
    """Where the number belongs among the edges: after those below it, and with `right` after those equal to it."""
    start, end = 0, len(edges)
    while start < end:
        middle = (start + end) // 2
        if (number < edges[middle]) if right else (number <= edges[middle]):  # type: ignore[operator]
            end = middle
        else:
            start = middle + 1
    return start
