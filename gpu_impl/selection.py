"""The heaviest prefixes of a product of marginals, for a whole batch at once: no heap and no loop over nodes.

Every prefix within a cost bound is listed, depth by depth, the children of all listed prefixes in one step; together
they are a tree, and one sort per row puts the heaviest first.  The bound is tight, so few are listed in vain.
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from .cost_bound import CostBound, bound_costs
from .marginals import Marginals


@dataclass(frozen=True)
class Selection:
    """The up to N heaviest prefixes of each of B rows, heaviest first.

    cost    [B, N] float64  minus log mass; infinite where a row has no more prefixes
    depth   [B, N] int64    from 1
    rank    [B, N] int64    of the last token at its depth
    parent  [B, N] int64    1 + place of the parent, 0 for the root; smaller than the node's own
    """

    cost: Tensor
    depth: Tensor
    rank: Tensor
    parent: Tensor


@dataclass(frozen=True)
class _Level:
    """The listed prefixes of one depth, as vectors; those of one parent side by side, by rank.

    ``children`` of each parent and ``start`` of its first are indexed by the parents' level (the rows, for depth 1).
    """

    row: Tensor
    rank: Tensor
    added: Tensor  # cost on top of the chain
    parent: Tensor
    children: Tensor
    start: Tensor


def select(marginals: Marginals, nodes: int) -> Selection:
    """The ``nodes`` heaviest prefixes of each row that the marginals hold.

    Equal masses come by rank tuple, lexicographically, which puts a prefix before its extensions.  Waits for the device
    once per depth, since how many prefixes there are decides the shapes.
    """
    levels = _list_prefixes(marginals, bound_costs(marginals, nodes))
    row = torch.cat([level.row for level in levels])
    if not len(row):
        nothing = row.new_zeros(len(marginals.chain), 0)
        return Selection(nothing.double(), nothing, nothing, nothing)
    place, longest = _lexicographic_places(levels, len(marginals.chain))
    sizes = torch.tensor([len(level.row) for level in levels])
    depth = torch.repeat_interleave(sizes).to(row.device)
    below = sizes.cumsum(0) - sizes  # where each level begins
    parent = torch.cat([level.parent + (int(below[d - 1]) if d else 0) for d, level in enumerate(levels)])
    rank = torch.cat([level.rank for level in levels])
    cost = marginals.chain[row, depth] + torch.cat([level.added for level in levels])

    batch, spot = len(marginals.chain), row * longest + place
    table = torch.full((batch * longest,), torch.inf, dtype=torch.float64, device=row.device).scatter_(0, spot, cost)
    holder = torch.zeros(batch * longest, dtype=torch.int64, device=row.device)
    holder.scatter_(0, spot, torch.arange(len(row), device=row.device))
    cost, order = table.view(batch, longest).sort(dim=1, stable=True)
    cost, order = cost[:, :nodes], order[:, :nodes]
    chosen = holder.view(batch, longest).gather(1, order)

    node = torch.arange(1, chosen.shape[1] + 1, device=row.device).expand_as(chosen)
    real = cost < torch.inf
    number = torch.zeros(len(row) + 1, dtype=torch.int64, device=row.device)
    number.scatter_(0, chosen.where(real, len(row)).flatten(), node.flatten())
    at_root = ~real | (depth.take(chosen) == 0)
    return Selection(
        cost=cost,
        depth=(depth.take(chosen) + 1).where(real, 0),
        rank=rank.take(chosen),
        parent=number.take(parent.take(chosen)).where(~at_root, 0),
    )


def _list_prefixes(marginals: Marginals, bound: CostBound) -> list[_Level]:
    """All prefixes that cost at most the limit (and a few that cost up to a unit more), one level a depth."""
    logits, chain, within = marginals.logits, marginals.chain, bound.within
    batch, depths, width = logits.shape
    points = within.shape[2]
    row = torch.arange(batch, device=chain.device)
    added = torch.zeros(batch, dtype=torch.float64, device=chain.device)
    levels: list[_Level] = []
    for depth in range(depths):
        left = (bound.limit - chain[:, depth]) / bound.unit
        left = left.take(row) - added / bound.unit.take(row)  # units that the next token may add
        entry = row * depths + depth
        units = left.ceil().add_(1).clamp_(0, points - 1).long()  # one more: the histogram rounds up
        children = within.take(entry * points + units).where(left > -0.5, 0)
        start = children.cumsum(0) - children
        parent = torch.repeat_interleave(children)
        rank = torch.arange(len(parent), device=row.device) - start.take(parent)
        row, entry = row.take(parent), entry.take(parent) * width
        added = added.take(parent) + (logits.take(entry).double() - logits.take(entry + rank).double())
        levels.append(_Level(row, rank, added, parent, children, start))
        if not len(parent):
            break
    return levels


def _lexicographic_places(levels: list[_Level], batch: int) -> tuple[Tensor, int]:
    """Each prefix's place among those of its row in lexicographic order of ranks, levels one after the other; and the
    largest number of prefixes in a row.  A prefix stands before its subtree, and that before its younger siblings.
    """
    size = torch.ones_like(levels[-1].row)  # of the subtree
    before: list[Tensor] = []  # nodes in the subtrees of all earlier prefixes of the level
    for level in reversed(levels):
        sums = torch.nn.functional.pad(size.cumsum(0), (1, 0))
        before.append(sums)
        size = 1 + sums.take(level.start + level.children) - sums.take(level.start)
    place, places = size.new_full((batch,), -1), list[Tensor]()
    for level, sums in zip(levels, reversed(before), strict=True):
        place = place.take(level.parent) + 1 + sums[:-1] - sums.take(level.start).take(level.parent)
        places.append(place)
    return torch.cat(places), int(size.amax()) - 1
