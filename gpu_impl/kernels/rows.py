"""A row in tiles: sums of blocks of tokens in float64, one pass over memory; and a draw in two levels from these sums.

A row of logits is held by blocks too: each has its own largest logit, so that one pass is enough and no exponential is taken
of a large number.  Tokens ``taken`` count as 0; they are listed in memory, few of them.
"""
import triton
import triton.language as tl


@triton.jit
def weights(row, tokens, vocabulary, top, cold, LOGITS: tl.constexpr):
    """Weights of tokens [BLOCK] in float64: probabilities, or exp((logit - top) / temperature); 0 beyond the vocabulary."""
    inside = tokens < vocabulary
    if LOGITS:
        logits = tl.load(row + tokens, mask=inside, other=float("-inf")).to(tl.float32)
        found = tl.exp((logits - top) * cold).to(tl.float64)
    else:
        found = tl.load(row + tokens, mask=inside, other=0.0).to(tl.float64)
    return tl.where(inside, found, 0.0)


@triton.jit
def without(found, tokens, taken, count):
    """Weights [BLOCK] with those of the listed tokens set to 0."""
    for place in range(count):
        found = tl.where(tokens == tl.load(taken + place), 0.0, found)
    return found


@triton.jit
def sum_blocks(row, vocabulary, cold, taken, count, sums, tops, LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Write the sums of all blocks, on one scale, and the largest logits of each, [BLOCKS].

    Returns their total and the largest logit; the total is not a positive finite number if the row is no law.
    """
    least = tl.full([], 0.0, tl.float64)
    for block in range(tl.cdiv(vocabulary, BLOCK)):
        tokens = block * BLOCK + tl.arange(0, BLOCK)
        top = tl.full([], 0.0, tl.float32)
        if LOGITS:
            top = tl.max(tl.load(row + tokens, mask=tokens < vocabulary, other=float("-inf")).to(tl.float32))
            tl.store(tops + block, top)
            top = tl.where(top == float("-inf"), 0.0, top)
        found = weights(row, tokens, vocabulary, top, cold, LOGITS)
        least = tl.minimum(least, tl.min(found))
        tl.store(sums + block, tl.sum(without(found, tokens, taken, count)))
    tl.debug_barrier()
    number = tl.arange(0, BLOCKS)
    real = number < tl.cdiv(vocabulary, BLOCK)
    found = tl.load(sums + number, mask=real, other=0.0)
    top = tl.full([], 0.0, tl.float32)
    if LOGITS:
        largest = tl.load(tops + number, mask=real, other=float("-inf"))
        top = tl.max(largest)
        found *= tl.exp(tl.where(largest == float("-inf"), 0.0, largest - top).to(tl.float64) * cold)  # a NaN must not get lost
        tl.debug_barrier()
        tl.store(sums + number, found, mask=real)
    total = tl.sum(found)
    tl.debug_barrier()
    return tl.where(least < 0, float("nan"), total), top


@triton.jit
def weight_of(row, token, tops, top, cold, LOGITS: tl.constexpr, BLOCK: tl.constexpr):
    """The weight of one token, on the scale of the sums."""
    if LOGITS:
        own = tl.load(tops + token // BLOCK)
        own = tl.where(own == float("-inf"), 0.0, own)
        found = tl.exp((tl.load(row + token).to(tl.float32) - own) * cold).to(tl.float64) * tl.exp((own - top).to(tl.float64) * cold)
    else:
        found = tl.load(row + token).to(tl.float64)
    return found


@triton.jit
def choose(found, place, names, none):
    """The first of positive weight whose CDF exceeds the place, else the last of positive weight; and the CDF before it."""
    cdf = tl.cumsum(found)
    beyond = tl.min(tl.where((cdf > place) & (found > 0), names, none))
    last = tl.max(tl.where(found > 0, names, -1))
    chosen = tl.where(beyond < none, beyond, last)
    return chosen, tl.sum(tl.where(names == chosen, cdf - found, 0.0))


@triton.jit
def choose_block(sums, uniform, vocabulary, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """The first level of a draw by inverse CDF, from the sums of all blocks: the block, and the place in it."""
    number = tl.arange(0, BLOCKS)
    held = tl.load(sums + number, mask=number < tl.cdiv(vocabulary, BLOCK), other=0.0)
    place = uniform * tl.max(tl.cumsum(held))
    block, below = choose(held, place, number, BLOCKS)
    return tl.maximum(block, 0), place - below


@triton.jit
def draw(row, vocabulary, cold, taken, count, uniform, sums, tops, top, LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """The token of an inverse CDF, tokens in order: first the block, then the token in it."""
    block, place = choose_block(sums, uniform, vocabulary, BLOCK, BLOCKS)
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    scale = tl.full([], 1.0, tl.float64)
    own = tl.full([], 0.0, tl.float32)
    if LOGITS:
        own = tl.load(tops + block)
        scale = tl.exp((own - top).to(tl.float64) * cold)
    inside = without(weights(row, tokens, vocabulary, own, cold, LOGITS), tokens, taken, count) * scale
    token, _ = choose(inside, place, tokens, vocabulary)
    return token


@triton.jit
def total_of_blocks(sums, vocabulary, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """The total of the sums of all blocks, which were written before and may be overwritten afterwards."""
    tl.debug_barrier()
    number = tl.arange(0, BLOCKS)
    total = tl.sum(tl.load(sums + number, mask=number < tl.cdiv(vocabulary, BLOCK), other=0.0))
    tl.debug_barrier()
    return total
