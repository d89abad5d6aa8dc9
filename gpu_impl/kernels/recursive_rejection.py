"""Recursive rejection: one program a tree walks down, streams target rows on its path and declared rows of the children it tests."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import F32, F64, I32, I64, launch
from .residual import draw_residual, residual, sum_residual
from .rows import sum_blocks
from .trees import list_children, load_tree


@triton.jit
def recursive_rejection_kernel(
    tokens, parents, valid, target, declared, uniforms, blocks, accepted, sums, tops, kids, names, gone_tops, gone_units, gone_scales,
    nodes, vocabulary, cold, cold_declared, stride_batch, stride_node, declared_batch, declared_node,
    LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr,
):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    kids += tree * NODES
    names += tree * NODES
    gone_tops += tree * NODES
    gone_units += tree * NODES
    gone_scales += tree * NODES
    declared += tree * declared_batch
    node = tl.full([], 0, tl.int32)
    depth = tl.full([], 0, tl.int32)
    walking = sound
    while walking:
        row = target + tree * stride_batch + node.to(tl.int64) * stride_node
        total, top = sum_blocks(row, vocabulary, cold, names, 0, sums, tops, LOGITS, BLOCK, BLOCKS)
        sound = (total > 0) & (total < float("inf"))
        unit = 1.0 / total
        left = tl.full([], 1.0, tl.float64)
        count = list_children(token, parent, node, kids, names, NODES)
        gone = tl.full([], 0, tl.int32)  # rejected children, always the first ones
        tested = tl.full([], 0, tl.int32)
        walking = tl.full([], 0, tl.int1)
        while sound & (tested < count) & (walking == 0):
            kid = tl.load(kids + tested)
            name = tl.load(names + tested)
            other = declared + kid.to(tl.int64) * declared_node
            whole, highest = sum_blocks(other, vocabulary, cold_declared, names, 0, sums, tops, DECLARED_LOGITS, BLOCK, BLOCKS)
            sound = (whole > 0) & (whole < float("inf"))
            tl.store(gone_tops + tested, highest)
            tl.store(gone_units + tested, 1.0 / whole)
            tl.store(gone_scales + tested, 1.0 / left)
            tl.debug_barrier()
            one = name + tl.arange(0, 1)
            wanted = tl.sum(residual(row, one, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids, gone_tops, gone_units,
                                     gone_scales, gone, LOGITS, DECLARED_LOGITS))
            offered = tl.sum(residual(other, one, vocabulary, highest, 1.0 / whole, cold_declared, declared, declared_node, cold_declared, kids,
                                      gone_tops, gone_units, gone_scales, 0, DECLARED_LOGITS, DECLARED_LOGITS))
            if tl.load(uniforms + at + kid) * offered * left < wanted:
                tl.store(blocks + at + depth, name)
                node = kid
                depth += 1
                walking = sound
            else:
                rest = sum_residual(row, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids, gone_tops, gone_units,
                                    gone_scales, gone + 1, sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
                if (rest > 0) & (gone == tested):
                    left = rest
                    gone += 1
                tested += 1
            tl.debug_barrier()
        if sound & (walking == 0):
            sum_residual(row, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids, gone_tops, gone_units, gone_scales, gone,
                         sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
            drawn = draw_residual(row, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids, gone_tops, gone_units,
                                  gone_scales, gone, tl.load(uniforms + at), sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
            tl.store(blocks + at + depth, drawn.to(tl.int64))
    tl.store(accepted + tree, tl.where(sound, depth, -1).to(tl.int64))


def recursive_rejection(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, declared: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule, with declared rows; blocks are [B, N]."""
    return launch(recursive_rejection_kernel, (tokens, parents, valid), rows, draws, (I32, I64, F32, F64, F64), declared)
