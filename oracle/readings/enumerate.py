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
from itertools import product
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar, cast

from . import scripted
from .patched import patched
from .refused import Refused
from .scripted import Choice, Explorer, Replay, Script
from .shared import SharedNoise
from .uniforms import CHANGED, Uniform
from .watched import Watch, watched

__all__ = ["Enumeration", "Refused", "enumerate_law", "scripted_generator"]

LARGEST_BLOCK = 256  # leaves explored before they are replayed
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


class Leaf(NamedTuple):
    outcome: Hashable | _Raised
    drawn: list[Uniform | Choice]
    numerator: int
    denominator: int


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
    law: dict[tuple[Hashable | _Raised, int], int] = {}  # outcome and denominator -> numerator
    leaves, slack, size, explorer, few = 0, 0.0, 1, Explorer(fresh_seeds), list[Leaf]()
    shared = SharedNoise()

    def run(script: Script) -> Hashable | _Raised:
        if deadline is not None and time.monotonic() > deadline:
            raise Refused(f"enumerate had read {leaves} branches when its share of the time limit was over")
        return _run(program, script)

    def replay(block: list[Leaf], times: range) -> None:
        assert watch is not None
        with watch.under(1):
            for nth, (number, leaf) in product(times, enumerate(block)):
                script = Replay(leaf.drawn, number + nth, fresh_seeds)
                _compare(leaf.outcome, run(script), script)

    with _alone(), watched(program) if watch is None else nullcontext(watch) as watch:
        came_back = watch.meet(program)
        with patched() as scripted_torch:
            more = True
            while more:
                block: list[Leaf] = []
                with watch.under(0):
                    while more and len(block) < size:
                        if leaves == max_leaves:
                            raise Refused(f"more than {max_leaves} branches")
                        explorer.begin()
                        leaf = Leaf(run(explorer), explorer.drawn, *explorer.mass())
                        if not shared.keep(leaf, explorer):
                            block.append(leaf)
                        key = leaf.outcome, leaf.denominator
                        law[key] = law.get(key, 0) + leaf.numerator
                        leaves += 1
                        slack += explorer.slack * leaf.numerator / leaf.denominator
                        more = explorer.advance()
                if "torch" in sys.modules and not scripted_torch:
                    raise Refused("torch is imported while branches are explored: import it first")
                replay(block, range(1))
                few = (few + block)[:FEWEST_RUNS]
                size = min(16 * size, LARGEST_BLOCK)
            replay(few, range(1, FEWEST_RUNS // leaves))
            replay(shared.leaves(), range(max(1, FEWEST_RUNS // leaves)))
    outcomes: dict[T, Fraction] = {}
    failures: dict[str, Fraction] = {}
    for (outcome, denominator), numerator in law.items():
        if isinstance(outcome, _Raised):
            failures[outcome.text] = failures.get(outcome.text, Fraction(0)) + Fraction(numerator, denominator)
        else:
            value = cast(T, outcome)
            outcomes[value] = outcomes.get(value, Fraction(0)) + Fraction(numerator, denominator)
    if not outcomes and came_back:
        raise Refused(f"the program only fails when its random calls are scripted: {next(iter(failures))}")
    return Enumeration(outcomes, failures, leaves, slack)


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
        _busy.release()


def _run(program: Callable[[], Hashable], script: Script) -> Hashable | _Raised:
    scripted.active = script
    outcome: Hashable | _Raised
    try:
        outcome = program()
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
    return outcome


def _compare(first: Hashable | _Raised, second: Hashable | _Raised, script: Replay) -> None:
    """The same script must lead to the same end, with the same draws."""
    if script.position != len(script.drawn):
        raise Refused(CHANGED)
    if hash(first) == hash(second) and first == second:
        return
    if isinstance(first, _Raised):
        raise Refused(f"a use of randomness that cannot be scripted, or is not controlled: {first.text}")
    raise Refused(f"randomness that is not controlled: the same script gave {_shown(first)} and {_shown(second)}")


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
