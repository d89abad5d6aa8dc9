"""The heaviest prefixes of a product of marginals, for a whole batch at once: list all within a cost, then sort."""
from dataclasses import dataclass

import torch
from torch import Tensor

from .cost_limit import guess_limits
from .kernels.use import MOST_NODES, on_device
from .listing import Listing, list_prefixes
from .marginals import Marginals


@dataclass(frozen=True)
class Selection:
    """The up to N heaviest prefixes of each of B rows, heaviest first.

    cost    [B, N] float64  minus log mass; infinite where a row has no more prefixes
    depth   [B, N] int64    from 1; 0 where there is none
    rank    [B, N] int64    of the last token at its depth
    parent  [B, N] int64    1 + place of the parent, 0 for the root; smaller than 1 + the node's own
    """

    cost: Tensor
    depth: Tensor
    rank: Tensor
    parent: Tensor


def select(marginals: Marginals, nodes: int) -> Selection:
    """The ``nodes`` heaviest prefixes of each row that the marginals hold.

    Equal masses come by rank tuple, lexicographically, which puts a prefix before its extensions.  Waits for the device
    once a depth, since how many prefixes there are decides the shapes.
    """
    if on_device(marginals.logits) and nodes < MOST_NODES:
        from .kernels.select import select as kernel

        return Selection(*kernel(marginals.logits, marginals.chain, nodes))
    limit, step, bound = guess_limits(marginals, nodes)
    wanted = torch.arange(nodes, device=limit.device)
    while True:
        listing = list_prefixes(marginals, limit)
        order, count = _by_cost(listing, len(limit))
        real = wanted < count.unsqueeze(1)
        chosen = _pick(order, ((count.cumsum(0) - count).unsqueeze(1) + wanted).where(real, 0))
        cost = _pick(listing.cost, chosen).where(real, torch.inf)
        enough = (limit >= bound) | (cost[:, -1] <= limit)  # all that cost no more than the limit are listed
        if bool(enough.all()):
            break
        limit, step = torch.minimum(limit + step, bound).where(~enough, limit), 2 * step

    number = torch.zeros(len(order) + 1, dtype=torch.int64, device=limit.device)  # from 1; the last is for the root
    number.scatter_(0, chosen.where(real, len(order)).flatten(), (wanted + 1).expand_as(chosen).flatten())
    number[-1] = 0
    parent = _pick(listing.parent, chosen)
    return Selection(
        cost=cost,
        depth=_pick(listing.depth, chosen).where(real, 0),
        rank=_pick(listing.rank, chosen).where(real, 0),
        parent=_pick(number, parent.where(parent >= 0, len(order))).where(real, 0),
    )


def _by_cost(listing: Listing, batch: int) -> tuple[Tensor, Tensor]:
    """Places in the listing, sorted by row, cost and rank tuple; and how many each row has, [B]."""
    row, bits = listing.row, listing.cost.view(torch.int64)  # of floats that are not negative: they sort as integers, faster
    count = torch.zeros(batch, dtype=torch.int64, device=row.device).scatter_add_(0, row, torch.ones_like(row))
    if not len(row):
        return row, count
    order = _stable_order(row, bits, batch)
    ordered, depth = bits.index_select(0, order), listing.depth.index_select(0, order)
    if bool(((ordered[1:] == ordered[:-1]) & (depth[1:] != depth[:-1])).any()):
        # ties between depths, as of certain tokens; those at one depth are settled by the order of the listing
        first = lexicographic_places(listing, batch).sort()[1]
        order = first.index_select(0, _stable_order(row.index_select(0, first), bits.index_select(0, first), batch))
    return order, count


def _stable_order(row: Tensor, bits: Tensor, batch: int) -> Tensor:
    """The order by row, then bits, then place."""
    low, high = bits.aminmax()
    span = int(high - low) + 1
    if span * batch < 1 << 63:  # both fit into one number
        return (row * span).add_(bits).sub_(low).sort(stable=True)[1]
    order = bits.sort(stable=True)[1]
    return order.index_select(0, row.index_select(0, order).sort(stable=True)[1])


def lexicographic_places(listing: Listing, batch: int) -> Tensor:
    """[M] int64: a number for each listed prefix that sorts those of a row by rank tuple, a prefix before its extensions."""
    deepest = int(listing.depth.amax())
    size = torch.ones(len(listing.row) + batch, dtype=torch.int64, device=listing.row.device)  # of subtrees; roots behind
    parent = listing.parent.where(listing.parent >= 0, len(listing.row) + listing.row)
    for depth in range(deepest, 0, -1):
        size.scatter_add_(0, parent, size[: len(parent)].where(listing.depth == depth, 0))
    own = size[: len(parent)]
    before = own.cumsum(0) - own  # elder siblings stand directly before, so a difference of these is their sizes
    first = torch.full_like(size, len(parent)).scatter_reduce_(0, parent, torch.arange(len(parent), device=parent.device), "amin")
    offset = before - before.take(first.take(parent)) + 1
    place = torch.zeros_like(size)
    for depth in range(1, deepest + 1):
        place[: len(parent)] = (place.take(parent) + offset).where(listing.depth == depth, place[: len(parent)])
    return place[: len(parent)]


def _pick(values: Tensor, places: Tensor) -> Tensor:
    """values [M] at places [B, N]; 0 where there are no values at all."""
    return values.index_select(0, places.flatten()).view_as(places) if len(values) else values.new_zeros(places.shape)
