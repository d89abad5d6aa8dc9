"""Invariance: what must not matter to an answer, does not.

Where a row's randomness is given to it, as uniforms or a seed, its block is compared bit by bit: called again, with the global generators in another
state (as on another rank), alone, permuted, among other rows, beside rows of NaN, with padding and wider buffers.  Equal blocks under other
neighbours with other random numbers also say that rows are independent.  Where a subject draws for itself, a call is repeated from the same state,
the next call has to draw anew, and batches of other rows are judged in law (``independence``).  What cannot be judged is said.

An argument that is overwritten, and counts and blocks that do not agree, are errors, in these calls as in all others.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from math import log
from typing import Any

import numpy as np

from draftproof.reference.blocks import block_law_on_tree

from .calling import ONE_AT_A_TIME, Caller, block_of
from .cases import Batch, Case
from .embeddings import Embedding, Step, crowded, padded, permuted, wider
from .independence import CALLS, wrong_between_calls, wrong_in_batches
from .reading import touched
from .sampling import _seeded, _Source
from .subjects import SubjectError
from .verdicts import Verdict

ROWS, ROWS_ALONE = 24, 2
"""Rows compared, and how many of them in a batch of one."""

MOST_REPEATS = 16
"""Times that one batch is verified again before one does without seeing it draw anew."""

CHANGES: Mapping[str, tuple[str, Step]] = {
    "wider vocabulary": ("with 3 more tokens, of no mass", wider(3)),
    "padding": ("with 3 more nodes that are not valid", padded(3)),
    "neighbours": ("among unrelated rows", crowded(5)),
    "permutation": ("with the rows in another order", permuted),
    "NaN padding": ("with 3 more nodes that are not valid, their rows NaN", padded(3, np.nan)),
    "NaN neighbours": ("beside rows of NaN", crowded(3, np.nan)),
}
"""What is changed: name, in words, and how."""

OF_BATCHES = ("neighbours", "permutation", "NaN neighbours")


def invariance(case: Case, lossless: bool, alpha: float, seed: int, deadline: float) -> Verdict:
    """The verdict on one case.  ``lossless``: its other verdicts conform, so that a wrong law in a batch is the batch's doing.

    A subject that draws for itself is wrongly rejected with probability at most ``alpha``.  Raises SubjectError as every call does.
    """
    judge = _Judge(case, seed, deadline)
    given = case.subject.randomness in ("uniforms", "seeds")
    with np.errstate(all="ignore"):  # rows of NaN
        judge.replays()
        if given:
            judge.changed()
        judge.draws_anew(alpha / 2)
        if not given:
            judge.in_law(lossless, alpha / 2)
    return judge.verdict()


class _Judge:
    def __init__(self, case: Case, seed: int, deadline: float):
        self.case, self.subject, self.seed, self.deadline = case, case.subject, seed, deadline
        self.judged, self.not_judged = list[str](), dict[str, str]()
        self.broken: dict[str, tuple[str, int]] = {}  # part: what is said, rows changed
        self.calls = 0
        group = self.subject.rows_per_draft
        self.batch = _Source(case, seed)._draw(-(-ROWS // group), group)

    def randomness(self, nth: int) -> dict[str, Any]:
        """Uniforms, seeds or a generator; others for every ``nth``."""
        caller, source = Caller(self.case), _Source(self.case, self.seed + 1 + nth)
        return {"generator": caller.generator(self.seed + nth)} if self.subject.randomness == "generator" else source._randomness(self.batch)

    def call(self, batch: Batch, randomness: Mapping[str, Any], *steps: Step) -> np.ndarray:
        before = () if self.case.embedding is None else self.case.embedding.steps
        caller = Caller(self.case, Embedding((*before, *steps)))
        blocks = caller(batch, randomness)
        touched(caller)
        self.calls += 1
        return blocks

    def replays(self) -> None:
        """The same call twice: where the randomness is given from two states of the global generators, else from one."""
        given = self.subject.randomness != "internal"
        with _seeded(self.seed):
            self.base = self.call(self.batch, self.randomness(0))
        with _seeded(self.seed + given):
            again = self.call(self.batch, self.randomness(0))
        if not given:
            if self._differs(self.base, again) is None:
                self.judged.append("replay")
            else:
                self.not_judged["replay"] = "it draws from elsewhere than the global generators"
            return
        name, said = "replay", f"called again with the same {self.subject.randomness}"
        if self._differs(self.base, again) is not None:
            with _seeded(self.seed):
                self._compare(name, said, self.call(self.batch, self.randomness(0)))
        self.judged += [] if name in self.judged else [name]
        if name not in self.broken:
            self._compare("global generators", f"{said} and the global generators in another state, as on another rank", again)

    def changed(self) -> None:
        """Everything in ``CHANGES``, with the same randomness for the same row: together first, one by one where that is not the same."""
        if not self.subject.batched or self.subject.rows_per_draft > 1:
            why = "its rows share their draft trees" if self.subject.batched else "it takes one row at a time"
            self.not_judged.update(dict.fromkeys(["batch size", *OF_BATCHES], why))
        else:
            self._alone()
        if self.subject.shape == "chain":
            self.not_judged.update({"padding": "chains have no padding", "NaN padding": "chains have no padding"})
        elif self.subject.randomness == "uniforms" and not _columns_known(self.case):
            why = "its layout of uniforms is its own, so more nodes cannot be given the same ones"
            self.not_judged.update({"padding": why, "NaN padding": why})
        if getattr(self.subject.call, "noise_per_token", False):  # as races need: what an adapter knows of its engine
            self.not_judged["wider vocabulary"] = "it draws noise for every token, so a seed means other noise over more tokens"
        if getattr(self.subject.call, "out_of_process", False):
            self.not_judged.update(dict.fromkeys([name for name in CHANGES if "NaN" in name], "JSON has no NaN"))
        names = [name for name in CHANGES if name not in self.not_judged]
        for part in ([name for name in names if "NaN" not in name], [name for name in names if "NaN" in name]):
            if not part:
                continue
            if time.monotonic() > self.deadline:
                self.not_judged.update(dict.fromkeys(part, "no time was left"))
            else:
                self._changed_by(part)

    def _changed_by(self, names: list[str]) -> None:
        said, steps = " and ".join(CHANGES[name][0] for name in names), [CHANGES[name][1] for name in names]
        blocks = None
        with suppress(SubjectError):  # which of them it was shows one by one
            blocks = self.call(self.batch, self.randomness(0), *steps)
            if self._differs(self.base, blocks) is None:
                self.judged += names
                return
        before = set(self.broken)
        for name in names:
            self._change(name)
        if blocks is not None and set(self.broken) == before:
            self._compare("all together", said, blocks)

    def _change(self, name: str) -> None:
        said, step = CHANGES[name]
        try:
            self._compare(name, said, self.call(self.batch, self.randomness(0), step))
        except SubjectError as error:
            if name == "NaN neighbours" and "raised" in str(error):  # a refusal of the whole batch is an answer that nobody takes for a block
                self.not_judged[name] = f"it {error}"
            else:
                self.judged.append(name)
                self.broken[name] = f"{said} it {error}", len(self.batch)

    def _alone(self) -> None:
        for row in range(min(ROWS_ALONE, len(self.batch))):
            if time.monotonic() > self.deadline:
                break
            own = {name: value[row : row + 1] for name, value in self.randomness(0).items()}
            block = self.call(self.batch.take([row]), own)
            if block_of(block[0]) != block_of(self.base[row]):
                self._compare("batch size", "in a batch of one", block, row)
                return
        self.judged.append("batch size")

    def draws_anew(self, alpha: float) -> None:
        """The same batch again: a lossless subject does not go on giving the same answers, unless nothing is random."""
        name, equal = "new draws", self._chance_of_equal(log(alpha))
        if equal is None:
            self.not_judged[name] = "it names no family, and nothing is known of its answer to a sampled draft"
            return
        if equal == 0:
            self.not_judged[name] = "nothing is random on this instance"
            return
        with _seeded(self.seed + 2):
            randomness = self.randomness(1)
            before, total = self.base if self._fresh else self.call(self.batch, randomness), 0.0
            for nth in range(MOST_REPEATS):
                after = self.call(self.batch, self.randomness(2 + nth) if self._fresh else randomness)
                total += equal
                if self._differs(before, after) is not None:
                    self.judged.append(name)
                    return
                if total <= log(alpha):
                    break
                if time.monotonic() > self.deadline:
                    break
        if total > log(alpha):
            self.not_judged[name] = "too little is random on this instance"
            return
        self.judged.append(name)
        how = f"with other {self.subject.randomness}" if self._fresh else "without reseeding"
        said = f"called again {how} it gives {len(self.batch)} rows the very blocks it gave before, such as {list(block_of(before[0]))} to row 0"
        self.broken[name] = f"{said}: it does not draw anew", len(self.batch)

    @property
    def _fresh(self) -> bool:
        """Whether new randomness has to be handed over to get new draws."""
        return self.subject.randomness in ("uniforms", "seeds")

    def _chance_of_equal(self, enough: float) -> float | None:
        """Log of a bound on the probability that a right subject answers the batch twice in the same way, ``enough`` or what all rows give.

        0 where it must, None where it is not known.
        """
        case, group = self.case, self.subject.rows_per_draft
        if self.subject.lossy:
            return None
        if case.instance.deterministic:  # then the first token has the target's law, whoever emits it
            return log(sum(float(mass) ** 2 for _, mass in case.target(()).items())) * (len(self.batch) // group)
        if self.subject.reference is None or not case.enumerable:
            return None
        trees = {_key(case.batch.take([nth])): tree for nth, tree in enumerate(case.trees)}
        total = 0.0
        for row in range(0, len(self.batch), group):
            law = block_law_on_tree(self.subject.reference, case.target, trees[_key(self.batch.take([row]))])
            total += log(sum(float(mass) ** 2 for _, mass in law.items()))
            if total <= enough:
                break
        return total

    def in_law(self, lossless: bool, alpha: float) -> None:
        """Batches of many rows among others: do they have the law that one row has, and are they independent?  Of single rows: are the calls?"""
        parts = ["neighbours", "independent rows", "independent calls"]
        if not self.subject.batched:
            self.not_judged.update(dict.fromkeys(parts[:2], "it takes one row at a time"))
            del parts[:2]
        if self.subject.rows_per_draft > 1:
            why = "its rows share their draft trees"
        elif self.subject.lossy or not lossless:
            why = "only the law of a lossless subject is known"
        elif time.monotonic() > self.deadline:
            why = "no time was left"
        elif not self.subject.batched:
            said, calls = wrong_between_calls(self.case, alpha, self.seed)
            self._found(parts[0], said)
            self.calls += calls
            return
        else:
            steps = (wider(3), crowded(1 << 10)) if self.subject.shape == "chain" else (wider(3), padded(3), crowded(1 << 10))
            for part, said in zip(parts, wrong_in_batches(self.case, Embedding(steps), alpha, self.seed), strict=True):
                self._found(part, said)
            self.calls += 2 + CALLS
            return
        self.not_judged.update(dict.fromkeys(parts, why))

    def _found(self, part: str, said: str) -> None:
        self.judged.append(part)
        if said:
            self.broken[part] = said, 1

    @staticmethod
    def _differs(one: np.ndarray, other: np.ndarray) -> int | None:
        """The first row whose blocks differ."""
        return next((row for row, pair in enumerate(zip(one, other, strict=True)) if block_of(pair[0]) != block_of(pair[1])), None)

    def _compare(self, name: str, said: str, blocks: np.ndarray, only: int | None = None) -> None:
        base = self.base if only is None else self.base[only : only + 1]
        self.judged.append(name)
        row = self._differs(base, blocks)
        if row is not None:
            changed = sum(block_of(one) != block_of(other) for one, other in zip(base, blocks, strict=True))
            at = row if only is None else only
            before, after = list(block_of(base[row])), list(block_of(blocks[row]))
            self.broken[name] = f"row {at} of {len(self.base)} emits {before}; {said} it emits {after}", changed

    def verdict(self) -> Verdict:
        outcome, message = "conform", f"the same under {', '.join(self.judged)}"
        if not self.judged:
            outcome, message = "not judged", "; ".join(f"{name}: {why}" for name, why in self.not_judged.items())
        if self.broken:
            more = f" (and {len(self.broken) - 1} more such changes)" if len(self.broken) > 1 else ""
            outcome, message = "nonconform", next(iter(self.broken.values()))[0] + more
            message += f"; {ONE_AT_A_TIME}" if "batch size" in self.broken else ""
        return Verdict(
            self.subject.name,
            self.case.instance.name,
            "invariance",
            outcome,
            "rerun",
            float(max((rows for _, rows in self.broken.values()), default=0)),
            0.0,
            message,
            f"{self.calls} calls on {len(self.batch)} rows",
            details={"judged": self.judged, "broken": list(self.broken), "not judged": self.not_judged},
        )


def _columns_known(case: Case) -> bool:
    return case.subject.layout == "draftproof" or case.subject.columns is None and case.subject.order is None


def _key(row: Batch) -> bytes:
    """What tells one draft tree of an instance from another."""
    declared = b"" if row.declared is None else row.declared.tobytes()
    return row.tokens.tobytes() + row.parents.tobytes() + row.valid.tobytes() + declared
