"""How much it takes to see a fault: the blocks that any test needs, those that the e-process takes, and those that a chi-square test takes.

All three are computed from the exact law of a block.  By the growth identity (``reference.growth``), after prefix s, given that the block goes
on, a lossless subject emits p(.|s); the faulty one emits m(.|s), and gets there with probability n(s).
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, inf, log

import numpy as np

from draftproof.reference.growth import extensions
from draftproof.reference.models import Model
from draftproof.reference.rational import rational

from .cases import Block
from .eprocess import log_e_values, padded

RUNS, GROWTH = 15, 1.04
MOST_STEPS = 400


def information(law: Mapping[Block, Fraction], target: Model) -> float:
    """Nats a block: sum over prefixes s of n(s) KL(m(.|s) || p(.|s)); infinite where the target excludes what is emitted."""
    total = 0.0
    for prefix, tokens in extensions({block: rational(mass) for block, mass in law.items()}).items():
        row, reached = target(prefix), float(sum(tokens.values()))
        for token, mass in tokens.items():
            if mass and not row[token]:
                return inf
            if mass:
                total += float(mass) * log(float(mass) / reached / float(row[token]))
    return total


def floor(law: Mapping[Block, Fraction], target: Model, alpha: float) -> float | None:
    """Blocks that Wald's sequential test needs on average when it knows the faulty law: ln(1/alpha) / information.  None without information."""
    nats = information(law, target)
    return None if nats < 1e-12 or nats == inf else log(1 / alpha) / nats


def blocks_needed(law: Mapping[Block, Fraction], target: Model, alpha: float, seed: int = 0) -> float | None:
    """Median number of blocks, over ``RUNS`` simulated streams, after which the e-process rejects at ``alpha``; to 4 %.

    None where no number of blocks shows the fault, or the first impossible token does.
    """
    least = floor(law, target, alpha)
    if least is None:
        return None
    blocks = list(law)
    chances = np.array([float(law[block]) for block in blocks])
    cells: dict[Block, int] = {}
    for block in blocks:
        for depth in range(len(block)):
            cells.setdefault(block[:depth], len(cells))
    vocabulary = 1 + max(max(block) for block in blocks)
    moves = np.zeros((len(blocks), len(cells), vocabulary))  # what one block adds to the counts
    for number, block in enumerate(blocks):
        for depth, token in enumerate(block):
            moves[number, cells[block[:depth]], token] = 1
    laws = padded([np.array([float(target(prefix)[token]) for token in range(_size(target, prefix, vocabulary))]) for prefix in cells])
    moves = np.pad(moves, ((0, 0), (0, 0), (0, laws.shape[1] - vocabulary)))
    rng, counts = np.random.default_rng(seed), np.zeros((RUNS, len(blocks)))
    taken, found = 0, np.full(RUNS, inf)
    for _ in range(MOST_STEPS):
        more = max(1, ceil(least / 8) if not taken else ceil(taken * (GROWTH - 1)))
        counts += rng.multinomial(more, chances / chances.sum(), size=RUNS)
        taken += more
        seen = np.tensordot(counts, moves, 1)  # [RUNS, prefixes, tokens]
        capital = log_e_values(seen.reshape(-1, seen.shape[2]), np.tile(laws, (RUNS, 1))).reshape(RUNS, -1).sum(1)
        found = np.where(capital >= -log(alpha), np.minimum(found, taken), found)
        if np.isfinite(found).sum() * 2 > RUNS:
            return float(np.median(found))
    return None


def _size(target: Model, prefix: Block, least: int) -> int:
    """Tokens in a row of the target: one more than the last with mass."""
    return max(least, 1 + max(token for token, _ in target(prefix).items()))


def implied(distance: Fraction, cells: int, alpha: float = 1e-6, power: float = 0.99) -> int:
    """Blocks at which a chi-square test over ``cells`` cells sees a total variation of ``distance``: lambda / (4 distance^2).

    lambda is the noncentrality with which it rejects at level ``alpha`` with probability ``power``: 4 n distance^2 is its least.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    degrees = max(cells - 1, 1)
    threshold = chi2.isf(alpha, degrees)
    wanted: float = brentq(lambda noncentrality: ncx2.sf(threshold, degrees, noncentrality) - power, 1.0, 1e4)
    return ceil(wanted / (4 * float(distance) ** 2))
