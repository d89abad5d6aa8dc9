"""Faults of recursive rejection on draft trees, each one level: the sibling to go on from, or the bonus token.

What they should be: test the siblings in draw order, x drawn from r against what its elders left of the target, f: accept while u r(x) < f(x),
else f becomes (f - r)_+ normalised; after the last sibling draw from f.
"""

import random
from collections.abc import Sequence

from .rows import Row, Sibling, by_level, excess, normalised, on_tree, pick


@by_level(family="recursive_rejection")
def residual_not_updated(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests every sibling against the target, not against what its elders left of it."""
    f = p
    for child in siblings:
        if random.random() * child.declared[child.token] < p[child.token]:  # fault: f[child.token]
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def residual_not_normalised(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests the next sibling against a residual that does not sum to one."""
    f = p
    for child in siblings:
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = excess(f, child.declared)  # fault: normalised(...)
    return pick(f)


@by_level(family="recursive_rejection")
def bonus_is_target(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Draws the bonus token from the target after all siblings were rejected."""
    f = p
    for child in siblings:
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(p)  # fault: pick(f)


@by_level(family="recursive_rejection")
def draft_not_conditioned(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Uses the eldest sibling's law for all, although later ones were drawn off their elders."""
    f = p
    for child in siblings:
        r = siblings[0].declared  # fault: child.declared
        if random.random() * r[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, r))
    return pick(f)


@by_level(family="recursive_rejection")
def siblings_sorted(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests the siblings by token id, not in the order in which they were drawn."""
    f = p
    for child in sorted(siblings, key=lambda child: child.token):  # fault: siblings
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def siblings_reversed(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests the youngest sibling first."""
    f = p
    for child in reversed(siblings):  # fault: siblings
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def token_zero_is_padding(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Takes token 0 for padding and passes it over."""
    f = p
    for child in siblings:
        if child.token == 0:  # fault: 0 is a token like any other
            continue
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def tested_once_per_leaf(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Walks leaf paths, so that a sibling with two leaves below is tested twice."""
    f = p
    for child in siblings:
        if any(random.random() * child.declared[child.token] < f[child.token] for _ in range(child.leaves)):  # fault: one test
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def uniform_law_for_fixed_drafts(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests deterministic children as if they had been drawn uniformly from among themselves."""
    f, tokens = p, [child.token for child in siblings]
    for child in siblings:
        r = [1 / len(tokens) if token in tokens else 0.0 for token in range(len(p))]  # fault: one_hot(child.token, len(p))
        if random.random() * r[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, r))
    return pick(f)


@by_level(family="recursive_rejection")
def first_residual_kept_for_bonus(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Draws the bonus token from the residual of the first rejection, not of the last."""
    f, first = p, p
    for child in siblings:
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
        first = f if first is p else first
    return pick(first)  # fault: pick(f)


@on_tree(family="recursive_rejection")
def bonus_of_stale_residual(root: Sibling) -> list[int]:
    """After accepting a leaf draws the bonus token from what its rejected elder left, where there was one."""
    node, block, f = root, list[int](), root.target
    while node.children:
        f = node.target
        for child in node.children:
            if random.random() * child.declared[child.token] < f[child.token]:
                break
            f = normalised(excess(f, child.declared))
        else:
            return [*block, pick(f)]
        if f is node.target:  # fault: whether or not an elder was rejected
            f = child.target
        node, block = child, [*block, child.token]
    return [*block, pick(f)]
