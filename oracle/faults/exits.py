"""Faults of tree exit verification in batched numpy code.

What it should be: with P(v) the target probability of the path to v, draw the exit node with weights P(v) (1 - sum of p over v's children), then
the bonus token from the target's row at the exit off its children.  ``uniforms`` [B, 2]: column 1 draws the exit, column 0 the bonus token.
"""

from typing import Any, TypeAlias

import numpy as np

from .rows import arrays, inverse_cdf

Array: TypeAlias = np.ndarray
Arrays = tuple[Array, Array]
TAPE: dict[str, Any] = {
    "family": "tree_exit",
    "randomness": "uniforms",
    "uniforms_dtype": "float64",
    "columns": lambda nodes: 2,
    "layout": "draftproof",
}


def edges(tokens: Array, parents: Array, valid: Array, target: Array) -> Array:
    """p(token of v | parent of v) [B, N], 1 at the root and 0 at padding."""
    here = np.where(valid, target[np.arange(len(tokens))[:, None], parents, tokens], 0.0)
    here[:, 0] = 1.0
    return here


def reach(parents: Array, edge: Array) -> Array:
    """P(v) [B, N]: the product of the edges on the path to v."""
    probability, requests = edge.copy(), np.arange(len(edge))
    for v in range(1, edge.shape[1]):
        probability[:, v] *= probability[requests, parents[:, v]]
    return probability


def off_children(tokens: Array, parents: Array, valid: Array, target: Array) -> Array:
    """The target rows with the tokens of every node's children taken out [B, N, V]."""
    rows, requests = target.copy(), np.arange(len(tokens))
    for v in range(1, tokens.shape[1]):
        rows[requests[valid[:, v]], parents[valid[:, v], v], tokens[valid[:, v], v]] = 0.0
    return rows


def blocks(tokens: Array, parents: Array, at: Array, bonus: Array) -> Arrays:
    """The paths to the nodes ``at`` [B], then ``bonus`` [B]."""
    requests, out, accepted = np.arange(len(tokens)), np.full(tokens.shape, -1, dtype=np.int64), np.zeros(len(tokens), dtype=np.int64)
    node = at
    while (node > 0).any():
        inner = node > 0
        out[inner, 1:] = out[inner, :-1]
        out[inner, 0] = tokens[requests, node][inner]
        accepted, node = accepted + inner, np.where(inner, parents[requests, node], 0)
    out[requests, accepted] = bonus
    return out, accepted


@arrays("tree", **TAPE)
def exit_weight_is_reach(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Draws the exit with weights P(v), without the chance of leaving the tree there."""
    rows = off_children(tokens, parents, valid, target)
    weights = reach(parents, edges(tokens, parents, valid, target))  # fault: * rows.sum(2)
    at = inverse_cdf(weights, uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))


@arrays("tree", **TAPE)
def edge_of_child_row(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Reads the probability of an edge from the child's row, not from its parent's."""
    rows = off_children(tokens, parents, valid, target)
    wrong = edges(tokens, np.tile(np.arange(tokens.shape[1]), (len(tokens), 1)), valid, target)  # fault: parents
    at = inverse_cdf(reach(parents, wrong) * rows.sum(2), uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))


@arrays("tree", **TAPE)
def leaves_never_exit(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Leaves the leaves out of the exit law: the last level of target rows was not scored."""
    rows = off_children(tokens, parents, valid, target)
    weights = reach(parents, edges(tokens, parents, valid, target)) * rows.sum(2)
    inner = (parents[:, None, 1:] == np.arange(tokens.shape[1])[:, None]).any(2)
    at = inverse_cdf(weights * inner, uniforms[:, 1])  # fault: weights
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))


@arrays("tree", **TAPE)
def exit_uniform_reused(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Draws the bonus token with the uniform that drew the exit."""
    rows = off_children(tokens, parents, valid, target)
    at = inverse_cdf(reach(parents, edges(tokens, parents, valid, target)) * rows.sum(2), uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 1]))  # fault: uniforms[:, 0]


@arrays("tree", **TAPE)
def bonus_not_masked(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Draws the bonus token from the whole target row at the exit, its children included."""
    rows = off_children(tokens, parents, valid, target)
    at = inverse_cdf(reach(parents, edges(tokens, parents, valid, target)) * rows.sum(2), uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(target[np.arange(len(at)), at], uniforms[:, 0]))  # fault: rows


@arrays("tree", **TAPE)
def edges_of_draft(tokens: Array, parents: Array, valid: Array, target: Array, declared: Array, uniforms: Array) -> Arrays:
    """Weighs the nodes by the draft's probabilities, not by the target's."""
    rows, by_draft = off_children(tokens, parents, valid, target), np.take_along_axis(declared, tokens[..., None], 2)[..., 0]
    by_draft[:, 0] = 1.0
    weights = reach(parents, np.where(valid, by_draft, 0.0)) * rows.sum(2)  # fault: edges(tokens, parents, valid, target)
    at = inverse_cdf(weights, uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))


@arrays("tree", **TAPE)
def bonus_of_parent_row(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Draws the bonus token from the row before the exit, not after it."""
    rows, requests = off_children(tokens, parents, valid, target), np.arange(len(tokens))
    at = inverse_cdf(reach(parents, edges(tokens, parents, valid, target)) * rows.sum(2), uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(target[requests, parents[requests, at]], uniforms[:, 0]))  # fault: rows[requests, at]


@arrays("tree", **TAPE)
def root_never_exits(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Leaves the root out of the exit law: at least one draft is always accepted."""
    rows = off_children(tokens, parents, valid, target)
    weights = reach(parents, edges(tokens, parents, valid, target)) * rows.sum(2)
    weights[:, 0] = 0.0  # fault
    at = inverse_cdf(weights, uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))


@arrays("tree", **TAPE)
def only_last_child_masked(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    """Masks one child of a node, the last: weights and rows are off where there are more."""
    rows, requests = target.copy(), np.arange(len(tokens))
    for v in range(1, tokens.shape[1]):
        younger = (parents[:, v + 1 :] == parents[:, v, None]).any(1) & valid[:, v]
        last = valid[:, v] & ~younger  # fault: valid[:, v]
        rows[requests[last], parents[last, v], tokens[last, v]] = 0.0
    at = inverse_cdf(reach(parents, edges(tokens, parents, valid, target)) * rows.sum(2), uniforms[:, 1])
    return blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))
