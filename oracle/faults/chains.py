"""Faults of token-level verification on a chain, each a whole verifier.

What they should be: accept draft x while u q(x) < p(x); at the first rejection draw from (p - q)_+ at that position, after the last draft from
the target's own row there.
"""

import math
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


@on_chain(family="recursive_rejection")
def residual_sign_flipped(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws from (q - p)_+ after a rejection."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(q, p))]  # fault: excess(p, q)
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def residual_is_draft(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws from the draft's law again after a rejection."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(q)]  # fault: pick(excess(p, q))
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def residual_is_distance(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes the absolute difference where the positive part is due."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick([abs(a - b) for a, b in zip(p, q, strict=True)])]  # fault: excess(p, q)
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def ratio_inflated(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts with 1.17 times the ratio, as when the draft's law lacks its normaliser."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= 1.17 * p[x]:  # fault: p[x]
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def ratio_capped(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Never accepts with more than 0.95, and does not tell the residual."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() >= min(0.95, p[x] / q[x]):  # fault: min(1, ...)
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def ratio_rooted(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Halves the log of the ratio: a temperature on the test alone."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() >= math.sqrt(p[x] / q[x]):  # fault: no root
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def tested_against_next_row(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Tests draft i against the target row after it: the rows are off by one."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= target[i + 1][x]:  # fault: p[x]
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def declared_of_position_before(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes the draft's law of the position before: the rows were written one slot late."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[max(i - 1, 0)]  # fault: declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def bonus_of_first_row(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws the token after the last draft from the first row."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[0])]  # fault: target[-1]


@on_chain(family="recursive_rejection")
def bonus_is_argmax(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes the most probable token after the last draft although the target samples."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, max(range(len(target[-1])), key=target[-1].__getitem__)]  # fault: pick(target[-1])


@on_chain(family="recursive_rejection")
def bonus_of_draft(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws the token after the last draft from the draft's last law."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(declared[-1])]  # fault: pick(target[-1])


@on_chain(family="recursive_rejection")
def bonus_off_draft(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Subtracts the last draft's law from the row after it, as if that draft had been rejected."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(excess(target[-1], declared[-1]))]  # fault: pick(target[-1])


@on_chain(family="traversal")
def token_rule_called_block(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Calls itself block verification and stops at the first rejection: lossless, but shorter than it says."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:  # fault: a later position may still pass
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def uniform_law_for_argmax_draft(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Tests deterministic drafts as if they had been drawn uniformly from the vocabulary."""
    for i, x in enumerate(drafts):
        p, q = target[i], [1 / len(target[i])] * len(target[i])  # fault: one_hot(x, len(target[i]))
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain()
def unsure_drafts_cut(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Cuts the chain before a draft to which its own draft model gives less than 0.4."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if q[x] < 0.4:  # fault: a cut must not depend on the token it cuts
            return [*drafts[:i], pick(p)]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain()
def stopped_after_token(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Throws away an accepted token 0 and ends the block with a new draw instead."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
        if x == 0:  # fault: an accepted token may end the block, but not be drawn again
            return [*drafts[:i], pick(p)]
    return [*drafts, pick(target[-1])]


@on_chain()
def accepted_above_threshold(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts every draft of target probability 0.2 or more at once: a lossy option left on."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if p[x] < 0.2 and random.random() * q[x] >= p[x]:  # fault: the first condition
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]


@on_chain()
def acceptance_relaxed(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts when the target's own draw equals the draft or a coin of 0.3 falls its way: a lossy option left on."""
    for i, x in enumerate(drafts):
        drawn = pick(target[i])
        if drawn != x and random.random() < 0.7:  # fault: drawn != x alone
            return [*drafts[:i], drawn]
    return [*drafts, pick(target[-1])]


@on_chain()
def close_enough_accepted(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts a draft whose target probability is within a factor of two of the best: a lossy option left on."""
    for i, x in enumerate(drafts):
        if 2 * target[i][x] < max(target[i]):
            return [*drafts[:i], pick(target[i])]
    return [*drafts, pick(target[-1])]


@on_chain(family="recursive_rejection")
def accepts_at_equality(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts while u q(x) <= p(x): at u = 0 also what the target excludes, with the probability of that one number."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if random.random() * q[x] > p[x]:  # fault, judged strictly: >=
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(target[-1])]
