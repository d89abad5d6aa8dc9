"""Lines through the uniforms of a verifier: one column runs over [0, 1), the others stay inside the intervals of a branch of the exact reference.

Along a line the block is a step function of the uniform that runs, whose steps the reference gives exactly.  Needs the "draftproof" layout of
uniforms (``readings.bracket``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.rational import Rational, fraction, rational

from .cases import Block, Case
from .readings.bracket import branches, columns_of

T = TypeVar("T")

MARGIN = Fraction(1, 1 << 16)
"""Distance that the fixed uniforms keep from every threshold."""


@dataclass(frozen=True)
class Line:
    """``column`` of tree ``row`` swept, the others as in ``tape`` [columns].  The reference emits ``blocks[i]`` between cuts i - 1 and i."""

    row: int
    column: int
    tape: np.ndarray
    cuts: list[Fraction]
    blocks: list[Block]

    @property
    def law(self) -> dict[Block, Fraction]:
        """Lengths of the steps."""
        found = dict.fromkeys(self.blocks, Fraction(0))
        for block, low, high in zip(self.blocks, [Fraction(0), *self.cuts], [*self.cuts, Fraction(1)], strict=True):
            found[block] += high - low
        return found


class _OnLine:
    """A Chance whose uniforms are known, all but that of one column, which takes a prescribed turn."""

    def __init__(self, line_column: int, turn: int, tape: np.ndarray, column_of: Callable[[Any], int]):
        self.swept, self.turn, self.tape, self.column_of = line_column, turn, tape, column_of
        self.interval: tuple[Rational, Rational] = (ZERO, ONE)
        self.turns = 1
        self.margin = Fraction(1)

    def flip(self, probability: Rational, at: Any = None) -> bool:
        accept = min(max(probability, ZERO), ONE)
        return self._turn([(True, accept), (False, 1 - accept)], at)

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        return self._turn(list(law.items()), at)

    def _turn(self, offers: list[tuple[T, Rational]], at: Any) -> T:
        live = [(outcome, weight) for outcome, weight in offers if weight]
        if len(live) == 1:
            return live[0][0]
        edges = [ZERO]
        for _, weight in live:
            edges.append(edges[-1] + weight)
        column = self.column_of(at)
        if column == self.swept:
            self.turns, place = len(live), self.turn
            self.interval = edges[place], edges[place + 1]
        else:
            u = rational(Fraction(float(self.tape[column])))
            place = next(place for place, edge in enumerate(edges[1:]) if u < edge)
            self.margin = min([self.margin, *(abs(fraction(u - edge)) for edge in edges[1:-1])])
        return live[place][0]


def lines(case: Case, seed: int = 0) -> list[Line]:
    """For every column the decision that is met most often, on the tree where it is, and the line through the middle of its branch."""
    reference, columns = case.subject.reference, case.subject.uniform_columns(case.batch.tokens.shape[1])
    assert reference is not None
    best: dict[int, tuple[Rational, int, dict[int, tuple[Rational, Rational]]]] = {}
    for row, (tree, mass) in enumerate(case.trees.items()):
        for branch in branches(reference, case.target, tree)[0]:
            for place in range(branch.fresh, len(branch.decisions)):
                decision, reach = branch.decisions[place], mass
                for before in branch.decisions[:place]:
                    reach *= before.high - before.low
                if decision.high - decision.low < 1 and (decision.column not in best or reach > best[decision.column][0]):
                    best[decision.column] = reach, row, {each.column: (each.low, each.high) for each in branch.decisions}
    rng = np.random.default_rng([seed, 3])
    return [_line(case, column, row, intervals, columns, rng) for column, (_, row, intervals) in sorted(best.items())]


def _line(case: Case, column: int, row: int, intervals: dict[int, tuple[Rational, Rational]], columns: int, rng: np.random.Generator) -> Line:
    """The other columns inside their intervals, away from every threshold that is met along the line."""
    while True:
        tape = rng.random(columns)
        for each, (low, high) in intervals.items():
            tape[each] = float(low) + (0.2 + 0.6 * tape[each]) * float(high - low)
        tape = np.floor(tape * 2.0**23) / 2.0**23
        cuts, blocks, margin = _along(case, column, row, tape)
        if margin > MARGIN:
            return Line(row, column, tape, cuts, blocks)


def _along(case: Case, column: int, row: int, tape: np.ndarray) -> tuple[list[Fraction], list[Block], Fraction]:
    """The reference's steps along a line, and the distance that the other uniforms keep from thresholds."""
    tree, reference = list(case.trees)[row], case.subject.reference
    assert reference is not None
    cuts, blocks, margin, turn, turns = list[Fraction](), list[Block](), Fraction(1), 0, 1
    while turn < turns:
        chance = _OnLine(column, turn, tape, columns_of(tree))
        answer = reference.verify(case.target, tree, chance)
        blocks.append((*answer.node.path, chance.draw(answer.bonus, at="bonus")))
        cuts.append(fraction(chance.interval[1]))
        turns, margin, turn = chance.turns, min(margin, chance.margin), turn + 1
    return cuts[:-1], blocks, margin
