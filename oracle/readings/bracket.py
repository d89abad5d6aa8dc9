"""Bracketing: drive a subject just below and just above every threshold of the exact reference, along every branch.

Every decision of a verifier compares one uniform with thresholds that depend on earlier outcomes only.  The reference, run on all its branches,
says where they are; a subject that agrees with it within ``width`` of each threshold has the reference's law up to the mass that can hide there:
sum over decisions of (probability of coming to it) x (number of its thresholds) x width.

Needs the "draftproof" layout of uniforms: column v decides node v, column 0 draws the bonus token (``tree_exit``: column 1 draws the exit).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.trees import Node, level_order
from draftproof.reference.verifiers import Family

Block = tuple[int, ...]
T = TypeVar("T")


@dataclass
class Decision:
    """One decision on a branch: the column it reads and the interval [low, high) of that uniform which leads on along this branch."""

    column: int
    low: Rational
    high: Rational


@dataclass
class Branch:
    """One leaf of the reference on one tree: its decisions in order, its probability and the block it emits.

    Decisions before number ``fresh`` were met in the same way on an earlier branch.
    """

    decisions: list[Decision] = field(default_factory=list)
    reach: Rational = ONE
    block: Block = ()
    fresh: int = 0


class _Tape:
    """A Chance that takes prescribed turns and records where in [0, 1) each of them lies; new decisions take the first turn."""

    def __init__(self, turns: list[int], column_of: Callable[[Any], int]):
        self.turns, self.column_of = turns, column_of
        self.taken = 0
        self.branch = Branch()
        self.widths: list[int] = []  # number of turns each decision offers
        self.recorded: list[bool] = []  # whether it reads a uniform
        self.thresholds = ZERO  # sum over new decisions of reach x number of thresholds

    def flip(self, probability: Rational, at: Any = None) -> bool:
        accept = min(max(probability, ZERO), ONE)
        return self._turn([(True, accept), (False, 1 - accept)], at)

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        return self._turn(list(law.items()), at)

    def _turn(self, offers: list[tuple[T, Rational]], at: Any) -> T:
        edges, live = [ZERO], []
        for outcome, weight in offers:
            if weight:
                live.append(outcome)
                edges.append(edges[-1] + weight)
        if self.taken == len(self.turns):
            self.turns.append(0)
            self.thresholds += self.branch.reach * (len(live) - 1)
        turn = self.turns[self.taken]
        self.taken += 1
        self.widths.append(len(live))
        low, high = edges[turn], edges[turn + 1]
        column = self.column_of(at)
        self.recorded.append(bool(column) or len(live) > 1)
        if self.recorded[-1]:  # the root is always accepted: its column is the bonus token's
            self.branch.decisions.append(Decision(column, low, high))
        self.branch.reach *= high - low
        return live[turn]


def columns_of(tree: Node) -> Callable[[Any], int]:
    """The column of the uniform that decides at a place, as the reference names it."""
    index = {id(node): position for position, node in enumerate(level_order(tree))}
    return lambda at: 1 if at == "exit" else 0 if at == "bonus" else index[id(at)]


def branches(family: Family, target: Model, tree: Node) -> tuple[list[Branch], Rational]:
    """Every branch of the reference on one tree, and the threshold mass: sum over decisions of reach x number of thresholds."""
    columns = columns_of(tree)
    found, thresholds, turns = [], ZERO, list[int]()
    while True:
        tape = _Tape(turns, columns)
        shared = max(len(turns) - 1, 0)
        answer = family.verify(target, tree, tape)
        bonus = tape.draw(answer.bonus, at="bonus") if len(answer.bonus) > 1 else next(iter(answer.bonus))
        tape.branch.block = (*answer.node.path, bonus)
        tape.branch.fresh = sum(tape.recorded[:shared])
        found.append(tape.branch)
        thresholds += tape.thresholds
        while turns and turns[-1] + 1 == tape.widths[len(turns) - 1]:
            turns.pop()
        if not turns:
            return found, thresholds
        turns[-1] += 1


def wide(found: list[Branch], width: Rational) -> tuple[list[Branch], Rational]:
    """The branches of one tree whose intervals are all wider than 2 ``width``, and the mass of the others: there is no room to test them."""
    kept, hidden, fresh = list[Branch](), ZERO, 0
    for branch in found:
        fresh = min(fresh, branch.fresh)
        if any(decision.high - decision.low <= 2 * width for decision in branch.decisions):
            hidden += branch.reach
        else:
            kept.append(replace(branch, fresh=fresh))
            fresh = len(branch.decisions)
    return kept, hidden


def tapes(branch: Branch, columns: int, width: Rational, bits: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(tapes [n, columns], edge [n] bool): for each fresh decision one tape near either end of its interval, the other uniforms inside theirs.

    ``edge`` marks tapes that use u = 0 or the largest uniform below 1: boundary events, reported apart.
    The intervals of ``branch`` are wider than 2 ``width``.
    """
    lows, highs = _box(branch, columns, width)
    probes, edge = [], []
    for decision in branch.decisions[branch.fresh :]:
        ends = [(lows[decision.column], False), (highs[decision.column], False)]
        if decision.low == 0:
            ends.append((0.0, True))
        if decision.high == 1:
            ends.append((1 - 2.0**-bits, True))
        for value, at_edge in ends:
            tape = lows + (highs - lows) * rng.random(columns)
            tape[decision.column] = value
            probes.append(tape)
            edge.append(at_edge)
    if not probes:
        probes, edge = [rng.random(columns)], [False]
    return _on_grid(np.array(probes), bits), np.array(edge)


def inside(branch: Branch, count: int, columns: int, width: Rational, bits: int, rng: np.random.Generator) -> np.ndarray:
    """Tapes [count, columns] anywhere in the intervals of the branch: a decision that is no comparison with a threshold shows between them."""
    lows, highs = _box(branch, columns, width)
    return _on_grid(lows + (highs - lows) * rng.random((count, columns)), bits)


def _box(branch: Branch, columns: int, width: Rational) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest uniforms [columns] that lead along the branch, ``width`` away from its thresholds."""
    lows, highs = np.zeros(columns), np.ones(columns)
    for decision in branch.decisions:
        lows[decision.column], highs[decision.column] = float(decision.low) + float(width), float(decision.high) - float(width)
    return lows, highs


def _on_grid(values: np.ndarray, bits: int) -> np.ndarray:
    on_grid: np.ndarray = np.minimum(np.rint(values * 2.0**bits), 2.0**bits - 1) / 2.0**bits
    return on_grid
