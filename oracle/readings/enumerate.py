"""Enumerate: the exact law of unmodified code, by scripting its random calls and replaying every branch.

Each leaf is run twice. The first run explores it with uniforms that are not known yet (`uniforms`, `tensors`) under one
state of the global generators; the second, under another state, replays it with real numbers at the ends of the
intervals that were found. A different outcome, or other questions, mean randomness or a use of a uniform that the
script does not control: the reading is refused.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, Generic, TypeVar, cast

from . import arithmetic, scripted
from .exploring import Explorer
from .patched import patched
from .refused import Refused
from .replaying import Replay
from .scripted import Tape
from .shared import SharedNoise
from .watched import Watch, watched

__all__ = ["Enumeration", "Refused", "enumerate_law", "scripted_generator"]

LARGEST_BLOCK = 4096  # leaves explored before they are replayed
FEWEST_RUNS = 16  # a program with few leaves is replayed until so many runs agree

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Enumeration(Generic[T]):
    """The law of a program: outcome -> probability, and "Exception: message" -> probability where it raised.

    The masses of both add up to 1, exactly. `leaves` is the number of branches. `slack` bounds the total variation by
    which the law may be off, where the program runs races (`races`).
    """

    law: dict[T, Fraction]
    failures: dict[str, Fraction]
    leaves: int
    slack: float = 0.0


@dataclass(frozen=True)
class _Raised:
    text: str


Leaf = tuple[Hashable | _Raised, Tape]
"""Outcome, and what replays it."""


def enumerate_law(
    program: Callable[[], T],
    *,
    max_leaves: int = 20_000,
    deadline: float | None = None,
    fresh_seeds: bool = False,
    watch: Watch | None = None,
) -> Enumeration[T]:
    """The exact law of `program()`, whose randomness comes from `random`, `numpy.random` or torch.

    The program is called once as it is, then at least twice for each branch. `deadline` is a time of
    `time.monotonic()`. A program that seeds a generator has a fixed tape and is refused, unless `fresh_seeds` says that
    its seeds stand for new ones at every call; the same seed twice in a call is always refused.  `watch` (of `watched`)
    serves several programs that hold the same objects.

    Raises Refused, with the reason, when the law cannot be read like this; TypeError for outcomes that cannot be
    hashed; RuntimeError when nested or run in two threads.
    """
    reading = _Reading(program, max_leaves, deadline, fresh_seeds)
    with _alone(), watched(program) if watch is None else nullcontext(watch) as watch:
        came_back = watch.meet(program)
        with patched() as scripted_torch:
            size, few, more = 1, list[Leaf](), True
            while more:
                block = list[Leaf]()
                with watch.under(0):
                    more = reading.explore(block, size)
                if "torch" in sys.modules and not scripted_torch:
                    raise Refused("torch is imported while branches are explored: import it first")
                with watch.under(1):
                    reading.replay(block)
                few = (few + block)[:FEWEST_RUNS]
                size = min(16 * size, LARGEST_BLOCK)
            times, shared = FEWEST_RUNS // reading.leaves, reading.shared.leaves()
            if times > 1 or shared:
                with watch.under(1):
                    reading.replay(few, range(1, times))
                    reading.replay(shared, range(max(1, times)))
    outcomes: dict[T, Fraction] = {}
    failures: dict[str, Fraction] = {}
    for (outcome, denominator, bits), numerator in reading.law.items():
        mass = Fraction(numerator, denominator << bits)
        if isinstance(outcome, _Raised):
            failures[outcome.text] = failures[outcome.text] + mass if outcome.text in failures else mass
        else:
            value = cast(T, outcome)
            outcomes[value] = outcomes[value] + mass if value in outcomes else mass
    if not outcomes and came_back:
        raise Refused(f"the program only fails when its random calls are scripted: {next(iter(failures))}")
    return Enumeration(outcomes, failures, reading.leaves, reading.slack)


class _Reading:
    """The leaves visited: how many, and their masses by outcome and denominator, which is that of the choices times 2^bits."""

    def __init__(self, program: Callable[[], Hashable], max_leaves: int, deadline: float | None, fresh_seeds: bool) -> None:
        self.program, self.max_leaves, self.deadline = program, max_leaves, deadline
        self.explorer, self.replayer, self.shared = Explorer(fresh_seeds), Replay(fresh_seeds), SharedNoise()
        self.law: dict[tuple[Hashable | _Raised, int, int], int] = {}
        self.leaves, self.slack = 0, 0.0

    def explore(self, block: list[Leaf], size: int) -> bool:
        """Visit so many leaves.  Whether there are more."""
        explorer, law = self.explorer, self.law
        for _ in range(size):
            if self.leaves == self.max_leaves:
                raise Refused(f"more than {self.max_leaves} branches")
            explorer.begin()
            outcome = self._run(explorer)
            leaf = outcome, explorer.tape()
            if not explorer.races or not self.shared.keep(leaf, explorer):
                block.append(leaf)
            key = outcome, explorer.denominator, explorer.bits
            law[key] = law.get(key, 0) + explorer.numerator
            self.leaves += 1
            if explorer.slack:
                numerator, denominator = explorer.mass()
                self.slack += explorer.slack * (numerator / denominator)
            if not explorer.advance():
                return False
        return True

    def replay(self, leaves: list[Leaf], times: range = range(1)) -> None:
        """Each leaf must come to the same end with real numbers, at one end of the intervals and at the other."""
        replayer, run = self.replayer, self._run
        for nth in times:
            for number, (first, tape) in enumerate(leaves, nth):
                replayer.begin(tape, number)
                second = run(replayer)
                if hash(first) != hash(second) or first != second:
                    if isinstance(first, _Raised):
                        raise Refused(f"a use of randomness that cannot be scripted, or is not controlled: {first.text}")
                    raise Refused(f"randomness that is not controlled: the same script gave {_shown(first)} and {_shown(second)}")

    def _run(self, script: Explorer | Replay) -> Hashable | _Raised:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Refused(f"enumerate had read {self.leaves} branches when its share of the time limit was over")
        scripted.active = script
        outcome: Hashable | _Raised
        try:
            outcome = self.program()
        except (Refused, _Nested, MemoryError):
            raise
        except Exception as error:
            outcome = _Raised(f"{type(error).__name__}: {error}")
        else:
            hash(outcome)
        finally:
            scripted.active = None
        if script.refusal is not None:
            raise Refused(script.refusal)
        script.ended()
        return outcome


class _Nested(RuntimeError):
    pass


_busy = Lock()


@contextmanager
def _alone() -> Iterator[None]:
    if not _busy.acquire(blocking=False):
        raise _Nested("enumerate_law is already running: it cannot be nested, nor run in two threads")
    try:
        yield
    finally:
        arithmetic.known = arithmetic.outside
        scripted.supply.offer([])
        _busy.release()


def _shown(outcome: Hashable | _Raised) -> str:
    return outcome.text if isinstance(outcome, _Raised) else repr(outcome)


def scripted_generator(framework: str) -> Any:
    """A generator ("numpy" or "torch") to hand to a program that takes one; it only works inside `enumerate_law`."""
    if framework == "numpy":
        from .patched_numpy import ScriptedGenerator

        return ScriptedGenerator()
    if framework == "torch":
        from .patched_torch import ScriptedTorchGenerator

        generator = ScriptedTorchGenerator()
        generator.seeded = True
        return generator
    raise ValueError(f"no generators of {framework!r}: numpy or torch")
