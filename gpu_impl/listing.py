"""All prefixes up to a cost, for a whole batch, one step a depth: no heap and no loop over nodes.

The children of a prefix within the limit are its first few ranks, and those that have children themselves are again the
first few of these.  So only prefixes with children, some of all, are followed from depth to depth, as counts of
children; all children are written out at the end, in one step.
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from .marginals import Marginals

GRID = 256  # points at which tokens are counted
SLACK = 1.00001  # what is rounded up is first made a little larger, so that rounding of its own cannot round it down


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
    logits, chain = marginals.logits, marginals.chain
    batch, depths, width = logits.shape
    unit, within = _count_tokens(marginals, limit)
    room = (limit.unsqueeze(1) - chain) / unit.unsqueeze(1)  # units that ranks may add, down to each depth
    row = torch.arange(batch, device=chain.device)
    added = torch.zeros(batch, dtype=torch.float64, device=chain.device)  # cost on top of the chain
    itself = torch.full_like(row, -1)  # place in the listing
    begin = torch.zeros((), dtype=torch.int64, device=chain.device)
    rows, addeds, places, counts, depth_of = (list[Tensor]() for _ in range(5))
    for depth in range(depths):
        used, entry = added / unit.take(row), (row * depths + depth) * GRID
        children = _look_up(within, entry, room[:, depth].take(row) - used)
        rows, addeds, places, counts = [*rows, row], [*addeds, added], [*places, itself], [*counts, children]
        depth_of.append(torch.full_like(row, depth))
        if depth + 1 == depths:
            break
        followed = _look_up(within, entry, room[:, depth + 1].take(row) - used)
        parent = torch.repeat_interleave(followed)
        if not len(parent):
            break
        rank = _rank(followed, parent)
        ends = children.cumsum(0) + begin
        itself, begin = (ends - children).take(parent) + rank, ends[-1]
        row = row.take(parent)
        best = (row * depths + depth) * width
        added = added.take(parent) + (logits.take(best).double() - logits.take(best + rank).double())

    children = torch.cat(counts)
    owner = torch.repeat_interleave(children)
    rank = _rank(children, owner)
    row, depth_at = torch.cat(rows).take(owner), torch.cat(depth_of).take(owner)
    entry = row * depths + depth_at
    added = torch.cat(addeds).take(owner) + (logits.take(entry * width).double() - logits.take(entry * width + rank).double())
    return Listing(row, depth_at + 1, rank, torch.cat(places).take(owner), chain.take(entry) + added)


def _count_tokens(marginals: Marginals, limit: Tensor) -> tuple[Tensor, Tensor]:
    """A unit of cost [B], and how many tokens add at most so many units to the chain, rounded up: [B, L, GRID] int64."""
    logits, chain = marginals.logits, marginals.chain
    most = (limit - chain[:, 0]).clamp(min=1e-6).nan_to_num(1.0, posinf=1.0)
    near = (logits[:, :, :1] - logits[:, :, ::16]).double() <= most.view(-1, 1, 1)
    unit = most / (GRID - 2)
    added = logits[:, :, :1] - logits[:, :, : 16 * int(near.sum(2).amax())]  # later ranks add too much
    added *= (SLACK / unit).to(added.dtype).view(-1, 1, 1)
    units = added.ceil_().clamp_(max=GRID).long()
    counts = torch.zeros(*units.shape[:2], GRID + 1, dtype=torch.float32, device=units.device)
    counts.scatter_add_(2, units, counts.new_ones(()).expand_as(units))
    return unit, counts[:, :, :GRID].where((chain < torch.inf).unsqueeze(2), 0).cumsum(2).long()


def _look_up(within: Tensor, entry: Tensor, units: Tensor) -> Tensor:
    """Tokens that add at most so many units, at flat places ``entry`` of the table."""
    point = (units * SLACK + 1e-3).ceil_().clamp_(-1, GRID - 1).long()
    return within.take(entry + point.clamp(min=0)).where(point >= 0, 0)


def _rank(counts: Tensor, owner: Tensor) -> Tensor:
    """0, 1, ... within each run of the same owner."""
    return torch.arange(len(owner), device=owner.device) - (counts.cumsum(0) - counts).take(owner)
