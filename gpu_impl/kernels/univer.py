"""UniVer: one program a tree walks in post-order and plans at a node when it gets there, so it stops at the first node that passes."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .greedy_plan import draw_left, greedy_plan
from .launch import F64, I32, I64, launch
from .trees import at_node, load_tree, next_child, write_block


@triton.jit
def univer_kernel(
    tokens, parents, valid, target, declared, uniforms, blocks, accepted, sums, tops, kids, names, shares, masses, stays, nodes, vocabulary,
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
    masses += tree * NODES
    stays += tree * NODES
    declared += tree * declared_batch
    node = tl.full([], 0, tl.int32)
    done = tl.full([], 0, tl.int32)  # the child that came back rejected
    depth = tl.full([], -1, tl.int32)
    tl.store(masses, 1.0)
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
            count, left, sound, other, top, other_top, scale, other_scale = greedy_plan(
                row, declared, declared_node, token, parent, node, mass, kids, names, shares, sums, tops, vocabulary, cold, cold_declared,
                LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS, NODES)
            if enters & sound:
                tl.store(stays + node, tl.where(left > 0, left / (left + (1.0 - mass)), 0.0))
                gone = tl.full([], 0.0, tl.float64)
                for place in range(count):
                    share = tl.load(shares + place)
                    offer = tl.where(gone < 1, tl.minimum(share / (1.0 - gone), 1.0), 0.0)
                    tl.store(masses + tl.load(kids + place), offer)
                    tl.store(stays + tl.load(kids + place), offer)
                    gone += share
            if passes & sound:
                drawn = draw_left(row, other, vocabulary, top, other_top, cold, cold_declared, scale, other_scale, names,
                                  tl.maximum(count - 1, 0), tl.load(uniforms + at), sums, LOGITS, DECLARED_LOGITS, BLOCK, BLOCKS)
                depth = write_block(token, parent, node, drawn, blocks + at, NODES)
        if inner:
            node = child
            done = tl.full([], 0, tl.int32)
        elif passes == 0:
            done = node
            node = at_node(parent, node, NODES).to(tl.int32)
        walking = sound & (depth < 0)
    tl.store(accepted + tree, depth.to(tl.int64))


def univer(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, declared: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule, with declared rows; blocks are [B, N]."""
    return launch(univer_kernel, (tokens, parents, valid), rows, draws, (I32, I64, F64, F64, F64), declared)
