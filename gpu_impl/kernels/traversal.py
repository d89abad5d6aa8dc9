"""Traversal: one program a tree walks in post-order and reads a row when it gets there, so it stops at the first node that passes.

Of a node that was visited is kept, in memory: its mass a, a over the total of its residual, the largest logit and 1 / sum of
its row, how many of its children the residual is without, and the most that it can hold without the child tried last: a uniform
beyond what that could keep of the mass rejects the node unread.  Lists of siblings lie side by side in the order of their parents.
"""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import F32, F64, I32, launch
from .residual import draw_residual, residual, sum_residual
from .rows import sum_blocks
from .trees import at_node, load_tree, next_child, write_block

SLACK = tl.constexpr(2.0**-20)  # more than exponentials of float32 are off


@triton.jit
def traversal_kernel(
    tokens, parents, valid, target, declared, uniforms, blocks, accepted, sums, tops, kids, gone_tops, gone_units, gone_scales,
    masses, scales, units, lefts, highest, gones, nodes, vocabulary, cold, cold_declared, stride_batch, stride_node, declared_batch, declared_node,
    LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr,
):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    kids += tree * NODES
    gone_tops += tree * NODES
    gone_units += tree * NODES
    gone_scales += tree * NODES
    masses += tree * NODES
    scales += tree * NODES
    units += tree * NODES
    lefts += tree * NODES
    highest += tree * NODES
    gones += tree * NODES
    target += tree * stride_batch
    declared += tree * declared_batch
    index = tl.arange(0, NODES)
    node = tl.full([], 0, tl.int32)
    done = tl.full([], 0, tl.int32)  # the child that came back rejected
    depth = tl.full([], -1, tl.int32)
    tl.store(masses, 1.0)
    walking = sound
    while walking:
        tl.debug_barrier()
        row = target + node.to(tl.int64) * stride_node
        first = tl.sum(((parent >= 0) & (parent < node)).to(tl.int32))
        child = next_child(parent, node, done, NODES)
        mass = tl.load(masses + node)
        scale = mass
        gone = tl.full([], 0, tl.int32)
        top = tl.load(highest + node)
        unit = tl.load(units + node)
        if done > 0:
            scale = tl.load(scales + node)
            gone = tl.load(gones + node)
            most = tl.load(lefts + node) + SLACK
            if (child < NODES) | (node == 0) | (tl.load(uniforms + at + node) * (most + (1.0 - mass)) < most):
                rest = sum_residual(row, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids + first, gone_tops + first,
                                    gone_units + first, gone_scales + first, gone + 1, sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
                gone += (rest > 0).to(tl.int32)
                whole = tl.where(rest > 0, rest + (1.0 - mass), 1.0)  # 1 - a first: a mass of 1 then stays exactly 1
                scale = tl.where(rest > 0, 1.0 / whole, 0.0)
                mass = rest / whole
            else:
                mass = tl.full([], 0.0, tl.float64)
        inner = (child < NODES) & (mass > 0)  # nothing below a mass of 0 is ever accepted
        passes = (inner == 0) & ((node == 0) | (tl.load(uniforms + at + node) < mass))
        if (done == 0) & (inner | passes):
            total, top = sum_blocks(row, vocabulary, cold, kids, 0, sums, tops, LOGITS, BLOCK, BLOCKS)
            sound = (total > 0) & (total < float("inf"))
            unit = 1.0 / total
        if sound & inner:
            place = first + tl.sum(((parent == node) & (index < child)).to(tl.int32))
            other = declared + child.to(tl.int64) * declared_node
            total, above = sum_blocks(other, vocabulary, cold_declared, kids, 0, sums, tops, DECLARED_LOGITS, BLOCK, BLOCKS)
            sound = (total > 0) & (total < float("inf"))
            one = at_node(token, child, NODES) + tl.arange(0, 1)
            wanted = scale * tl.sum(residual(row, one, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids + first,
                                             gone_tops + first, gone_units + first, gone_scales + first, gone, LOGITS, DECLARED_LOGITS))
            offered = tl.sum(residual(other, one, vocabulary, above, 1.0 / total, cold_declared, declared, declared_node, cold_declared, kids,
                                      gone_tops, gone_units, gone_scales, 0, DECLARED_LOGITS, DECLARED_LOGITS))
            tl.store(kids + place, child)
            tl.store(gone_tops + place, above)
            tl.store(gone_units + place, 1.0 / total)
            tl.store(gone_scales + place, scale)
            tl.store(masses + node, mass)
            tl.store(scales + node, scale)
            tl.store(units + node, unit)
            tl.store(lefts + node, mass - tl.minimum(wanted, offered))
            tl.store(highest + node, top)
            tl.store(gones + node, gone)
            tl.store(masses + child, tl.where(wanted < offered, wanted / offered, (wanted > 0).to(tl.float64)))
            node = child
            done = tl.full([], 0, tl.int32)
        elif sound & passes:
            sum_residual(row, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids + first, gone_tops + first,
                         gone_units + first, gone_scales + first, gone, sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
            drawn = draw_residual(row, vocabulary, top, unit, cold, declared, declared_node, cold_declared, kids + first, gone_tops + first,
                                  gone_units + first, gone_scales + first, gone, tl.load(uniforms + at), sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
            depth = write_block(token, parent, node, drawn, blocks + at, NODES)
        else:
            done = node
            node = at_node(parent, node, NODES).to(tl.int32)
        walking = sound & (depth < 0)
    tl.store(accepted + tree, depth.to(tl.int64))


def traversal(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, declared: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule, with declared rows; blocks are [B, N]."""
    return launch(traversal_kernel, (tokens, parents, valid), rows, draws, (I32, F32, F64, F64, F64, F64, F64, F64, F32, I32), declared)
