"""DDTree's selection: one program a tree pops the cheapest prefix of its frontier, node by node, without asking the host anything.

Popping a prefix adds its next sibling and its first child.  Equal costs are popped in the order they were added, which puts
a prefix before its extensions; the plain rule orders them by rank tuple, so trees with ties may differ, at equal mass.
"""
import torch
import triton
import triton.language as tl
from torch import Tensor

from . import use


@triton.jit
def select_kernel(logits, chain, cost, depth, rank, parent, wanted, depths, width, stride_batch, stride_depth, FRONTIER: tl.constexpr):
    tree = tl.program_id(0).to(tl.int64)
    logits += tree * stride_batch
    chain += tree * depths
    index = tl.arange(0, FRONTIER)
    costs = tl.where(index == 0, tl.load(chain), float("inf")).to(tl.float64)
    added = tl.zeros([FRONTIER], tl.float64)  # on top of the chain, by all ranks but the last
    depth_of = tl.where(index == 0, 1, 0)
    rank_of = tl.zeros([FRONTIER], tl.int32)
    above = tl.zeros([FRONTIER], tl.int32)
    ends = tl.full([], 1, tl.int32)
    node = tl.full([], 0, tl.int32)
    cheapest = tl.min(costs)
    while (node < wanted) & (cheapest < float("inf")):
        place = tl.min(tl.where(costs == cheapest, index, FRONTIER))
        here = index == place
        at = tl.sum(tl.where(here, depth_of, 0))
        ranked = tl.sum(tl.where(here, rank_of, 0))
        owner = tl.sum(tl.where(here, above, 0))
        elders = tl.sum(tl.where(here, added, 0.0))
        out = tree * wanted + node
        tl.store(cost + out, cheapest)
        tl.store(depth + out, at.to(tl.int64))
        tl.store(rank + out, ranked.to(tl.int64))
        tl.store(parent + out, owner.to(tl.int64))
        row = logits + (at - 1) * stride_depth
        best = tl.load(row).to(tl.float64)
        own = elders + (best - tl.load(row + ranked).to(tl.float64))
        # the next sibling takes the place of the one popped, the first child a new one
        more = ranked + 1 < width
        sibling = tl.load(row + ranked + 1, mask=more, other=float("-inf")).to(tl.float64)
        base = tl.load(chain + at - 1)
        costs = tl.where(here, base + elders + (best - sibling), costs)
        rank_of = tl.where(here, ranked + 1, rank_of)
        deeper = at < depths
        below = tl.load(chain + at, mask=deeper, other=float("inf"))
        new = index == ends
        costs = tl.where(new, below + own, costs)
        added = tl.where(new, own, added)
        depth_of = tl.where(new, at + 1, depth_of)
        rank_of = tl.where(new, 0, rank_of)
        above = tl.where(new, node + 1, above)
        ends += 1
        node += 1
        cheapest = tl.min(costs)


def select(logits: Tensor, chain: Tensor, nodes: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The ``nodes`` heaviest prefixes from top logits [B, L, K], most probable first, and the cost of the chain [B, L] float64.

    Returns cost [B, N] float64, depth, rank and parent [B, N] int64 as ``selection.Selection``.
    """
    batch, depths, width = logits.shape
    cost = torch.full((batch, nodes), torch.inf, dtype=torch.float64, device=logits.device)
    depth, rank, parent = (torch.zeros_like(cost, dtype=torch.int64) for _ in range(3))
    logits = logits.contiguous()
    if batch and nodes:
        select_kernel[(batch,)](
            logits, chain.contiguous(), cost, depth, rank, parent, nodes, depths, width, logits.stride(0), logits.stride(1),
            FRONTIER=use.padded(nodes + 1), num_warps=4, maxnreg=use.REGISTERS,
        )
    return cost, depth, rank, parent
