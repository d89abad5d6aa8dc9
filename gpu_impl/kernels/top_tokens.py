"""DDTree's top K: the most probable tokens of each row, and its sum of exponentials, from one pass over the logits.

A token is one 64-bit key: its logit, as an integer that sorts as it does, and below it the token, smaller ones first.  One
program a tile sorts its keys and keeps the largest; one program a row merges these lists, tile after tile, and skips a tile
whose largest is no news.  Keys are distinct, so equal logits come in the order of their tokens.
"""
import torch
import triton
import triton.language as tl
from torch import Tensor

from . import use


@triton.jit
def tile_tops_kernel(logits, keys, sums, tops, parts, vocabulary, stride_batch, stride_depth, depths, TILE: tl.constexpr, KEPT: tl.constexpr):
    """The largest KEPT keys of a tile in increasing order; its largest logit and the sum of exponentials over it."""
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    tokens = part * TILE + tl.arange(0, TILE)
    inside = tokens < vocabulary
    start = logits + row // depths * stride_batch + row % depths * stride_depth
    found = tl.load(start + tokens, mask=inside, other=float("-inf")).to(tl.float32)
    top = tl.max(found)
    tl.store(tops + row * parts + part, top)
    weights = tl.exp(found - tl.where(top == float("-inf"), 0.0, top)).to(tl.float64)
    tl.store(sums + row * parts + part, tl.sum(tl.where(inside, weights, 0.0)))
    bits = (found + 0.0).to(tl.int32, bitcast=True)  # of 0.0 for -0.0: they are equal
    sorts = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    key = (sorts.to(tl.int64) << 32) | (0x7FFFFFFF - tokens).to(tl.int64)
    best = tl.topk(tl.where(inside, key, -(1 << 63)), KEPT)
    tl.store(keys + (row * parts + part) * KEPT + KEPT - 1 - tl.arange(0, KEPT), best)


@triton.jit
def merge_tops_kernel(keys, values, tokens, parts, kept, KEPT: tl.constexpr):
    """Of two lists in opposite orders, the larger at each place are the largest of both."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, KEPT)
    keys += row * parts * KEPT
    best = tl.sort(tl.load(keys + place), descending=True)
    for part in range(1, parts):
        list_ = keys + part * KEPT
        if tl.load(list_ + KEPT - 1) > tl.min(best):
            best = tl.sort(tl.maximum(best, tl.load(list_ + place)), descending=True)
    sorts = (best >> 32).to(tl.int32)
    bits = sorts ^ ((sorts >> 31) & 0x7FFFFFFF)
    real = place < kept
    tl.store(values + row * kept + place, bits.to(tl.float32, bitcast=True), mask=real)
    tl.store(tokens + row * kept + place, 0x7FFFFFFF - (best & 0x7FFFFFFF), mask=real)


def top_tokens(logits: Tensor, kept: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of logits [B, L, V], float32, bfloat16 or float16: the ``kept`` largest [B, L, kept] float32, largest first, their tokens
    [B, L, kept] int64, and minus log of the largest probability [B, L] float64, NaN where a row is no law.
    """
    batch, depths, vocabulary = logits.shape
    logits = logits if logits.stride(2) == 1 else logits.contiguous()
    rows, width = batch * depths, use.padded(kept)
    tile = max(use.BLOCK, width)
    parts = -(-vocabulary // tile)
    keys = torch.empty(rows, parts, width, dtype=torch.int64, device=logits.device)
    sums = torch.empty(rows, parts, dtype=torch.float64, device=logits.device)
    tops, values = torch.empty_like(sums, dtype=torch.float32), torch.empty(batch, depths, kept, device=logits.device)
    tokens = torch.empty_like(values, dtype=torch.int64)
    if rows:
        tile_tops_kernel[(rows, parts)](
            logits, keys, sums, tops, parts, vocabulary, logits.stride(0), logits.stride(1), depths,
            TILE=tile, KEPT=width, num_warps=use.WARPS, maxnreg=use.REGISTERS,
        )
        merge_tops_kernel[(rows,)](keys, values, tokens, parts, kept, KEPT=width, num_warps=use.WARPS, maxnreg=use.REGISTERS)
    scale = torch.where(tops == -torch.inf, 0.0, (tops - tops.amax(1, keepdim=True)).double()).exp()  # sums of tiles are over their own largest
    total = (sums * scale).sum(1)
    return values, tokens, total.where(total > 0, torch.nan).log().view(batch, depths)
