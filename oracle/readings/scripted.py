"""The script of a run: every random call is a question, and a depth-first search over the answers visits every branch.

A question is a comparison of a uniform (`uniforms`) that could go either way, or a discrete draw, one choice among
integer weights. `Explorer` answers the questions of one run after another; `Replay` answers those of one known leaf
with real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from .arithmetic import MOST_VALUES, Number
from .refused import Refused
from .uniforms import CHANGED, Derived, Grid, Uniform

REUSED = "; noise that decides twice is kind C (draftproof explain C)"
"""Why a reading is refused may be what is wrong with the verifier."""

DISCRETE = -1  # stands for the uniform of a discrete draw


Step = tuple[bool, bool, int | None]  # truth at either end of an interval, and where it changes


class Odds(NamedTuple):
    """Of a race: the weights of its contenders, how far its law may be off, and what it takes to win."""

    weights: tuple[int, ...]
    slack: float
    beats: Callable[[Any, Any], Any]


class Branch:
    """A question with several answers: is a uniform at or above `question`, or which of the weights in `question`."""

    __slots__ = ("uniform", "question", "answer", "odds", "traced")

    def __init__(self, uniform: int, question: int | tuple[int, ...], odds: Odds | None, traced: int) -> None:
        self.uniform, self.question, self.answer, self.odds = uniform, question, -1, odds
        self.traced = traced  # statements decided before it is answered

    def advance(self) -> bool:
        """Move to the next possible answer; False when there is none."""
        self.answer += 1
        if isinstance(self.question, int):
            return self.answer < 2
        while self.answer < len(self.question) and not self.question[self.answer]:
            self.answer += 1
        return self.answer < len(self.question)


Choice = tuple[tuple[int, ...], int]  # weights and the index taken


class Settled(NamedTuple):
    """The choice that settled a race: a replay draws the noise, not the winner."""

    weights: tuple[int, ...]
    taken: int


class Race(NamedTuple):
    """A race that is over: the branch that says who won, and what a replay is to draw for each uniform in it."""

    position: int
    taped: dict[int, tuple[int, int]]


class Run:
    """One run of the program: where it is in the script, and why it is refused, if it is."""

    def __init__(self, fresh_seeds: bool) -> None:
        self.fresh_seeds = fresh_seeds
        self.begin()

    def begin(self) -> None:
        self.position = 0
        self.seeds: set[tuple[str, str]] = set()
        self.refusal: str | None = None

    @property
    def running(self) -> bool:
        return active is self

    def refuse(self, reason: str) -> NoReturn:
        """Remembered, because the program may swallow the exception."""
        self.refusal = self.refusal or reason
        raise Refused(reason)


OUTLIVED = "a uniform that outlived the run that drew it"


class Explorer(Run):
    """Answers the questions of a run: as before up to the last branch, the first possible answer after it."""

    lazy = True

    def __init__(self, fresh_seeds: bool = False) -> None:
        self.branches: list[Branch] = []
        self.trace: list[Step] = []
        super().__init__(fresh_seeds)

    def begin(self) -> None:
        """Forget the last run, keep the branches."""
        super().begin()
        self.drawn: list[Uniform | Choice] = []
        self.steps = 0
        self.numbers: list[Number] = []  # what the elements of lazy tensors are
        self.races: list[Race] = []  # those with one place, in the order in which they were settled

    def draw(self, grid: Grid, kind: type = float) -> Any:
        """A uniform: a number that is not known yet."""
        uniform = Uniform(self, len(self.drawn), grid, kind)
        self.drawn.append(uniform)
        values = grid.values
        return uniform if values is None else Derived(uniform, values if kind is float else lambda k: kind(values(k)))

    def draws(self, grid: Grid, count: int) -> list[Any]:
        """So many uniforms, held as floats."""
        if grid.values is not None:
            return [self.draw(grid) for _ in range(count)]
        first = len(self.drawn)
        fresh: list[Any] = [Uniform(self, index, grid) for index in range(first, first + count)]
        self.drawn += fresh
        return fresh

    def choose(self, weights: Sequence[int]) -> int:
        """A discrete draw: index i with probability weights[i] / sum(weights)."""
        question = tuple(weights)
        answer = self._branch(DISCRETE, question)
        self.drawn.append((question, answer))
        return answer

    def odds(self, found: Callable[[], Odds]) -> Odds:
        """Those of the race that is settled next: as they were found when it was first run."""
        if self.position == len(self.branches):
            return found()
        odds = self.branches[self.position].odds
        return odds or self.refuse(CHANGED)

    def settle(self, odds: Odds) -> int:
        """Who wins the race."""
        answer = self._branch(DISCRETE, odds.weights, odds)
        self.drawn.append(Settled(odds.weights, answer))
        return answer

    @property
    def slack(self) -> float:
        """How far the law of the leaf just visited may be off, for its races."""
        return sum(branch.odds.slack for branch in self.branches if branch.odds)

    def split(self, uniform: Uniform, cut: int) -> int:
        """Is the uniform at or above the cut?"""
        if uniform.drawn is not self.drawn or active is not self:
            self.refuse(OUTLIVED)
        if uniform.race is not None:
            self.refuse(f"uses the noise of a race once more{REUSED}")
        return self._branch(uniform.index, cut)

    def _branch(self, uniform: int, question: int | tuple[int, ...], odds: Odds | None = None) -> int:
        position = self.position
        self.position = position + 1
        if position == len(self.branches):
            branch = Branch(uniform, question, odds, len(self.trace))
            branch.advance()
            self.branches.append(branch)
            return branch.answer
        branch = self.branches[position]
        if branch.uniform != uniform or branch.question != question:
            self.refuse(CHANGED)
        return branch.answer

    def step(self, found: Callable[[], Step]) -> Step:
        """A statement that is decided next: as it was found when this part of the branch was first run."""
        if active is not self:
            self.refuse(OUTLIVED)
        number = self.steps
        self.steps = number + 1
        if number == len(self.trace):
            self.trace.append(found())
        return self.trace[number]

    def advance(self) -> bool:
        """Turn to the next leaf; False when all were visited."""
        while self.branches and not self.branches[-1].advance():
            self.branches.pop()
        if self.branches:
            del self.trace[self.branches[-1].traced :]
        return bool(self.branches)

    def mass(self) -> tuple[int, int]:
        """Probability of the leaf just visited: numerator and denominator, not in lowest terms."""
        numerator, denominator, bits = 1, 1, 0
        for drawn in self.drawn:
            if isinstance(drawn, tuple):
                weights, taken = drawn
                numerator *= weights[taken]
                denominator *= sum(weights)
            elif drawn.race is None:  # else a race was settled instead
                numerator *= drawn.hi - drawn.lo + 1
                bits += drawn.grid.bits
        return numerator, denominator << bits


class Replay(Run):
    """Answers the questions of one known leaf with real numbers: each uniform at one end of its interval."""

    lazy = False

    def __init__(self, drawn: Sequence[Uniform | Choice], parity: int, fresh_seeds: bool = False) -> None:
        super().__init__(fresh_seeds)
        self.drawn, self.parity = [one for one in drawn if not isinstance(one, Settled)], parity

    def _next(self) -> Uniform | Choice:
        position = self.position
        if position == len(self.drawn):
            self.refuse(CHANGED)
        self.position = position + 1
        return self.drawn[position]

    def draw(self, grid: Grid, kind: type = float) -> Any:
        uniform = self._next()
        if type(uniform) is not Uniform or uniform.grid is not grid:
            self.refuse(CHANGED)
        if uniform.race is not None:
            k = uniform.race.taped[(self.position + self.parity) & 1]
        else:
            k = uniform.hi if (self.position + self.parity) & 1 else uniform.lo
        if grid.values is not None:
            return grid.values(k)
        return k / uniform.scale if uniform.kind is float else uniform.kind(k / uniform.scale)

    def draws(self, grid: Grid, count: int) -> list[Any]:
        return [self.draw(grid) for _ in range(count)]

    def choose(self, weights: Sequence[int]) -> int:
        choice = self._next()
        if not isinstance(choice, tuple) or choice[0] != tuple(weights):
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
    """The program seeds a generator: its tape is fixed, unless the caller says that every call has fresh seeds."""
    if seed is None:
        return
    script = current()
    key = (library, repr(seed))
    if not script.fresh_seeds:
        script.refuse(f"seeds its own randomness: {library}({seed!r})")
    if key in script.seeds:
        script.refuse(f"seeds twice with the same number, so draws repeat: {library}({seed!r})")
    script.seeds.add(key)


def rewound() -> NoReturn:
    """The program sets the state of a generator."""
    current().refuse("sets the state of a generator: its draws may repeat")


def choose_one_of(count: int) -> int:
    """One of `count` equally likely values."""
    if count > MOST_VALUES:
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
