"""Uniforms that are not known yet.

Of a `Uniform` is known that it is the k-th point of its grid, lo <= k <= hi.  The program holds a `Number`.  A comparison that is true for some of
these points and false for others branches, and narrows the interval.  Arithmetic with known numbers is put off (`functions`): the very float
operations are replayed at a grid point, so every branch is cut where the unmodified code would cut it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, log1p
from typing import TYPE_CHECKING, Any, NamedTuple

from .functions import Even, Function

if TYPE_CHECKING:
    from .exploring import Explorer
    from .races import Standing


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

    def function(self, kind: type) -> Function:
        """``value(k)`` as a float or, with ``kind``, as a numpy float64."""
        values = self.values
        if values is None:
            return Even(self.scale, kind)
        return Function(values if kind is float else lambda k: kind(values(k)))


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


class Point(NamedTuple):
    """What a replay draws: one of two values of a grid, the lower end of an interval first."""

    grid: Grid
    kind: type
    values: tuple[Any, Any]


def point(grid: Grid, kind: type, ends: tuple[int, int]) -> Point:
    low, high = map(grid.value, ends)
    return Point(grid, kind, (low, high) if kind is float else (kind(low), kind(high)))


class Uniform:
    """A uniform of one run after another: it is the k-th point of its grid, lo <= k <= hi.

    ``kind``: float or numpy's float64.  ``place``: among those that are plain, which is the ``index`` too, or -1; then ~``index`` is that among all
    other draws.
    """

    __slots__ = ("script", "index", "grid", "kind", "place", "lo", "hi", "race", "known")

    def __init__(self, script: Explorer, index: int, grid: Grid, kind: type, place: int = -1) -> None:
        self.script, self.index, self.grid, self.kind, self.place = script, index, grid, kind, place
        self.lo, self.hi = 0, grid.last
        self.race: Standing | None = None

        self.known: Point | None = None

    def point(self) -> Point:
        """What a replay draws."""
        if self.race is not None:
            return point(self.grid, self.kind, self.race.taped)
        self.known = self.known or point(self.grid, self.kind, (self.lo, self.hi))
        return self.known
