"""The frontier of a draft tree: the nodes that could be added to it, with what the target says of them."""
from typing import NamedTuple

import torch
from torch import Tensor

from .lazy_rows import LazyRows
from .trees import Tree


class Frontier(NamedTuple):
    """M frontier nodes of each request, heaviest first.

    parent [B, M] int64 the node of the tree above; token [B, M] int64; mass [B, M] float64 P(c); real [B, M] bool: there is one
    """

    parent: Tensor
    token: Tensor
    mass: Tensor
    real: Tensor


def frontier(tree: Tree, reach: Tensor, rows: LazyRows, logits: Tensor, candidates: int | None = None) -> Frontier:
    """Missing children, at most L deep, that the draft can make, of all nodes; the ``candidates`` of largest target mass, None for all.

    reach [B, N] float64 is P; rows the target's laws; logits [B, L, V].  Rows are read a depth at a time, and only ``candidates`` of each kept.
    """
    batch_size, nodes = tree.tokens.shape
    depths, vocabulary = logits.shape[1:]
    width = vocabulary if candidates is None else min(candidates, vocabulary)
    mass = reach.new_full((batch_size, nodes, width), -1.0)
    token = torch.zeros(batch_size, nodes, width, dtype=torch.int64, device=reach.device)
    real_node = tree.depth > 0
    real_node[:, 0] = True
    for depth in range(depths):
        batch, node = (real_node & (tree.depth == depth)).nonzero(as_tuple=True)
        worth = reach[batch, node].unsqueeze(1) * rows[batch, node]
        worth = worth.where(logits[batch, depth] > -torch.inf, -1.0)
        for rank in range(tree.children.shape[2]):
            child = tree.children[batch, node, rank].unsqueeze(1)
            taken = tree.tokens[batch.unsqueeze(1), child]
            worth.scatter_(1, taken, torch.where(child > 0, -1.0, worth.gather(1, taken)))
        mass[batch, node], token[batch, node] = worth.topk(width, 1)
    kept = mass.flatten(1).topk(nodes * width if candidates is None else min(candidates, nodes * width), 1)
    real = kept.values >= 0
    return Frontier(kept.indices // width, token.flatten(1).gather(1, kept.indices), kept.values.where(real | kept.values.isnan(), 0), real)
