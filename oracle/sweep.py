"""Grid sweeps: every uniform there is through one decision, all others held fixed.

Along a line, where the uniform u of one column runs over its grid and the others stay inside the intervals of a branch of the exact reference, the
block is a step function of u.  A float32 uniform has 2^24 values: counting what a subject emits at each of them is its exact implied law on the
line, which is compared with the exact lengths of the reference's steps.  Of float64 uniforms 2^24 evenly spaced ones are swept, and the 2^10 nearest
neighbours of every threshold.

Needs the "draftproof" layout of uniforms (``readings.bracket``).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, TypeVar

import numpy as np

from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.rational import Rational, fraction, rational

from .calling import Caller, block_of
from .cases import Block, Case
from .reading import touched
from .readings.bracket import branches, columns_of

T = TypeVar("T")
Advance = Callable[[], None]
"""Called after every chunk."""

CHUNK = 1 << 16
NEIGHBOURS = 1 << 9
"""Grid points on either side of a threshold that are looked at one by one."""
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


@dataclass
class Swept:
    """What a subject did along a line.

    ``counts``: block -> number of the 2^``bits`` grid points that gave it, ``wanted`` of those that should.  ``whole``: these are all uniforms there
    are.  ``differs``: how many of them are not the reference's, boundary events
    apart, ``first`` where.  ``near``: the same of the neighbours of thresholds that lie between grid points, of which there are ``neighbours``.
    ``edges``: boundary events, counted as if they were right.  ``ties``: differences at a grid point that is itself a threshold.  ``switches``: how
    often the block changes along the line.
    """

    line: Line
    bits: int
    whole: bool
    counts: Counter[Block] = field(default_factory=Counter)
    wanted: Counter[Block] = field(default_factory=Counter)
    differs: int = 0
    near: int = 0
    neighbours: int = 0
    ties: int = 0
    switches: int = 0
    first: tuple[float, Block, Block] | None = None
    edges: list[str] = field(default_factory=list)

    @property
    def total_variation(self) -> Fraction:
        """Between the implied law and the reference's on the line; between the grid points of both where they are not all uniforms there are."""
        size = self.counts.total()
        wanted = self.line.law if self.whole else {block: Fraction(count, size) for block, count in self.wanted.items()}
        blocks = {*wanted, *self.counts}
        return sum((abs(Fraction(self.counts[block], size) - wanted.get(block, Fraction(0))) for block in blocks), Fraction(0)) / 2

    @property
    def resolution(self) -> Fraction:
        """How far that may be from the truth: nothing where every uniform was swept, else a grid step for every switch."""
        return Fraction(0) if self.whole else Fraction(max(self.switches, len(self.line.cuts)), 1 << self.bits)


def chunks(bits: int) -> int:
    """How many there are in a sweep."""
    return max(1, (1 << bits) // CHUNK)


class Sweeper:
    """Sweeps lines of one case."""

    def __init__(self, case: Case):
        self.case, self.caller = case, Caller(case)
        self.single = case.subject.uniforms_dtype == "float32"

    def __call__(self, line: Line, bits: int = 24, advance: Advance = lambda: None) -> Swept:
        """Sweep 2^``bits`` evenly spaced uniforms, and for float64 ones the neighbours of thresholds.  Raises SubjectError as every call does."""
        found, size, codes = Swept(line, bits, self.single and bits == 24), 1 << bits, _Codes(self.case)
        last: int | None = None
        for start in range(0, size, CHUNK):
            k = np.arange(start, min(start + CHUNK, size), dtype=np.int64)
            got = codes.of(self._blocks(line, k * 2.0**-bits))
            wanted = self._compare(found, codes, k, bits, got, between=False)
            same = np.where(self._boundary(k, bits), wanted, got)
            for counts, which in ((found.counts, same), (found.wanted, wanted)):
                for code, count in zip(*np.unique(which, return_counts=True), strict=True):
                    counts[codes.block(int(code))] += int(count)
            found.switches += int((np.diff(same) != 0).sum()) + (last is not None and last != same[0])
            last = same[-1].item()
            advance()
        if not self.single:
            for k in self._neighbours(line):
                got = codes.of(self._blocks(line, k * 2.0**-53))
                self._compare(found, codes, k, 53, got, between=True)
                found.neighbours += len(k)
        touched(self.caller)
        return found

    def _blocks(self, line: Line, u: np.ndarray) -> np.ndarray:
        tapes = np.repeat(line.tape[None], len(u), axis=0)
        tapes[:, line.column] = u
        return self.caller(self.case.batch.take(np.full(len(u), line.row)), {"uniforms": self.caller.uniforms(tapes)})

    def _neighbours(self, line: Line) -> Iterator[np.ndarray]:
        for cut in line.cuts:
            middle = ceil(cut * (1 << 53))
            yield np.arange(max(middle - NEIGHBOURS, 0), min(middle + NEIGHBOURS, 1 << 53), dtype=np.int64)
        yield np.array([0, (1 << 53) - 1], dtype=np.int64)

    def _boundary(self, k: np.ndarray, bits: int) -> np.ndarray:
        """u = 0, and the largest uniform below 1 where it is among the points."""
        top = (1 << bits) - 1 if bits == (24 if self.single else 53) else -1
        boundary: np.ndarray = (k == 0) | (k == top)
        return boundary

    def _compare(self, found: Swept, codes: "_Codes", k: np.ndarray, bits: int, got: np.ndarray, between: bool) -> np.ndarray:
        """Enter the differences; returns what the reference emits, as codes."""
        line = found.line
        starts = np.array([ceil(cut * (1 << bits)) for cut in line.cuts], dtype=np.int64)
        wanted: np.ndarray = np.array([codes.code(block) for block in line.blocks])[np.searchsorted(starts, k, side="right")]
        off, edge = got != wanted, self._boundary(k, bits)
        for place in np.flatnonzero(off & edge):
            at = "0" if k[place] == 0 else f"1 - 2^-{bits}"
            emits, should = (list(codes.block(int(each[place]))) for each in (got, wanted))
            said = f"at u = {at} of column {line.column} it emits {emits} where the reference emits {should}"
            found.edges += [] if said in found.edges else [said]
        off &= ~edge
        exact = {cut.numerator * ((1 << bits) // cut.denominator) for cut in line.cuts if (1 << bits) % cut.denominator == 0}
        found.ties += int((off & np.isin(k, list(exact))).sum())
        if off.any() and found.first is None:
            at_first = int(off.argmax())
            found.first = float(k[at_first] * 2.0**-bits), codes.block(int(got[at_first])), codes.block(int(wanted[at_first]))
        if between:
            found.near += int(off.sum())
        else:
            found.differs += int(off.sum())
        return wanted


class _Codes:
    """Blocks as numbers: digits in base V + 1, padding 0."""

    def __init__(self, case: Case):
        self.base, self.width = case.vocabulary + 1, case.depth + 1

    def of(self, blocks: np.ndarray) -> np.ndarray:
        """Of blocks [B, W] padded with -1."""
        code: np.ndarray = np.zeros(len(blocks), dtype=np.int64)
        for column in range(min(self.width, blocks.shape[1])):
            code += (blocks[:, column] + 1) * self.base**column
        return code

    def code(self, block: Block) -> int:
        return int(self.of(np.array([block]))[0])

    def block(self, code: int) -> Block:
        return block_of(np.array([code // self.base**column % self.base - 1 for column in range(self.width)]))
