"""The oracle's sampled verdict beside the statistics that engines test with, on the same faults and the same blocks.

Blocks are drawn from the exact law of each planted fault, which its strongest reading gives; every statistic is handed those blocks and the target.
What each is, re-implemented from its description in the test suites named, with their thresholds and numbers of samples:

* L2 ratio (vLLM V1): the distance of the first token's law to the target must shrink 20 times as much as that to random laws, from 10 samples to 1e5;
* pooled TV (SGLang): emitted tokens of all positions together, within 0.02 of the target, 196,608 rows;
* KL (TensorRT-LLM): KL from the target within 0.01 of that of plain samples, first token, 5e4;
* chi-square wide (vLLM, second model runner): each position given that it is reached, 4096 tokens (each token split evenly), 40,960 rows,
  threshold df + 10 sqrt(2 df);
* chi-square narrow (the same): as it is, 2e5 rows;
* 5 sigma (SGLang's block test): every first token and every pair within five standard deviations, mean accepted length within 0.03, 131,072 rounds.

They are given our instances, where every row differs and the residual has several tokens: their own inputs hide more.  Lossless subjects are put to
all of them too: a statistic that catches everything must not reject those.  Run: python benchmarks/engine_statistics.py [--seeds N] [--limit N]
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, log, sqrt
from statistics import median
from typing import Any

import numpy as np

from draftproof.oracle.cases import Block, Case
from draftproof.oracle.catalogue import catalogue, find, suits
from draftproof.oracle.eprocess import stream_log_e_value
from draftproof.oracle.faults import FAULTS
from draftproof.oracle.reading import read
from draftproof.oracle.selftest import strongest
from draftproof.oracle.subjects import Subject
from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length, extensions, total_variation
from draftproof.reference.instances import Instance
from draftproof.reference.rational import rational
from draftproof.reference.verifiers import FAMILIES

ALPHA = 1e-6


@dataclass
class Stream:
    """Blocks of one law, drawn as they are asked for: ``counts(n)`` of the first n."""

    law: dict[Block, Fraction]
    target: Callable[[Block], list[float]]
    length: float | None
    rng: np.random.Generator
    drawn: int = 0
    _at: dict[int, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks = list(self.law)
        chances = np.array([float(mass) for mass in self.law.values()])
        self.chances = chances / chances.sum()

    def counts(self, size: int) -> dict[Block, int]:
        """How often each block is among the first ``size``."""
        if size not in self._at:
            before = max((known for known in self._at if known < size), default=0)
            later = min((known for known in self._at if known > size), default=None)
            base = self._at.get(before, np.zeros(len(self.blocks), dtype=np.int64))
            if later is None:
                more = self.rng.multinomial(size - before, self.chances)
            else:  # a part of what was drawn already, in random order
                more = self.rng.multivariate_hypergeometric(self._at[later] - base, size - before)
            self._at[size] = base + more
        self.drawn = max(self.drawn, size)
        return {block: int(count) for block, count in zip(self.blocks, self._at[size], strict=True) if count}

    def first(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Counts of the first token, and the target's row."""
        row = np.array(self.target(()))
        seen = np.zeros(len(row))
        for block, count in self.counts(size).items():
            seen[block[0]] += count
        return seen, row

    def positions(self, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each position: counts of the token there among the blocks that reach it, and the target's mean row there."""
        found: defaultdict[int, list[Any]] = defaultdict(lambda: [0.0, 0.0])
        for prefix, tokens in extensions({block: rational(count) for block, count in self.counts(size).items()}).items():
            row = np.array(self.target(prefix))
            seen = np.zeros(len(row))
            for token, count in tokens.items():
                seen[token] = float(count)
            found[len(prefix)][0] = found[len(prefix)][0] + seen
            found[len(prefix)][1] = found[len(prefix)][1] + seen.sum() * row
        return [(seen, wanted / wanted.sum()) for seen, wanted in found.values()]


def ours(stream: Stream) -> bool:
    """The e-process, looked at after 4096 blocks and after every doubling, up to 2^20."""
    size = 1 << 12
    while size <= 1 << 20:
        if stream_log_e_value(stream.counts(size), stream.target) >= -log(ALPHA):
            return True
        size *= 2
    return False


def l2_ratio(stream: Stream) -> bool:
    shrunk, few, many = list[float](), *(seen / seen.sum() for seen, _ in (stream.first(10), stream.first(100_000)))
    row = stream.first(10)[1]
    others = [weights / weights.sum() for weights in np.exp(stream.rng.random((100, len(row))))]
    for laws in ([row], others):
        before, after = (float(np.mean([np.linalg.norm(seen - law) for law in laws])) for seen in (few, many))
        shrunk.append(before / after if after else inf)
    return shrunk[0] / shrunk[1] <= 20


def pooled_tv(stream: Stream) -> bool:
    both = stream.positions(196_608)
    seen, wanted = sum(counts for counts, _ in both), sum(counts.sum() * row for counts, row in both)
    return bool(abs(seen - wanted).sum() / 2 / seen.sum() >= 0.02)


def kl(stream: Stream) -> bool:
    seen, row = stream.first(50_000)
    plain = stream.rng.multinomial(50_000, row / row.sum())

    def divergence(counts: np.ndarray) -> float:
        live = row > 0
        return float((row[live] * np.log(row[live] / np.maximum(counts[live] / counts.sum(), 1e-10))).sum())

    return abs(divergence(seen) - divergence(plain)) >= 0.01


def chi_square(seen: np.ndarray, row: np.ndarray) -> bool:
    """Above df + 10 sqrt(2 df), cells of less than five expected put together; or an impossible token."""
    if seen[row <= 0].any():
        return True
    expected = row * seen.sum()
    large = expected >= 5
    counts, means = list(seen[large]), list(expected[large])
    if (~large).any() and expected[~large].sum() > 0:
        counts.append(seen[~large].sum())
        means.append(expected[~large].sum())
    freedom = len(counts) - 1
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(counts, means, strict=True))
    return bool(freedom > 0 and statistic > freedom + 10 * sqrt(2 * freedom))


def chi_square_narrow(stream: Stream) -> bool:
    return any(chi_square(seen, row) for seen, row in stream.positions(200_000))


def chi_square_wide(stream: Stream) -> bool:
    def split(seen: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        copies = 4096 // len(row)
        even = np.full(copies, 1 / copies)
        return np.concatenate([stream.rng.multinomial(int(count), even) for count in seen]), np.repeat(row / copies, copies)

    return any(chi_square(*split(seen, row)) for seen, row in stream.positions(40_960))


def five_sigma(stream: Stream) -> bool:
    size = 131_072
    counts = stream.counts(size)
    for prefix, tokens in extensions({block: rational(count) for block, count in counts.items()}).items():
        if len(prefix) > 1:
            continue
        reached, row = float(sum(tokens.values())), stream.target(prefix)
        for token, p in enumerate(row):
            if abs(float(tokens.get(token, 0)) - reached * p) > 5 * sqrt(reached * p * (1 - p)) + 1e-9:
                return True
    mean = sum(len(block) * count for block, count in counts.items()) / size
    return stream.length is not None and abs(mean - stream.length) > 0.03


STATISTICS: dict[str, Callable[[Stream], bool]] = {
    "draftproof, e-process": ours,
    "L2 ratio": l2_ratio,
    "pooled TV": pooled_tv,
    "KL": kl,
    "chi-square, wide": chi_square_wide,
    "chi-square, narrow": chi_square_narrow,
    "5 sigma": five_sigma,
}


@dataclass(frozen=True)
class Entry:
    """A law to be judged; ``faulty``: whether it should be rejected."""

    name: str
    law: dict[Block, Fraction]
    case: Case
    length: float | None
    faulty: bool

    def stream(self, seed: int) -> Stream:
        size = self.case.instance.vocabulary

        def row(prefix: Block) -> list[float]:
            law = self.case.target(prefix)
            return [float(law[token]) for token in range(size)]

        return Stream(self.law, row, self.length, np.random.default_rng([seed, len(self.law)]))


def planted(limit: int | None) -> list[Entry]:
    """The faults of verifiers that distort the law, with the laws that their strongest exact reading gives."""
    found = []
    for fault in FAULTS[:limit]:
        if isinstance(fault.subject, Subject) and fault.verdict != "acceptance" and strongest(fault) in ("enumerate", "integrate"):
            case = Case(fault.subject, find(fault.instance))
            reading = read(case, strongest(fault), None)
            if float(total_variation({block: rational(mass) for block, mass in reading.law.items()}, case.target)) < 1e-9:
                continue  # shows in batches of several requests only
            length = None if case.expected_length is None else float(case.expected_length)
            found.append(Entry(fault.name, reading.law, case, length, True))
    return found


def lossless() -> list[Entry]:
    """Recursive rejection on the chains of the catalogue."""
    found = []
    for instance in catalogue():
        subject = Subject(lambda *_: None, "recursive rejection", "chain", "recursive_rejection", framework="numpy", dtype="float64")
        if suits(subject, instance):
            case, law = Case(subject, instance), exact(instance)
            found.append(Entry(instance.name, law, case, float(expected_length({b: rational(m) for b, m in law.items()})), False))
    return found


def exact(instance: Instance) -> dict[Block, Fraction]:
    law = block_law(FAMILIES["recursive_rejection"], instance.target, instance.topology, instance.scheme)
    return {block: Fraction(int(mass.numerator), int(mass.denominator)) for block, mass in law.items()}


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(description="Sampled verdict beside the statistics that engines use.")
    parser.add_argument("--seeds", type=int, default=5, help="streams of each law (default 5)")
    parser.add_argument("--limit", type=int, help="only the first N planted faults")
    options = parser.parse_args()
    faults, sound = planted(options.limit), lossless()
    shown = Table(title=f"{len(faults)} planted faults and {len(sound)} lossless laws, {options.seeds} streams each", title_justify="left")
    for column in ("statistic", "faults caught", "lossless rejected", "blocks (median)", "seconds a fault"):
        shown.add_column(column, justify="left" if column == "statistic" else "right")
    missed: dict[str, list[str]] = {}
    for name, statistic in STATISTICS.items():
        caught, alarms, blocks, start = dict.fromkeys((entry.name for entry in faults), 0), 0, list[int](), time.perf_counter()
        for entry in faults:
            for seed in range(options.seeds):
                stream = entry.stream(seed)
                caught[entry.name] += statistic(stream)
                blocks.append(stream.drawn)
        seconds = time.perf_counter() - start
        for entry in sound:
            alarms += sum(statistic(entry.stream(seed)) for seed in range(options.seeds))
        missed[name] = [fault for fault, times in caught.items() if 2 * times <= options.seeds]
        share = sum(caught.values()) / options.seeds
        each = seconds / max(len(faults) * options.seeds, 1)
        rejected = f"{alarms / options.seeds:.1f} of {len(sound)}"
        shown.add_row(name, f"{share:.1f} of {len(faults)}", rejected, f"{median(blocks or [inf]):.0f}", f"{each:.4f}")
    console = Console(width=110)
    console.print(shown)
    for name, names in missed.items():
        console.print(f"{name} misses: {', '.join(names) or 'none'}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
