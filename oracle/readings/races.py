"""Races: the largest, or the smallest, of numbers that are not known yet, each a monotone function of a uniform of its own.

A number beats a level y with some probability 1 - exp(-h); h is its *hazard* at y.  Where the hazards of the contenders stand in the same ratios
w_1 : w_2 : ... at every level -- p_i / E_i with exponential noise, log p_i + G_i with Gumbel noise, and whatever else orders them alike --
contender i wins with probability w_i / (w_1 + w_2 + ...), and the level at which it wins tells nothing of who won.  So the winner meets a later
contender as one of weight w_1 + w_2 + ..., and the order of all of them is that of successive draws without replacement.

The hazards are found by bisection at levels from one that the winner passes once in 10^7 runs to one that it misses as rarely: noise that is kept
from 0 by a clamp differs at the first of them only.  Where the ratios change with the level the reading is refused; how far floating point moves them
is the ``slack`` of the race, a bound on the total variation of its law.  Several races over the same noise: see ``shared``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .arithmetic import OUTLIVED
from .exploring import Explorer
from .scripted import REUSED, Odds, Race, current, exact_weights
from .shared import groups

if TYPE_CHECKING:
    from .arithmetic import Number
    from .uniforms import Uniform

Beats = Callable[[Any, Any], Any]

EXCHANGED: dict[Beats, Beats] = {operator.lt: operator.gt, operator.gt: operator.lt, operator.le: operator.ge, operator.ge: operator.le}
LEVELS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.4, 1.0, 2.0, 4.0, 8.0, 16.0)
"""The total hazard at the levels looked at: the winner of a race wins before a level h with probability 1 - exp(-h)."""

TIES = 22
"""Values that are the same over more than 2^-22 of their place among the best are counted; float32 rounds more finely."""

MOST_SLACK = 1e-5
"""Ratios that differ by more than float32 rounds are no constants."""

FIRST, LATER = (0.5, 0.7), (1.0, 1.4)
"""Hazards, by weight and by round, that the replay gives to a winner and to those it beat."""


class Standing(NamedTuple):
    """Where a number stands after a race: the grid points a replay is to draw; how it won, unless it lost; its own weight, and that of all it
    beat with its own; its scale of hazards in the replay.
    """

    taped: tuple[int, int]
    beats: Beats | None = None
    weight: float = 0.0
    total: float = 0.0
    scale: float = 1.0
    plain: bool = False
    """Whether all it did was to take part in races with one place."""


def order(numbers: Sequence[Number], largest: bool, count: int) -> list[int]:
    """Indices of the ``count`` largest (or smallest) numbers, best first; ties go to the earlier one, as they do among numbers that are known."""
    beats = operator.gt if largest else operator.lt
    running = [index for index, number in enumerate(numbers) if not _constant(number)]
    known = sorted((index for index in range(len(numbers)) if index not in running), key=lambda i: _key(numbers[i], largest))
    if running and known and not all(_always_beats(beats, numbers[i], numbers[known[0]]) for i in running):
        numbers[running[0]]._refuse("a race with a number that is known and may win it")
    places = [running[place] for place in _race([numbers[i] for i in running], beats, min(count, len(running)))] if running else []
    return (places + known)[:count]


def _race(racing: Sequence[Number], beats: Beats, count: int) -> list[int]:
    script = _script(racing, again=count == 1)
    odds = script.odds(racing, beats, lambda: _odds(racing, beats))
    left, total, places = list(odds.weights), sum(odds.weights), list[int]()
    for nth in range(count):
        if not any(left):
            script.refuse("more places in a race than contenders that can win")
        place, position = script.settle(odds._replace(weights=tuple(left)))
        for other, weight in enumerate(left):
            if weight:
                _tape(racing[other], beats, weight / total, 2.0**nth, FIRST if other == place else LATER)
        left[place] = 0
        places.append(place)
    if count == 1:
        _over(script, racing, place, position, Standing((0, 0), beats, odds.weights[place] / total, 1.0))
    return places


def _over(script: Explorer, racing: Sequence[Number], place: int, position: int, champion: Standing) -> None:
    """Enter a race with one place.  Where its noise has raced before nobody goes on as a champion: ``shared`` says whether both may matter."""
    taped = dict[int, tuple[int, int]]()
    for number in racing:
        assert number.uniform.race is not None
        taped[number.uniform.index] = number.uniform.race.taped
        number.uniform.race = number.uniform.race._replace(plain=True)
    script.races.append(Race(position, taped))
    group = next(group for group in groups(script.races) if script.races[-1] in group)
    if len(group) == 1:
        racing[place].uniform.race = champion._replace(taped=taped[racing[place].uniform.index], plain=True)
    else:
        _change(script, group, {"beats": None})


def _change(script: Explorer, group: Sequence[Race], what: dict[str, Any]) -> None:
    """Of all that took part in these races."""
    for index in {index for race in group for index in race.taped}:
        uniform = script.uniform(index)
        assert uniform.race is not None
        uniform.race = uniform.race._replace(**what)


def compare(op: Beats, one: Number, other: Number) -> bool:
    """``op(one, other)`` for numbers of different uniforms; a branch, unless they are too far apart to matter."""
    how, value = one.remembered(compare, (op, other.term), lambda: _how(op, one, other))
    if how == "known":
        return bool(value)
    if how == "one is known":
        return bool(EXCHANGED[op](other, value))
    if how == "other is known":
        return bool(op(one, value))
    if one.uniform.race and other.uniform.race:
        one._refuse("compares two numbers that have both raced")
    script = _script([one, other], begun=True)
    met = {one.uniform.index, other.uniform.index}
    _change(script, [race for race in script.races if met & race.taped.keys()], {"plain": False})  # the level of a winner is in play now
    odds = script.odds((one, other), (op, one.uniform.race, other.uniform.race), lambda: _pair(one, other, op))
    share = odds.weights[0] / sum(odds.weights)  # of one
    place, _ = script.settle(odds)
    _placed(odds, one, other, share, place)
    one_is_larger = (place == 0) == (odds.beats is operator.gt)
    return one_is_larger if op in (operator.gt, operator.ge) else not one_is_larger


def _how(op: Beats, one: Number, other: Number) -> tuple[str, Any]:
    """How two numbers are compared; they are far apart, or one is known, by what is known of their uniforms now."""
    if other.uniform.script is not one.uniform.script:
        current().refuse(OUTLIVED)
    truths = {bool(op(first, second)) for first, second in product(one.ends(), other.ends())}
    if len(truths) == 1:
        return "known", truths.pop()
    if _constant(one):
        return "one is known", one.ends()[0]
    if _constant(other):
        return "other is known", other.ends()[0]
    return "race", None


def _placed(odds: Odds, one: Number, other: Number, share: float, place: int) -> None:
    """Enter who won: a champion that is beaten keeps its taped values, and the new one is put before it."""
    shares = (share, 1 - share)
    old = 0 if one.uniform.race else 1 if other.uniform.race else None
    pair = one, other
    if old is None:
        weights, scale = shares, 1.0
    else:
        standing = pair[old].uniform.race
        assert standing is not None
        new_weight = standing.total * shares[1 - old] / shares[old]
        weights = (standing.weight, new_weight) if old == 0 else (new_weight, standing.weight)
        scale = standing.scale / 2 if place != old else standing.scale
    total = sum(weights) if old is None else pair[old].uniform.race.total + weights[1 - old]  # type: ignore[union-attr]
    loser = 1 - place
    if old is None or place != old:
        _tape(pair[place], odds.beats, weights[place], scale, FIRST)
    if old is None or loser != old:
        _tape(pair[loser], odds.beats, weights[loser], scale, LATER)
    _stand(pair[place], odds.beats, weights[place], total, scale)
    lost = pair[loser].uniform
    assert lost.race is not None
    lost.race = Standing(lost.race.taped)


def _pair(one: Number, other: Number, op: Beats) -> Odds:
    """The odds of two, one of which may have won before: in whichever direction their hazards keep their ratio.

    Those of two alike do in both: then the comparison that was asked for tells which of them the program goes on with.
    """
    standing = one.uniform.race or other.uniform.race
    asked = (operator.gt, operator.lt) if op in (operator.gt, operator.ge) else (operator.lt, operator.gt)
    for beats in asked if standing is None else (standing.beats,):
        assert beats is not None
        odds = _shares([one, other], beats)
        if odds is not None and odds.slack <= MOST_SLACK:
            break
    else:
        one._refuse("compares two uniforms whose odds depend on their level")
    if standing is None:
        return odds
    before = standing.total / standing.weight
    mine, its = odds.weights
    return odds._replace(weights=exact_weights([mine * before, its] if one.uniform.race else [mine, its * before]))


def _odds(racing: Sequence[Number], beats: Beats) -> Odds:
    odds = _shares(racing, beats)
    if odds is None or odds.slack > MOST_SLACK:
        racing[0]._refuse("a race whose odds depend on its level")
    return odds


def _shares(racing: Sequence[Number], beats: Beats) -> Odds | None:
    """The weights of a race from the hazards at several levels; None where they are not defined."""
    if len(racing) == 1:
        return Odds((1,), 0.0, beats)
    contenders = [_Contender(number, beats) for number in racing]
    strongest = contenders[0]
    for _ in contenders:
        hazards = [one.hazard(strongest.value(0.7))[0] for one in contenders]
        heaviest = contenders[max(range(len(racing)), key=hazards.__getitem__)]
        if heaviest is strongest:
            break
        strongest = heaviest
    if not sum(hazards):
        return None
    weights = [hazard / sum(hazards) for hazard in hazards]
    found, ties = [[0.0] * len(racing)], list[float]()
    for level in LEVELS:
        at = strongest.value(max(weights) * level)
        here = [one.hazard(at, weight * level) for one, weight in zip(contenders, weights, strict=True)]
        found.append([hazard for hazard, _ in here])
        ties.append(min(1.0, sum(tie for _, tie in here)))
    return _summed(np.array(found), np.array([ties[0], *ties]), beats)


def _summed(hazards: np.ndarray, ties: np.ndarray, beats: Beats) -> Odds | None:
    """The odds from hazards [levels, contenders], those at the first level 0, and the probabilities of ties [levels].

    Between two levels contender i wins in proportion to what its hazard grows by.  Rounding moves mass from one part to the next and back: what
    counts is how far the winners up to a level are from the mean at any level, and, within a part, how fast its end becomes less likely.
    """
    totals = hazards.sum(1)
    steps = np.diff(totals)
    if (steps < 0).any() or not totals[-1] > 1:
        return None
    masses = np.exp(-totals[:-1]) - np.exp(-totals[1:])
    shares = np.diff(hazards, axis=0) / np.where(steps > 0, steps, 1.0)[:, None]
    mean = masses @ shares / masses.sum()
    off = masses[:, None] * (shares - mean)
    drift = np.abs(off.cumsum(0)).sum(1).max() / 2
    within = (np.minimum(steps, 1.0) * np.abs(off).sum(1)).sum() / 2
    slack = np.exp(-totals[-1]) + drift + within + masses @ np.maximum(ties[:-1], ties[1:])
    return Odds(exact_weights(np.maximum(mean, 0.0).tolist()), float(slack), beats)


class _Contender:
    """A number, with the points of its grid in order from the best."""

    def __init__(self, number: Number, beats: Beats) -> None:
        self.number, self.beats = number, beats
        self.points = number.uniform.grid.last + 1
        at = number.term.function.at
        self.downwards = bool(beats(at(self.points - 1), at(0)))

    def point(self, place: int) -> int:
        return self.points - 1 - place if self.downwards else place

    def place(self, hazard: float) -> int:
        return min(int(-math.expm1(-hazard) * self.points), self.points - 1)

    def value(self, hazard: float) -> Any:
        """Its value where it has this hazard."""
        return _at(self.number, self.point(self.place(hazard)))

    def hazard(self, level: Any, guess: float | None = None) -> tuple[float, float]:
        """-ln(1 - Pr(it beats the level)), and the probability that it is the same as the level, or a bound on it."""
        strictly = self._count(lambda value: bool(self.beats(value, level)), None if guess is None else self.place(guess))
        tie = min(1 + (strictly >> TIES), self.points - strictly)
        if strictly + tie < self.points and not self.beats(level, _at(self.number, self.point(strictly + tie))):
            tie = self._count(lambda value: not self.beats(level, value), None) - strictly
        return -math.log((self.points - min(strictly, self.points - 0.5)) / self.points), tie / self.points

    def _count(self, truth: Callable[[Any], bool], around: int | None) -> int:
        """How many points, the best ones, make it true; to nine digits.  ``around`` is a guess."""

        def at(place: int) -> bool:
            return truth(_at(self.number, self.point(place)))

        before, after = 0, self.points  # true for so many, false at the next of so many
        if around is not None:
            width = 1 + (around >> 20)
            low, high = max(around - width, 0), min(around + width, self.points - 1)
            before = low + 1 if at(low) else 0
            after = self.points if at(high) else high
        elif at(after - 1):
            return after
        while after - before > 1 + (before >> 32):
            middle = (before + after) // 2
            if at(middle):
                before = middle + 1
            else:
                after = middle
        return before


def _tape(number: Number, beats: Beats, weight: float, scale: float, hazards: tuple[float, float]) -> None:
    """What the replay is to draw."""
    contender = _Contender(number, beats)
    one, two = (contender.point(contender.place(weight * scale * hazard)) for hazard in hazards)
    number.uniform.race = Standing((one, two))


def _stand(winner: Number, beats: Beats, weight: float, total: float, scale: float) -> None:
    assert winner.uniform.race is not None
    winner.uniform.race = Standing(winner.uniform.race.taped, beats, weight, total, scale)


def _at(number: Number, k: int) -> Any:
    with np.errstate(all="ignore"):
        return number.value(k)


def _ends(number: Number) -> tuple[int, int]:
    return number.uniform.lo, number.uniform.hi


def _constant(number: Number) -> bool:
    low, high = number.ends()
    if low != low or high != high:
        number._refuse("a race with NaN")
    return bool(low == high)


def _key(number: Number, largest: bool) -> Any:
    value = _at(number, number.uniform.lo)
    return -value if largest else value


def _always_beats(beats: Beats, number: Number, known: Number) -> bool:
    """Whatever the uniform is, but for a tie at one end."""
    value = _at(known, known.uniform.lo)
    return not any(beats(value, _at(number, k)) for k in _ends(number))


def _script(racing: Sequence[Number], begun: bool = False, again: bool = False) -> Explorer:
    """The script of these uniforms, each its own and not looked at before; ``begun``: one may have won before; ``again``: all may have raced."""
    uniforms: list[Uniform] = [number.uniform for number in racing]
    script = current()
    if not isinstance(script, Explorer) or any(uniform.script is not script for uniform in uniforms):
        script.refuse(OUTLIVED)
    if len({id(uniform) for uniform in uniforms}) < len(uniforms):
        script.refuse("combines two uniforms: a race between numbers made of the same one")
    for uniform in uniforms:
        if uniform.race is not None and not (begun and uniform.race.beats) and not (again and uniform.race.plain):
            script.refuse(f"a race between numbers one of which has raced before{REUSED}")
        if uniform.hi - uniform.lo != uniform.grid.last:
            script.refuse(f"a race between numbers one of which was compared before{REUSED}")
    return script
