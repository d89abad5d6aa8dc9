"""All prefixes up to a cost, for a whole batch, one step a depth: no heap and no loop over nodes.

The children of a prefix within the limit are its first few ranks, and those that have children themselves are again the
first few of these.  So only prefixes with children, some of all, are followed from depth to depth, as counts of
children; all children are written out at the end, in one step.
"""
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from .marginals import Marginals

GRID = 128  # points at which tokens are counted
PROBE = 16  # every 16th rank is looked at to see how many are needed
SLACK = 1.00001  # what is compared or rounded up is first made a little larger, so that rounding cannot make it too small


@dataclass(frozen=True)
class Listing:
    """M prefixes as vectors, of all rows; by depth, then by ranks, lexicographically: so parents come before children.

    row, depth (from 1), rank (of the last token) [M] int64; parent [M] int64, place in the listing or -1 for the root;
    cost [M] float64, minus log mass.
    """

    row: Tensor
    depth: Tensor
    rank: Tensor
    parent: Tensor
    cost: Tensor


def list_prefixes(marginals: Marginals, limit: Tensor) -> Listing:
    """All prefixes that cost at most limit [B], and a few that cost little more; waits for the device once a depth."""
    chain, logits, width = marginals.chain, marginals.logits.flatten(), marginals.logits.shape[2]
    batch, depths = chain.shape
    room = (limit.unsqueeze(1) - chain).clamp_(min=-1e300)  # what ranks may add, down to each depth
    scale, within = _count_tokens(marginals, room)
    here_and_below = torch.stack([room, room.roll(-1, 1)], dim=2).view(-1, 2).mul_(scale.unsqueeze(1))
    here_and_below += 2.001  # truncated, while the tokens' units are rounded up, and column 0 is for none
    best = logits[::width].double()

    entry = torch.arange(batch, device=chain.device) * depths  # row and depth of the children, as one number
    added = torch.zeros(batch, dtype=torch.float64, device=chain.device)  # by the ranks so far
    parent = rank = torch.zeros_like(entry)
    levels = list[tuple[Tensor, ...]]()
    for depth in range(depths):
        units = here_and_below.index_select(0, entry) - (added * scale.index_select(0, entry)).unsqueeze(1)
        table = units.clamp_(0, GRID).long().add_((entry * (GRID + 1)).unsqueeze(1))
        children, followed = within.index_select(0, table.view(-1)).view(-1, 2).unbind(1)
        levels.append((entry, added, parent, rank, children))
        if depth + 1 == depths:
            break
        parent = torch.repeat_interleave(followed)
        if not len(parent):
            break
        rank = _rank(followed, parent)
        entry, added = _child(entry, added, parent, rank, logits, best, width)
        entry = entry + 1

    sizes = [len(level[0]) for level in levels]
    entry, added, parent, rank, children = (torch.cat(parts) for parts in zip(*levels, strict=True))
    begins = torch.tensor([0, *accumulate(sizes[:-1], initial=0)][: len(sizes)])  # of the level above each level
    above = parent + torch.repeat_interleave(begins, torch.tensor(sizes)).to(parent.device)
    start = children.cumsum(0) - children
    itself = start.index_select(0, above).add_(rank)
    itself[:batch] = -1
    owner = torch.repeat_interleave(children)
    rank = _rank(children, owner)
    entry, added = _child(entry, added, owner, rank, logits, best, width)
    return Listing(
        row=entry // depths,
        depth=entry % depths + 1,
        rank=rank,
        parent=itself.index_select(0, owner),
        cost=added.add_(chain.flatten().index_select(0, entry)),
    )


def _child(
    entry: Tensor, added: Tensor, parent: Tensor, rank: Tensor, logits: Tensor, best: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    """Row and depth, and cost on top of the chain, of the children of these ranks."""
    entry = entry.index_select(0, parent)
    token = logits.index_select(0, entry * width + rank).double()
    return entry, added.index_select(0, parent).add_(best.index_select(0, entry) - token)


def _count_tokens(marginals: Marginals, room: Tensor) -> tuple[Tensor, Tensor]:
    """Units per cost [B * L], and a table [B * L * (GRID + 1)] int64: tokens that add at most so many units less one."""
    logits, width = marginals.logits, marginals.logits.shape[2]
    near = (logits[:, :, :1] - logits[:, :, ::PROBE]).double() <= SLACK * room.unsqueeze(2)
    needed = (PROBE * near.sum(2)).clamp_(max=width).flatten()  # at each row and depth; later ranks add too much
    scale = (SLACK * (GRID - 2) / room.amax(1, keepdim=True).clamp(min=1e-6)).expand_as(room).flatten()
    entry = torch.repeat_interleave(needed)
    token = entry * width + _rank(needed, entry)
    added = logits.flatten()[::width].index_select(0, entry) - logits.flatten().index_select(0, token)
    units = (added * scale.index_select(0, entry)).ceil_().clamp_(max=GRID).long().add_(entry * (GRID + 2) + 1)
    counts = torch.zeros(len(needed) * (GRID + 2), dtype=torch.float32, device=room.device)
    counts.scatter_add_(0, units, torch.ones_like(units, dtype=torch.float32))
    return scale, counts.view(-1, GRID + 2)[:, : GRID + 1].cumsum(1).long().flatten()


def _rank(counts: Tensor, owner: Tensor) -> Tensor:
    """0, 1, ... within each run of the same owner."""
    return torch.arange(len(owner), device=owner.device).sub_((counts.cumsum(0) - counts).index_select(0, owner))
