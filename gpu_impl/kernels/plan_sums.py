"""The allocation sums of ``greedy_plan`` for n nodes, and draws from what it leaves, without a row ever being written.

Of a node with mass a, target law p, and r the law its youngest child was drawn from:  owed = a p, 0 at the elders' tokens;
missing = total of (r - owed)_+, left = total of (owed - r)_+.  A node without children has r = 0.
"""
import torch
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .row_sums import row_sums
from .rows import choose, weights, without


@triton.jit
def owed_and_offered(row, other, tokens, vocabulary, top, other_top, cold, other_cold, scale, other_scale, elders, count,
                     LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr):
    """Both of tokens [BLOCK]."""
    owed = without(weights(row, tokens, vocabulary, top, cold, LOGITS), tokens, elders, count) * scale
    offered = tl.zeros_like(owed)
    if other_scale > 0:
        offered = weights(other, tokens, vocabulary, other_top, other_cold, DECLARED_LOGITS) * other_scale
    return owed, offered


@triton.jit
def plan_sums_kernel(target, declared, batches, places, youngest, tops, other_tops, scales, other_scales, elders, counts, missing, left,
                     parts, width, vocabulary, cold, other_cold, stride_batch, stride_node, declared_batch, declared_node,
                     LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr):
    listed = tl.program_id(0)
    block = tl.program_id(1)
    row = target + tl.load(batches + listed) * stride_batch + tl.load(places + listed) * stride_node
    other = declared + tl.load(batches + listed) * declared_batch + tl.load(youngest + listed) * declared_node
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    owed, offered = owed_and_offered(
        row, other, tokens, vocabulary, tl.load(tops + listed), tl.load(other_tops + listed), cold, other_cold, tl.load(scales + listed),
        tl.load(other_scales + listed), elders + listed * width, tl.load(counts + listed), LOGITS, DECLARED_LOGITS)
    at = listed.to(tl.int64) * parts + block
    tl.store(missing + at, tl.sum(tl.maximum(offered - owed, 0.0)))
    tl.store(left + at, tl.sum(tl.maximum(owed - offered, 0.0)))


@triton.jit
def draw_left_kernel(target, declared, batches, places, youngest, tops, other_tops, scales, other_scales, elders, counts, left, uniforms, drawn,
                     parts, width, vocabulary, cold, other_cold, stride_batch, stride_node, declared_batch, declared_node,
                     LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    listed = tl.program_id(0)
    row = target + tl.load(batches + listed) * stride_batch + tl.load(places + listed) * stride_node
    other = declared + tl.load(batches + listed) * declared_batch + tl.load(youngest + listed) * declared_node
    number = tl.arange(0, BLOCKS)
    held = tl.load(left + listed.to(tl.int64) * parts + number, mask=number < parts, other=0.0)
    place = tl.load(uniforms + listed) * tl.max(tl.cumsum(held))
    block, below = choose(held, place, number, BLOCKS)
    tokens = tl.maximum(block, 0) * BLOCK + tl.arange(0, BLOCK)
    owed, offered = owed_and_offered(
        row, other, tokens, vocabulary, tl.load(tops + listed), tl.load(other_tops + listed), cold, other_cold, tl.load(scales + listed),
        tl.load(other_scales + listed), elders + listed * width, tl.load(counts + listed), LOGITS, DECLARED_LOGITS)
    token, _ = choose(tl.maximum(owed - offered, 0.0), place - below, tokens, vocabulary)
    tl.store(drawn + listed, token.to(tl.int64))


class PlanSums:
    """Of n nodes, batch and node [n], with masses [n] and elders' tokens [n, R] (counts [n] of them); youngest [n] a node, or 0 for none."""

    def __init__(self, rows: use.Rows, declared: use.Rows, batch: Tensor, node: Tensor, mass: Tensor, elders: Tensor, counts: Tensor,
                 youngest: Tensor) -> None:
        self.rows, self.declared = rows, declared
        top, total = row_sums(rows, batch, node)
        other_top, other_total = row_sums(declared, batch, youngest)
        self.sound = (total > 0) & total.isfinite() & ((youngest == 0) | ((other_total > 0) & other_total.isfinite()))
        self.total, self.other_total, self.top, self.other_top = total, other_total, top, other_top
        other_scale = torch.where(youngest > 0, 1 / other_total, 0.0)
        self.parts = use.blocks_of(rows.tensor.shape[2])
        self.listed = (batch, node, youngest, top, other_top, mass / total, other_scale, elders.contiguous(), counts)
        self.shape = (self.parts, elders.shape[1], rows.tensor.shape[2], rows.cold, declared.cold, rows.tensor.stride(0), rows.tensor.stride(1),
                      declared.tensor.stride(0), declared.tensor.stride(1))
        missing = torch.zeros(len(batch), self.parts, dtype=torch.float64, device=batch.device)
        self.blocks = torch.zeros_like(missing)
        if len(batch):
            plan_sums_kernel[(len(batch), self.parts)](
                rows.tensor, declared.tensor, *self.listed, missing, self.blocks, *self.shape, LOGITS=rows.logits,
                DECLARED_LOGITS=declared.logits, BLOCK=use.BLOCK, num_warps=use.WARPS, maxnreg=use.REGISTERS,
            )
        self.missing, self.left = missing.sum(1), self.blocks.sum(1)

    def draw(self, uniforms: Tensor) -> Tensor:
        """A token of each node by inverse CDF of what is left, uniforms [n] float64; -1 where nothing is."""
        drawn = torch.full_like(self.listed[0], -1)
        if len(drawn):
            draw_left_kernel[(len(drawn),)](
                self.rows.tensor, self.declared.tensor, *self.listed, self.blocks, uniforms.contiguous(), drawn, *self.shape,
                LOGITS=self.rows.logits, DECLARED_LOGITS=self.declared.logits, BLOCK=use.BLOCK, BLOCKS=use.padded(self.parts),
                num_warps=use.WARPS, maxnreg=use.REGISTERS,
            )
        return drawn
