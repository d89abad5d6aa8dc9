"""The residual of a target row after drafts were rejected, in tiles, made anew from the rows wherever it is needed: nothing is written.

f_0 = p, and after draft i from r_i was rejected f_{i+1} = (s_i f_i - r_i)_+.  What is known of each rejected draft is listed
in memory: its node, the largest logit and 1 / sum of its row, and the scale s_i: the mass of the node over the total of f_i.
"""
import triton
import triton.language as tl

from .rows import choose, choose_block, total_of_blocks, weights


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
    return total_of_blocks(sums, vocabulary, BLOCK, BLOCKS)


@triton.jit
def draw_residual(row, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales, count, uniform,
                  sums, LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """A token by inverse CDF of f: first the block, then the token in it."""
    block, place = choose_block(sums, uniform, vocabulary, BLOCK, BLOCKS)
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    inside = residual(row, tokens, vocabulary, top, unit, cold, declared, stride, cold_declared, gone, gone_tops, gone_units, gone_scales,
                      count, LOGITS, DECLARED_LOGITS)
    token, _ = choose(inside, place, tokens, vocabulary)
    return token
