"""K-SEQ: one program a tree walks down; rho is known from a bracket to most tests, and otherwise takes a few sums over two rows."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import I32, I64, launch
from .rho import GRID, both_rows, real, shared, slack, smallest_rho
from .rows import choose, choose_block, sum_blocks, total_of_blocks
from .trees import list_children, load_tree


@triton.jit
def rest(row, other, tokens, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit, rho, gain,
         LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, POINT: tl.constexpr):
    """What p has more than the gain times min(q, p / rho), of tokens [BLOCK]."""
    p, q = both_rows(row, other, tokens, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit, LOGITS, DECLARED_LOGITS, POINT)
    return tl.maximum(p - gain * tl.minimum(q, p / rho), 0.0)


@triton.jit
def sum_rest(row, other, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit, rho, gain, sums, LOGITS: tl.constexpr,
             DECLARED_LOGITS: tl.constexpr, POINT: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Write the sums of all blocks of the rest, and return their total."""
    for block in range(tl.cdiv(vocabulary, BLOCK)):
        found = rest(row, other, block * BLOCK + tl.arange(0, BLOCK), name, vocabulary, top, other_top, cold, other_cold, unit, other_unit,
                     rho, gain, LOGITS, DECLARED_LOGITS, POINT)
        tl.store(sums + block, tl.sum(found))
    return total_of_blocks(sums, vocabulary, BLOCK, BLOCKS)


@triton.jit
def k_seq_kernel(
    tokens, parents, valid, target, declared, uniforms, blocks, accepted, sums, tops, kids, names, nodes, vocabulary, cold, cold_declared,
    stride_batch, stride_node, declared_batch, declared_node, LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, POINT: tl.constexpr,
    BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr,
):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    kids += tree * NODES
    names += tree * NODES
    node = tl.full([], 0, tl.int32)
    depth = tl.full([], 0, tl.int32)
    walking = sound
    while walking:
        row = target + tree * stride_batch + node.to(tl.int64) * stride_node
        total, top = sum_blocks(row, vocabulary, cold, names, 0, sums, tops, LOGITS, BLOCK, BLOCKS)
        sound = (total > 0) & (total < float("inf"))
        unit = 1.0 / total
        count = list_children(token, parent, node, kids, names, NODES)
        other = declared + tree * declared_batch + tl.load(kids, mask=count > 0, other=0).to(tl.int64) * declared_node
        eldest = tl.load(names, mask=count > 0, other=-1)
        other_top = tl.full([], 0.0, tl.float32)
        other_unit = tl.full([], 0.0, tl.float64)
        if (count > 0) & (not POINT):
            total, other_top = sum_blocks(other, vocabulary, cold_declared, names, 0, sums, tops, DECLARED_LOGITS, BLOCK, BLOCKS)
            sound = sound & (total > 0) & (total < float("inf"))
            other_unit = 1.0 / total
        low = tl.full([], 1 << 40, tl.int64)
        high = low * tl.maximum(count, 1)
        tested = tl.full([], 0, tl.int32)
        walking = tl.full([], 0, tl.int1)
        while sound & (tested < count) & (walking == 0):
            kid = tl.load(kids + tested)
            name = tl.load(names + tested)
            p, q = both_rows(row, other, name + tl.arange(0, 1), eldest, vocabulary, top, other_top, cold, cold_declared, unit, other_unit,
                             LOGITS, DECLARED_LOGITS, POINT)
            wanted = tl.sum(p)
            offered = tl.load(uniforms + at + kid) * tl.sum(q)
            walking = offered * real(high) < wanted
            if (walking == 0) & (offered * real(low) < wanted):
                place = wanted / offered  # accepted if rho is below it
                both = shared(row, other, eldest, vocabulary, top, other_top, cold, cold_declared, unit, other_unit, place, place,
                              LOGITS, DECLARED_LOGITS, POINT, BLOCK)[2]
                walking = slack(both, place, count) >= 0
                cells = (place / GRID).to(tl.int64)
                if walking:
                    high = tl.minimum(high, cells + 1)
                else:
                    low = tl.maximum(low, cells)
            if walking:
                tl.store(blocks + at + depth, name)
                node = kid
                depth += 1
            tested += 1
        if sound & (walking == 0):
            rho = real(smallest_rho(row, other, eldest, vocabulary, top, other_top, cold, cold_declared, unit, other_unit, low, high, count,
                                    LOGITS, DECLARED_LOGITS, POINT, BLOCK))
            both = shared(row, other, eldest, vocabulary, top, other_top, cold, cold_declared, unit, other_unit, rho, rho,
                          LOGITS, DECLARED_LOGITS, POINT, BLOCK)[2]
            gain = tl.full([], 0.0, tl.float64)
            for _ in range(count):
                gain = gain * (1.0 - both / rho) + 1.0
            left = tl.full([], 0.0, tl.float64)
            for attempt in range(2):  # from p itself where nothing is left
                if left == 0:
                    gain = tl.where(attempt == 0, gain, 0.0)
                    left = sum_rest(row, other, eldest, vocabulary, top, other_top, cold, cold_declared, unit, other_unit, rho, gain, sums,
                                    LOGITS, DECLARED_LOGITS, POINT, BLOCK, BLOCKS)
            block, place = choose_block(sums, tl.load(uniforms + at), vocabulary, BLOCK, BLOCKS)
            inside = block * BLOCK + tl.arange(0, BLOCK)
            drawn, _ = choose(rest(row, other, inside, eldest, vocabulary, top, other_top, cold, cold_declared, unit, other_unit, rho, gain,
                                   LOGITS, DECLARED_LOGITS, POINT), place, inside, vocabulary)
            tl.store(blocks + at + depth, drawn.to(tl.int64))
        tl.debug_barrier()
    tl.store(accepted + tree, tl.where(sound, depth, -1).to(tl.int64))


def k_seq(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, declared: use.Rows | None, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule; blocks are [B, N]."""
    # without declared rows none are read
    return launch(k_seq_kernel, (tokens, parents, valid), rows, draws, (I32, I64), declared or rows, POINT=declared is None)
