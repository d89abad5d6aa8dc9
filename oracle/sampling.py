"""Sampling: the way of reading that needs nothing but answers.

Every block gets a fresh draft tree from its declared laws and fresh randomness.  Exactness is decided by an e-process over prefixes
(``eprocess``): a lossless subject is rejected with probability at most alpha, however long it is watched.  It conforms when the upper confidence
bound on its total variation is at most the tolerance; ten samples never conform.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, log, sqrt
from typing import Any

import numpy as np

from draftproof.reference.chance import simulate
from draftproof.reference.growth import Violation, total_variation, violations
from draftproof.reference.models import Prefix
from draftproof.reference.rational import Rational, rational
from draftproof.reference.trees import merged, populate

from .calling import Caller
from .cases import Batch, Block, Case
from .confidence import MeanLength, total_variation_upper_bound
from .distinct import distinct_rows
from .eprocess import log_average, stream_log_e_value
from .grouped import GroupedProcess
from .prefix_laws import prefix_laws
from .reading import touched
from .verdicts import BOUNDARY, DEFAULT_TOLERANCE, LENGTH_SLACK, Verdict, acceptance, as_json, describe, impossible, number

SALT = 0xD12AF7
"""Drafts must not come from the stream of a subject that seeds its own generator with the same number."""

LARGEST_FREED = 30 << 20
"""Once a block of nearly 32 MB was freed, glibc keeps freed memory: else the pages of every large array are made anew, for a tenth of the time."""

FIRST_LOOK, LARGEST_BATCH = 1 << 12, 1 << 15


@dataclass(frozen=True)
class Budget:
    """What one instance may cost: its share of alpha, a deadline (``time.monotonic()``), a number of blocks; rows of a batch, when they matter."""

    alpha: float
    deadline: float
    blocks: int = 1 << 20
    rows: int | None = None


class Sample:
    """What has been seen so far: independent observations, each a block or a group of blocks that share a draft."""

    def __init__(self, case: Case):
        self.case, self.group = case, case.subject.rows_per_draft
        self.blocks: Counter[Block] = Counter()
        self.impossible: Counter[Block] = Counter()
        self.lengths = MeanLength(1, case.depth + 1)
        self.observations = self.impossible_observations = 0
        self._rows: dict[Prefix, list[float]] = {}
        self._grouped = GroupedProcess(self.target) if self.group > 1 else None

    def target(self, prefix: Prefix) -> list[float]:
        """The target row as floats."""
        if prefix not in self._rows:
            law = self.case.target(prefix)
            self._rows[prefix] = [float(law[token]) for token in range(self.case.vocabulary)]
        return self._rows[prefix]

    def add(self, rows: np.ndarray) -> None:
        """Blocks [n, W], consecutive ``rows_per_draft`` of them one observation."""
        distinct, inverse, counts = distinct_rows(rows)
        blocks = [tuple(int(token) for token in row if token >= 0) for row in distinct]
        if self._grouped is None:
            return self.count(dict(zip(blocks, map(int, counts), strict=True)))
        possible = [self.possible(block) for block in blocks]
        for block, count, fine in zip(blocks, counts, possible, strict=True):
            (self.blocks if fine else self.impossible)[block] += int(count)
        members = inverse.reshape(-1, self.group)
        self._grouped.update(blocks, members)
        self.lengths.update(Counter(len(blocks[first]) for first in members[:, 0]))
        self.impossible_observations += int((~np.array(possible)[members]).any(1).sum())
        self.observations += len(rows) // self.group

    def count(self, blocks: Mapping[Block, int]) -> None:
        """Independent blocks, each with how often it was seen."""
        for block, times in blocks.items():
            (self.blocks if self.possible(block) else self.impossible)[block] += times
            self.lengths.update({len(block): times})
            self.observations += times
        self.impossible_observations = sum(self.impossible.values())

    def possible(self, block: Block) -> bool:
        return all(self.target(block[:length])[token] > 0 for length, token in enumerate(block))

    def cut(self) -> Counter[Block]:
        """The impossible blocks, each up to its first impossible token."""
        found: Counter[Block] = Counter()
        for block, count in self.impossible.items():
            found[next(block[: n + 1] for n in range(len(block)) if not self.target(block[:n])[block[n]])] += count
        return found

    def log_capital(self) -> float:
        """Log of the test martingale for "lossless"; tokens the target cannot emit are judged apart."""
        return self._grouped.log_e if self._grouped else stream_log_e_value(self.blocks, self.target)

    def upper_bound(self, delta: float) -> float:
        """Upper confidence bound on the total variation, impossible blocks included."""
        seen = {block: count / self.group for block, count in (self.blocks + self.impossible).items()}
        return total_variation_upper_bound(seen, self.target, delta)

    def impossible_beyond_boundary(self, alpha: float) -> bool:
        """Whether the impossible blocks are too many for boundary events of mass 2^-23; wrongly so, ever, with probability at most alpha.

        The capital multiplies likelihood ratios against the boundary, averaged over larger rates: a test martingale.
        """
        count, most = self.impossible_observations, min(self.group * float(BOUNDARY), 0.5)
        if not count:
            return False
        rates = np.geomspace(most, 1.0, 26)[1:-1]
        ratios = count * np.log(rates / most) + (self.observations - count) * (np.log1p(-rates) - np.log1p(-most))
        return log_average([float(ratio) for ratio in ratios]) >= -log(alpha)


@dataclass(frozen=True)
class Decision:
    """What the blocks so far say: outcome, log capital against "lossless", and the upper bound on the total variation."""

    outcome: str = "inconclusive"
    capital: float = 0.0
    bound: float = 1.0


def decide(seen: Sample, alpha: float, limit: float) -> Decision:
    """The rule, a function of accumulated counts: nonconform, conform, or inconclusive, which asks for more blocks.

    Of a lossless subject it says nonconform, however often it is asked and whatever stops it, with probability at most 2 ``alpha``: of its law
    and of its support at most ``alpha`` each.
    """
    capital, bound, lossy = seen.log_capital(), seen.upper_bound(alpha), seen.case.subject.lossy
    if (capital >= -log(alpha) and not lossy) or seen.impossible_beyond_boundary(alpha):
        return Decision("nonconform", capital, bound)
    if bound <= limit or lossy:
        low, high = seen.lengths.interval(alpha)
        if high - low <= 2 * float(LENGTH_SLACK):
            return Decision("conform", capital, bound)
    return Decision("inconclusive", capital, bound)


def watch(seen: Sample, more: Callable[[int], bool], alpha: float, limit: float, first: int = FIRST_LOOK) -> Decision:
    """Decide after ``first`` blocks, then after twice as many more each time, until it is clear.

    ``more(n)`` adds about n blocks to ``seen``, and says whether there were any left to add.
    """
    size, found = first, Decision()
    while found.outcome == "inconclusive" and more(size):
        found, size = decide(seen, alpha, limit), min(2 * size, LARGEST_BATCH * 4)
    return replace(found, outcome="conform") if found.outcome == "inconclusive" and found.bound <= limit else found


def sample(case: Case, budget: Budget, tolerance: float | None, seed: int, note: str = "") -> tuple[Sample, list[Verdict]]:
    """Independent blocks until the verdicts support, exactness and acceptance are clear or the budget is spent; they share alpha equally."""
    limit = DEFAULT_TOLERANCE["sample"] if tolerance is None else tolerance
    seen, source = Sample(case), _Source(case, seed, budget.rows)

    def more(size: int) -> bool:
        if seen.observations >= budget.blocks or time.monotonic() >= budget.deadline:
            return False
        for rows in source.blocks(size, budget.deadline):
            seen.add(rows)
        return True

    with _seeded(seed):
        found = watch(seen, more, budget.alpha / 3, limit, min(FIRST_LOOK >> 4 if source.large else FIRST_LOOK, budget.blocks))
    touched(source.caller)
    what = "blocks" if seen.group == 1 else f"drafts of {seen.group} rows"
    effort = f"{seen.observations} {what}, e-value {_scientific(found.capital)}{note}"
    return seen, verdicts(seen, found, budget.alpha / 3, limit, effort)


def verdicts(seen: Sample, found: Decision, alpha: float, limit: float, effort: str) -> list[Verdict]:
    """Support, exactness and acceptance; of a lossless subject any of them is nonconform with probability at most 3 ``alpha``."""
    return [_support(seen, alpha, effort), _exactness(seen, found.outcome, found.bound, limit, effort), _acceptance(seen, alpha, effort)]


def _scientific(capital: float) -> str:
    exponent = capital / log(10)
    return f"10^{exponent:.1f}" if abs(exponent) > 3 else f"{10**exponent:.3g}"


def _support(sample: Sample, alpha: float, effort: str) -> Verdict:
    case, total = sample.case, sample.observations * sample.group
    found = sorted(sample.cut().items(), key=lambda item: (len(item[0]), item[0]))
    notes = [f"{impossible(prefix)}, {times} times in {total} blocks" for prefix, times in found]
    outcome, message = "conform", "nothing impossible is emitted"
    if sample.impossible_beyond_boundary(alpha):
        outcome, message = "nonconform", notes[0] + (f" (and {len(notes) - 1} more such events)" if len(notes) > 1 else "")
    if case.subject.lossy:
        outcome, message = "conform", f"lossy, as its author says: {message}"
    share = sum(times for _, times in found) / max(total, 1)
    return Verdict(case.subject.name, case.instance.name, "support", outcome, "sample", share, float(BOUNDARY), message, effort, tuple(notes))


def _exactness(sample: Sample, outcome: str, bound: float, limit: float, effort: str) -> Verdict:
    case, counts = sample.case, sample.blocks + sample.cut()
    total, excluded = sum(counts.values()), bound
    violation, details, message = None, dict[str, Any](), f"total variation is at most {bound:.3g}"
    if case.subject.lossy:
        outcome, message = "conform", f"lossy, as its author says: {message}"
    elif outcome == "inconclusive":
        message += f", not known to be at most {limit:g}: more blocks or more time are needed (--time-limit SECONDS)"
        late = "share of the time limit" in effort  # it is read, and takes longer
        here = case.subject.randomness == "internal" and not getattr(case.subject.call, "out_of_process", False)
        if "; sampled because" in effort and here and not late:
            message += "; random.random(), numpy.random and torch's functions, called as attributes, could be read without sampling"
    elif outcome == "nonconform":
        law = {block: rational(Fraction(count, total)) for block, count in counts.items()}
        first, excluded = _plain_violation(law, case, sample.observations), float(total_variation(law, case.target))
        violation, message = as_json(first), f"{describe(first, 'about ')}; total variation about {number(excluded)}"
        details = {"prefix_laws": prefix_laws(law, case.target, first.prefix)}
    name, instance = case.subject.name, case.instance.name
    return Verdict(name, instance, "exactness", outcome, "sample", excluded, limit, message, effort, violation=violation, details=details)


def _plain_violation(law: dict[Block, Rational], case: Case, observations: int) -> Violation:
    """The first growth equality that is broken by five standard deviations, or the one broken by most of them: the others may be chance."""

    def deviations(found: Violation) -> float:
        variance = float(found.should_be * (1 - found.should_be)) * float(found.mass / abs(found.emitted - found.should_be))
        return float(found.mass) * sqrt(observations / variance) if variance else inf

    broken = list(violations(law, case.target))
    return next((found for found in broken if deviations(found) >= 5), None) or max(broken, key=deviations)


def _acceptance(sample: Sample, alpha: float, effort: str) -> Verdict:
    low, high = (Fraction(end) for end in sample.lengths.interval(alpha))
    return acceptance(sample.case, "sample", effort, low, high, Fraction(0))


class _Source:
    """Fresh draft trees and fresh randomness, and the subject's blocks on them."""

    def __init__(self, case: Case, seed: int, rows: int | None = None):
        self.case, self.caller, self.rng, self.rows = case, Caller(case), np.random.default_rng([seed, SALT]), rows
        self._trees = random.Random(f"draftproof {seed}")
        self._generator: Any = None
        self.seed = seed
        self.large = case.embedding is not None and case.embedding.large
        np.empty(LARGEST_FREED, dtype=np.uint8)

    def blocks(self, count: int, deadline: float) -> Iterator[np.ndarray]:
        """Blocks [n, D + 1] in parts, ``count`` in all unless the deadline passes first."""
        group = self.case.subject.rows_per_draft
        most = self.rows or (FIRST_LOOK >> 4 if self.large else LARGEST_BATCH)
        size = 1 if not self.case.subject.batched else max(most // group, 1) * group
        made: list[np.ndarray] = []
        for start in range(0, count, size):
            batch = self._draw(-(-min(size, count - start) // group), group)
            rows = np.full((len(batch), self.case.depth + 1), -1, dtype=np.int64)
            answer = self.caller(batch, self._randomness(batch))[:, : self.case.depth + 1]
            rows[:, : answer.shape[1]] = answer
            made.append(rows)
            if time.monotonic() > deadline:
                break
        yield np.concatenate(made)

    def _draw(self, count: int, group: int) -> Batch:
        if self.case.enumerable:
            chances = np.array([float(probability) for probability in self.case.probabilities])
            trees = self.rng.choice(len(chances), size=count, p=chances / chances.sum())
            return self.case.batch.take(np.repeat(trees, group))
        topology, scheme = self.case.instance.topology, self.case.scheme
        drawn = list(simulate(lambda chance: populate(topology, scheme, chance), self._trees, count).elements())
        reference = self.case.subject.reference
        distinct = drawn if reference is None or reference.reads_declared else [merged(tree) for tree in drawn]
        return self.case.arrays(distinct).take(np.repeat(np.arange(count), group))

    def _randomness(self, batch: Batch) -> dict[str, Any]:
        subject = self.case.subject
        if subject.randomness == "uniforms":
            bits = 24 if subject.uniforms_dtype == "float32" else 53
            shape = (len(batch), subject.uniform_columns(batch.tokens.shape[1]))
            return {"uniforms": self.caller.uniforms(self.rng.integers(0, 1 << bits, size=shape) * 2.0**-bits)}
        if subject.randomness == "seeds":
            return {"seeds": self.caller.integers(self.rng.integers(0, 1 << 62, size=len(batch)))}
        if subject.randomness == "generator":
            if self._generator is None:
                self._generator = self.caller.generator(self.seed)
            return {"generator": self._generator}
        return {}


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The global generators seeded, so that a run can be repeated, and put back as they were."""
    import sys

    torch = sys.modules.get("torch")
    states = random.getstate(), np.random.get_state(), torch.get_rng_state() if torch else None
    random.seed(f"subject {seed}")
    np.random.seed(seed % (1 << 32))
    if torch:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        if torch:
            torch.set_rng_state(states[2])
