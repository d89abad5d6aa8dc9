"""Faults of recursive rejection on draft trees, each one level: the sibling to go on from, or the bonus token.

What they should be: test the siblings in draw order, x drawn from r against what its elders left of the target, f: accept while u r(x) < f(x),
else f becomes (f - r)_+ normalised; after the last sibling draw from f.
"""

import random
from collections.abc import Sequence

import numpy as np

from .rows import Row, Sibling, arrays, by_level, excess, normalised, on_tree, pick

Array = np.ndarray


@by_level(family="recursive_rejection")
def sound(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """The rule without a fault."""
    f = p
    for child in siblings:
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


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


@by_level(family="recursive_rejection")
def one_uniform_for_siblings(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests all siblings with the same uniform."""
    f, u = p, random.random()
    for child in siblings:
        if u * child.declared[child.token] < f[child.token]:  # fault: random.random()
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def rejected_token_zeroed(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Takes a rejected token off the residual, as if it had not been sampled, and leaves the rest of its law in."""
    f = p
    for child in siblings:
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised([0.0 if token == child.token else weight for token, weight in enumerate(f)])  # fault: excess(f, child.declared)
    return pick(f)


@by_level(family="recursive_rejection")
def duplicates_passed_over(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Passes over a sibling whose token was tested already, although it was drawn independently."""
    f, tested = p, set[int]()
    for child in siblings:
        if child.token in tested:  # fault: a second draw of the same token is a draw like any other
            continue
        tested.add(child.token)
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@by_level(family="recursive_rejection")
def youngest_that_passes(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests all siblings and goes on from the last one that passed."""
    f, found = p, None
    for child in siblings:
        if random.random() * child.declared[child.token] < f[child.token]:
            found = child  # fault: return child
        f = normalised(excess(f, child.declared))
    return pick(f) if found is None else found


@by_level(family="recursive_rejection")
def only_eldest_tested(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Never looks past the eldest sibling: lossless, but accepts less than the rule it claims to be."""
    for child in siblings[:1]:  # fault: siblings
        if random.random() * child.declared[child.token] < p[child.token]:
            return child
        p = normalised(excess(p, child.declared))
    return pick(p)


@by_level()
def unlikely_siblings_pruned(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Drops siblings to which the target gives less than a quarter, before testing."""
    f = p
    for child in siblings:
        if p[child.token] < 0.25:  # fault: pruning must not depend on the token it prunes
            continue
        if random.random() * child.declared[child.token] < f[child.token]:
            return child
        f = normalised(excess(f, child.declared))
    return pick(f)


@on_tree(family="recursive_rejection")
def row_of_root_below(root: Sibling) -> list[int]:
    """Verifies every level against the root's target row."""
    node, block = root, list[int]()
    while True:
        f = root.target  # fault: node.target
        for child in node.children:
            if random.random() * child.declared[child.token] < f[child.token]:
                node, block = child, [*block, child.token]
                break
            f = normalised(excess(f, child.declared))
        else:
            return [*block, pick(f)]


@arrays("tree", family="recursive_rejection")
def padding_is_child_of_root(tokens: Array, parents: Array, valid: Array, target: Array, declared: Array) -> tuple[Array, Array]:
    """Takes the padding of a ragged tree for children of the root."""
    blocks, accepted = sound.call(tokens, np.where(valid, parents, 0), np.ones_like(valid), target, declared)  # fault: parents, valid
    return blocks, accepted
