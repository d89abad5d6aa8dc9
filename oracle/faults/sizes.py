"""Verifiers that are right on small instances and wrong at real sizes: tiles, index types, masks of 32 bits, strides, number formats, buffers.

``SIZE_FAULTS`` says which lift shows each of them, and on which instance.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..subjects import Subject
from .batches import TAKES_UNIFORMS, along_chain, verified
from .rows import arrays, emitted, inverse_cdf
from .tapes import owed, passed

Arrays = tuple[np.ndarray, np.ndarray]
Tensor: TypeAlias = Any
Rule = Callable[..., Arrays]


@arrays("chain", **TAKES_UNIFORMS)
def full_tiles_only(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Looks at whole tiles of 1,024 tokens, and drops the rest of the row once there is one."""
    seen = target.shape[2] // 1024 * 1024 or target.shape[2]  # fault: target.shape[2]
    return verified(drafts, declared, np.where(np.arange(target.shape[2]) < seen, target, 0.0), uniforms)


@arrays("chain", **TAKES_UNIFORMS)
def tile_of_32_threads(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Gives each of 32 threads one token, and forgets those after."""
    return verified(drafts, declared, np.where(np.arange(target.shape[2]) < 32, target, 0.0), uniforms)  # fault: target


@arrays("chain", **TAKES_UNIFORMS)
def ids_of_16_bits(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Keeps token ids in 16 bits."""
    blocks, accepted = verified(drafts, declared, target, uniforms)
    return np.where(blocks >= 0, blocks & 0xFFFF, -1), accepted  # fault: blocks


@arrays("chain", **TAKES_UNIFORMS)
def residual_of_candidates(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Draws from the 1,024 most probable tokens only, as if the others had no mass."""
    laws = np.eye(target.shape[2])[drafts] if declared is None else declared
    accepted = passed(drafts, laws, target, uniforms[:, 1:])
    left = owed(laws, target, accepted)
    if left.shape[1] > 1024:  # fault: never
        least = np.argpartition(-left, 1024, 1)[:, 1024:]
        np.put_along_axis(left, least, 0.0, 1)
    return emitted(drafts, accepted, inverse_cdf(left, uniforms[:, 0]))


@arrays("chain", **TAKES_UNIFORMS)
def sixteen_drafts_at_most(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Verifies 16 drafts and leaves out the others: lossless, and shorter than it should be."""
    few = min(drafts.shape[1], 16)  # fault: drafts.shape[1]
    blocks, accepted = verified(drafts[:, :few], None if declared is None else declared[:, :few], target[:, : few + 1], uniforms[:, : few + 1])
    return np.pad(blocks, ((0, 0), (0, drafts.shape[1] - few)), constant_values=-1), accepted


@arrays("chain", **TAKES_UNIFORMS)
def unlikely_is_impossible(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Takes a probability below 0.15 for 0 in target rows, whatever processors came before."""
    return verified(drafts, declared, np.where(target < 0.15, 0.0, target), uniforms)  # fault: target


@arrays("chain", **TAKES_UNIFORMS)
def floor_under_residual(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Adds a thousandth to what a truncated row has no mass for."""
    return verified(drafts, declared, np.where(target == 0, 1e-3, target), uniforms)  # fault: target


@arrays("tree", **TAKES_UNIFORMS)
def bonus_row_at_the_end(
    tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray, declared: np.ndarray, uniforms: np.ndarray
) -> Arrays:
    """Takes the bonus row from the last column, which is a padded node's where there is padding."""
    lengths, rows = valid.sum(1) - 1, target.copy()
    rows[np.arange(len(rows)), lengths] = target[:, -1]  # fault: nothing
    return along_chain(tokens, declared, rows, uniforms, lengths)


@arrays("tree", **{**TAKES_UNIFORMS, "family": "predraw_follow"})
def mask_of_32_nodes(
    tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray, declared: np.ndarray, uniforms: np.ndarray
) -> Arrays:
    """Follows the target's draws through children that it keeps in 32 bits."""
    rows, places = np.arange(len(tokens)), np.arange(tokens.shape[1])
    node = accepted = np.zeros(len(tokens), np.int64)
    blocks = np.full(tokens.shape, -1)
    walking = node == 0
    while walking.any():
        token = inverse_cdf(target[rows, node], uniforms[rows, node])
        blocks[rows[walking], accepted[walking]] = token[walking]
        children = valid & (parents == node[:, None]) & (tokens == token[:, None]) & (places > 0)
        children &= places < 32  # fault: nothing
        walking = walking & children.any(1)
        node, accepted = np.where(walking, children.argmax(1), node), accepted + walking
    return blocks, accepted


@arrays("chain", **{**TAKES_UNIFORMS, "rows": "logits"})
def exponential_of_logits(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Takes the exponential of logits as they come, kept from overflowing by a clamp at 60."""

    def law(rows: np.ndarray) -> np.ndarray:
        weights = np.where(np.isfinite(rows), np.exp(np.clip(rows, -60.0, 60.0)), 0.0)  # fault: np.exp(rows - rows.max(-1, keepdims=True))
        probabilities: np.ndarray = weights / weights.sum(-1, keepdims=True)
        return probabilities

    return verified(drafts, None if declared is None else law(declared), law(target), uniforms)


@arrays("chain", framework="torch", **{**TAKES_UNIFORMS, "dtype": "float32"})
def strides_assumed(drafts: Tensor, declared: Tensor, target: Tensor, uniforms: Tensor) -> Arrays:
    """Reads the rows as if they were contiguous, as a kernel does that is given a pointer and V."""
    import torch

    _, nodes, vocabulary = target.shape
    rows = torch.as_strided(target, target.shape, (nodes * vocabulary, vocabulary, 1))  # fault: target
    return verified(drafts.numpy(), None if declared is None else declared.double().numpy(), rows.double().numpy(), uniforms.numpy())


@arrays("chain", framework="torch", **{**TAKES_UNIFORMS, "dtype": "float32"})
def ratio_in_given_dtype(drafts: Tensor, declared: Tensor, target: Tensor, uniforms: Tensor) -> Arrays:
    """Divides p by q in the format of the rows."""
    import torch

    if declared is None:
        declared = torch.nn.functional.one_hot(drafts, target.shape[2]).to(target.dtype)
    here = drafts[..., None]
    ratio = (target[:, :-1].gather(2, here) / declared.gather(2, here))[..., 0]  # fault: .double() on both sides
    accepted = (uniforms[:, 1:] < ratio.double()).numpy().cumprod(1).sum(1)
    left = owed(declared.double().numpy(), target.double().numpy(), accepted)
    return emitted(drafts.numpy(), accepted, inverse_cdf(left, uniforms[:, 0].numpy()))


@arrays("chain", **TAKES_UNIFORMS)
def offsets_of_31_bits(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Finds a row by an offset that wraps around at 2^31 numbers."""
    size, nodes, vocabulary = target.shape
    row = np.arange(size) * nodes * vocabulary % WRAPS // (nodes * vocabulary)  # fault: np.arange(size)
    return verified(drafts, declared, target[row], uniforms)


WRAPS = 1 << 31


def writes_out(fill: bool) -> Rule:
    """A verifier that answers in the buffers it is given, and pads the blocks if ``fill``."""

    def verify(
        drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray, out: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Arrays:
        """Writes the tokens it emits into the buffer, and leaves behind them what was there."""
        answer, accepted = verified(drafts, declared, target, uniforms)
        blocks = np.full_like(answer, -1) if out is None else out[0]
        written = (answer >= 0) | fill  # fault: everywhere
        blocks[written] = answer[written]
        return blocks, accepted

    return verify


padding_not_written = replace(arrays("chain", **TAKES_UNIFORMS)(writes_out(fill=False)), name=f"{__name__}:padding_not_written")
buffer_filled = replace(arrays("chain", **TAKES_UNIFORMS)(writes_out(fill=True)), name=f"{__name__}:buffer_filled")

SIZE_FAULTS: tuple[tuple[Subject, str, str], ...] = (
    (full_tiles_only, "vocabulary-1025", "chain-one-draft"),
    (tile_of_32_threads, "vocabulary-33", "chain-one-draft"),
    (ids_of_16_bits, "scattered", "chain-one-draft"),
    (residual_of_candidates, "split", "chain-one-draft"),
    (sixteen_drafts_at_most, "deep", "chain-one-draft"),
    (unlikely_is_impossible, "cold", "chain-one-draft"),
    (unlikely_is_impossible, "cold-target", "chain-one-draft"),
    (floor_under_residual, "top-2", "chain-one-draft"),
    (floor_under_residual, "top-2-target", "chain-one-draft"),
    (bonus_row_at_the_end, "padded", "chain-rows-by-position"),
    (mask_of_32_nodes, "nodes-65", "tree-fixed-kids"),
    (exponential_of_logits, "logits-plus-80", "chain-one-draft"),
    (exponential_of_logits, "logits-minus-3e4", "chain-one-draft"),
    (strides_assumed, "strided", "chain-one-draft"),
    (ratio_in_given_dtype, "bfloat16", "chain-opposed"),
    (padding_not_written, "dirty", "chain-one-draft"),
)
"""Each with the lift that shows it."""
