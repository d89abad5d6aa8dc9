"""Enumerate: the exact law of unmodified code, by scripting its random calls and replaying every branch.

Each leaf is run twice. The first run explores it with uniforms that are not known yet (`uniforms`, `tensors`) under one
state of the global generators; the second, under another state, replays it with real numbers at the ends of the
intervals that were found. A different outcome or other questions mean randomness, or a use of a uniform, that the script
does not control: the reading is refused.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from . import scripted
from .patched import patched
from .refused import Refused
from .scripted import Cell, Choice, Explorer, Replay, Script
from .watched import Watch, watched

__all__ = ["Enumeration", "Refused", "enumerate_law", "scripted_generator"]

LARGEST_BLOCK = 256  # leaves explored before they are replayed
FEWEST_RUNS = 32  # a program with few leaves is replayed until so many runs agree


@dataclass(frozen=True)
class Enumeration:
    """The law of a program: outcome -> probability, and "Exception: message" -> probability where it raised.

    The masses of both add up to 1, exactly. `leaves` is the number of branches.
    """

    law: dict[Hashable, Fraction]
    failures: dict[str, Fraction]
    leaves: int


@dataclass(frozen=True)
class _Raised:
    text: str


@dataclass(frozen=True)
class _Leaf:
    outcome: Hashable | _Raised
    drawn: list[Cell | Choice]
    mass: tuple[int, int]


def enumerate_law(
    program: Callable[[], Hashable],
    *,
    max_leaves: int = 20_000,
    deadline: float | None = None,
    fresh_seeds: bool = False,
) -> Enumeration:
    """The exact law of `program()`, whose randomness comes from `random`, `numpy.random` or torch.

    `deadline` is a time of `time.monotonic()`. A program that seeds a generator has a fixed tape and is refused, unless
    `fresh_seeds` says that its seeds stand for new ones at every call; the same seed twice in a call is always refused.

    Raises Refused with the reason when the law cannot be read like this, and RuntimeError when nested.
    """
    if scripted.active is not None:
        raise RuntimeError("enumerate_law cannot be nested")
    without_torch = "torch" not in sys.modules
    law: dict[tuple[Hashable | _Raised, int], int] = {}  # outcome and denominator -> numerator
    leaves, size, explorer = 0, 1, Explorer(fresh_seeds)

    def run(script: Script) -> Hashable | _Raised:
        if deadline is not None and time.monotonic() > deadline:
            raise Refused(f"the deadline passed after {leaves} branches")
        return _run(program, script)

    def replay(block: list[_Leaf], watch: Watch, parity: int) -> None:
        with watch.under(1):
            for number, leaf in enumerate(block):
                _compare(leaf.outcome, run(script := Replay(leaf.drawn, number + parity, fresh_seeds)), script)

    with watched(program) as watch, patched():
        more = True
        while more:
            block: list[_Leaf] = []
            with watch.under(0):
                while more and len(block) < size:
                    if leaves == max_leaves:
                        raise Refused(f"more than {max_leaves} branches")
                    explorer.begin()
                    leaf = _Leaf(run(explorer), explorer.drawn, explorer.mass())
                    block.append(leaf)
                    key = leaf.outcome, leaf.mass[1]
                    law[key] = law.get(key, 0) + leaf.mass[0]
                    leaves += 1
                    more = explorer.advance()
            if without_torch and "torch" in sys.modules:
                raise Refused("the program imports torch while it runs: import it first")
            replay(block, watch, parity=0)
            size = min(4 * size, LARGEST_BLOCK)
        for parity in range(1, FEWEST_RUNS // leaves):
            replay(block, watch, parity)
    return _summed(law, leaves)


def _run(program: Callable[[], Hashable], script: Script) -> Hashable | _Raised:
    scripted.active = script
    outcome: Hashable | _Raised
    try:
        outcome = program()
        hash(outcome)
    except Refused:
        raise
    except Exception as error:
        outcome = _Raised(f"{type(error).__name__}: {error}")
    finally:
        scripted.active = None
    if script.refusal is not None:
        raise Refused(script.refusal)
    return outcome
