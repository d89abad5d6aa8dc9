"""Invariance of generators: what must not matter to what a request emits, does not.

A request is its randomness: given as a generator seeded with the request's seed, or else drawn from the global generators, which are seeded then.
Replayed after other requests, it emits the same; so it does with the global generators in another state and by a second copy of the subject, as on
another rank.  Called on and on with one generator that is not seeded anew, it does not go on emitting the same, and one output tells nothing of the
next (``independence``).  The rows and settings that the engine hands over are left as they are.  What cannot be judged is said.
"""

import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from math import log
from typing import TYPE_CHECKING, Any

from draftproof.reference.models import Prefix

from .engine import Engine, Toy
from .eprocess import stream_log_e_value
from .independence import example, pairs
from .sampling import _seeded
from .verdicts import Verdict

if TYPE_CHECKING:
    from .judge_generator import Runs

REQUESTS = 8
"""Requests that are replayed."""

PAIRS = 256
"""Pairs of consecutive outputs that are looked at for independence."""


class WatchedEngine(Engine):
    """An engine that keeps what it hands over beside a copy."""

    def __init__(self, toy: Toy):
        super().__init__(toy)
        self._handed = list[tuple[list[float], list[float]]]()

    def _row(self, model: Any, prefix: Prefix) -> list[float]:
        row = super()._row(model, prefix)
        self._handed.append((row, list(row)))
        return row

    @property
    def overwritten(self) -> str:
        """What is no longer as it was handed over, or ""."""
        if any(row != before for row, before in self._handed):
            return "a row of the engine"
        now, then = ((one.vocabulary, one.prompt, one.length, one.eos) for one in (self, self._toy))
        return next((f"the engine's {name}" for name, a, b in zip(("vocabulary", "prompt", "length", "eos"), now, then, strict=True) if a != b), "")


def generator_invariance(runs: "Runs", lossless: bool, alpha: float, seed: int, deadline: float) -> Verdict:
    """The verdict on one task.  ``lossless``: its outputs have the target's law.  An independent lossless generator is rejected with probability at
    most ``alpha``."""
    judge = _Judge(runs, seed)
    judge.replays(time.monotonic() + max(deadline - time.monotonic(), 0.0) / 4)
    judge.ranks()
    judge.consecutive(lossless, alpha, deadline)
    return judge.verdict()


class _Judge:
    def __init__(self, runs: "Runs", seed: int):
        self.runs, self.seed, self.calls = runs, seed, 0
        self.given = runs.subject.randomness == "generator"
        self.judged, self.not_judged, self.broken = list[str](), dict[str, str](), dict[str, str]()

    def call(self, randomness: Mapping[str, Any], of: Callable[..., Any] | None = None) -> Prefix:
        engine = WatchedEngine(self.runs.toy)
        output = self.runs.run(randomness, engine, of)
        self.calls += 1
        if engine.overwritten:
            self.broken.setdefault("rows untouched", f"it overwrites {engine.overwritten}")
        return output

    def request(self, number: int, state: int = 0, of: Callable[..., Any] | None = None) -> Prefix:
        """What request ``number`` emits; ``state`` of the global generators, where they are not its randomness."""
        own = self.seed + 101 * number
        with _seeded(own + (7919 * state if self.given else 0)):
            return self.call(self.runs.randomness(own), of)

    def replays(self, deadline: float) -> None:
        """Requests, as many as come in time, and again in another order."""
        self.first = [self.request(0)]
        while len(self.first) < REQUESTS and time.monotonic() < deadline:
            self.first.append(self.request(len(self.first)))
        numbers = range(len(self.first))
        again = {number: self.request(number) for number in reversed(numbers)}
        self.judged.append("rows untouched")
        number = next((number for number in numbers if again[number] != self.first[number]), None)
        if number is None or self.given:
            self.judged.append("replay")
        else:
            self.not_judged["replay"] = "it draws from elsewhere than the global generators, or keeps state: the same seeds give other outputs"
        if number is not None and self.given:
            said = f"request {number} emits {list(self.first[number])}; called again with the same seed, after other requests, {list(again[number])}"
            self.broken["replay"] = said

    def ranks(self) -> None:
        """The same requests on another rank."""
        if "replay" in self.broken or "replay" in self.not_judged:
            self.not_judged["ranks"] = "it does not even agree with itself"
            return
        if not self.given:
            self.not_judged["ranks"] = "its randomness is its own: no request's seed is handed to it"
            return
        try:
            other = deepcopy(self.runs.subject.call)
        except Exception as error:  # what an author's object holds may not be copied
            other, self.not_judged["second copy"] = None, f"it cannot be copied ({type(error).__name__})"
        self.judged.append("ranks")
        for number, before in enumerate(self.first):
            if (output := self.request(number, 1, other)) != before:
                where = "with the global generators in another state" if other is None else "on another rank, by a second copy of it,"
                self.broken["ranks"] = f"request {number} emits {list(before)}; with the same seed {where} {list(output)}"
                return

    def consecutive(self, lossless: bool, alpha: float, deadline: float) -> None:
        """One stream of outputs without seeding anew: new draws, each independent of the last."""
        parts = ("new draws", "independent calls")
        if not lossless:
            self.not_judged.update(dict.fromkeys(parts, "only the law of a lossless generator is known"))
            return
        outputs, equal = list[Prefix](), self._chance_of_equal()
        if equal == 1:
            self.not_judged.update(dict.fromkeys(parts, "nothing is random on this task"))
            return
        with _seeded(self.seed + 3):
            randomness = self.runs.randomness(self.seed + 3)
            while len(outputs) < 2 * PAIRS and time.monotonic() < deadline:
                outputs.append(self.call(randomness))
        count = len(outputs) // 2
        first, second = outputs[: 2 * count : 2], outputs[1 : 2 * count : 2]
        if count * log(equal) > log(alpha / 2):
            self.not_judged.update(dict.fromkeys(parts, "too few outputs came in time"))
            return
        self.judged += parts
        if first == second and len(set(outputs)) == 1:
            self.broken["new draws"] = f"called {2 * count} times without seeding anew it always emits {list(first[0])}: it does not draw anew"
            return
        stream = pairs(first, second)
        possible = {one: times for one, times in stream.items() if self.runs.possible(one[1:]) and self.runs.possible(one[:1])}
        capital = stream_log_e_value(possible, lambda prefix: self.runs.floats(prefix[1:]))
        if capital >= -log(alpha / 2):
            self.broken["independent calls"] = f"one call and the next are not independent: {example(stream, self.runs.floats(()))}"

    def _chance_of_equal(self) -> float:
        """That the first tokens of two independent outputs are equal."""
        return sum(mass**2 for mass in self.runs.floats(()))

    def verdict(self) -> Verdict:
        outcome, message = "conform", f"the same under {', '.join(self.judged)}"
        if self.broken:
            more = f" (and {len(self.broken) - 1} more such changes)" if len(self.broken) > 1 else ""
            outcome, message = "nonconform", next(iter(self.broken.values())) + more
        details = {"judged": self.judged, "broken": list(self.broken), "not judged": self.not_judged}
        name, toy, number = self.runs.subject.name, self.runs.toy.name, float(len(self.broken))
        return Verdict(name, toy, "invariance", outcome, "rerun", number, 0.0, message, f"{self.calls} calls", details=details)
