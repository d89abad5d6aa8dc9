"""Chance: what a verifier asks for its random decisions, so that one program has several readings.

A program takes a :class:`Chance` and asks it to ``flip`` a coin or to ``draw`` from a law.  :func:`law_of` explores every branch and returns
the exact law of what the program returns; :func:`simulate` runs the same program on a random generator.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

from .laws import ONE, ZERO, Law
from .rational import Rational, rational

T = TypeVar("T", bound=Hashable)


class Chance(Protocol):
    """Source of random decisions.  ``at`` names the decision (usually a node); exact evaluation ignores it."""

    def flip(self, probability: Rational, at: Any = None) -> bool:
        """True with the given probability."""

    def draw(self, law: Law[T], at: Any = None) -> T:
        """One outcome of ``law``."""


class _Branch:
    """A decision on the way to the current leaf: its possible outcomes, the one taken, and the probability of coming to each."""

    __slots__ = ("outcomes", "reach", "taken")

    def __init__(self, outcomes: Sequence[Any], reach: Sequence[Rational]):
        self.outcomes, self.reach, self.taken = outcomes, reach, 0


class _Replay:
    """Follows the recorded decisions, then takes the first outcome of every new one."""

    def __init__(self, script: list[_Branch]):
        self.script, self.position, self.reach = script, 0, ONE

    def _decide(self, branch: _Branch) -> Any:
        self.reach = branch.reach[branch.taken]
        self.position += 1
        return branch.outcomes[branch.taken]

    def flip(self, probability: Rational, at: Any = None) -> bool:
        if probability >= 1:
            return True
        if probability <= 0:
            return False
        if self.position == len(self.script):
            accept = self.reach * probability
            self.script.append(_Branch((True, False), (accept, self.reach - accept)))
        return bool(self._decide(self.script[self.position]))

    def draw(self, law: Law[T], at: Any = None) -> T:
        if len(law) == 1:
            return next(iter(law))
        if self.position == len(self.script):
            self.script.append(_Branch(tuple(law), tuple(self.reach * weight for _, weight in law.items())))
        outcome: T = self._decide(self.script[self.position])
        return outcome


def law_of(program: Callable[[Chance], T]) -> Law[T]:
    """Exact law of ``program``'s result, by replaying it once per branch.

    The program must be a function of its decisions only.  Cost: (number of leaves) x (cost of one run).
    """
    weights: dict[T, Rational] = {}
    script: list[_Branch] = []
    while True:
        replay = _Replay(script)
        outcome = program(replay)
        weights[outcome] = weights.get(outcome, ZERO) + replay.reach
        while script and script[-1].taken + 1 == len(script[-1].outcomes):
            script.pop()
        if not script:
            return Law(weights)
        script[-1].taken += 1


class _Generator:
    """Decisions from a random generator, exact to 2^-64."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def _uniform(self) -> Rational:
        return rational(self.rng.getrandbits(64)) / (1 << 64)

    def flip(self, probability: Rational, at: Any = None) -> bool:
        return self._uniform() < probability

    def draw(self, law: Law[T], at: Any = None) -> T:
        left = self._uniform()
        for outcome, weight in law.items():
            left -= weight
            if left < 0:
                return outcome
        raise AssertionError("the weights of a law sum to one")


def simulate(program: Callable[[Chance], T], rng: random.Random, count: int) -> Counter[T]:
    """Counts of the results of ``count`` independent runs of ``program``."""
    chance = _Generator(rng)
    return Counter(program(chance) for _ in range(count))
