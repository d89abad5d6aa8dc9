"""Faults in sampling parameters (temperature, top-k, top-p) and in ties, on a chain: a processor on one side or at one position only.

What they should be: token-level verification of ``chains`` with every row, target's and draft's, processed alike.
"""

import random

from .rows import Row, excess, on_chain, pick, softmax


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


@on_chain(family="recursive_rejection", rows="logits", temperature=0.5)
def temperature_on_target_only(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Applies the temperature to the target, and takes the draft's law at temperature 1."""
    for i, x in enumerate(drafts):
        p, q = softmax(target[i], 0.5), softmax(declared[i], 1.0)  # fault: softmax(declared[i], 0.5)
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(softmax(target[-1], 0.5))]


@on_chain(family="recursive_rejection", rows="logits", temperature=0.5)
def temperature_missing_at_bonus(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Draws the token after the last draft at temperature 1."""
    for i, x in enumerate(drafts):
        p, q = softmax(target[i], 0.5), softmax(declared[i], 0.5)
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(softmax(target[-1], 1.0))]  # fault: softmax(target[-1], 0.5)


@on_chain(family="recursive_rejection", rows="logits", temperature=0.5)
def temperature_applied_twice(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Divides the target's logits by the temperature twice."""
    for i, x in enumerate(drafts):
        p, q = softmax(target[i], 0.25), softmax(declared[i], 0.5)  # fault: softmax(target[i], 0.5)
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(softmax(target[-1], 0.25))]


@on_chain(family="recursive_rejection", top_p=0.7)
def top_p_on_target_only(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Applies top-p to the target, and takes the draft's law before truncation."""
    for i, x in enumerate(drafts):
        p, q = _nucleus(target[i], 0.7), declared[i]  # fault: _nucleus(declared[i], 0.7)
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(_nucleus(target[-1], 0.7))]


@on_chain(family="recursive_rejection", top_p=0.7)
def top_p_not_renormalised(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Cuts the tail of the target, and tests against what is left without dividing by its sum."""
    for i, x in enumerate(drafts):
        p, q = _nucleus(target[i], 0.7), _nucleus(declared[i], 0.7)
        cut = [weight if keep else 0.0 for weight, keep in zip(target[i], p, strict=True)]
        if random.random() * q[x] >= cut[x]:  # fault: p[x]
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(_nucleus(target[-1], 0.7))]


@on_chain(family="recursive_rejection", top_k=2)
def top_k_keeps_ties(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Keeps every token as probable as the second: more than k where there are ties."""
    for i, x in enumerate(drafts):
        p, q = _as_probable(target[i]), _as_probable(declared[i])  # fault: _top_two(...) in both
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts, pick(_as_probable(target[-1]))]


@on_chain(family="recursive_rejection", rows="logits", top_k=1)
def greedy_by_low_temperature(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes a temperature of 1e-6 for the argmax: tied tokens share the mass."""
    for i, x in enumerate(drafts):
        if (drawn := pick(softmax(target[i], 1e-6))) != x:  # fault: the smallest of the most probable tokens
            return [*drafts[:i], drawn]
    return [*drafts, pick(softmax(target[-1], 1e-6))]


@on_chain(family="recursive_rejection", top_k=1)
def last_of_tied_tokens(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Takes the largest of the most probable tokens where everyone else takes the smallest."""
    best = [max(range(len(p)), key=lambda token: (p[token], token)) for p in target]  # fault: (p[token], -token)
    for i, x in enumerate(drafts):
        if x != best[i]:
            return [*drafts[:i], best[i]]
    return [*drafts, best[-1]]


def _nucleus(row: Row, mass: float) -> Row:
    """The smallest set of most probable tokens of total at least ``mass``, normalised."""
    keep, total = list[int](), 0.0
    for token in sorted(range(len(row)), key=lambda token: (-row[token], token)):
        if total >= mass:
            break
        keep, total = [*keep, token], total + row[token]
    return [weight / total if token in keep else 0.0 for token, weight in enumerate(row)]


def _as_probable(row: Row) -> Row:
    second = sorted(row)[-2]
    total = sum(weight for weight in row if weight >= second)
    return [weight / total if weight >= second else 0.0 for weight in row]
