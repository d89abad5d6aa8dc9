"""A cost that at least so many prefixes do not exceed, without listing them: histograms of costs, convolved depth by depth.

Costs are rounded **up** to a grid, so whatever is counted below a grid point really is below it.  The grid counts what
each token adds to the chain of most probable tokens; most tokens of a tree add nothing, so little is lost by rounding.
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from .marginals import Marginals

GRID = 128  # points; twice the depth of them absorb the rounding


@dataclass(frozen=True)
class CostBound:
    """For a batch of B rows, L depths, a grid of G points (0, unit, 2 unit, ...).

    limit   [B] float64        at least ``nodes`` prefixes cost no more, or all prefixes do
    unit    [B] float64        distance of grid points
    within  [B, L, G] int64    tokens of that depth that add at most so many units to the chain, rounded up
    """

    limit: Tensor
    unit: Tensor
    within: Tensor


def bound_costs(marginals: Marginals, nodes: int) -> CostBound:
    """Bound the cost of the ``nodes`` cheapest prefixes of each row."""
    logits, chain = marginals.logits, marginals.chain
    batch, depths, _ = logits.shape
    points = max(GRID, 1 << (4 * depths).bit_length())
    first = chain[:, :1].where(chain[:, :1].isfinite(), 0)
    reach = _reach(marginals, nodes) - first.squeeze(1)
    unit = reach.clamp(min=1e-6) / (points - 2 * depths - 2)
    histogram = _histogram(marginals, reach, unit, points)

    spectrum = torch.fft.rfft(histogram, n=2 * points)
    counts = [histogram[:, 0]]  # prefixes of each depth by units added to the chain
    for depth in range(1, depths):
        product = torch.fft.rfft(counts[-1], n=2 * points) * spectrum[:, depth]
        counts.append(torch.fft.irfft(product, n=2 * points)[:, :points].round_().clamp_(max=nodes))  # more would not matter
    later = ((chain - first) / unit.unsqueeze(1)).ceil().clamp(max=points).long()  # units that the chain itself adds
    shifted = torch.arange(points, device=chain.device) - later.unsqueeze(2)
    reached = torch.stack(counts, 1).cumsum(2).gather(2, shifted.clamp(min=0)).where(shifted >= 0, 0)
    total = reached.sum(1)  # prefixes of any depth up to that cost
    enough = (total < nodes).sum(1).clamp(max=points - 1)
    limit = first.squeeze(1) + torch.minimum(enough * unit, reach)
    return CostBound(limit, unit, histogram.cumsum(2).long())


def _reach(marginals: Marginals, nodes: int) -> Tensor:
    """[B] float64: a cost that ``nodes`` prefixes do not exceed, roughly; the cost of everything where there are fewer.

    D depths of ceil(nodes / D) tokens each, below the chain, are enough prefixes; D is chosen best.
    """
    logits, chain = marginals.logits, marginals.chain
    depths, width = logits.shape[1:]
    used = torch.arange(1, depths + 1, device=chain.device)
    rank = (nodes + used - 1) // used - 1
    added = logits[:, :, :1].double() - logits[:, :, rank.clamp(max=width - 1)].double()
    cost = (chain.unsqueeze(2) + added).where(rank < width, torch.inf)
    cost = cost.where(used.unsqueeze(1) <= used, -torch.inf).amax(1).nan_to_num(torch.inf).amin(1)
    last = (logits > -torch.inf).sum(2, keepdim=True).sub_(1).clamp_(min=0)
    span = logits[:, :, :1].double() - logits.gather(2, last).double()
    everything = (chain + span.squeeze(2).cumsum(1)).where(chain.isfinite(), 0).amax(1)
    return torch.minimum(cost, everything)


def _histogram(marginals: Marginals, reach: Tensor, unit: Tensor, points: int) -> Tensor:
    """[B, L, points] float64: tokens by how many units they add to the chain, rounded up."""
    logits, chain = marginals.logits, marginals.chain
    probe = (logits[:, :, :1] - logits[:, :, ::16]).double() <= reach.view(-1, 1, 1)
    kept = 16 * int(probe.sum(2).amax())  # the rest of every row is beyond reach
    added = logits[:, :, :1] - logits[:, :, :kept]
    added *= (1.00001 / unit).to(added.dtype).view(-1, 1, 1)  # a little more, so that rounding cannot round down
    units = added.ceil_().clamp_(max=points).long()
    counts = torch.zeros(*units.shape[:2], points + 1, dtype=torch.float32, device=chain.device)
    counts.scatter_add_(2, units, counts.new_ones(()).expand_as(units))
    return counts[:, :, :points].where((chain < torch.inf).unsqueeze(2), 0).double()
