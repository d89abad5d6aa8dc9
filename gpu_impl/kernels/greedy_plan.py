"""The plan of ``greedy_plan`` at one node, its sums and draws from what it leaves, a tile at a time, without a row ever being written.

Of a node with mass a, target law p, and r the law its youngest child was drawn from:  owed = a p, 0 at the elders' tokens;
missing = total of (r - owed)_+, left = total of (owed - r)_+.  A node without children has r = 0.
"""
import triton
import triton.language as tl

from .rows import choose, choose_block, sum_blocks, total_of_blocks, weights, without
from .trees import list_children


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
def sum_left(row, other, vocabulary, top, other_top, cold, other_cold, scale, other_scale, elders, count, sums,
             LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Write the sums of all blocks of what is left; returns what is missing, and what is left."""
    missing = tl.full([], 0.0, tl.float64)
    for block in range(tl.cdiv(vocabulary, BLOCK)):
        owed, offered = owed_and_offered(row, other, block * BLOCK + tl.arange(0, BLOCK), vocabulary, top, other_top, cold, other_cold, scale,
                                         other_scale, elders, count, LOGITS, DECLARED_LOGITS)
        missing += tl.sum(tl.maximum(offered - owed, 0.0))
        tl.store(sums + block, tl.sum(tl.maximum(owed - offered, 0.0)))
    return missing, total_of_blocks(sums, vocabulary, BLOCK, BLOCKS)


@triton.jit
def draw_left(row, other, vocabulary, top, other_top, cold, other_cold, scale, other_scale, elders, count, uniform, sums,
              LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """A token by inverse CDF of what is left; of p if that is nothing, which only rounding can bring about."""
    if total_of_blocks(sums, vocabulary, BLOCK, BLOCKS) == 0:
        other_scale = tl.full([], 0.0, tl.float64)
        count = tl.full([], 0, tl.int32)
        sum_left(row, other, vocabulary, top, other_top, cold, other_cold, scale, other_scale, elders, count, sums, LOGITS, DECLARED_LOGITS,
                 BLOCK, BLOCKS)
    block, place = choose_block(sums, uniform, vocabulary, BLOCK, BLOCKS)
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    owed, offered = owed_and_offered(row, other, tokens, vocabulary, top, other_top, cold, other_cold, scale, other_scale, elders, count,
                                     LOGITS, DECLARED_LOGITS)
    token, _ = choose(tl.maximum(owed - offered, 0.0), place, tokens, vocabulary)
    return token


@triton.jit
def greedy_plan(row, declared, declared_node, token, parent, node, mass, kids, names, shares, sums, tops, vocabulary, cold, other_cold,
                LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr):
    """Write the children of a node, their tokens and their masses, and the sums of all blocks of what is left.

    Returns how many there are, what is left, whether all rows read are laws and the elders certain, and what a draw needs to know:
    the youngest's row, the largest logit of the node's and of that row, and what to multiply their weights by.
    """
    count = list_children(token, parent, node, kids, names, NODES)
    total, top = sum_blocks(row, vocabulary, cold, names, 0, sums, tops, LOGITS, BLOCK, BLOCKS)
    sound = (total > 0) & (total < float("inf"))
    scale = mass / total
    other_top = tl.full([], 0.0, tl.float32)
    other_scale = tl.full([], 0.0, tl.float64)
    offered = tl.full([], 0.0, tl.float64)
    for place in range(count):
        other = declared + tl.load(kids + place).to(tl.int64) * declared_node
        whole = tl.full([], 1.0, tl.float64)
        if DECLARED_LOGITS or place == count - 1:
            whole, other_top = sum_blocks(other, vocabulary, other_cold, names, 0, sums, tops, DECLARED_LOGITS, BLOCK, BLOCKS)
        offered = tl.sum(weights(other, tl.load(names + place) + tl.arange(0, 1), vocabulary, other_top, other_cold, DECLARED_LOGITS))
        sound = sound & tl.where(place < count - 1, offered == whole, (whole > 0) & (whole < float("inf")))
        offered = offered / whole
        other_scale = 1.0 / whole
    elders = tl.maximum(count - 1, 0)
    other = declared + tl.load(kids + elders, mask=count > 0, other=0).to(tl.int64) * declared_node
    missing, left = sum_left(row, other, vocabulary, top, other_top, cold, other_cold, scale, other_scale, names, elders, sums,
                             LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
    accepts = tl.full([], 0.0, tl.float64)
    for back in range(count):  # the youngest first
        place = count - 1 - back
        name = tl.load(names + place)
        owed = scale * tl.sum(weights(row, name + tl.arange(0, 1), vocabulary, top, cold, LOGITS))
        eldest = tl.min(tl.where((parent == node) & (token == name), tl.arange(0, NODES), NODES))
        owed = tl.where(eldest == tl.load(kids + place), owed, 0.0)  # a token is owed once
        if back == 0:
            accepts = tl.where(owed < offered, owed / offered, (owed > 0).to(tl.float64))
            tl.store(shares + place, accepts)
        else:
            tl.store(shares + place, tl.where(missing > 0, owed * ((1.0 - accepts) / missing), 0.0))
    tl.debug_barrier()
    return count, left, sound, other, top, other_top, scale, other_scale
