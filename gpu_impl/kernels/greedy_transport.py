"""Greedy transport: one program a tree walks down, and plans at the nodes on its path."""
import torch
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .greedy_plan import draw_left, greedy_plan
from .predraw_follow import answered, buffers
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
    batch, nodes, vocabulary = rows.tensor.shape
    blocks, accepted, sums, tops = buffers(rows.tensor)
    shares = torch.empty(batch, use.padded(nodes), dtype=torch.float64, device=tokens.device)
    kids, names = (torch.empty_like(shares, dtype=dtype) for dtype in (torch.int32, torch.int64))
    greedy_transport_kernel[(batch,)](
        tokens.contiguous(), parents.contiguous(), valid.contiguous(), rows.tensor, declared.tensor, draws.contiguous(), blocks, accepted, sums,
        tops, kids, names, shares, nodes, vocabulary, rows.cold, declared.cold, rows.tensor.stride(0), rows.tensor.stride(1),
        declared.tensor.stride(0), declared.tensor.stride(1), LOGITS=rows.logits, DECLARED_LOGITS=declared.logits, BLOCK=use.BLOCK,
        BLOCKS=sums.shape[1], NODES=shares.shape[1], num_warps=use.WARPS, maxnreg=use.REGISTERS,
    )
    return answered(blocks, accepted)
