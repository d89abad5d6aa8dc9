"""The script of a run: every random call is a question, and a depth-first search over the answers visits every branch.

A uniform is kept as a `Cell`, an interval of grid integers that comparisons narrow; a discrete draw is one choice among
integer weights. `Explorer` answers the questions of one run after another; `Replay` answers those of one known leaf with
real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from .refused import Refused


@dataclass(frozen=True)
class Grid:
    """Where the uniforms of a generator lie: `value(k)` for k uniform in 0 .. 2**bits - 1, non-decreasing in k."""

    name: str
    bits: int
    values: Callable[[int], float] | None = None  # None: k * 2**-bits

    def value(self, k: int) -> float:
        return k * 2.0**-self.bits if self.values is None else self.values(k)


DOUBLE = Grid("float64", 53)
SINGLE = Grid("float32", 24)
CONSTANT = Grid("constant", 0)


class Cell:
    """One uniform that was drawn: what is known of it so far is lo <= k <= hi."""

    __slots__ = ("script", "index", "grid", "lo", "hi")

    def __init__(self, script: Explorer, index: int, grid: Grid) -> None:
        self.script, self.index, self.grid = script, index, grid
        self.lo, self.hi = 0, (1 << grid.bits) - 1

    def reaches(self, cut: int) -> bool:
        """Is k >= cut? Branches, and narrows the interval, where both answers are possible."""
        if cut <= self.lo:
            return True
        if cut > self.hi:
            return False
        if self.script.branch(self.index, cut):
            self.lo = cut
            return True
        self.hi = cut - 1
        return False

    def decide(self, truth: Callable[[int], bool]) -> bool:
        """The truth of a statement about k that changes at most once over the interval; the place is found by bisection."""
        low, high = truth(self.lo), truth(self.hi)
        if low == high:
            return low
        cut = self.script.recorded_cut(self.index)
        if cut is None:
            before, cut = self.lo, self.hi
            while cut - before > 1:
                middle = (before + cut) // 2
                if truth(middle) == low:
                    before = middle
                else:
                    cut = middle
        elif not self.lo < cut <= self.hi or truth(cut - 1) != low or truth(cut) != high:
            self.script.refuse(CHANGED)
        return high if self.reaches(cut) else low


CHANGED = "randomness that is not controlled: a replay of the same choices asked another question"
DISCRETE = -1  # stands for the cell of a discrete draw


class Branch:
    """A question with more than one answer: `cut` of a cell (two answers) or the weights of a discrete draw."""

    __slots__ = ("cell", "question", "answer")

    def __init__(self, cell: int, question: int | tuple[int, ...]) -> None:
        self.cell, self.question, self.answer = cell, question, -1

    def advance(self) -> bool:
        """Move to the next possible answer; False when there is none."""
        self.answer += 1
        if isinstance(self.question, int):
            return self.answer < 2
        while self.answer < len(self.question) and not self.question[self.answer]:
            self.answer += 1
        return self.answer < len(self.question)


Choice = tuple[tuple[int, ...], int]  # weights and the index taken


class Explorer:
    """Answers the questions of a run: as before up to the last branch, the first possible answer after it."""

    lazy = True

    def __init__(self, fresh_seeds: bool = False) -> None:
        self.fresh_seeds = fresh_seeds
        self.branches: list[Branch] = []
        self.begin()

    def begin(self) -> None:
        self.position = 0
        self.drawn: list[Cell | Choice] = []
        self.numbers: list[Any] = []  # what the cells of a lazy tensor stand for
        self.seeds: set[tuple[str, str]] = set()
        self.refusal: str | None = None

    def refuse(self, reason: str) -> NoReturn:
        """Remembered, because the program may swallow the exception."""
        self.refusal = self.refusal or reason
        raise Refused(reason)

    def draw(self, grid: Grid) -> Cell:
        cell = Cell(self, len(self.drawn), grid)
        self.drawn.append(cell)
        return cell

    def choose(self, weights: Sequence[int]) -> int:
        """A discrete draw: index i with probability weights[i] / sum(weights)."""
        question = tuple(weights)
        answer = self.branch(DISCRETE, question)
        self.drawn.append((question, answer))
        return answer

    def branch(self, cell: int, question: int | tuple[int, ...]) -> int:
        if self.position == len(self.branches):
            branch = Branch(cell, question)
            branch.advance()
            self.branches.append(branch)
        else:
            branch = self.branches[self.position]
            if branch.cell != cell or branch.question != question:
                self.refuse(CHANGED)
        self.position += 1
        return branch.answer

    def recorded_cut(self, cell: int) -> int | None:
        """Where a replayed comparison of this cell was split; None on new ground."""
        if self.position == len(self.branches):
            return None
        branch = self.branches[self.position]
        if branch.cell != cell or not isinstance(branch.question, int):
            self.refuse(CHANGED)
        return branch.question

    def advance(self) -> bool:
        """Turn to the next leaf; False when all were visited."""
        while self.branches and not self.branches[-1].advance():
            self.branches.pop()
        return bool(self.branches)

    def mass(self) -> tuple[int, int]:
        """Probability of the leaf just visited: numerator and denominator, not in lowest terms."""
        numerator, denominator, bits = 1, 1, 0
        for drawn in self.drawn:
            if isinstance(drawn, Cell):
                numerator *= drawn.hi - drawn.lo + 1
                bits += drawn.grid.bits
            else:
                weights, taken = drawn
                numerator *= weights[taken]
                denominator *= sum(weights)
        return numerator, denominator << bits


class Replay:
    """Answers the questions of one known leaf with real numbers: each uniform at one end of its interval."""

    lazy = False

    def __init__(self, drawn: Sequence[Cell | Choice], parity: int, fresh_seeds: bool = False) -> None:
        self.drawn, self.parity, self.fresh_seeds = drawn, parity, fresh_seeds
        self.position = 0
        self.seeds: set[tuple[str, str]] = set()
        self.refusal: str | None = None

    refuse = Explorer.refuse

    def _next(self) -> Cell | Choice:
        if self.position == len(self.drawn):
            self.refuse(CHANGED)
        self.position += 1
        return self.drawn[self.position - 1]

    def draw(self, grid: Grid) -> float:
        cell = self._next()
        if not isinstance(cell, Cell) or cell.grid is not grid:
            self.refuse(CHANGED)
        return grid.value(cell.hi if (self.position + self.parity) % 2 else cell.lo)

    def choose(self, weights: Sequence[int]) -> int:
        choice = self._next()
        if isinstance(choice, Cell) or choice[0] != tuple(weights):
            self.refuse(CHANGED)
        return choice[1]


Script = Explorer | Replay
active: Script | None = None


def current() -> Script:
    """The script of the run in progress. RuntimeError outside `enumerate_law`."""
    if active is None:
        raise RuntimeError("a scripted generator only works inside enumerate_law")
    return active


def note_seed(library: str, seed: object) -> None:
    """A generator is seeded by the program: its tape is fixed, unless the caller says that every call has fresh seeds."""
    script = current()
    if seed is None:
        return
    key = (library, repr(seed))
    if not script.fresh_seeds:
        script.refuse(f"seeds its own randomness: {library}({seed!r})")
    if key in script.seeds:
        script.refuse(f"seeds twice with the same number, so draws repeat: {library}({seed!r})")
    script.seeds.add(key)


def rewound() -> NoReturn:
    """The program sets the state of a generator."""
    current().refuse("sets the state of a generator: its draws may repeat")


MOST_CHOICES = 10_000


def choose_one_of(count: int) -> int:
    """One of `count` equally likely values."""
    if count > MOST_CHOICES:
        current().refuse(f"draws one of {count} values: too many branches")
    return current().choose((1,) * count)


def exact_weights(values: Sequence[float]) -> tuple[int, ...]:
    """Integers in the ratio of the given floats, exactly. ValueError or OverflowError if one is not finite."""
    ratios = [float(value).as_integer_ratio() for value in values]
    common = max((denominator for _, denominator in ratios), default=1)  # all are powers of two
    return tuple(numerator * (common // denominator) for numerator, denominator in ratios)


def draw_without_replacement(weights: Sequence[int], count: int) -> list[int]:
    """Successive draws, each from what the earlier ones left."""
    left, taken = list(weights), []
    for _ in range(count):
        taken.append(current().choose(left))
        left[taken[-1]] = 0
    return taken


def rounded(value: float, digits: int) -> float:
    """Nearest float with so many binary digits, ties to even."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits)
