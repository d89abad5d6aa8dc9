"""One run after another with numbers that are not known, branch by branch, depth first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import length_hint
from typing import Any

from . import arithmetic, scripted
from .arithmetic import CHANGED, OUTLIVED, Event, Number, Term, beyond
from .functions import Function
from .scripted import REUSED, TICK, Choice, Odds, Race, Run, Settled, Tape, supply
from .uniforms import CONSTANT, DOUBLE, Grid, Uniform

HIGHEST = DOUBLE.value(DOUBLE.last)
DEAD = Term(Uniform(None, -1, CONSTANT, float), CONSTANT.function(float))  # type: ignore[arg-type]
"""Of numbers that outlived their run."""


class Branch:
    """A question with several answers: is a uniform at or above `question`, or which of the weights in `question`.

    With it goes how much was known before it was answered: events, draws, numbers made; the uniform's interval; the weight of all that led here.
    """

    __slots__ = ("uniform", "question", "answer", "before")

    def __init__(self, uniform: Uniform | None, question: Any, answer: int, before: Before) -> None:
        self.uniform, self.question, self.answer, self.before = uniform, question, answer, before

    def advance(self) -> bool:
        """Move to the next weight that is not zero; False when there is none."""
        self.answer += 1
        while self.answer < len(self.question) and not self.question[self.answer]:
            self.answer += 1
        return self.answer < len(self.question)


Before = tuple[int, int, int, int, int, int, int, int, float]
"""Numbers of events, draws, numbers made; lo, hi; numerator, denominator and the binary digits that it has besides, slack."""
CHOICE, SETTLED, ODDS = "choice", "settled", "odds"


def _references(numbers: list[Number], others: list[Number]) -> set[int]:
    """How many references there are to each."""
    return set(map(sys.getrefcount, numbers + others))


_kept = [object()]
_twice = [*_kept]
LET_GO = _references(_kept, [])  # type: ignore[arg-type]
"""Of numbers that are held twice, here, and by nobody else."""
MORE = 8  # plain uniforms made at a time


class Explorer(Run):
    """Answers the questions of a run: as before up to the last branch, the next possible answer to it, the first possible answers after it.

    All that the program asks of numbers that are not known is an event.  A run begins as the run before, event by event, up to the last branch;
    anything else is refused.  Up to there the answers are those of the run before, and intervals are what they were at that branch: they decide
    nothing.  The numbers are the same objects, unless the program kept one: then it gets others, and what it kept has outlived its run.
    """

    lazy = True

    def __init__(self, fresh_seeds: bool = False) -> None:
        super().__init__(fresh_seeds)
        self.branches: list[Branch] = []
        self.events: list[Event] = []
        self.drawn: list[Uniform | Choice] = []
        self.plain: list[Number] = []  # what `random.random` gives in every run, as many as were ever needed
        self.lowest, self.highest = list[float](), list[float]()  # their values
        self.made: list[Number] = []  # all else that the program was given
        self.numbers: list[Number] = []  # what the elements of lazy tensors are
        self.races: list[Race] = []  # those with one place, in the order in which they were settled
        self.raced = False
        self._beyond = repeat((None, self, None, None))
        self.numerator, self.denominator, self.bits, self.slack = 1, 1, 0, 0.0
        self._roots: dict[tuple[int, type], tuple[Grid, Function]] = {}
        self._odds: dict[Any, Odds] = {}

    def begin(self) -> None:
        """Forget the last run, keep the branches."""
        if self.seeds:
            self.seeds = set()
        self.refusal = None
        if self.numbers:
            self.numbers = []
        supply.offer(self.plain)
        if _references(self.plain, self.made) - LET_GO:
            self._renew()
            supply.offer(self.plain)
        if self.raced:
            self.races = []
            for uniform in self._uniforms():
                uniform.race = None
        self._asked = iter(self.events)
        arithmetic.known = chain(self._asked, self._beyond).__next__

    def _renew(self) -> None:
        """Other numbers in place of all those of the last run, which are told that they outlived it."""
        given = self.plain + self.made
        fresh = {id(old): Number(old.term) for old in given}
        for old in given:
            old.term = DEAD

        def renewed(answer: Any) -> Any:
            return fresh.get(id(answer), answer) if type(answer) is not list else [fresh.get(id(one), one) for one in answer]

        self.made = [fresh[id(old)] for old in self.made]
        self.plain = [fresh[id(old)] for old in self.plain]
        self.events = [(*event[:3], renewed(event[3])) for event in self.events]

    def exploring(self) -> None:
        """Refused unless it is in progress."""
        if scripted.active is not self:
            self.refuse(OUTLIVED)

    # events

    def learn(self, asked: Any, operation: Any, operand: Any, answer: Any) -> None:
        """Enter an event beyond those that are known."""
        if scripted.active is not self:
            self.refuse(OUTLIVED)
        self.events.append((asked, operation, operand, answer))

    def make(self, asked: Any, operation: Any, operand: Any, term: Term) -> Number:
        """A number that the program gets as an answer."""
        number = Number(term)
        self.learn(asked, operation, operand, number)
        self.made.append(number)
        return number

    def make_all(self, asked: Any, operation: Any, operand: Any, terms: Callable[[], Iterable[Term]]) -> list[Number]:
        """Numbers that the program gets as an answer."""
        event = arithmetic.known()
        if event[0] is asked and event[1] is operation and event[2] == operand:
            return list(event[3])
        beyond(event)
        numbers = [Number(term) for term in terms()]
        self.learn(asked, operation, operand, numbers)
        self.made += numbers
        return numbers.copy()

    def ended(self) -> None:
        """Refused unless the run came as far as the run before, up to its last branch."""
        if length_hint(self._asked):
            self.refuse(CHANGED)

    # draws

    def more(self) -> list[Any]:
        """Plain uniforms beyond those that were ever drawn."""
        first = len(self.plain)
        fresh = [Number(self._term(Uniform(self, index, DOUBLE, float, index))) for index in range(first, first + MORE)]
        self.plain += fresh
        self.lowest += [0.0] * MORE
        self.highest += [HIGHEST] * MORE
        return fresh

    def _term(self, uniform: Uniform) -> Term:
        key = id(uniform.grid), uniform.kind
        if key not in self._roots:
            self._roots[key] = uniform.grid, uniform.grid.function(uniform.kind)
        return Term(uniform, self._roots[key][1])

    def _drawn(self, grid: Grid, kind: type) -> Term:
        uniform = Uniform(self, ~len(self.drawn), grid, kind)
        self.drawn.append(uniform)
        return self._term(uniform)

    def uniform(self, index: int) -> Uniform:
        """By the index that it has."""
        found = self.plain[index].term.uniform if index >= 0 else self.drawn[~index]
        assert isinstance(found, Uniform)
        return found

    def _uniforms(self) -> list[Uniform]:
        return [number.term.uniform for number in self.plain] + [one for one in self.drawn if isinstance(one, Uniform)]

    def draw(self, grid: Grid, kind: type = float) -> Any:
        """A uniform: a number that is not known yet."""
        return self.draws(grid, 1, kind)[0]

    def draws(self, grid: Grid, count: int, kind: type = float) -> list[Any]:
        """So many uniforms."""
        return self.make_all(grid, kind, count, lambda: [self._drawn(grid, kind) for _ in range(count)])

    def constants(self, values: list[float]) -> list[Number]:
        """Numbers that are known, among others that are not.  They may be other numbers in every run: memory that is not read."""
        fixed = Uniform(self, -1, CONSTANT, float)
        return self.make_all(CONSTANT, None, len(values), lambda: [Term(fixed, Function(lambda k, v=value: v)) for value in values])  # type: ignore[misc]

    def choose(self, weights: Sequence[int]) -> int:
        """A discrete draw: index i with probability weights[i] / sum(weights)."""
        question = tuple(weights)
        event = arithmetic.known()
        if event[0] is CHOICE and event[2] == question:
            return int(event[3])
        beyond(event)
        return int(self._chosen(CHOICE, question))

    def odds(self, racing: Sequence[Number], what: Any, found: Callable[[], Odds]) -> Odds:
        """Those of a race, which depend on what is raced alone."""
        key = what, tuple(number.term.function for number in racing)
        event = arithmetic.known()
        if event[0] is ODDS and event[2] == key:
            odds: Odds = event[3]
            return odds
        beyond(event)
        if key not in self._odds:
            self._odds[key] = found()
        self.learn(ODDS, None, key, self._odds[key])
        return self._odds[key]

    def settle(self, odds: Odds) -> tuple[int, int]:
        """Who wins the race, and the position of the branch."""
        self.raced = True
        event = arithmetic.known()
        if event[0] is SETTLED and event[1] == odds:
            return event[3], event[2]
        beyond(event)
        return self._chosen(SETTLED, odds.weights, odds), len(self.branches) - 1

    # branches

    def _before(self, lo: int, hi: int) -> Before:
        """As things are; the event comes next."""
        if scripted.active is not self:
            self.refuse(OUTLIVED)
        weight = self.numerator, self.denominator, self.bits, self.slack
        return (len(self.events), len(self.drawn), len(self.made), lo, hi, *weight)

    def _chosen(self, what: str, weights: tuple[int, ...], odds: Odds | None = None) -> int:
        answer = next((index for index, weight in enumerate(weights) if weight), len(weights))
        self.branches.append(Branch(None, weights, answer, self._before(0, 0)))
        self.learn(what, odds, len(self.branches) - 1 if odds else weights, answer)
        self._take(weights, answer, odds)
        return answer

    def _take(self, weights: tuple[int, ...], answer: int, odds: Odds | None) -> None:
        self.drawn.append(Settled(weights, answer) if odds else (weights, answer))
        self.numerator *= weights[answer]
        self.denominator *= sum(weights)
        self.slack += odds.slack if odds else 0.0

    def split(self, uniform: Uniform, cut: int) -> None:
        """Both are possible: that the uniform is at or above the cut, and that it is below, which comes first."""
        if uniform.race is not None:
            self.refuse(f"uses the noise of a race once more{REUSED}")
        lo, hi = uniform.lo, uniform.hi
        self.branches.append(Branch(uniform, cut, 0, self._before(lo, hi)))
        self._narrow(uniform, lo, cut - 1, hi - lo + 1)

    def _narrow(self, uniform: Uniform, lo: int, hi: int, had: int) -> None:
        """From so many points to those from ``lo`` to ``hi``."""
        if had > uniform.grid.last:
            self.numerator *= hi - lo + 1
            self.bits += uniform.grid.bits
        else:
            self.numerator = self.numerator // had * (hi - lo + 1)
        uniform.lo, uniform.hi, uniform.known, place = lo, hi, None, uniform.place
        if place >= 0:
            self.lowest[place], self.highest[place] = lo * TICK, hi * TICK

    def advance(self) -> bool:
        """Turn to the next leaf; False when all were visited."""
        branches = self.branches
        while branches:
            branch = branches[-1]
            uniform = branch.uniform
            if uniform is None:
                if branch.advance():
                    break
            elif not branch.answer:
                branch.answer = 1
                break
            else:  # as it was, for branches before
                uniform.lo, uniform.hi, uniform.known, place = branch.before[3], branch.before[4], None, uniform.place
                if place >= 0:
                    self.lowest[place], self.highest[place] = uniform.lo * TICK, uniform.hi * TICK
            branches.pop()
        else:
            return False
        self._turn(branch)
        return True

    def _turn(self, branch: Branch) -> None:
        """Forget what came after this branch, and give the next answer to its question."""
        at, drawn, made, lo, hi, self.numerator, self.denominator, self.bits, self.slack = branch.before
        asked, operation, operand, answer = self.events[at]
        del self.events[at:]
        if len(self.drawn) > drawn:
            del self.drawn[drawn:]
        if len(self.made) > made:
            for number in self.made[made:]:
                number.term = DEAD
            del self.made[made:]
        if branch.uniform is not None:
            self._narrow(branch.uniform, branch.question, hi, hi - lo + 1)
            self.events.append((asked, operation, operand, not answer))
        else:
            self._take(branch.question, branch.answer, operation)
            self.events.append((asked, operation, operand, branch.answer))

    # the leaf just visited

    def mass(self) -> tuple[int, int]:
        """Its probability: numerator and denominator, not in lowest terms."""
        return self.numerator, self.denominator << self.bits

    def tape(self) -> Tape:
        """What replays it."""
        used = supply.used()
        lowest, highest = self.lowest[:used], self.highest[:used]
        if self.raced:
            for index, number in enumerate(self.plain[:used]):
                race = number.term.uniform.race
                if race is not None:
                    lowest[index], highest[index] = race.taped[0] * TICK, race.taped[1] * TICK
            return lowest, highest, [one.point() if isinstance(one, Uniform) else one for one in self.drawn]
        return lowest, highest, [one if isinstance(one, tuple) else one.known or one.point() for one in self.drawn]
