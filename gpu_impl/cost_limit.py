"""Up to which cost prefixes have to be listed: a guess from histograms of costs, convolved depth by depth, and a bound.

Costs are counted above the chain of most probable tokens: most tokens of a prefix add nothing, so little is lost by
rounding to a grid.  The guess is good to a few percent of the count; whoever uses it checks, and raises it if need be.
"""
import torch
from torch import Tensor

from .marginals import Marginals

POINTS = 96  # of the grid
SINGLE, BLOCK = 64, 16  # the first ranks are counted one by one, later ones by the middle of their block
SURPLUS = 1.05  # of the wanted count, so that a guess that is a little low is still enough


def guess_limits(marginals: Marginals, nodes: int) -> tuple[Tensor, Tensor]:
    """(guess, bound), both [B] float64: about, and at least, ``nodes`` prefixes cost no more, or all where there are fewer."""
    chain = marginals.chain
    first = chain[:, 0].where(chain[:, 0] < torch.inf, 0)
    bound = _bound(marginals, nodes)
    unit = (bound - first) / (POINTS - 1)
    depths = max(1, int((chain <= bound.unsqueeze(1)).sum(1).amax()))  # no prefix beyond them is cheap enough
    later = (chain[:, :depths] - first.unsqueeze(1)) / unit.unsqueeze(1)
    counts = _counts(_histogram(marginals.logits[:, :depths], unit).where((later < POINTS).unsqueeze(2), 0), nodes)
    total = _total(counts, later.clamp(max=POINTS))

    wanted = SURPLUS * nodes + 1
    point = (total < wanted).sum(1, keepdim=True).clamp(1, POINTS - 1)
    low, high = total.gather(1, point - 1), total.gather(1, point)
    share = ((wanted - low) / (high - low)).nan_to_num(1.0).clamp(0, 1)
    return torch.minimum(first + (point - 1 + share).squeeze(1) * unit, bound), bound


def _bound(marginals: Marginals, nodes: int) -> Tensor:
    """D depths of ceil(nodes / D) tokens each, below the chain, are enough prefixes, for the best D; else all prefixes."""
    logits, chain = marginals.logits, marginals.chain
    depths, width = logits.shape[1:]
    used = torch.arange(1, depths + 1, device=chain.device)
    rank = (nodes + used - 1) // used - 1
    added = logits[:, :, :1].double() - logits[:, :, rank.clamp(max=width - 1)].double()
    cost = (chain.unsqueeze(2) + added).where(rank < width, torch.inf)
    cost = cost.where(used.unsqueeze(1) <= used, -torch.inf).amax(1).nan_to_num(torch.inf).amin(1)
    last = logits[:, :, -1:]
    if bool((last == -torch.inf).any()):
        last = logits.gather(2, (logits > -torch.inf).sum(2, keepdim=True).sub_(1).clamp_(min=0))
    span = (logits[:, :, :1].double() - last.double()).squeeze(2)
    everything = (chain + span.cumsum(1)).where(chain < torch.inf, 0).amax(1)
    return torch.minimum(cost, everything) * (1 + 1e-9) + 1e-9  # what costs just that is not lost to rounding


def _histogram(logits: Tensor, unit: Tensor) -> Tensor:
    """[B, L, POINTS] float64: tokens by the units that they add, each shared between two points so that the mean is right."""
    counted = torch.cat([logits[:, :, :SINGLE], logits[:, :, SINGLE + BLOCK // 2 :: BLOCK]], dim=2)
    added = ((logits[:, :, :1] - counted).double() / unit.view(-1, 1, 1)).clamp_(max=POINTS)
    below = added.long()
    above = added.sub_(below)
    above[:, :, SINGLE:] *= BLOCK
    weight = torch.ones(above.shape[2], dtype=torch.float64, device=above.device)
    weight[SINGLE:] = BLOCK
    counts = torch.zeros(*below.shape[:2], POINTS + 2, dtype=torch.float64, device=below.device)
    counts.scatter_add_(2, below, weight - above).scatter_add_(2, below + 1, above)
    return counts[:, :, :POINTS]


def _counts(histogram: Tensor, nodes: int) -> Tensor:
    """[B, L, POINTS]: prefixes of each depth by units added to the chain; more than ``nodes`` do not matter."""
    spectrum = torch.fft.rfft(histogram, n=2 * POINTS)
    counts = [histogram[:, 0]]
    for depth in range(1, histogram.shape[1]):
        product = torch.fft.rfft(counts[-1], n=2 * POINTS) * spectrum[:, depth]
        counts.append(torch.fft.irfft(product, n=2 * POINTS)[:, :POINTS].clamp_(0, nodes))
    return torch.stack(counts, 1)


def _total(counts: Tensor, later: Tensor) -> Tensor:
    """[B, POINTS]: prefixes of any depth up to each grid point, the chain itself adding ``later`` [B, L] units."""
    summed = torch.nn.functional.pad(counts.cumsum(2), (1, 0))  # up to half a unit below, and above, each grid point
    at = (torch.arange(POINTS, device=later.device) + 0.5 - later.unsqueeze(2)).clamp_(min=0)
    below = at.long()
    low = summed.gather(2, below)
    return (low + (at - below) * (summed.gather(2, (below + 1).clamp_(max=POINTS)) - low)).sum(1)
