"""The residual of a target row after drafts were rejected, in tiles, made anew from the rows wherever it is needed: nothing is written.

f_0 = p, and after draft i from r_i was rejected f_{i+1} = (f_i / total_i - r_i)_+, of total_{i+1}.  What is known of each
rejected draft is listed in memory: its node, the largest logit and 1 / sum of its row, and 1 / total_i.
"""
import triton
import triton.language as tl

from .rows import choose, weights


@triton.jit
def residual(row, tokens, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales, count,
             LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr):
    """f of tokens [BLOCK] after ``count`` rejected drafts; unit is 1 / sum of the target row."""
    found = weights(row, tokens, vocabulary, top, cold, LOGITS) * unit
    for place in range(count):
        other = declared + tl.load(gone + place).to(tl.int64) * stride
        offered = weights(other, tokens, vocabulary, tl.load(gone_tops + place), cold_declared, DECLARED_LOGITS) * tl.load(gone_units + place)
        found = tl.maximum(found * tl.load(gone_scales + place) - offered, 0.0)
    return found


@triton.jit
def sum_residual(row, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales, count, sums,
                 LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Write the sums of all blocks of f, and return their total."""
    for block in range(tl.cdiv(vocabulary, BLOCK)):
        tokens = block * BLOCK + tl.arange(0, BLOCK)
        found = residual(row, tokens, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales,
                         count, LOGITS, DECLARED_LOGITS)
        tl.store(sums + block, tl.sum(found))
    tl.debug_barrier()
    number = tl.arange(0, BLOCKS)
    return tl.sum(tl.load(sums + number, mask=number < tl.cdiv(vocabulary, BLOCK), other=0.0))


@triton.jit
def draw_residual(row, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales, count, uniform,
                  sums, LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """A token by inverse CDF of f: first the block, then the token in it."""
    number = tl.arange(0, BLOCKS)
    held = tl.load(sums + number, mask=number < tl.cdiv(vocabulary, BLOCK), other=0.0)
    place = uniform * tl.max(tl.cumsum(held))
    block, below = choose(held, place, number, BLOCKS)
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    inside = residual(row, tokens, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales,
                      count, LOGITS, DECLARED_LOGITS)
    token, _ = choose(inside, place - below, tokens, vocabulary)
    return token
