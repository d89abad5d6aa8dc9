"""Reading a subject's law on a case, by the strongest way that applies.

1. *bracket*: it takes uniforms in our layout and claims a family: agreement with the reference around every threshold.
2. *enumerate*: its random calls, or the uniforms of a subject that takes one row at a time, are scripted and every branch is replayed: the
   exact law of the unmodified code.
3. *integrate*: it takes uniforms: the piecewise constant map from tape to block, found by bisection.
4. *sample*: anything else; see ``sampling``.
"""

import math
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from draftproof.reference.growth import total_variation
from draftproof.reference.laws import ZERO
from draftproof.reference.rational import fraction, rational

from .calling import Caller, block_of
from .cases import Block, Case
from .distinct import distinct_rows
from .readings.bracket import Branch, branches, inside, tapes, wide
from .readings.refused import Refused, TooMuch
from .subjects import Subject, SubjectError

WAYS = ("enumerate", "integrate", "sample")
MAX_TREES = 4096
MAX_LEAVES = 20_000
WIDTHS = (Fraction(1, 1 << 30), Fraction(1, 1 << 23), Fraction(1, 1 << 22), Fraction(1, 1 << 21))
FINE = Fraction(1, 10**6)
"""A bracketing known less closely gives way to an enumeration."""
INSIDE = 1 << 12
"""Random tapes between the thresholds of an instance, less where a row takes long: uniforms of a mass of 4e-3 that are treated otherwise are missed
once in 1e7, on one instance.
"""
CHUNK = 1 << 15
FRESH = 1_000_000
INTEGRATED = "; slow because nothing says what its columns decide: "
"""Before the hint at the end of an integration's effort."""
DELTA = 1e-6


@dataclass(frozen=True)
class Reading:
    """The law of a subject's block on one case.

    ``law``: block -> probability, exact rationals.  ``failures``: message -> mass of branches on which the subject raised.
    ``resolution``: bound on the total variation between ``law`` and the subject's true block law.  ``effort``: what it took, for people.
    ``edges``: boundary events, what happens at a uniform of exactly 0 or the largest below 1, where that is read apart from the law.
    """

    way: str
    law: dict[Block, Fraction]
    failures: dict[str, Fraction] = field(default_factory=dict)
    resolution: Fraction = Fraction(0)
    effort: str = ""
    edges: tuple[str, ...] = ()


def read(case: Case, way: str | None = None, deadline: float | None = None) -> Reading:
    """The law of the subject on ``case``; ``way`` (enumerate or integrate) insists on one.

    Raises Refused, with the reason, when no exact way applies (sampling is left), and SubjectError when the subject misbehaves.
    """
    uniforms = case.subject.randomness == "uniforms"
    if way == "integrate" and not uniforms:
        raise Refused(f"{case.subject.name} does not take its uniforms as an argument, so it cannot be integrated")
    if uniforms and way != "enumerate":
        bracketed = bracket(case) if case.subject.layout == "draftproof" and case.subject.family and way is None else None
        if bracketed is not None and bracketed.resolution <= FINE:
            return bracketed
        if way is None and (bracketed is not None or not case.subject.batched):  # a million tapes one by one take minutes, its branches a moment
            with suppress(Refused):
                return enumerate_(case, deadline)
        return integrate(case, deadline) if bracketed is None else bracketed
    return enumerate_(case, deadline)


def _trees(case: Case) -> int:
    if not case.enumerable or len(case.trees) > MAX_TREES:
        raise Refused(f"{case.instance.name} has more than the {MAX_TREES} draft trees that are read one by one")
    return len(case.trees)


def enumerate_(case: Case, deadline: float | None = None) -> Reading:
    """Every branch of the subject on every tree."""
    from .readings.enumerate import enumerate_law
    from .readings.watched import watched

    if getattr(case.subject.call, "out_of_process", False):
        raise Refused("it runs in a process of its own, whose random numbers cannot be scripted")
    caller = Caller(case)
    law, failures, leaves = defaultdict[Block, Fraction](Fraction), defaultdict[str, Fraction](Fraction), 0
    slack = Fraction(0)
    trees, fresh_seeds, calls = _trees(case), case.subject.randomness == "seeds", count(1)
    with watched(case.subject.call) as watch:
        for row in range(trees):
            batch, weight = case.batch.take([row]), fraction(case.probabilities[row])
            columns = case.subject.uniform_columns(batch.tokens.shape[1])

            def program() -> Block:
                return caller.one(batch, _scripted(case, columns, next(calls)))  # noqa: B023 (called within this iteration)

            found = enumerate_law(program, max_leaves=MAX_LEAVES, deadline=deadline, fresh_seeds=fresh_seeds, watch=watch)
            leaves += found.leaves
            slack += weight * Fraction(found.slack)
            for block, mass in found.law.items():
                law[block] += weight * mass
            for message, mass in found.failures.items():
                failures[message.removeprefix("SubjectError: ")] += weight * mass
    touched(caller)
    how = f"races to {float(slack):.1g}" if slack else "exact"
    return Reading("enumerate", dict(law), dict(failures), slack, f"{counted(leaves, 'branch')} on {counted(len(case.trees), 'tree')}, {how}")


def _scripted(case: Case, columns: int, call: int) -> dict[str, Any]:
    """The randomness argument of a scripted run: every draw it leads to is one of the calls that are scripted.

    Each ``call`` is given another seed, so that numbers a subject makes of its seeds by itself differ between two replays, which is refused.
    """
    subject = case.subject
    if subject.randomness == "internal":
        return {}
    if subject.randomness == "seeds":
        seed = np.array([call * 0x9E3779B97F4A7C15 % (1 << 62)])
        return {"seeds": seed if subject.framework == "numpy" else _torch().from_numpy(seed)}
    if subject.randomness == "generator":
        from .readings.enumerate import scripted_generator

        return {"generator": scripted_generator(subject.framework)}
    if subject.framework == "numpy":
        return {"uniforms": np.random.default_rng().random((1, columns))}
    return {"uniforms": _torch().rand(1, columns, dtype=getattr(_torch(), subject.uniforms_dtype))}


def _torch() -> Any:
    import torch

    return torch


def _on_tapes(case: Case, caller: Caller, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Blocks [n, D + 1] of the trees ``rows`` [n] on the tapes ``values`` [n, M], a chunk at a time.

    Every batch begins with a request for another tree, whose block is dropped: a subject that mixes up its requests does not look right here.
    """
    size, before = (CHUNK, 1) if case.subject.batched else (1, 0)
    blocks = np.full((len(rows), case.depth + 1), -1, dtype=np.int64)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        others = np.full(before, (rows[start] + 1) % len(case.batch))
        tapes = np.concatenate([values[start : start + before], values[part]])
        answer = caller(case.batch.take(np.concatenate([others, rows[part]])), {"uniforms": caller.uniforms(tapes)})[before:, : case.depth + 1]
        blocks[part, : answer.shape[1]] = answer
    return blocks


def layout_hint(subject: Subject) -> str:
    """What to declare for a reading in seconds in place of minutes, or "": a number or an order of columns of its own is another layout."""
    if subject.columns is not None or subject.order is not None or (subject.layout is not None and subject.family is not None):
        return ""
    outside = getattr(subject.call, "out_of_process", False)
    declare = [] if subject.layout else ['"layout": "draftproof"' if outside else 'layout="draftproof"']
    declare += [] if subject.family else ['a "family"' if outside else "a family"]
    where = "" if subject.layout else "if column v of its uniforms decides node v and column 0 draws the bonus token, "
    return f"{where}declare {' and '.join(declare)}{' in its hello' * outside}, and it is read in seconds"


def integrate(case: Case, deadline: float | None = None) -> Reading:
    """The subject's law from its maps from tape to block; a law that is plainly off is not read to the last digit."""
    hint = layout_hint(case.subject)
    try:
        found = _at_two_depths(case, deadline)
    except TooMuch as refusal:
        raise TooMuch(f"{refusal}; {hint}" if hint else str(refusal)) from None
    return replace(found, effort=f"{found.effort}{INTEGRATED}{hint}") if hint else found


def _at_two_depths(case: Case, deadline: float | None) -> Reading:
    if case.embedding is not None and case.embedding.large:
        raise Refused("it disagrees with its reference somewhere, and a million tapes on rows of this length take hours")
    glance = _integrate(case, deadline, fresh=FRESH // 32)
    off = fraction(total_variation({block: rational(mass) for block, mass in glance.law.items()}, case.target))
    return glance if off > 2 * glance.resolution else _integrate(case, deadline, FRESH)


def _integrate(case: Case, deadline: float | None, fresh: int) -> Reading:
    """The piecewise constant map from tape to block, tree by tree.

    ``fresh`` random tapes are shared out over the trees by probability, and all must agree with the maps.  If tree t is wrong on mass e_t, its
    n_t >= fresh Pr(t) tapes agree with probability at most exp(-n_t e_t), all of them with exp(-fresh sum_t Pr(t) e_t): so the averaged law is
    wrong by at most ln(1/delta) / fresh.  A map mended r - 1 times spends delta 2^-10 / (r (r - 1)) of its own, the first map the rest.
    """
    from .readings.integrate import integrate_law

    caller = Caller(case)
    law: defaultdict[Block, Fraction] = defaultdict(Fraction)
    exponent, tapes_used = math.log(1 / DELTA), 0
    columns = case.subject.uniform_columns(case.batch.tokens.shape[1])
    for row in range(_trees(case)):
        weight = fraction(case.probabilities[row])
        known: dict[Block, int] = {}

        def outcomes(values: np.ndarray) -> np.ndarray:
            blocks = _on_tapes(case, caller, np.full(len(values), row), values)  # noqa: B023
            return _numbered(blocks, known)  # noqa: B023

        found = integrate_law(
            outcomes,
            columns,
            order=case.subject.consumption(case.batch.tokens.shape[1]),
            grid_bits=24,
            fresh=max(math.ceil(fresh * weight), 1 << 12),
            deadline=deadline,
        )
        names = list(known)
        for number, mass in found.law.items():
            law[names[number]] += weight * fraction(mass)
        tapes_used += found.tapes
        if found.rounds > 1:
            exponent += math.log(1024 * found.rounds * (found.rounds - 1))
    touched(caller)
    return Reading("integrate", dict(law), resolution=Fraction(exponent / fresh), effort=f"{tapes_used} tapes on {counted(len(case.trees), 'tree')}")


def _numbered(blocks: np.ndarray, known: dict[Block, int]) -> np.ndarray:
    distinct, inverse, _ = distinct_rows(blocks)
    numbers = np.array([known.setdefault(block_of(row), len(known)) for row in distinct], dtype=np.int64)
    of_rows: np.ndarray = numbers[inverse]
    return of_rows


def bracket(case: Case) -> Reading | None:
    """The reference's law, when the subject agrees with it around every threshold and on random tapes between them; else None: integrate tells more.

    The resolution is what can hide at thresholds.  It takes a decision to be a comparison, as a verifier's is: what is done to some interval between
    thresholds only is seen as far as the random tapes go (``INSIDE``).
    """
    caller = Caller(case)
    reference, law, columns = case.subject.reference, case.reference_law, case.subject.uniform_columns(case.batch.tokens.shape[1])
    assert reference is not None and law is not None
    bits = 53 if case.subject.uniforms_dtype == "float64" else 24
    found = [branches(reference, case.target, list(case.trees)[row]) for row in range(_trees(case))]
    probability = case.probabilities
    thresholds = sum((mass * share for (_, mass), share in zip(found, probability, strict=True)), ZERO)
    for width in WIDTHS if bits == 53 else WIDTHS[1:]:
        rng = np.random.default_rng(0)
        leaves, hidden = list[tuple[int, Branch]](), ZERO
        for row, (listed, _) in enumerate(found):
            kept, narrow = wide(listed, rational(width))
            leaves += [(row, branch) for branch in kept]
            hidden += probability[row] * narrow
        probes = [(row, branch, *tapes(branch, columns, rational(width), bits, rng)) for row, branch in leaves]
        rows = np.concatenate([np.full(len(values), row) for row, _, values, _ in probes])
        values = np.concatenate([values for _, _, values, _ in probes])
        at_edge = np.concatenate([edge for _, _, _, edge in probes])
        wanted = [branch.block for _, branch, values, _ in probes for _ in values]
        got = [block_of(block) for block in _on_tapes(case, caller, rows, values)]
        differs = np.array([block != want for block, want in zip(got, wanted, strict=True)])
        if not (differs & ~at_edge).any():
            shares = [float(branch.reach * probability[row]) for row, branch in leaves]
            lifted = case.embedding is not None and (6 if case.embedding.large else 2)
            among = rng.multinomial(INSIDE >> (lifted or (0 if case.subject.batched else 2)), np.array(shares) / sum(shares))
            drawn = [inside(branch, size, columns, rational(width), bits, rng) for (_, branch), size in zip(leaves, among, strict=True)]
            between = _on_tapes(case, caller, np.repeat([row for row, _ in leaves], among), np.concatenate(drawn))
            if any(block_of(block) != leaves[leaf][1].block for block, leaf in zip(between, np.repeat(np.arange(len(leaves)), among), strict=True)):
                return None
            touched(caller)
            at = f"at a uniform of exactly 0 or 1 - 2^-{bits} it emits"
            edges = tuple(sorted({f"{at} {list(got[i])} where the reference emits {list(wanted[i])}" for i in np.flatnonzero(differs)}))
            where = f"on {counted(len(leaves), 'branch')} of {counted(len(case.trees), 'tree')}, width 2^-{width.denominator.bit_length() - 1}"
            effort = f"bracketed: {len(values)} tapes at thresholds and {len(between)} between them {where}"
            exact = {block: fraction(mass) for block, mass in law.items()}
            return Reading("bracket", exact, resolution=fraction(thresholds) * width + fraction(hidden), effort=effort, edges=edges)
    return None


def counted(number: int, what: str) -> str:
    """One branch, two branches."""
    return f"{number} {what}" if number == 1 else f"{number} {what}{'es' if what.endswith('h') else 's'}"


def touched(caller: Caller) -> None:
    """An argument overwritten without saying so is an error: engines reuse their buffers."""
    if caller.touched:
        names = ", ".join(sorted(caller.touched))
        raise SubjectError(f"overwrote its argument {names} without declaring that it does")
