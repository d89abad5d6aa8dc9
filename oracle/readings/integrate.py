"""Integrate: the law of a subject that takes its uniforms as a tensor.

With its uniforms (the *tape*) given, a subject is a deterministic map, constant on boxes: every decision compares one
uniform with a threshold that depends on the earlier decisions only. `integrate_law` finds the boxes one coordinate at a
time. A *cell* fixes the earlier coordinates; two values of the next coordinate belong to the same interval when the
subject answers alike on every *completion*, a fixed random choice of the later coordinates. Breakpoints between probes
that differ are located on the grid of the uniforms, so the widths, and the law, are exact up to boxes that were missed.

What was missed is measured: fresh random tapes are compared with the map. A tape that disagrees shows at which
coordinate the map errs, and its later coordinates and its value there are added to what every cell of that level is
probed with; this repeats until `fresh` new tapes agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, log

import numpy as np
from numpy.typing import NDArray

from draftproof.oracle.readings.refused import Refused, TooMuch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BATCH = 1 << 18  # tapes in one call of the subject, at most
_FINGERPRINTS = 1 << 20  # numbers held for the fingerprints of one group of cells
_FAN = 8  # parts into which a search cuts a segment
_INNER_PROBES = 9
_WITNESSES = 16  # disagreeing tapes learnt from in one round
_MAX_ROUNDS = 64
_DELTA = 1e-6
_TWO_ANSWERS = "one tape was answered in two ways: the tape does not control all of the subject's randomness"


@dataclass(frozen=True)
class Integration:
    """What `integrate_law` found.

    `law`: outcome id -> probability, summing to 1; `calls`, `tapes`: calls of the subject and tapes it evaluated;
    `disagreements`: fresh tapes that the map got wrong on the way (all mended); `rounds`: maps checked; `certified`: at
    confidence 1 - 1e-6 the tapes on which the final map is wrong have at most this mass, which bounds the total
    variation between `law` and the law of the subject.
    """

    law: dict[int, float]
    calls: int
    tapes: int
    disagreements: int
    certified: float
    rounds: int


def integrate_law(
    outcomes: Callable[[Floats], Ints],
    columns: int,
    *,
    order: Sequence[int] | None = None,
    grid_bits: int = 24,
    completions: int = 24,
    fresh: int = 1_000_000,
    seed: int = 0,
    max_cells: int = 1 << 16,
    deadline: float | None = None,
) -> Integration:
    """Law of `outcomes(tape)` for a tape of independent uniforms on the grid {k 2^-grid_bits}.

    Args:
        outcomes: the subject, tapes [n, columns] float64 in [0, 1) -> ids [n] int64; n is at most 2^18.
        columns: uniforms in a tape.
        order: the coordinates in the order in which the subject consumes them, bonus last (default 0, 1, ...). Another
            order costs more cells and more rounds, or is refused; it does not give a wrong law unnoticed.
        grid_bits: 24 for float32 uniforms; `max_cells` times 2^grid_bits must fit in 63 bits.
        completions: random choices of the later coordinates in the first map.
        fresh: random tapes that must agree with the final map; the certified mass is about 14 / fresh.
        max_cells: intervals allowed at one level.
        deadline: value of `time.monotonic()` after which to give up.

    Raises:
        Refused: too many cells, deadline passed, tapes that disagree after 64 rounds (the map is not constant on
            boxes), or one tape answered in two ways (randomness or state that the tape does not control).
        ValueError: malformed arguments or answers.
    """
    walk = np.arange(columns) if order is None else np.asarray(order, dtype=np.int64)
    if columns < 1 or not np.array_equal(np.sort(walk), np.arange(columns)):
        raise ValueError(f"order must be a permutation of the {columns} columns, at least one")
    if min(completions, fresh, max_cells) < 1:
        raise ValueError("completions, fresh and max_cells must be positive")
    if not 1 <= grid_bits <= 53 or max_cells << grid_bits >= 1 << 63:
        raise ValueError("max_cells * 2**grid_bits must be below 2**63")
    subject = _Subject(outcomes, walk, grid_bits, deadline)
    random = np.random.default_rng([seed, 1])
    twice = subject.random(random, 256)
    if (subject(twice) != subject(twice)).any():
        raise Refused(_TWO_ANSWERS)
    found = _Map(subject, completions, max_cells, np.random.default_rng([seed, 0]))
    disagreements = 0
    for rounds in range(1, _MAX_ROUNDS + 1):
        wrong, witnesses = _first_disagreement(subject, found, random, fresh)
        if not wrong:
            # Round r spends _DELTA / (r (r + 1)) of the error probability: later maps were chosen after a failed check.
            certified = -expm1(log(_DELTA / (rounds * (rounds + 1))) / fresh)  # Clopper-Pearson without failures
            return Integration(found.law(), subject.calls, subject.tapes, disagreements, certified, rounds)
        disagreements += wrong
        found.mend(witnesses[:_WITNESSES])
    raise TooMuch(f"tapes still disagree after {_MAX_ROUNDS} rounds: the outcome is not constant on boxes of tapes")


class _Subject:
    """The subject on tapes given in grid units [n, columns] int64 and in walk order."""

    def __init__(self, outcomes: Callable[[Floats], Ints], walk: Ints, bits: int, deadline: float | None) -> None:
        self._outcomes, self._walk, self._deadline = outcomes, walk, deadline
        self.columns, self.bits = len(walk), bits
        self.calls = self.tapes = 0

    def __call__(self, tapes: Ints) -> Ints:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TooMuch(f"integrate had read {self.tapes} tapes when its share of the time limit was over")
        native = np.empty(tapes.shape)
        native[:, self._walk] = tapes * 2.0**-self.bits
        self.calls += 1
        self.tapes += len(tapes)
        ids = np.asarray(self._outcomes(native))
        if ids.shape != (len(tapes),) or ids.dtype.kind not in "iu":
            raise ValueError(f"outcomes must return {len(tapes)} integer ids, not {ids.dtype} {ids.shape}")
        return ids.astype(np.int64)

    def random(self, rng: np.random.Generator, n: int) -> Ints:
        return rng.integers(0, 1 << self.bits, size=(n, self.columns), dtype=np.int64)


class _Level:
    """The intervals of one coordinate in every cell: row i is the interval that starts at `keys[i]` = cell, value."""

    def __init__(self, keys: Ints, parent: _Level | None, level: int, columns: int, bits: int) -> None:
        self.keys = keys
        cell, start = keys >> bits, keys & ((1 << bits) - 1)
        stop = np.append(start[1:], 0)
        stop[np.append(cell[1:] != cell[:-1], True)] = 1 << bits
        self.mass = (stop - start) * 2.0**-bits
        self.tapes = np.zeros((len(keys), columns), dtype=np.int64)  # a tape inside each box, up to this coordinate
        if parent is not None:
            self.mass *= parent.mass[cell]
            self.tapes[:] = parent.tapes[cell]
        self.tapes[:, level] = (start + stop) // 2


class _Map:
    """The map from tapes to outcomes as found so far: a `_Level` a coordinate, an outcome for each last interval."""

    def __init__(self, subject: _Subject, completions: int, max_cells: int, rng: np.random.Generator) -> None:
        self._subject, self._max_cells = subject, max_cells
        self._levels: list[_Level] = []
        columns, top = subject.columns, 1 << subject.bits
        # The last coordinate has nothing after it, so one completion says all.
        self._completions = [subject.random(rng, completions if j < columns - 1 else 1) for j in range(columns)]
        edges = np.linspace(0, top, _INNER_PROBES + 1).astype(np.int64)
        inner = rng.integers(edges[:-1], np.maximum(edges[1:], edges[:-1] + 1), size=(columns, _INNER_PROBES))
        self._probes: list[Ints] = [np.unique(np.append(row, [0, top - 1])) for row in inner]
        self._build(0)

    def law(self) -> dict[int, float]:
        ids, where = np.unique(self._outcomes, return_inverse=True)
        mass = np.bincount(where, weights=self._levels[-1].mass)
        return {int(i): float(m) for i, m in zip(ids, mass / mass.sum(), strict=True)}

    def locate(self, tapes: Ints) -> Ints:
        """The box of every tape, as a row of the last level."""
        cell = np.zeros(len(tapes), dtype=np.int64)
        for j, level in enumerate(self._levels):
            cell = np.searchsorted(level.keys, (cell << self._subject.bits) | tapes[:, j], side="right") - 1
        return cell

    def predict(self, tapes: Ints) -> Ints:
        return self._outcomes[self.locate(tapes)]

    def mend(self, tapes: Ints) -> None:
        """Learn from tapes that are predicted wrongly.

        Replace the coordinates of such a tape by those of its box, first to last. The replacement that changes the
        answer names a level whose interval holds two values that the rest of the tape tells apart.
        """
        columns, boxes = self._subject.columns, self._levels[-1].tapes[self.locate(tapes)]
        replaced = np.tri(columns + 1, columns, -1, dtype=bool)  # row j: the first j coordinates
        hybrids = np.where(replaced, boxes[:, None, :], tapes[:, None, :])
        answers = self._subject(hybrids.reshape(-1, columns)).reshape(len(tapes), columns + 1)
        changes = answers[:, :-1] != answers[:, 1:]
        if not changes.any(axis=1).all() or (answers[:, -1] != self.predict(boxes)).any():
            raise Refused(_TWO_ANSWERS)
        levels = changes.argmax(axis=1)
        for j in np.unique(levels):
            here = levels == j
            if j < columns - 1:
                self._completions[j] = np.unique(np.concatenate([self._completions[j], tapes[here]]), axis=0)
            self._probes[j] = np.unique(np.concatenate([self._probes[j], tapes[here, j], boxes[here, j]]))
        self._build(int(levels.min()))

    def _build(self, first: int) -> None:
        """Find the intervals of every level from `first` on."""
        del self._levels[first:]
        for j in range(first, self._subject.columns):
            parent = self._levels[-1] if self._levels else None
            cells = 1 if parent is None else len(parent.keys)
            group = max(1, _FINGERPRINTS // (len(self._probes[j]) * len(self._completions[j])))
            keys: list[Ints] = []
            for low in range(0, cells, group):
                keys.append(self._split(j, np.arange(low, min(low + group, cells))))
                self._limit(sum(map(len, keys)))
            self._levels.append(_Level(np.concatenate(keys), parent, j, self._subject.columns, self._subject.bits))
        last = self._levels[-1].tapes
        self._outcomes = np.concatenate([self._subject(last[i : i + _BATCH]) for i in range(0, len(last), _BATCH)])

    def _split(self, j: int, cells: Ints) -> Ints:
        """Keys of the intervals of coordinate j in some cells: 0 and every breakpoint found, sorted."""
        bits = self._subject.bits
        keys = ((cells[:, None] << bits) | self._probes[j]).ravel()
        prints = self._fingerprints(j, keys)
        while True:
            differs = prints[:-1] != prints[1:]
            breaks = differs.any(axis=1) & (keys[:-1] >> bits == keys[1:] >> bits)
            apart = np.flatnonzero(breaks & (keys[1:] - keys[:-1] > 1))
            if not apart.size:
                return np.union1d(cells << bits, keys[1:][breaks])
            with_ = differs[apart].argmax(axis=1)
            ends = prints[apart, with_], prints[apart + 1, with_]
            after = self._narrow(j, keys[apart], keys[apart + 1], with_, *ends)
            new = np.setdiff1d(np.concatenate([after - 1, after]), keys)
            if not new.size:
                raise Refused(_TWO_ANSWERS)
            keys, prints = np.append(keys, new), np.concatenate([prints, self._fingerprints(j, new)])
            by_key = np.argsort(keys)
            keys, prints = keys[by_key], prints[by_key]

    def _narrow(self, j: int, low: Ints, high: Ints, completion: Ints, at_low: Ints, at_high: Ints) -> Ints:
        """Keys at which the answer under one completion changes: one or more in each (low, high], whose ends differ."""
        while (high - low > 1).any():
            self._limit(len(low))
            steps = low[:, None] + (high - low)[:, None] * np.arange(_FAN + 1) // _FAN
            inner = self._answers(j, steps[:, 1:-1].ravel(), np.repeat(completion, _FAN - 1))
            answers = np.column_stack([at_low, inner.reshape(len(low), _FAN - 1), at_high])
            row, k = np.nonzero((answers[:, :-1] != answers[:, 1:]) & (steps[:, :-1] < steps[:, 1:]))
            low, high, completion = steps[row, k], steps[row, k + 1], completion[row]
            at_low, at_high = answers[row, k], answers[row, k + 1]
        return high

    def _fingerprints(self, j: int, keys: Ints) -> Ints:
        """Answers [n, completions] at values of coordinate j."""
        count = len(self._completions[j])
        answers = self._answers(j, np.repeat(keys, count), np.tile(np.arange(count), len(keys)))
        return answers.reshape(len(keys), count)

    def _answers(self, j: int, keys: Ints, completion: Ints) -> Ints:
        bits, answers = self._subject.bits, np.empty(len(keys), dtype=np.int64)
        for low in range(0, len(keys), _BATCH):
            some = keys[low : low + _BATCH]
            tapes = self._completions[j][completion[low : low + _BATCH]]
            if j:
                tapes[:, :j] = self._levels[j - 1].tapes[some >> bits, :j]
            tapes[:, j] = some & ((1 << bits) - 1)
            answers[low : low + _BATCH] = self._subject(tapes)
        return answers

    def _limit(self, cells: int) -> None:
        if cells > self._max_cells:
            raise TooMuch(f"more than {self._max_cells} cells at one level")


def _first_disagreement(subject: _Subject, found: _Map, rng: np.random.Generator, fresh: int) -> tuple[int, Ints]:
    """Compare `fresh` random tapes with the map in growing batches, up to the first that differs: how many, which."""
    done, batch = 0, 1 << 12
    while done < fresh:
        tapes = subject.random(rng, min(batch, fresh - done))
        wrong = tapes[subject(tapes) != found.predict(tapes)]
        if len(wrong):
            return len(wrong), wrong
        done, batch = done + len(tapes), min(2 * batch, _BATCH)
    return 0, tapes[:0]
