"""The script of a run: every random call is a question, and a depth-first search over the answers visits every branch.

A question is a comparison of a uniform (`arithmetic`) that could go either way, or a discrete draw, one choice among integer weights.  `exploring`
answers the questions of one run after another; `replaying` answers those of one known leaf with real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from .arithmetic import MOST_VALUES
from .refused import Refused
from .supply import Supply

if TYPE_CHECKING:
    from .exploring import Explorer
    from .replaying import Replay

REUSED = "; noise that decides twice is kind C (draftproof explain C)"
"""Why a reading is refused may be what is wrong with the verifier."""

TICK = 2.0**-53
"""Between plain uniforms."""


class Odds(NamedTuple):
    """Of a race: the weights of its contenders, how far its law may be off, and what it takes to win."""

    weights: tuple[int, ...]
    slack: float
    beats: Callable[[Any, Any], Any]


Choice = tuple[tuple[int, ...], int]  # weights and the index taken


class Settled(NamedTuple):
    """The choice that settled a race: a replay draws the noise, not the winner."""

    weights: tuple[int, ...]
    taken: int


Tape = tuple[list[float], list[float], list[Any]]
"""What a replay draws: plain uniforms, one after another, at the lower and at the upper end; other points and choices, one after another."""


class Race(NamedTuple):
    """A race that is over: the branch that says who won, and what a replay is to draw for each uniform in it."""

    position: int
    taped: dict[int, tuple[int, int]]


class Run:
    """One run of the program: where it is in the script, and why it is refused, if it is."""

    def __init__(self, fresh_seeds: bool) -> None:
        self.fresh_seeds = fresh_seeds
        self.seeds: set[tuple[str, str]] = set()
        self.refusal: str | None = None

    def refuse(self, reason: str) -> NoReturn:
        """Remembered, because the program may swallow the exception."""
        self.refusal = self.refusal or reason
        raise Refused(reason)


active: Explorer | Replay | None = None
supply = Supply(lambda: current().more())


def current() -> Explorer | Replay:
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
