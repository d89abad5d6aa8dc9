"""Grid sweeps: every uniform there is through one decision, all others held fixed.

Along a line (``lines``), where the uniform u of one column runs over its grid and the others stay where they are, the block is a step function of u.
A float32 uniform has 2^24 values: counting what a subject emits at each of them is its exact implied law on the
line, which is compared with the exact lengths of the reference's steps.  Of float64 uniforms 2^24 evenly spaced ones are swept, and the 2^10 nearest
neighbours of every threshold.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import numpy as np

from .calling import Caller, block_of
from .cases import Block, Case
from .lines import Line
from .reading import touched

Advance = Callable[[], None]
"""Called after every chunk."""

CHUNK = 1 << 16
NEIGHBOURS = 1 << 9
"""Grid points on either side of a threshold that are looked at one by one."""


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
