"""Greedy transport: one program a tree walks down, and plans at the nodes on its path."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .greedy_plan import draw_left, greedy_plan
from .launch import F64, I32, I64, launch
from .trees import load_tree


@triton.jit
def greedy_transport_kernel(
    tokens, parents, valid, target, declared, uniforms, blocks, accepted, sums, tops, kids, names, shares, nodes, vocabulary,
    cold, cold_declared, stride_batch, stride_node, declared_batch, declared_node,
    LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr,
):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    kids += tree * NODES
    names += tree * NODES
    shares += tree * NODES
    declared += tree * declared_batch
    node = tl.full([], 0, tl.int32)
    depth = tl.full([], 0, tl.int32)
    walking = sound
    while walking:
        row = target + tree * stride_batch + node.to(tl.int64) * stride_node
        one = tl.full([], 1.0, tl.float64)
        count, _, sound, other, top, other_top, scale, other_scale = greedy_plan(
            row, declared, declared_node, token, parent, node, one, kids, names, shares, sums, tops, vocabulary, cold, cold_declared,
            LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS, NODES)
        left = one
        tested = tl.full([], 0, tl.int32)
        walking = tl.full([], 0, tl.int1)
        while sound & (tested < count) & (walking == 0):
            kid = tl.load(kids + tested)
            share = tl.load(shares + tested)
            if tl.load(uniforms + at + kid) * left < share:
                tl.store(blocks + at + depth, tl.load(names + tested))
                node = kid
                depth += 1
                walking = tl.full([], 1, tl.int1)
            left -= share
            tested += 1
        if sound & (walking == 0):
            drawn = draw_left(row, other, vocabulary, top, other_top, cold, cold_declared, scale, other_scale, names, tl.maximum(count - 1, 0),
                              tl.load(uniforms + at), sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
            tl.store(blocks + at + depth, drawn.to(tl.int64))
        tl.debug_barrier()
    tl.store(accepted + tree, tl.where(sound, depth, -1).to(tl.int64))


def greedy_transport(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, declared: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule, with declared rows; blocks are [B, N]."""
    return launch(greedy_transport_kernel, (tokens, parents, valid), rows, draws, (I32, I64, F64), declared)
