"""What a program may do with a number that is not known yet, besides comparing it.

Arithmetic with known numbers gives another such number; rounding to whole numbers branches; combining two of them, or
any use that needs the number itself, refuses the reading.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from .exploring import Explorer
    from .functions import Function
    from .uniforms import Uniform

MOST_VALUES = 10_000  # that a draw or a rounding may branch over


Event = tuple[Any, Any, Any, Any]
"""Who is asked, what, with which operand, and the answer.  Beyond what is known of a run: (None, its script, None, None)."""

CHANGED = "randomness that is not controlled: a replay of the same choices asked another question"
OUTLIVED = "a uniform that outlived the run that drew it"


def outside() -> Event:
    raise RuntimeError("a uniform outlived the runs of enumerate_law")


known: Callable[[], Event] = outside
"""The next event of the run in progress, as it was when this part of it was first run; set by `exploring` and `replaying`."""


def beyond(event: Event) -> Explorer:
    """The script of the run, where ``event`` says that no more is known; Refused where it says something else than what is asked."""
    if event[0] is None:
        script: Explorer = event[1]
        script.exploring()
        return script
    in_progress(event).refuse(CHANGED)


def in_progress(event: Event) -> Explorer:
    """The script of the run, which stands at the end of all that is known."""
    while event[0] is not None:
        event = known()
    script: Explorer = event[1]
    return script


def _same(one: Any, other: Any) -> bool:
    """The same operand, NaN too."""
    return type(one) is type(other) and bool(one == other or one != one and other != other)


def _raise_again(event: Event, term: Term, what: Any, operand: Any) -> None:
    """What the same question raised when this part of the run was first run, if it did."""
    if event[0] is term and event[1] == (RAISES, what) and _same(event[2], operand):
        raise event[3][0](*event[3][1])


class Term:
    """A function of a uniform, in one run after another."""

    __slots__ = ("uniform", "function")

    def __init__(self, uniform: Uniform, function: Function) -> None:
        self.uniform, self.function = uniform, function


def _comparison(statement: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(self: Number, other: Any) -> Any:
        kind = type(other)
        if kind is float or kind is int:
            event = asked, operation, operand, answer = known()
            if asked is self.term and operation is statement and operand == other:
                return answer
            return self._decided(event, statement, other)
        return self._compared(statement, other)

    return compare


def _arithmetic(step: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(self: Number, other: Any) -> Any:
        kind = type(other)
        if kind is float or kind is int:
            event = asked, operation, operand, answer = known()
            if asked is self.term and operation is step and operand == other:
                return answer
            return self._made(event, step, other)
        return self._made(known(), step, other) if self._is_number(other) else NotImplemented

    return apply


def _after(step: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, other: step(other, value)


class Number:
    """What a program holds of a number that is not known yet: a non-decreasing or non-increasing function of one uniform.

    What it is asked in the part of a run that repeats the run before is answered as then, by the event that is next.
    """

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    @property
    def uniform(self) -> Uniform:
        return self.term.uniform

    def value(self, k: int) -> Any:
        """What the program would have in hand at grid point k of the uniform, in its own type."""
        return self.term.function.value(k)

    def ends(self) -> tuple[Any, Any]:
        """Its values where the uniform is lowest and highest, as far as is known by now."""
        uniform, at = self.term.uniform, self.term.function.at
        return at(uniform.lo), at(uniform.hi)

    def _script(self, event: Event) -> Explorer:
        script = beyond(event)
        if self.term.uniform.script is not script:
            script.refuse(OUTLIVED)
        return script

    def _decided(self, event: Event, statement: Callable[[Any, Any], Any], other: Any) -> bool:
        """``statement(value, other)``, which changes at most once over the interval."""
        term, script = self.term, event[1]
        uniform = term.uniform
        if event[0] is not None or uniform.script is not script:
            if event[0] is term and event[1] is statement and _same(event[2], other):
                return bool(event[3])
            _raise_again(event, term, statement, other)
            self._script(event)
        try:
            answer, cut, _, _ = term.function.cut(statement, other, uniform.lo, uniform.hi)
        except Exception as error:
            script.learn(term, (RAISES, statement), other, (type(error), error.args))
            raise
        if cut <= uniform.lo:
            answer = not answer
        elif cut <= uniform.hi:
            script.split(uniform, cut)
        script.learn(term, statement, other, answer)
        return answer

    def _compared(self, statement: Callable[[Any, Any], Any], other: Any) -> Any:
        if other is self:
            return statement in (operator.le, operator.ge)  # numpy's search compares a key with itself
        if isinstance(other, Number):
            from .races import compare

            return compare(statement, self, other)
        return self._decided(known(), statement, other) if self._is_number(other) else NotImplemented

    def _made(self, event: Event, step: Callable[[Any, Any], Any], other: Any) -> Number:
        """The number ``step(value, other)``; the step must be monotone where it is defined."""
        term = self.term
        if event[0] is term and event[1] is step and _same(event[2], other):
            made: Number = event[3]
            return made
        _raise_again(event, term, step, other)
        script, uniform, function = self._script(event), term.uniform, term.function.then(step, other)
        try:
            low, high = function.at(uniform.lo), function.at(uniform.hi)
        except Exception as error:
            script.learn(term, (RAISES, step), other, (type(error), error.args))
            raise
        if (low != low) != (high != high):
            self._refuse("arithmetic with a uniform that is not defined over its whole range")
        return script.make(term, step, other, Term(uniform, function))

    def _is_number(self, other: Any) -> bool:
        """False leaves the operation to `other`, an array or a tensor."""
        if isinstance(other, Number):
            self._refuse("combines two uniforms")
        return isinstance(other, (numbers.Number, np.bool_))  # numpy does not register its bool

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Number):
            if other.uniform is not self.uniform:
                return False  # but for a tie
        elif type(other) is not float and type(other) is not int and not self._is_number(other):
            return NotImplemented
        return bool(self >= other and not self > other)

    def __bool__(self) -> bool:
        return not self == 0

    def apply(self, step: Callable[[Any, Any], Any], operand: Any = None) -> Number:
        """The number ``step(value, operand)``; the step must be monotone where it is defined."""
        return self._made(known(), step, operand)

    __add__, __radd__ = _arithmetic(operator.add), _arithmetic(_after(operator.add))
    __sub__, __rsub__ = _arithmetic(operator.sub), _arithmetic(_after(operator.sub))
    __mul__, __rmul__ = _arithmetic(operator.mul), _arithmetic(_after(operator.mul))
    __truediv__, __floordiv__ = _arithmetic(operator.truediv), _arithmetic(operator.floordiv)
    _divide = _arithmetic(_after(operator.truediv))

    def __rtruediv__(self, other: Any) -> Any:
        if type(other) is not float and type(other) is not int and not self._is_number(other):
            return NotImplemented
        low, high = self.ends()
        if low * high < 0:
            self._refuse("division by a number of either sign")
        if type(low) is float and self == 0:
            raise ZeroDivisionError("float division by zero")
        return self._divide(other)

    def __neg__(self) -> Number:
        return self.apply(_negative)

    def __pos__(self) -> Number:
        return self

    # numpy's functions of an object call the method of that name

    def log(self) -> Number:
        return self.apply(_log)

    def log1p(self) -> Number:
        return self.apply(_log1p)

    def exp(self) -> Number:
        return self.apply(_exp)

    def sqrt(self) -> Number:
        return self.apply(_sqrt)

    def pin(self, whole: Callable[[Any], int]) -> int:
        """`whole(value)`, branching over its values."""
        while True:
            low, high = self.remembered(whole, None, lambda: tuple(map(whole, self.ends())))
            if abs(high - low) >= MOST_VALUES:
                self._refuse(f"rounds a uniform to one of {abs(high - low) + 1} whole numbers: too many branches")
            if self._decided(known(), WHOLE[whole], low):
                return int(low)

    def remembered(self, what: Any, operand: Any, found: Callable[[], Any]) -> Any:
        """What was found when this part of the run was first run: by now more is known of the uniform."""
        event = known()
        if event[0] is self.term and event[1] is what and event[2] == operand:
            return event[3]
        _raise_again(event, self.term, what, operand)
        script = self._script(event)
        try:
            answer = found()
        except Exception as error:
            script.learn(self.term, (RAISES, what), operand, (type(error), error.args))
            raise
        script.learn(self.term, what, operand, answer)
        return answer

    def __int__(self) -> int:
        return self.pin(int)

    def __trunc__(self) -> int:
        return self.pin(math.trunc)

    def __floor__(self) -> int:
        return self.pin(math.floor)

    def __ceil__(self) -> int:
        return self.pin(math.ceil)

    # everything else

    def __copy__(self) -> Number:
        """Itself, as that of a float: a copy would outlive its run unseen."""
        return self

    def __deepcopy__(self, _: Any) -> Number:
        return self

    def _refuse(self, reason: str) -> NoReturn:
        in_progress(known()).refuse(reason)

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
        from . import scripted

        if scripted.active is None:
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


RAISES = "raises"
WHOLE: dict[Callable[[Any], int], Callable[[Any, int], bool]] = {
    int: lambda value, whole: int(value) == whole,
    math.trunc: lambda value, whole: math.trunc(value) == whole,
    math.floor: lambda value, whole: math.floor(value) == whole,
    math.ceil: lambda value, whole: math.ceil(value) == whole,
}


def _log(value: Any, _: None) -> Any:
    """Of 0 too, which the program may never draw: without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(value)


def _negative(value: Any, _: None) -> Any:
    return -value


def _log1p(value: Any, _: None) -> Any:
    return np.log1p(value)


def _exp(value: Any, _: None) -> Any:
    return np.exp(value)


def _sqrt(value: Any, _: None) -> Any:
    return np.sqrt(value)


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
        if (number < edges[middle]) if right else (number <= edges[middle]):
            end = middle
        else:
            start = middle + 1
    return start
