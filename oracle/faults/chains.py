"""Faults of token-level verification on a chain, each a whole verifier.

What they should be: accept draft x while u q(x) < p(x); at the first rejection draw from (p - q)_+ at that position, after the last draft from
the target's own row there.
"""

import random

from .rows import Row, excess, on_chain, one_hot, pick


@on_chain(family="recursive_rejection")
def residual_is_target(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws from the target after a rejection, not from the residual."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(p)]  # fault: pick(excess(p, q))
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def residual_off_draft_only(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Subtracts the draft's law at the drafted token only."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            only_here = [q[x] if token == x else 0.0 for token in range(len(q))]
            return [*drafts[:i], pick(excess(p, only_here))]  # fault: excess(p, q)
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def residual_of_first_row(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes the residual from the first position, wherever the rejection is."""
    for i, x in enumerate(drafts):
        if random.random() * declared[i][x] >= target[i][x]:
            return [*drafts[:i], pick(excess(target[0], declared[0]))]  # fault: row i
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def bonus_of_last_draft_row(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws the token after the last draft from the row before it."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-2])]  # fault: target[-1]


@on_chain(family="recursive_rejection")
def always_accepts(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Compares the ratio with zero where it should draw a uniform."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if 0.0 * q[x] >= p[x]:  # fault: random.random() * q[x]
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def ratio_inverted(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts with probability q / p, not p / q."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * p[x] >= q[x]:  # fault: random.random() * q[x] >= p[x]
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def second_chance(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts a draft that passes its test or equals a draw from the target."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x] and pick(p) != x:  # fault: one chance is all it has
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def zeroed_before_test(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes the draft off the target row in place, before it is tested (deterministic drafts)."""
    for i, x in enumerate(drafts):
        p = target[i]
        p[x] = 0.0  # fault: after the test
        if random.random() >= p[x]:
            return [*drafts[:i], pick(p)]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def drafts_compared_with_argmax(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Verifies against the most probable token although the target samples."""
    for i, x in enumerate(drafts):
        p = target[i]
        best = max(range(len(p)), key=p.__getitem__)  # fault: a draw from p
        if x != best:
            return [*drafts[:i], best]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection", top_k=2)
def draft_not_truncated(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Applies top-k to the target only: its ratio and residual use the draft's law before truncation."""
    for i, x in enumerate(drafts):
        p, q = _top_two(target[i]), declared[i]  # fault: _top_two(declared[i])
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(_top_two(target[-1]))]


@on_chain(family="recursive_rejection", top_k=2)
def only_bonus_truncated(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Applies top-k to the bonus token only: verified positions use the target before truncation."""
    for i, x in enumerate(drafts):
        p, q = target[i], _top_two(declared[i])  # fault: _top_two(target[i])
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(_top_two(target[-1]))]


def _top_two(row: Row) -> Row:
    keep = sorted(range(len(row)), key=lambda token: (-row[token], token))[:2]
    total = sum(row[token] for token in keep)
    return [weight / total if token in keep else 0.0 for token, weight in enumerate(row)]


@on_chain()
def unlikely_drafts_cut(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Cuts the chain before a draft to which the target gives less than a quarter."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if p[x] < 0.25:  # fault: a cut must not depend on the token it cuts
            return [*drafts[:i], pick(p)]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def draft_law_missing(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Treats sampled drafts as deterministic ones: lossless, but accepts p(x) where it should accept min(1, p(x) / q(x))."""
    for i, x in enumerate(drafts):
        p, q = target[i], one_hot(x, len(target[i]))  # fault: q is declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def stops_at_once(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Ignores the drafts: lossless, and never accepts anything."""
    return [pick(target[0])]
