"""Tree exit: one program a tree reads rows in index order up to the exit, then the path from the exit to the root."""
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .launch import F64, I32, I64, launch
from .rows import draw, sum_blocks, weight_of
from .trees import list_children, load_tree, write_block


@triton.jit
def tree_exit_kernel(tokens, parents, valid, target, uniforms, blocks, accepted, sums, tops, reach, kids, names, nodes, vocabulary, cold,
                     stride_batch, stride_node, LOGITS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, NODES: tl.constexpr):
    tree = tl.program_id(0).to(tl.int64)
    at = tree * nodes
    token, parent, sound = load_tree(tokens + at, parents + at, valid + at, nodes, vocabulary, NODES)
    sums += tree * BLOCKS
    tops += tree * BLOCKS
    reach += tree * NODES
    kids += tree * NODES
    names += tree * NODES
    index = tl.arange(0, NODES)
    tl.store(reach + index, tl.where(index == 0, 1.0, 0.0).to(tl.float64))
    tl.debug_barrier()
    bonus = tl.load(uniforms + 2 * tree)
    place = tl.load(uniforms + 2 * tree + 1)
    below = tl.full([], 0.0, tl.float64)
    last = tl.full([], 0, tl.int32)
    node = tl.full([], 0, tl.int32)
    while sound & (node < nodes) & (below <= place):
        mass = tl.load(reach + node)
        if mass > 0:
            stay = tl.full([], 1.0, tl.float64)
            count = list_children(token, parent, node, kids, names, NODES)
            if count > 0:
                row = target + tree * stride_batch + node.to(tl.int64) * stride_node
                rest, top = sum_blocks(row, vocabulary, cold, names, count, sums, tops, LOGITS, BLOCK, BLOCKS)
                whole = rest
                for place_of in range(count):
                    name = tl.load(names + place_of)
                    elder = tl.min(tl.where((parent == node) & (token == name), index, NODES))
                    if elder == tl.load(kids + place_of):  # a token is handed out once
                        whole += weight_of(row, name, tops, top, cold, LOGITS, BLOCK)
                sound = (whole > 0) & (whole < float("inf")) & (rest >= 0)
                stay = rest / whole
                for place_of in range(count):
                    name = tl.load(names + place_of)
                    kid = tl.load(kids + place_of)
                    elder = tl.min(tl.where((parent == node) & (token == name), index, NODES))
                    if elder == kid:
                        tl.store(reach + kid, mass * (weight_of(row, name, tops, top, cold, LOGITS, BLOCK) / whole))
                tl.debug_barrier()
            if mass * stay > 0:
                last = node
                below += mass * stay
        node += 1
    if sound:
        row = target + tree * stride_batch + last.to(tl.int64) * stride_node
        count = list_children(token, parent, last, kids, names, NODES)
        total, top = sum_blocks(row, vocabulary, cold, names, count, sums, tops, LOGITS, BLOCK, BLOCKS)
        sound = (total > 0) & (total < float("inf"))
        depth = tl.full([], -1, tl.int32)
        if sound:
            drawn = draw(row, vocabulary, cold, names, count, bonus, sums, tops, top, LOGITS, BLOCK, BLOCKS)
            depth = write_block(token, parent, last, drawn, blocks + at, NODES)
        tl.store(accepted + tree, depth.to(tl.int64))
    else:
        tl.store(accepted + tree, tl.full([], -1, tl.int64))


def tree_exit(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule; blocks are [B, N]."""
    return launch(tree_exit_kernel, (tokens, parents, valid), rows, draws, (F64, I32, I64))
