"""A number that is not known yet: a uniform, or a monotone function of one, until it is compared.

A `Uniform` knows of itself that it is the k-th point of its grid, lo <= k <= hi. A comparison that is true for some of
these and false for others branches, and narrows the interval. Arithmetic with known numbers is put off (`Derived`):
`value(k)` replays the very float operations at the k-th grid point, so every branch is cut where the unmodified code
would cut it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, floor, log, log1p
from typing import TYPE_CHECKING, Any

from .arithmetic import Number

if TYPE_CHECKING:
    from .races import Standing
    from .scripted import Explorer, Step

CHANGED = "randomness that is not controlled: a replay of the same choices asked another question"


@dataclass(frozen=True)
class Grid:
    """Where the uniforms of a generator lie: `value(k)` for k uniform in 0 .. 2**bits - 1, non-decreasing in k."""

    name: str
    bits: int
    values: Callable[[int], float] | None = None  # None: k * 2**-bits
    scale: float = field(init=False)
    last: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", 2.0**self.bits)
        object.__setattr__(self, "last", (1 << self.bits) - 1)

    def value(self, k: int) -> float:
        return k / self.scale if self.values is None else self.values(k)


def _middle(k: int) -> tuple[float, float]:
    """(x, 1 - x) for x in the middle of the k-th of 2^53 intervals, both to full precision."""
    return (k + 0.5) * 2.0**-53 if k < 1 << 52 else 1 - ((1 << 53) - k - 0.5) * 2.0**-53, ((1 << 53) - k - 0.5) * 2.0**-53


def exponential(k: int) -> float:
    """The k-th of 2^53 equally likely values of an exponential variable of rate 1."""
    below, above = _middle(k)
    return -log1p(-below) if below < 0.5 else -log(above)


def gumbel(k: int) -> float:
    """The k-th of 2^53 equally likely values of a standard Gumbel variable."""
    below, above = _middle(k)
    return -log(-log(below)) if below < 0.5 else -log(-log1p(-above))


DOUBLE = Grid("float64", 53)
EXPONENTIAL, GUMBEL = Grid("exponential", 53, exponential), Grid("Gumbel", 53, gumbel)
SINGLE = Grid("float32", 24)
CONSTANT = Grid("constant", 0)


class Uniform(Number):
    """A uniform on an evenly spaced grid, held by the program as a float or, with `kind`, as a numpy float64."""

    __slots__ = ("script", "drawn", "index", "grid", "kind", "scale", "lo", "hi", "race")

    def __init__(self, script: Explorer, index: int, grid: Grid, kind: type = float) -> None:
        self.script, self.drawn, self.index, self.grid, self.kind = script, script.drawn, index, grid, kind
        self.scale, self.lo, self.hi = grid.scale, 0, grid.last
        self.race: Standing | None = None

    @property
    def uniform(self) -> Uniform:
        return self

    def value(self, k: int) -> Any:
        return self.kind(k / self.scale)

    # `other * self.scale` is exact; NaN compares false

    def __lt__(self, other: Any) -> Any:
        if type(other) is not float and not isinstance(other, (float, int)):
            return self._decide(operator.lt, other)
        point = other * self.scale
        if point > self.hi:
            return True
        return point > self.lo and not self.split(ceil(point))

    def __ge__(self, other: Any) -> Any:
        if type(other) is not float and not isinstance(other, (float, int)):
            return self._decide(operator.ge, other)
        point = other * self.scale
        if point > self.hi:
            return False
        return self.split(ceil(point)) if point > self.lo else point == point

    def __le__(self, other: Any) -> Any:
        if type(other) is not float and not isinstance(other, (float, int)):
            return self._decide(operator.le, other)
        point = other * self.scale
        if point >= self.hi:
            return True
        return point >= self.lo and not self.split(floor(point) + 1)

    def __gt__(self, other: Any) -> Any:
        if type(other) is not float and not isinstance(other, (float, int)):
            return self._decide(operator.gt, other)
        point = other * self.scale
        if point >= self.hi:
            return False
        return self.split(floor(point) + 1) if point >= self.lo else point == point

    def split(self, cut: int) -> bool:
        """Is k >= cut? Both are possible."""
        if self.script.split(self, cut):
            self.lo = cut
            return True
        self.hi = cut - 1
        return False

    def decide(self, truth: Callable[[int], bool], at_ends: Callable[[], tuple[bool, ...]] | None = None) -> bool:
        """The truth of a statement about k that changes at most once over the interval; bisection finds where.

        ``at_ends`` says it of the interval's ends, where that is known more cheaply.
        """
        low, high, cut = self.script.step(lambda: self._found(truth, at_ends))
        if cut is None:
            return low
        return high if self.split(cut) else low

    def _found(self, truth: Callable[[int], bool], at_ends: Callable[[], tuple[bool, ...]] | None) -> Step:
        low, high = (truth(self.lo), truth(self.hi)) if at_ends is None else at_ends()
        if low == high:
            return low, high, None
        before, cut = self.lo, self.hi
        while cut - before > 1:
            middle = (before + cut) // 2
            if truth(middle) == low:
                before = middle
            else:
                cut = middle
        return low, high, cut


class Derived(Number):
    """A monotone function of a uniform."""

    __slots__ = ("_uniform", "_value", "_ends")

    def __init__(self, uniform: Uniform, value: Callable[[int], Any], ends: tuple[int, Any, int, Any] | None = None) -> None:
        self._uniform, self._value, self._ends = uniform, value, ends

    def ends(self) -> tuple[Any, Any]:
        lo, hi = self._uniform.lo, self._uniform.hi
        if self._ends is None or self._ends[0] != lo or self._ends[2] != hi:
            self._ends = lo, self._value(lo), hi, self._value(hi)
        return self._ends[1], self._ends[3]

    @property
    def uniform(self) -> Uniform:
        return self._uniform

    def value(self, k: int) -> Any:
        return self._value(k)

    def __lt__(self, other: Any) -> Any:
        return self._decide(operator.lt, other)

    def __ge__(self, other: Any) -> Any:
        return self._decide(operator.ge, other)

    def __le__(self, other: Any) -> Any:
        return self._decide(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._decide(operator.gt, other)


Number.derived = Derived
