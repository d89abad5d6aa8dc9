"""``check_generator``: judge a generator by the law of everything it emits.

* support: it emits nothing that the target cannot emit;
* exactness: its tokens have the target's law, by the growth identity on whole outputs;
* ending: it stops at the length cap or at the first end-of-sequence token, neither sooner nor later;
* invariance: a request replayed, on another rank too, emits the same, calls are independent, the engine's rows are left alone.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import islice
from math import log
from operator import index
from typing import Any

import numpy as np

from draftproof.reference.growth import stopped_outside, total_variation, violations
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, spell
from draftproof.reference.rational import fraction, rational

from .confidence import total_variation_upper_bound
from .engine import Engine, Toy, toys
from .eprocess import stream_log_e_value
from .generator_invariance import generator_invariance
from .generators import Generator, generator_of
from .items import Item, Observe, Plan, Record
from .prefix_laws import prefix_laws
from .readings.refused import Refused
from .report import Report
from .sampling import _seeded
from .subjects import SubjectError
from .verdicts import BOUNDARY, DEFAULT_TOLERANCE, Verdict, as_json, describe

MOST_RUNS = 1 << 16


def plan_generator(
    subject: "Generator | Callable[..., Any]",
    tasks: Iterable[Toy] | None = None,
    *,
    way: str | None = None,
    alpha: float = 1e-6,
    tolerance: float | None = None,
    seed: int = 0,
    time_limit: float = 120.0,
) -> Plan:
    """The items of ``check_generator``."""
    one, chosen = generator_of(subject), list(toys() if tasks is None else tasks)
    settings = {"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit}

    def verdicts(toy: Toy) -> Iterator[Verdict]:
        runs, own = Runs(one, toy), alpha / (2 * len(chosen))
        found = runs.judged(way, own, tolerance, seed, time_limit / 3)
        yield from found
        right = all(verdict.outcome == "conform" for verdict in found) and (tolerance or 0) <= DEFAULT_TOLERANCE["sample"]
        yield generator_invariance(runs, right, own, seed, time.monotonic() + time_limit / 6)

    return Plan([Item(one.name, toy.name, partial(verdicts, toy)) for toy in chosen], settings, time_limit)


def check_generator(
    subject: "Generator | Callable[..., Any]",
    tasks: Iterable[Toy] | None = None,
    *,
    observe: Observe | None = None,
    record: Record | None = None,
    **settings: Any,
) -> Report:
    """Does this generator emit what the target would, over several rounds?

    The law of its outputs is read by enumerate where that applies, else by sample.  ``tasks``: default ``engine.toys()``.  ``settings`` (way, alpha,
    tolerance, seed, time_limit), ``observe`` and ``record`` are those of ``check``.
    """
    return plan_generator(subject, tasks, **settings).run(observe, record)


class Runs:
    """A generator on one task."""

    def __init__(self, subject: Generator, toy: Toy):
        self.subject, self.toy = subject, toy
        self._laws: dict[Prefix, Law[int]] = {}

    def target(self, prefix: Prefix) -> Law[int]:
        """The law of the numbers that the engine hands over."""
        if prefix not in self._laws:
            law = self.toy.target(self.toy.prompt + prefix)
            self._laws[prefix] = Law.row([float(law[token]) for token in range(self.toy.vocabulary)])
        return self._laws[prefix]

    def floats(self, prefix: Prefix) -> list[float]:
        """The same as a row."""
        return [float(self.target(prefix)[token]) for token in range(self.toy.vocabulary)]

    def run(self, randomness: Mapping[str, Any], engine: Engine | None = None, call: Callable[..., Any] | None = None) -> Prefix:
        """What one generation emits, on a new engine or this one, by the subject or a copy.  Raises SubjectError when that is no token sequence."""
        answer = (call or self.subject.call)(engine or Engine(self.toy), **randomness)
        try:
            emitted = tuple(index(token) for token in islice(answer, self.toy.length + 1))  # an endless answer is too long, and no more
        except TypeError:
            raise SubjectError(f"{self.subject.name} returns {answer!r:.200}, not a sequence of integers") from None
        if any(not 0 <= token < self.toy.vocabulary for token in emitted):
            raise SubjectError(f"{self.subject.name} emits {list(emitted)}: tokens must be below {self.toy.vocabulary}")
        return emitted

    def judged(self, way: str | None, alpha: float, tolerance: float | None, seed: int, share: float) -> list[Verdict]:
        """The verdicts, by the strongest way of reading that applies.  ``share``: seconds for each way."""
        if way not in (None, "enumerate", "sample"):
            raise Refused(f"{self.subject.name} is a generator, which is enumerated or sampled, not read by {way}")
        try:
            if way == "sample":
                raise Refused("sampling was asked for")
            return self._enumerated(tolerance, time.monotonic() + share)
        except Refused:
            if way == "enumerate":
                raise
            limit = Fraction(DEFAULT_TOLERANCE["sample"] if tolerance is None else tolerance)
            return self._sampled(alpha, limit, seed, time.monotonic() + share)

    def _enumerated(self, tolerance: float | None, deadline: float) -> list[Verdict]:
        from .readings.enumerate import enumerate_law, scripted_generator

        def program() -> Prefix:
            return self.run({} if self.subject.randomness == "internal" else {"generator": scripted_generator(self.subject.framework)})

        found = enumerate_law(program, deadline=deadline)
        if found.failures:
            raise SubjectError(f"{self.subject.name} fails: {next(iter(found.failures))}")
        law: Any = found.law
        distance, slack = self._distance(law), Fraction(found.slack)
        limit = Fraction(DEFAULT_TOLERANCE["races" if slack else "enumerate"] if tolerance is None else tolerance)
        outcome = "nonconform" if distance - slack > limit else "conform" if distance + slack <= limit else "inconclusive"
        how = f"races to {found.slack:.1g}" if slack else "exact"
        return self._verdicts(law, "enumerate", f"{found.leaves} branches, {how}", outcome, distance, limit)

    def _sampled(self, alpha: float, limit: Fraction, seed: int, deadline: float) -> list[Verdict]:
        """Independent generations; half of alpha for rejecting, half for the bound on the total variation."""
        counts, total, capital, bound, size = Counter[Prefix](), 0, 0.0, Fraction(1), 1 << 8
        with _seeded(seed):
            randomness = self.randomness(seed)
            while total < MOST_RUNS and time.monotonic() < deadline and capital < log(2 / alpha) and bound > limit:
                for _ in range(size):
                    counts[self.run(randomness)] += 1
                    if time.monotonic() > deadline:
                        break
                total, size = counts.total(), min(2 * size, 1 << 13)
                capital = stream_log_e_value({output: count for output, count in counts.items() if self.possible(output)}, self.floats)
                bound = Fraction(total_variation_upper_bound(counts, self.floats, alpha / 2))
        law = {output: Fraction(count, total) for output, count in counts.items()}
        effort = f"{total} generations, e-value 10^{capital / log(10):.1f}"
        if capital >= log(2 / alpha):
            return self._verdicts(law, "sample", effort, "nonconform", self._distance(law), limit)
        return self._verdicts(law, "sample", effort, "conform" if bound <= limit else "inconclusive", bound, limit)

    def possible(self, output: Prefix) -> bool:
        """Whether the target can emit it."""
        return all(self.target(output[:length])[token] for length, token in enumerate(output))

    def randomness(self, seed: int) -> dict[str, Any]:
        """What a generation is given to draw from."""
        if self.subject.randomness == "internal":
            return {}
        if self.subject.framework == "numpy":
            return {"generator": np.random.default_rng(seed)}
        import torch

        return {"generator": torch.Generator().manual_seed(seed)}

    def _distance(self, law: Mapping[Prefix, Fraction]) -> Fraction:
        """An empty output is missing mass."""
        return fraction(total_variation({output: rational(mass) for output, mass in law.items() if output}, self.target))

    def _verdicts(
        self, law: Mapping[Prefix, Fraction], way: str, effort: str, outcome: str, number: Fraction, limit: Fraction
    ) -> list[Verdict]:
        exact = {output: rational(mass) for output, mass in law.items()}
        threshold = BOUNDARY if way == "enumerate" else Fraction(0)

        def verdict(kind: str, outcome: str, number: Fraction, limit: Fraction, message: str, **more: Any) -> Verdict:
            return Verdict(self.subject.name, self.toy.name, kind, outcome, way, float(number), float(limit), message, effort, **more)

        outside = {prefix: fraction(mass) for prefix, mass in stopped_outside(exact, self.target).items()}
        outside = {prefix: mass for prefix, mass in outside.items() if mass > threshold}
        worst = max(outside, key=lambda prefix: outside[prefix], default=())
        said = f'after "{spell(worst[:-1])}" it emits {worst[-1]}, which the target cannot' if outside else "nothing impossible is emitted"
        support = verdict("support", "nonconform" if outside else "conform", outside.get(worst, Fraction(0)), threshold, said)

        wrong = {output: mass for output, mass in law.items() if not self._ends_right(output) and mass > threshold}
        example = max(wrong, key=lambda output: wrong[output], default=())
        said = f"it ends with {list(example)}; the cap is {self.toy.length} tokens" if wrong else "it ends where it should"
        if wrong and self.toy.eos is not None:
            said += f" and {self.toy.eos} ends the sequence"
        ending = verdict("ending", "nonconform" if wrong else "conform", sum(wrong.values(), Fraction(0)), threshold, said)

        more: dict[str, Any] = {}
        said = f"the first {self.toy.length} tokens have the target's law: total variation {float(number):.3g}"
        if outcome != "conform":
            said = f"total variation {float(number):.6g}"
        if outcome == "nonconform" and (first := next(violations(exact, self.target, rational(max(limit, number / 8))), None)):
            laws = prefix_laws({output: mass for output, mass in exact.items() if output}, self.target, first.prefix)
            said, more = f"{describe(first)}; {said}", {"violation": as_json(first), "details": {"prefix_laws": laws}}
        return [support, verdict("exactness", outcome, number, limit, said, **more), ending]

    def _ends_right(self, output: Prefix) -> bool:
        eos = self.toy.eos
        return eos not in output[:-1] and (len(output) == self.toy.length or (len(output) < self.toy.length and output[-1:] == (eos,)))
