"""Predraw-and-follow: one program a tree walks down, and streams the rows on its path."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import launch
from .rows import draw, sum_blocks
from .trees import load_tree


@triton.jit
def predraw_follow_kernel(tokens, parents, valid, target, uniforms, blocks, accepted, sums, tops, nodes, vocabulary, cold,
                          stride_batch, stride_node, LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    index = tl.arange(0, NODES)
    node = tl.full([], 0, tl.int32)
    depth = tl.full([], 0, tl.int32)
    walking = sound
    while walking:
        row = target + tree * stride_batch + node.to(tl.int64) * stride_node
        total, top = sum_blocks(row, vocabulary, cold, tokens, 0, sums, tops, LOGITS, BLOCK, BLOCKS)
        sound = (total > 0) & (total < float("inf"))
        walking = sound
        if sound:
            drawn = draw(row, vocabulary, cold, tokens, 0, tl.load(uniforms + at + node), sums, tops, top, LOGITS, BLOCK, BLOCKS)
            tl.store(blocks + at + depth, drawn.to(tl.int64))
            child = tl.min(tl.where((parent == node) & (token == drawn), index, NODES))
            walking = child < NODES
            if walking:
                node = child
                depth += 1
        tl.debug_barrier()
    tl.store(accepted + tree, tl.where(sound, depth, -1).to(tl.int64))


def predraw_follow(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule; blocks are [B, N]."""
    return launch(predraw_follow_kernel, (tokens, parents, valid), rows, draws)
