"""How often sampling rejects lossless subjects: measured on complete smoke runs, beside the bound that is a theorem.

*The theorem.*  A bettor's capital against "this stream of blocks is lossless" is a nonnegative martingale that starts at 1 (``oracle.eprocess``), so
by Ville's inequality it ever reaches 1 / a with probability at most a, whatever it is stopped by.  The same holds for the capital against "impossible
blocks are boundary events" (``Sample.impossible_beyond_boundary``) and for the capitals against every mean length (``confidence.MeanLength``).

*How alpha is spent.*  ``check`` on s tasks gives alpha / s to each; a half of that to invariance and a half, ``Budget.alpha`` = alpha / (2 s), to the
law.  ``sample`` gives a third of it to each of three processes: a = alpha / (6 s).  A verdict on the law, its support or E[L] is wrong only if one
of them reached 1 / a: their probabilities add up to alpha / 2 over the run, the other half is invariance's.  ``conformance`` is ``check`` on one
instance at a time at alpha / s, which is the same.  So no run that is simulated here, without invariance, may be rejected more often than alpha / 2.

*The measurement.*  Blocks are drawn as counts from the exact law of a lossless subject on each instance of the smoke tier and handed to the code that
decides (``sampling.watch`` and ``sampling.verdicts``).  Most runs come nowhere near: their capitals against the law and against E[L] are computed for
all at once, and only runs with one within ``NEAR`` of its threshold at any look are put through, with the very counts; of the others, a few hundred
are put through as well, and any that is rejected is an error.  *Worst moment*: looked at after every block, then after every 10 % more, stopped where
the capital is largest, and decided.  *Peeking chi-square*: what a test does that looks as often, once every cell expects five blocks, and fails
at p < alpha / s; it has to be found out here.

Run: python benchmarks/false_positives.py [--runs N] [--family NAME]     (20,000 runs: several minutes)
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log

import numpy as np

from draftproof.oracle.cases import Block, Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.eprocess import log_e_values, padded
from draftproof.oracle.sampling import FIRST_LOOK, Decision, Sample, decide, verdicts, watch
from draftproof.oracle.subjects import Subject
from draftproof.oracle.verdicts import DEFAULT_TOLERANCE
from draftproof.suite import Conformance

ALPHA = 1e-2
LIMIT = DEFAULT_TOLERANCE["sample"]
LOOKS = FIRST_LOOK * np.array([1, 3, 7, 15])
"""When ``watch`` looks, up to 61,440 blocks."""
GROWTH = 1.1
NEAR = 1.0
"""Nats."""
PART = 500
"""Runs that are drawn together; two of them are put through even if they are nowhere near a rejection."""
CONFIDENCE = 0.999


def lossless(family: str, shape: str = "chain") -> Subject:
    """A subject whose law is its reference's; it is never called."""

    def never(*_: object) -> None:
        raise NotImplementedError

    return Subject(never, family, "tree" if shape == "tree" else "chain", family=family, framework="numpy", dtype="float64")


def smoke(subject: Subject) -> list[str]:
    """The instances of a smoke run."""
    return Conformance(lambda: subject, "smoke", ALPHA, {}, {}).instances


@dataclass
class Streams:
    """Lossless streams of blocks on one case, as counts."""

    case: Case

    def __post_init__(self) -> None:
        law = self.case.reference_law
        assert law is not None
        self.blocks: list[Block] = list(law)
        chances = np.array([float(law[block]) for block in self.blocks])
        self.chances = chances / chances.sum()
        self.lengths = np.array([len(block) for block in self.blocks])

    def draw(self, runs: int, looks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Counts [runs, looks, blocks] after so many blocks."""
        return rng.multinomial(np.diff(looks, prepend=0), self.chances, size=(runs, len(looks))).cumsum(1)

    @cached_property
    def _prefixes(self) -> tuple[np.ndarray, np.ndarray]:
        """What a block adds to the counts of next tokens [blocks, prefixes, V], and the law after every prefix [prefixes, V]."""
        cells = list(dict.fromkeys(block[:depth] for block in self.blocks for depth in range(len(block))))
        moves = np.zeros((len(self.blocks), len(cells), self.case.vocabulary))
        for number, block in enumerate(self.blocks):
            for depth, token in enumerate(block):
                moves[number, cells.index(block[:depth]), token] = 1
        seen = Sample(self.case)
        return moves, padded([np.array(seen.target(prefix)) for prefix in cells])

    def capitals(self, counts: np.ndarray) -> np.ndarray:
        """Log capital [...] against the law after ``counts`` [..., blocks]."""
        moves, laws = self._prefixes
        seen = np.tensordot(counts, moves, 1).reshape(-1, laws.shape[1])
        values = log_e_values(seen, np.tile(laws, (len(seen) // len(laws), 1)))
        return np.asarray(values.reshape(*counts.shape[:-1], len(laws)).sum(-1))

    def length_capitals(self, counts: np.ndarray) -> np.ndarray:
        """Log capital [...] against the mean length being E[L]: the larger of the two of ``MeanLength``, at the exact mean."""
        deviations = self.lengths - self.chances @ self.lengths
        bets = np.geomspace(1e-5, 1, 24) / max(1, self.case.depth)
        found = [np.tensordot(counts, np.log1p(sign * np.outer(bets, deviations)), (-1, 1)) for sign in (1, -1)]
        return np.asarray(np.maximum(*(np.logaddexp.reduce(capital, -1) - log(len(bets)) for capital in found)))

    def sample(self, counts: np.ndarray) -> Sample:
        """What the decision is made from."""
        seen = Sample(self.case)
        seen.count({block: int(times) for block, times in zip(self.blocks, counts, strict=True) if times})
        return seen


Rule = Callable[[Streams, int, float, np.random.Generator], np.ndarray]
"""Whether each of so many runs on one case is rejected, at a level of its own, which is alpha / s."""


def complete(streams: Streams, runs: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """The runs that a user makes: looked at when ``watch`` looks, stopped when it is clear."""

    def put_through(counts: np.ndarray) -> bool:
        seen, left = Sample(streams.case), iter(np.diff(counts, axis=0, prepend=0))

        def more(_: int) -> bool:
            new = next(left, None)
            if new is not None:
                seen.count({block: int(times) for block, times in zip(streams.blocks, new, strict=True) if times})
            return new is not None

        return _nonconform(seen, watch(seen, more, alpha / 6, LIMIT), alpha / 6)

    return _screened(streams, streams.draw(runs, LOOKS, rng), alpha / 6, put_through)


def at_worst(streams: Streams, runs: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """The runs of somebody who stops when it looks worst: decided at the look with the most capital against the law, and against E[L]."""

    def put_through(counts: np.ndarray) -> bool:
        moments = {int(capitals(counts).argmax()) for capitals in (streams.capitals, streams.length_capitals)}
        return any(_nonconform(seen, decide(seen, alpha / 6, LIMIT), alpha / 6) for seen in (streams.sample(counts[moment]) for moment in moments))

    return _screened(streams, streams.draw(runs, every(GROWTH), rng), alpha / 6, put_through)


def peeking_chi_square(streams: Streams, runs: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Planted: rejects when the chi-square test of the blocks has p < alpha at any look."""
    from scipy.stats import chi2

    looks = every(GROWTH)
    looks = looks[looks * streams.chances.min() >= 5]
    expected = looks[:, None] * streams.chances
    statistic = ((streams.draw(runs, looks, rng) - expected) ** 2 / expected).sum(-1)
    return np.asarray((statistic > chi2.isf(alpha, max(len(streams.blocks) - 1, 1))).any(1))


def every(growth: float) -> np.ndarray:
    """Looks after 1, 2, ... blocks, then after ``growth`` times as many."""
    looks = [1]
    while looks[-1] < LOOKS[-1]:
        looks.append(ceil(looks[-1] * growth))
    return np.array(looks)


def _nonconform(seen: Sample, found: Decision, alpha: float) -> bool:
    return any(verdict.outcome == "nonconform" for verdict in verdicts(seen, found, alpha, LIMIT, ""))


def _screened(streams: Streams, counts: np.ndarray, alpha: float, put_through: Callable[[np.ndarray], bool]) -> np.ndarray:
    law, length = streams.capitals(counts).max(1), streams.length_capitals(counts).max(1)
    near = (law >= -log(alpha) - NEAR) | (length >= log(2 / alpha) - NEAR)
    rejected = np.zeros(len(counts), dtype=bool)
    for number in [*np.flatnonzero(near), *np.flatnonzero(~near)[:: ceil(PART / 2)]]:
        rejected[number] = put_through(counts[number])
    if (rejected & ~near).any():
        raise AssertionError(f"{streams.case.instance.name}: rejected, though no capital is within {NEAR} nats of its threshold")
    return rejected


@dataclass(frozen=True)
class Rate:
    """Runs with any rejection, and a binomial (Clopper-Pearson) interval for their share."""

    rejected: int
    runs: int

    @property
    def interval(self) -> tuple[float, float]:
        from scipy.stats import beta

        tail = (1 - CONFIDENCE) / 2
        low = beta.ppf(tail, self.rejected, self.runs - self.rejected + 1) if self.rejected else 0.0
        high = beta.isf(tail, self.rejected + 1, self.runs - self.rejected) if self.rejected < self.runs else 1.0
        return float(low), float(high)

    def within(self, bound: float) -> bool:
        """Whether the runs are compatible with a rate of at most ``bound``."""
        return self.interval[0] <= bound

    def shown_within(self, bound: float) -> bool:
        """Whether they leave no doubt about it."""
        return self.interval[1] <= bound


def measure(rule: Rule, subject: Subject, names: list[str], runs: int, alpha: float = ALPHA, seed: int = 0) -> Rate:
    """Complete runs on all instances ``names``: how many are rejected on any of them."""
    rejected = np.zeros(runs, dtype=bool)
    for number, name in enumerate(names):
        streams, rng = Streams(Case(subject, find(name))), np.random.default_rng([seed, number])
        for part in _parts(runs):
            rejected[part] |= rule(streams, part.stop - part.start, alpha / len(names), rng)
    return Rate(int(rejected.sum()), runs)


def _parts(runs: int) -> Iterator[slice]:
    yield from (slice(start, min(start + PART, runs)) for start in range(0, runs, PART))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--family", default="recursive_rejection")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    subject = lossless(options.family)
    names = smoke(subject)
    few = names[:2]
    print(f"{options.runs} runs of {options.family} at alpha = {ALPHA:g}, of which the law may spend {ALPHA / 2:g}; intervals at {CONFIDENCE:.1%}")
    for title, rule, given in (
        (f"complete smoke runs, {len(names)} instances", complete, names),
        (f"stopped at the worst moment, {len(few)} instances", at_worst, few),
        (f"peeking chi-square (planted), {len(few)} instances", peeking_chi_square, few),
    ):
        start = time.process_time()
        rate = measure(rule, subject, given, options.runs, seed=options.seed)
        low, high = rate.interval
        held = "within alpha" if rate.shown_within(ALPHA) else "compatible with alpha" if rate.within(ALPHA) else "ABOVE alpha"
        share = f"{rate.rejected / rate.runs:.5f}  [{low:.5f}, {high:.5f}]"
        print(f"{title:<52} {rate.rejected:>6} rejected   {share}   {held}   ({time.process_time() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
