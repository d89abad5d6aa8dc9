"""Recursive rejection of deterministic drafts: a rejected child only takes its own token away, so each row is streamed once."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import I32, I64, launch
from .rows import draw, sum_blocks, weight_of
from .trees import list_children, load_tree


@triton.jit
def sibling_masses_kernel(tokens, parents, valid, target, uniforms, blocks, accepted, sums, tops, kids, names, nodes, vocabulary, cold,
                          stride_batch, stride_node, LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    kids += tree * NODES
    names += tree * NODES
    index = tl.arange(0, NODES)
    node = tl.full([], 0, tl.int32)
    depth = tl.full([], 0, tl.int32)
    walking = sound
    while walking:
        row = target + tree * stride_batch + node.to(tl.int64) * stride_node
        count = list_children(token, parent, node, kids, names, NODES)
        rest, top = sum_blocks(row, vocabulary, cold, names, count, sums, tops, LOGITS, BLOCK, BLOCKS)
        left = rest  # and the children that are not rejected, each token once
        for place in range(count):
            name = tl.load(names + place)
            if tl.min(tl.where((parent == node) & (token == name), index, NODES)) == tl.load(kids + place):
                left += weight_of(row, name, tops, top, cold, LOGITS, BLOCK)
        sound = (left > 0) & (left < float("inf")) & (rest >= 0)
        walking = tl.full([], 0, tl.int1)
        tested = tl.full([], 0, tl.int32)
        while sound & (tested < count) & (walking == 0):
            kid = tl.load(kids + tested)
            name = tl.load(names + tested)
            wanted = tl.full([], 0.0, tl.float64)
            if tl.min(tl.where((parent == node) & (token == name), index, NODES)) == kid:
                wanted = weight_of(row, name, tops, top, cold, LOGITS, BLOCK)
            if tl.load(uniforms + at + kid) * left < wanted:
                tl.store(blocks + at + depth, name)
                node = kid
                depth += 1
                walking = tl.full([], 1, tl.int1)
            else:
                later = tl.full([], 0.0, tl.float64)  # a sum, not a difference
                for place in range(tested + 1, count):
                    name = tl.load(names + place)
                    if tl.min(tl.where((parent == node) & (token == name), index, NODES)) == tl.load(kids + place):
                        later += weight_of(row, name, tops, top, cold, LOGITS, BLOCK)
                left = rest + later
                tested += 1
        if sound & (walking == 0):
            drawn = draw(row, vocabulary, cold, names, count, tl.load(uniforms + at), sums, tops, top, LOGITS, BLOCK, BLOCKS)
            tl.store(blocks + at + depth, drawn.to(tl.int64))
        tl.debug_barrier()
    tl.store(accepted + tree, tl.where(sound, depth, -1).to(tl.int64))


def sibling_masses(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule with nothing declared; blocks are [B, N]."""
    return launch(sibling_masses_kernel, (tokens, parents, valid), rows, draws, (I32, I64))
