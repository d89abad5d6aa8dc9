"""What a sample of draws says about declared laws: a test martingale against them, and a bound on how far off they can be."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import log, sqrt

import numpy as np

from .declared import Draw, Place, Settled, by_level, deviations, tokens
from .eprocess import Floats, log_e_values, padded


def log_capital(counts: Mapping[Draw, int], looked_at: bool = False) -> float:
    """Log of the test martingale for "every token has its declared law": bets on each token at odds 1 / declared, given what was settled.

    The tokens of one draw are bet on one after the other, so their factors multiply.  Drawn in the order listed or depth by depth: the smaller of
    the two capitals, so that both must be refuted.
    """
    return min(_capital(counts, reorder, looked_at) for reorder in (lambda draw: draw, by_level))


def _capital(counts: Mapping[Draw, int], reorder: Callable[[Draw], Draw], looked_at: bool) -> float:
    seen: defaultdict[Settled, Counter[int]] = defaultdict(Counter)
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


def upper_bound(law: Mapping[Draw, Fraction], total: int, vocabulary: int, looked_at: bool, delta: float) -> float:
    """Bound on the deviation of every slot from ``total`` draws with frequencies ``law``, valid with probability 1 - delta at this one look.

    For n_h draws with history h: Pr(TV > TV_n + sqrt((V ln 2 + ln(1/d)) / (2 n_h))) <= d, a union of Hoeffding's bound over sets of tokens.  Over
    the H histories of a slot, weighted by n_h / n, the radii add up to at most sqrt(H (V ln 2 + ln(1/d)) / (2 n)).
    """
    histories: defaultdict[Place, set[Settled]] = defaultdict(set)
    for draw in law:
        for settled, _ in tokens(draw, looked_at):
            histories[settled.place].add(settled)
    worst = 0.0
    for deviation in deviations(law, looked_at):
        several = len(histories[deviation.place])
        radius = sqrt(several * (vocabulary * log(2) + log(several * len(histories) / delta)) / (2 * total))
        worst = max(worst, float(deviation.total_variation) + radius)
    return min(worst, 1.0)
