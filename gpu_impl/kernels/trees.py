"""What a kernel derives from one tree, its nodes held in a register vector [NODES]."""
import triton
import triton.language as tl


@triton.jit
def load_tree(tokens, parents, valid, nodes, vocabulary, NODES: tl.constexpr):
    """Tokens and parents of one tree [NODES], parents -1 where there is no edge; and whether the tree is well formed."""
    index = tl.arange(0, NODES)
    real = index < nodes
    token = tl.load(tokens + index, mask=real, other=0)
    parent = tl.load(parents + index, mask=real, other=-1)
    exists = tl.load(valid + index, mask=real, other=0) != 0
    below = exists & (index > 0) & (parent >= 0) & (parent < index)
    above = tl.load(valid + tl.where(below, parent, 0)) != 0
    edge = below & above & (token >= 0) & (token < vocabulary)
    faults = tl.sum((edge != (exists & (index > 0))).to(tl.int32)) + (tl.load(valid) == 0).to(tl.int32)
    return token, tl.where(edge, parent, -1), faults == 0


@triton.jit
def list_children(token, parent, node, found_nodes, found_tokens, NODES: tl.constexpr):
    """Write the children of a node and their tokens, in index order; returns how many."""
    mine = parent == node
    place = tl.cumsum(mine.to(tl.int32)) - 1
    tl.debug_barrier()
    tl.store(found_nodes + place, tl.arange(0, NODES), mask=mine)
    tl.store(found_tokens + place, token, mask=mine)
    tl.debug_barrier()
    return tl.sum(mine.to(tl.int32))


@triton.jit
def next_child(parent, node, done, NODES: tl.constexpr):
    """The first child of a node after child ``done`` (0: the first of all); NODES if there is none."""
    index = tl.arange(0, NODES)
    return tl.min(tl.where((parent == node) & (index > done), index, NODES))


@triton.jit
def at_node(values, node, NODES: tl.constexpr):
    """One of values [NODES]."""
    return tl.sum(tl.where(tl.arange(0, NODES) == node, values, 0))


@triton.jit
def write_block(token, parent, last, bonus, blocks, NODES: tl.constexpr):
    """Write the path to node ``last`` and the bonus; returns how many tokens come before it."""
    depth = tl.full([], 0, tl.int32)
    up = last
    while up > 0:
        depth += 1
        up = at_node(parent, up, NODES).to(tl.int32)
    tl.store(blocks + depth, bonus.to(tl.int64))
    up = last
    step = depth
    while up > 0:
        step -= 1
        tl.store(blocks + step, at_node(token, up, NODES))
        up = at_node(parent, up, NODES).to(tl.int32)
    return depth
