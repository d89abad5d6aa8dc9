"""``check_drafter``: judge a drafter by the law of its draws.

* declared law: given what was settled before, every token has the law it declares (see ``declared``);
* slots: with the uniform of one slot changed and all others kept, neither the slot's existence, place and declared law nor any earlier slot changes.
  Paired runs, for drafters that say which uniform draws which slot.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from draftproof.reference.laws import Law

from .declared import Deviation, Draw, by_level, describe, deviations, tokens
from .drafters import DraftCaller, Drafter, drafter_of
from .eprocess import Floats, log_e_values, padded
from .readings.refused import Refused
from .report import Failure, Report
from .subjects import SubjectError
from .verdicts import DEFAULT_TOLERANCE, Verdict

ROWS: Mapping[str, list[list[int]]] = {
    "draft-by-position": [[5, 3, 2], [1, 2, 4]],
    "draft-zeros": [[3, 0, 2], [0, 1, 4]],
    "draft-peaked": [[14, 1, 1], [2, 1, 13]],
}
"""Draft rows that a drafter is judged on: weights of three tokens at two positions."""

BATCH, MOST_DRAWS, FRESH, PAIRS, SWEEP = 1 << 12, 1 << 19, 1 << 21, 64, 17


def check_drafter(
    subject: "Drafter | Callable[..., Any]",
    rows: Mapping[str, list[list[int]]] | None = None,
    *,
    way: str | None = None,
    alpha: float = 1e-6,
    tolerance: float | None = None,
    seed: int = 0,
    time_limit: float = 120.0,
    observe: Callable[[str, int, int], None] | None = None,
    record: Callable[[Verdict | Failure], None] | None = None,
) -> Report:
    """Is every draft token drawn from the law it declares?

    ``rows``: name -> weights of every position, default ``ROWS``.  The other settings are those of ``check``; the strongest way of reading that
    applies is used: integrate for drafters that take uniforms, enumerate for others, else sample.
    """
    one, report = drafter_of(subject), Report(settings={"way": way, "alpha": alpha, "tolerance": tolerance, "seed": seed, "time_limit": time_limit})
    chosen = ROWS if rows is None else rows
    for done, (name, weights) in enumerate(chosen.items()):
        if observe:
            observe(f"{one.name} on {name}", done, len(chosen))
        caller = DraftCaller(one, [Law.row(row) for row in weights], len(weights[0]))
        try:
            found: Iterable[Verdict | Failure] = list(_judged(caller, name, way, alpha / len(chosen), tolerance, seed, time.monotonic() + time_limit))
        except (SubjectError, Refused) as error:
            found = [Failure(one.name, name, str(error))]
        except Exception as error:  # the subject's own code may raise anything
            found = [Failure(one.name, name, f"raised {type(error).__name__}: {error}")]
        for item in found:
            (report.errors if isinstance(item, Failure) else report.verdicts).append(item)  # type: ignore[arg-type]
            if record:
                record(item)
    return report


def _judged(
    caller: DraftCaller, name: str, way: str | None, alpha: float, tolerance: float | None, seed: int, deadline: float
) -> Iterable[Verdict]:
    subject = caller.subject
    try:
        if way == "sample":
            raise Refused("sampling was asked for")
        law, used, resolution, effort = _exact(caller, way, deadline)
        limit = Fraction(DEFAULT_TOLERANCE[used] if tolerance is None else tolerance)
        yield _from_law(subject, name, law, used, resolution, limit, effort)
    except Refused:
        if way not in (None, "sample"):
            raise
        yield _from_samples(caller, name, alpha, DEFAULT_TOLERANCE["sample"] if tolerance is None else tolerance, seed, deadline)
    if subject.layout == "draftproof":
        yield _paired(caller, name, seed)


def _exact(caller: DraftCaller, way: str | None, deadline: float) -> tuple[Mapping[Draw, Fraction], str, Fraction, str]:
    """(law of the draw, way, resolution in total variation, effort)."""
    if caller.subject.randomness == "uniforms" and way != "enumerate":
        return _integrated(caller, deadline)
    if way == "integrate":
        raise Refused(f"{caller.subject.name} does not take its uniforms as an argument, so it cannot be integrated")
    from .readings.enumerate import enumerate_law, scripted_generator

    def program() -> Draw:
        randomness: dict[str, Any] = {}
        if caller.subject.randomness == "generator":
            randomness["generator"] = scripted_generator(caller.subject.framework)
        elif caller.subject.randomness == "uniforms":
            raise Refused(f"{caller.subject.name} takes its uniforms as an argument: integrate it")
        return caller(1, randomness)[0]

    found = enumerate_law(program, deadline=deadline)
    if found.failures:
        raise SubjectError(f"{caller.subject.name} fails: {next(iter(found.failures))}")
    law: Any = found.law
    return law, "enumerate", Fraction(0), f"{found.leaves} branches, exact"


def _integrated(caller: DraftCaller, deadline: float) -> tuple[Mapping[Draw, Fraction], str, Fraction, str]:
    from .readings.integrate import integrate_law

    known: dict[Draw, int] = {}

    def outcomes(values: np.ndarray) -> np.ndarray:
        parts = [values[start : start + BATCH] for start in range(0, len(values), BATCH)]
        return np.concatenate([_numbered(caller, caller.arrays(len(part), {"uniforms": caller.uniforms(part)}), known) for part in parts])

    columns = caller.subject.columns
    found = integrate_law(outcomes, columns, order=[*range(1, columns), 0], fresh=FRESH, deadline=deadline)
    names = list(known)
    law = {names[number]: Fraction(mass) for number, mass in found.law.items()}
    return law, "integrate", Fraction(found.certified), f"{found.tapes} tapes"


def _numbered(caller: DraftCaller, arrays: tuple[np.ndarray, ...], known: dict[Draw, int]) -> np.ndarray:
    """The number of each row's draw; equal rows are turned into a draw once."""
    flat = np.concatenate([part.reshape(len(part), -1).astype(np.float64) for part in arrays], axis=1)
    _, first, inverse = np.unique(flat.view(f"V{flat.shape[1] * 8}").ravel(), return_index=True, return_inverse=True)
    numbers = [known.setdefault(draw, len(known)) for draw in caller.draws(tuple(part[first] for part in arrays))]
    return np.array(numbers, dtype=np.int64)[inverse]


def _from_law(
    subject: Drafter, name: str, law: Mapping[Draw, Fraction], way: str, resolution: Fraction, limit: Fraction, effort: str
) -> Verdict:
    found = deviations(law, looked_at=subject.verifier is not None)
    worst = found[0].total_variation if found else Fraction(0)
    slack = 2 * resolution  # joint and marginal law of a slot are each off by the resolution at most
    if worst - slack > limit:
        return _verdict(subject, name, "nonconform", way, worst, limit, describe(found[0]), effort, found[0])
    held = f"total variation {float(worst):.3g}" + (f", known to {float(slack):.3g}" if slack else "")
    if worst + slack > limit:
        return _verdict(subject, name, "inconclusive", way, worst, limit, f"{held}, is not separated from {float(limit):.3g}", effort)
    return _verdict(subject, name, "conform", way, worst, limit, f"every token has its declared law: {held} at every slot", effort)


def _verdict(
    subject: Drafter, name: str, outcome: str, way: str, number: Any, limit: Any, message: str, effort: str, found: Deviation | None = None
) -> Verdict:
    details = {} if found is None else {"place": list(found.place), "total_variation": str(found.total_variation)}
    return Verdict(subject.name, name, "declared law", outcome, way, float(number), float(limit), message, effort, details=details)


def _from_samples(caller: DraftCaller, name: str, alpha: float, limit: float, seed: int, deadline: float) -> Verdict:
    """Half of alpha for rejecting, half for the bound on the total variation."""
    subject, counts, total = caller.subject, Counter[Draw](), 0
    looked_at, random = subject.verifier is not None, _Randomness(caller, seed)
    capital = 0.0
    while total < MOST_DRAWS and time.monotonic() < deadline:
        counts.update(caller(BATCH, random(BATCH)))
        total += BATCH
        if (total // BATCH).bit_count() == 1:  # look when the number of batches is a power of two
            capital = log_capital(counts, looked_at)
            if capital >= log(2 / alpha):
                break
    law = {draw: Fraction(count, total) for draw, count in counts.items()}
    found = deviations(law, looked_at)
    effort = f"{total} draws, e-value 10^{capital / log(10):.1f}"
    if capital >= log(2 / alpha):
        worst = found[0]
        return _verdict(subject, name, "nonconform", "sample", worst.total_variation, limit, f"{describe(worst)} (estimates)", effort, worst)
    bound = _upper_bound(law, total, caller.vocabulary, looked_at, alpha / 2)
    outcome = "conform" if bound <= limit else "inconclusive"
    return _verdict(subject, name, outcome, "sample", bound, limit, f"total variation at most {bound:.3g} at every slot, with confidence", effort)


def log_capital(counts: Mapping[Draw, int], looked_at: bool = False) -> float:
    """Log of the test martingale for "every token has its declared law": bets on each token at odds 1 / declared, given what was settled.

    The tokens of one draw are bet on one after the other, so their factors multiply.  Both orders of drawing must be refuted: the smaller capital.
    """
    return min(_capital(counts, reorder, looked_at) for reorder in (lambda draw: draw, by_level))


def _capital(counts: Mapping[Draw, int], reorder: Callable[[Draw], Draw], looked_at: bool) -> float:
    seen: defaultdict[Any, Counter[int]] = defaultdict(Counter)
    for draw, count in counts.items():
        for settled, token in tokens(reorder(draw), looked_at):
            seen[settled][token] += count
    rows: list[Floats] = []
    laws: list[Floats] = []
    for settled, tally in seen.items():
        support = sorted({*settled.declared, *tally})
        rows.append(np.array([tally[token] for token in support], dtype=float))
        law = np.array([float(settled.declared[token]) for token in support])
        laws.append(law / law.sum())
    return float(log_e_values(padded(rows), padded(laws)).sum()) if rows else 0.0


def _upper_bound(law: Mapping[Draw, Fraction], total: int, vocabulary: int, looked_at: bool, delta: float) -> float:
    """Bound on every slot's deviation: for n_h draws with history h, Pr(TV > TV_n + sqrt((V ln 2 + ln(1/d)) / (2 n_h))) <= d (a union over sets).

    Summed over the H histories of a slot with weights n_h / n the radii are at most sqrt(H (V ln 2 + ln(H / delta)) / (2 n)).
    """
    histories: defaultdict[Any, set[Any]] = defaultdict(set)
    for draw in law:
        for settled, _ in tokens(draw, looked_at):
            histories[settled.place].add(settled)
    slots = max(len(histories), 1)
    worst = 0.0
    for deviation in deviations(law, looked_at):
        several = len(histories[deviation.place])
        radius = sqrt(several * (vocabulary * log(2) + log(several * slots / delta)) / (2 * total))
        worst = max(worst, float(deviation.total_variation) + radius)
    return min(worst, 1.0)


class _Randomness:
    """Fresh randomness for a batch, in the form the drafter takes."""

    def __init__(self, caller: DraftCaller, seed: int):
        self.caller, self.rng = caller, np.random.default_rng(seed)
        self.generator: Any = self.rng if caller.subject.randomness == "generator" else None
        if self.generator is not None and caller.subject.framework == "torch":
            import torch

            self.generator = torch.Generator(device=caller.subject.device).manual_seed(seed)

    def __call__(self, size: int) -> dict[str, Any]:
        if self.caller.subject.randomness == "uniforms":
            return {"uniforms": self.caller.uniforms(self.rng.random((size, self.caller.subject.columns)))}
        return {} if self.generator is None else {"generator": self.generator}


def _paired(caller: DraftCaller, name: str, seed: int) -> Verdict:
    """Sweep the uniform of every slot with all others kept, on ``PAIRS`` random tapes."""
    subject, columns = caller.subject, caller.subject.columns
    rng, runs = np.random.default_rng([seed, 2]), 0
    for node in range(1, columns):
        tapes = np.repeat(rng.random((PAIRS, columns)), SWEEP, axis=0)
        tapes[:, node] = np.tile((np.arange(SWEEP) + 0.5) / SWEEP, PAIRS)
        tokens, *rest = caller.arrays(len(tapes), {"uniforms": caller.uniforms(tapes)})
        runs += len(tapes)
        if node >= tokens.shape[1]:
            break
        settled = [("a token drawn before it", tokens[:, :node])]
        settled += [(what, part[:, : node + 1]) for what, part in zip(("its place", "its existence", "its declared law"), rest, strict=True)]
        for what, part in settled:
            groups = part.reshape(PAIRS, SWEEP, *part.shape[1:])
            if (groups != groups[:, :1]).any():
                message = f"{what} depends on the token of slot {node}: it changes when only the uniform of that slot does"
                return Verdict(subject.name, name, "slots", "nonconform", "integrate", 1.0, 0.0, message, f"{runs} paired runs")
    message = "no slot's existence, place or declared law depends on its own token"
    return Verdict(subject.name, name, "slots", "conform", "integrate", 0.0, 0.0, message, f"{ceil(runs / SWEEP)} tapes, {runs} paired runs")
