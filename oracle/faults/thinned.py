"""Faults of K-SEQ, each one level: the sibling to go on from, or the bonus token.

What it should be: the siblings are k draws from one law q.  With beta the sum of min(q, p / rho), x is accepted while u rho q(x) < p(x); rho is the
least with 1 - (1 - beta)^k <= rho beta.  After the last rejection the bonus token is drawn from p - min(q, p / rho) (1 - (1 - beta)^k) / beta.
"""

import random
from collections.abc import Sequence

from .rows import Row, Sibling, by_level, pick


def kept(p: Row, q: Row, rho: float) -> Row:
    """min(q, p / rho)"""
    return [min(b, a / rho) for a, b in zip(p, q, strict=True)]


def least_rho(p: Row, q: Row, drafts: int) -> float:
    low, high = 1.0, float(drafts)
    for _ in range(60):
        middle = (low + high) / 2
        beta = sum(kept(p, q, middle))
        low, high = (low, middle) if 1 - (1 - beta) ** drafts <= middle * beta else (middle, high)
    return high


def owed(p: Row, q: Row, rho: float, drafts: int) -> Row:
    taken = kept(p, q, rho)
    gain = sum((1 - sum(taken)) ** draft for draft in range(drafts))
    return [max(a - b * gain, 0.0) for a, b in zip(p, taken, strict=True)]


def first_that_passes(p: Row, siblings: Sequence[Sibling], rho: float) -> Sibling | None:
    return next((child for child in siblings if random.random() * rho * child.declared[child.token] < p[child.token]), None)


@by_level(family="k_seq")
def target_not_thinned(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests every draft against the whole target: rho is 1."""
    if not siblings:
        return pick(p)
    q = siblings[0].declared
    return first_that_passes(p, siblings, 1.0) or pick(owed(p, q, 1.0, len(siblings)))  # fault: least_rho(...) in both


@by_level(family="k_seq")
def thinned_test_full_bonus(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Draws the bonus token from the target after all drafts were rejected."""
    if not siblings:
        return pick(p)
    rho = least_rho(p, siblings[0].declared, len(siblings))
    return first_that_passes(p, siblings, rho) or pick(p)  # fault: pick(owed(...))


@by_level(family="k_seq")
def bonus_owed_to_one_draft(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Subtracts what one draft takes from the target, though there are several."""
    if not siblings:
        return pick(p)
    q, rho = siblings[0].declared, least_rho(p, siblings[0].declared, len(siblings))
    return first_that_passes(p, siblings, rho) or pick(owed(p, q, rho, 1))  # fault: len(siblings)


@by_level(family="k_seq")
def thinned_once_too_few(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Finds rho for one draft less than there are."""
    if not siblings:
        return pick(p)
    q, rho = siblings[0].declared, least_rho(p, siblings[0].declared, len(siblings) - 1)  # fault: len(siblings)
    return first_that_passes(p, siblings, rho) or pick(owed(p, q, rho, len(siblings)))


@by_level(family="k_seq")
def thinned_as_much_as_can_be(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Divides by the number of drafts: lossless, but accepts less than the least rho does."""
    if not siblings:
        return pick(p)
    q, rho = siblings[0].declared, float(len(siblings))  # fault: least_rho(...)
    return first_that_passes(p, siblings, rho) or pick(owed(p, q, rho, len(siblings)))


@by_level(family="k_seq")
def one_uniform_for_thinned_tests(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests all drafts with the same uniform."""
    if not siblings:
        return pick(p)
    q, u = siblings[0].declared, random.random()
    rho = least_rho(p, q, len(siblings))
    passed = (child for child in siblings if u * rho * child.declared[child.token] < p[child.token])  # fault: random.random()
    return next(passed, None) or pick(owed(p, q, rho, len(siblings)))
