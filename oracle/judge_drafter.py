"""``check_drafter``: judge a drafter by the law of its draws.

* declared law: given what was settled before, every token has the law it declares (see ``declared``);
* slots: with the uniform of one slot changed and all others kept, neither the slot's existence, place and declared law nor any earlier slot changes.
  Paired runs, for drafters that say which uniform draws which slot.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from math import ceil, log
from typing import Any

import numpy as np

from draftproof.reference.laws import Law

from .declared import Deviation, Draw, describe, deviations
from .draft_capital import log_capital, upper_bound
from .drafters import DraftCaller, Drafter, drafter_of
from .items import Item, Observe, Plan, Record
from .predictable import predictable
from .read_drafter import DraftLaw, DraftRandomness, distinct, enumerated, integrated
from .readings.refused import Refused
from .report import Report
from .sampling import _seeded
from .verdicts import DEFAULT_TOLERANCE, Verdict

ROWS: Mapping[str, list[list[int]]] = {
    "draft-by-position": [[5, 3, 2], [1, 2, 4]],
    "draft-zeros": [[3, 0, 2], [0, 1, 4]],
    "draft-peaked": [[14, 1, 1], [2, 1, 13]],
}
"""Draft rows that a drafter is judged on: weights of three tokens at two positions."""

NOTHING = "it never drafts a token, so there is nothing to judge"

BATCH, MOST_DRAWS, MOST_SEARCHED, PAIRS, SWEEP = 1 << 12, 1 << 19, 1 << 12, 64, 17


def plan_drafter(
    subject: "Drafter | Callable[..., Any]",
    rows: Mapping[str, list[list[int]]] | None = None,
    *,
    way: str | None = None,
    alpha: float = 1e-6,
    tolerance: float | None = None,
    seed: int = 0,
    time_limit: float = 120.0,
) -> Plan:
    """The items of ``check_drafter``."""
    one, chosen = drafter_of(subject), ROWS if rows is None else rows
    settings = {"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit}

    def verdicts(name: str, weights: list[list[int]]) -> Iterable[Verdict]:
        caller = DraftCaller(one, [Law.row(row) for row in weights], len(weights[0]))
        return _judged(caller, name, way, alpha / len(chosen), tolerance, seed, time_limit / 3)

    return Plan([Item(one.name, name, partial(verdicts, name, weights)) for name, weights in chosen.items()], settings, time_limit)


def check_drafter(
    subject: "Drafter | Callable[..., Any]",
    rows: Mapping[str, list[list[int]]] | None = None,
    *,
    observe: Observe | None = None,
    record: Record | None = None,
    **settings: Any,
) -> Report:
    """Is every draft token drawn from the law it declares?

    ``rows``: name -> weights of every position, default ``ROWS``.  ``settings`` (way, alpha, tolerance, seed, time_limit), ``observe`` and ``record``
    are those of ``check``; the strongest way of reading that applies is used: integrate for drafters that take uniforms, enumerate for others, else
    sample.
    """
    return plan_drafter(subject, rows, **settings).run(observe, record)


def _judged(
    caller: DraftCaller, name: str, way: str | None, alpha: float, tolerance: float | None, seed: int, share: float
) -> Iterable[Verdict]:
    """``share``: seconds for reading exactly, and again for sampling where that is refused."""
    subject, deadline = caller.subject, time.monotonic() + share
    try:
        if way == "sample":
            raise Refused("sampling was asked for")
        if way == "enumerate" or (way is None and subject.randomness != "uniforms"):
            yield _from_law(subject, name, enumerated(caller, deadline), tolerance)
        else:
            verdict = _from_law(subject, name, integrated(caller, deadline), tolerance)
            if verdict.outcome == "inconclusive":  # as many tapes as certify the limit
                fresh = ceil(40 / (DEFAULT_TOLERANCE["integrate"] if tolerance is None else tolerance))
                verdict = _from_law(subject, name, integrated(caller, deadline, fresh), tolerance)
            yield verdict
    except Refused:
        if way not in (None, "sample"):
            raise
        yield _from_samples(caller, name, alpha, DEFAULT_TOLERANCE["sample"] if tolerance is None else tolerance, seed, time.monotonic() + share)
    if subject.layout == "draftproof":
        yield _paired(caller, name, seed)


def _from_law(subject: Drafter, name: str, read: DraftLaw, tolerance: float | None) -> Verdict:
    usual = "races" if read.way == "enumerate" and read.resolution else read.way
    limit = Fraction(DEFAULT_TOLERANCE[usual] if tolerance is None else tolerance)
    found = deviations(read.law, looked_at=subject.verifier is not None)
    worst = found[0].total_variation if found else Fraction(0)
    slack = 2 * read.resolution  # joint and marginal law of a slot are each off by the resolution at most

    def verdict(outcome: str, message: str, deviation: Deviation | None = None) -> Verdict:
        return _verdict(subject, name, outcome, read.way, worst, limit, message, read.effort, deviation)

    if not any(read.law):
        return verdict("inconclusive", NOTHING)
    if worst - slack > limit:
        if subject.verifier is None and len(read.law) <= MOST_SEARCHED and predictable(read.law, limit + slack):
            message = "every token has its declared law, if drawn in another order than listed"
            return _verdict(subject, name, "conform", read.way, 0, limit, message, read.effort)
        return verdict("nonconform", describe(found[0]), found[0])
    held = f"total variation {float(worst):.3g}" + (f", known to {float(slack):.3g}" if slack else "")
    if worst + slack > limit:
        return verdict("inconclusive", f"{held}, is not separated from {float(limit):.3g}")
    return verdict("conform", f"every token has its declared law: {held} at every slot")


def _verdict(
    subject: Drafter, name: str, outcome: str, way: str, number: Any, limit: Any, message: str, effort: str, found: Deviation | None = None
) -> Verdict:
    details = {} if found is None else {"place": list(found.place), "total_variation": str(found.total_variation)}
    return Verdict(subject.name, name, "declared law", outcome, way, float(number), float(limit), message, effort, details=details)


def _from_samples(caller: DraftCaller, name: str, alpha: float, limit: float, seed: int, deadline: float) -> Verdict:
    """Half of alpha for rejecting, half for the bound on the total variation."""
    subject, counts, total = caller.subject, Counter[Draw](), 0
    looked_at, random, capital = subject.verifier is not None, DraftRandomness(caller, seed), 0.0
    with _seeded(seed):
        while total < MOST_DRAWS and time.monotonic() < deadline and capital < log(2 / alpha):
            draws, which = distinct(caller, caller.arrays(BATCH, random(BATCH)))
            for draw, count in zip(draws, np.bincount(which), strict=True):
                counts[draw] += int(count)
            total += BATCH
            if (total // BATCH).bit_count() == 1:  # look when the number of batches is a power of two
                capital = log_capital(counts, looked_at)
    law = {draw: Fraction(count, total) for draw, count in counts.items()}
    effort = f"{total} draws, e-value 10^{capital / log(10):.1f}"
    if not any(law):
        return _verdict(subject, name, "inconclusive", "sample", 0, limit, NOTHING, effort)
    if capital >= log(2 / alpha):
        worst = deviations(law, looked_at)[0]
        return _verdict(subject, name, "nonconform", "sample", worst.total_variation, limit, f"{describe(worst)} (estimates)", effort, worst)
    bound = upper_bound(law, total, caller.vocabulary, looked_at, alpha / 2)
    outcome = "conform" if bound <= limit else "inconclusive"
    return _verdict(subject, name, outcome, "sample", bound, limit, f"total variation at most {bound:.3g} at every slot, with confidence", effort)


def _paired(caller: DraftCaller, name: str, seed: int) -> Verdict:
    """Sweep the uniform of every slot with all others kept, on ``PAIRS`` random tapes."""
    subject, columns = caller.subject, caller.subject.columns
    rng, runs = np.random.default_rng([seed, 2]), 0
    for node in range(1, columns):
        tapes = np.repeat(rng.random((PAIRS, columns)), SWEEP, axis=0)
        tapes[:, node] = np.tile((np.arange(SWEEP) + 0.5) / SWEEP, PAIRS)
        tokens, *rest = caller.arrays(len(tapes), {"uniforms": caller.uniforms(tapes)})
        runs += len(tapes)
        settled = [("a token drawn before it", tokens[:, :node])]
        settled += [(what, part[:, : node + 1]) for what, part in zip(("its place", "its existence", "its declared law"), rest, strict=True)]
        for what, part in settled:
            groups = part.reshape(PAIRS, SWEEP, *part.shape[1:])
            if (groups != groups[:, :1]).any():
                message = f"{what} depends on the token of slot {node}: it changes when only the uniform of that slot does"
                return Verdict(subject.name, name, "slots", "nonconform", "integrate", 1.0, 0.0, message, f"{runs} paired runs")
    message = "no slot's existence, place or declared law depends on its own token"
    return Verdict(subject.name, name, "slots", "conform", "integrate", 0.0, 0.0, message, f"{runs} paired runs")
