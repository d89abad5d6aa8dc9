"""Runs with real numbers that must come to the ends of known leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from operator import length_hint
from typing import Any, NoReturn

from . import arithmetic
from .arithmetic import CHANGED, OUTLIVED
from .scripted import Run, Settled, Tape, supply
from .uniforms import Grid, Point


class Replay(Run):
    """Answers the questions of one known leaf after another with real numbers: each uniform at one end of its interval."""

    lazy = False

    def __init__(self, fresh_seeds: bool = False) -> None:
        super().__init__(fresh_seeds)
        self._beyond = repeat((None, self, None, None)).__next__
        self._left: Iterator[Any] = iter(())

    def begin(self, tape: Tape, parity: int) -> None:
        """Replay a leaf: the uniforms in turn at their highest and at their lowest, or the other way about where ``parity`` is even."""
        if self.seeds:
            self.seeds = set()
        arithmetic.known = self._beyond
        lowest, highest, others = tape
        values, contrary = (lowest.copy(), highest) if parity & 1 else (highest.copy(), lowest)
        values[1::2] = contrary[1::2]
        supply.offer(values)
        if others:
            others = [one for one in others if type(one) is not Settled]
        self._left, self._place = iter(others), parity

    def exploring(self) -> NoReturn:
        self.refuse(OUTLIVED)

    def ended(self) -> None:
        """Refused unless all was drawn that the script says."""
        if length_hint(self._left) or supply.left():
            self.refuse(CHANGED)

    def more(self) -> NoReturn:
        """More plain uniforms than the leaf has."""
        self.refuse(CHANGED)

    def draw(self, grid: Grid, kind: type = float) -> Any:
        return self.draws(grid, 1, kind)[0]

    def draws(self, grid: Grid, count: int, kind: type = float) -> list[Any]:
        values = list[Any]()
        for place, point in enumerate(islice(self._left, count), self._place + 1):
            if type(point) is not Point or point.grid is not grid or point.kind is not kind:
                self.refuse(CHANGED)
            values.append(point.values[place & 1])
        if len(values) < count:
            self.refuse(CHANGED)
        self._place += count
        return values

    def choose(self, weights: Sequence[int]) -> int:
        choice = next(self._left, None)
        if type(choice) is not tuple or choice[0] != tuple(weights):
            self.refuse(CHANGED)
        self._place += 1
        return int(choice[1])
