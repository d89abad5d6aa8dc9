"""Traversal and UniVer of deterministic drafts, which are one rule then: one program a tree walks in post-order to the first node that passes.

A node visited with mass a owes child x the mass a p(x), and a p elsewhere is the rest, of total s.  Given that its elders were
rejected the child is visited with its mass / (1 - theirs), and without its children the node is accepted with s / (s + 1 - a).
A token is owed once: a sibling that repeats it is visited with 0.
"""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import F64, I32, I64, launch
from .rows import draw, sum_blocks, weight_of
from .trees import at_node, list_children, load_tree, next_child, write_block


@triton.jit
def exits_kernel(tokens, parents, valid, target, uniforms, blocks, accepted, sums, tops, masses, stays, kids, names, nodes, vocabulary, cold,
                 stride_batch, stride_node, LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    masses += tree * NODES
    stays += tree * NODES
    kids += tree * NODES
    names += tree * NODES
    index = tl.arange(0, NODES)
    node = tl.full([], 0, tl.int32)
    done = tl.full([], 0, tl.int32)  # the child that came back rejected
    depth = tl.full([], -1, tl.int32)
    tl.store(masses, 1.0)
    tl.store(stays, 1.0)
    walking = sound
    while walking:
        tl.debug_barrier()
        child = next_child(parent, node, done, NODES)
        mass = tl.load(masses + node)
        inner = (child < NODES) & (mass > 0)  # nothing below a mass of 0 is ever accepted
        passes = (inner == 0) & ((node == 0) | (tl.load(uniforms + at + node) < tl.load(stays + node)))
        enters = inner & (done == 0)
        if enters | passes:
            row = target + tree * stride_batch + node.to(tl.int64) * stride_node
            count = list_children(token, parent, node, kids, names, NODES)
            rest, top = sum_blocks(row, vocabulary, cold, names, count, sums, tops, LOGITS, BLOCK, BLOCKS)
            whole = rest
            for place in range(count):
                name = tl.load(names + place)
                if tl.min(tl.where((parent == node) & (token == name), index, NODES)) == tl.load(kids + place):
                    whole += weight_of(row, name, tops, top, cold, LOGITS, BLOCK)
            sound = (whole > 0) & (whole < float("inf")) & (rest >= 0)
            off = (1.0 - mass) * whole
            left = rest  # of the row, once a child's elders were rejected: a sum, not a difference
            tl.debug_barrier()
            if enters & sound:
                tl.store(stays + node, tl.where(mass * rest > 0, mass * rest / (mass * rest + off), 0.0))
                for back in range(count):
                    kid = tl.load(kids + count - 1 - back)
                    name = tl.load(names + count - 1 - back)
                    own = tl.full([], 0.0, tl.float64)
                    if tl.min(tl.where((parent == node) & (token == name), index, NODES)) == kid:
                        own = weight_of(row, name, tops, top, cold, LOGITS, BLOCK)
                    left += own
                    offer = tl.where(mass * own > 0, mass * own / (mass * left + off), 0.0)
                    tl.store(masses + kid, offer)
                    tl.store(stays + kid, offer)
            if passes & sound:
                drawn = draw(row, vocabulary, cold, names, count, tl.load(uniforms + at), sums, tops, top, LOGITS, BLOCK, BLOCKS)
                depth = write_block(token, parent, node, drawn, blocks + at, NODES)
        if inner:
            node = child
            done = tl.full([], 0, tl.int32)
        elif passes == 0:
            done = node
            node = at_node(parent, node, NODES).to(tl.int32)
        walking = sound & (depth < 0)
    tl.store(accepted + tree, depth.to(tl.int64))


def exits(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As both rules with nothing declared; blocks are [B, N]."""
    return launch(exits_kernel, (tokens, parents, valid), rows, draws, (F64, F64, I32, I64))
