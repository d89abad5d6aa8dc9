"""Up to which cost prefixes have to be listed: a guess from histograms of costs, convolved over depths, and a bound.

Costs are counted above the chain of most probable tokens: most tokens of a prefix add nothing, so little is lost by
rounding to a grid.  The guess is good to a few percent of the count; whoever uses it checks, and raises it if need be.
"""
from functools import cache

import torch
from torch import Tensor

from .marginals import Marginals

POINTS = 64  # of the grid
TILT = 24 / POINTS  # exp(-24) at the far end of the grid: counts there keep four digits, and what comes round twice is gone
ZOOMS = 8  # at most
SINGLE, BLOCK = 64, 16  # the first ranks are counted one by one, later ones by the middle of their block
SURPLUS = 1.08  # of the wanted count, so that a guess that is a little low is still enough


def guess_limits(marginals: Marginals, nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    """(guess, step, bound), all [B] float64: about ``nodes`` prefixes cost no more than the guess, or all where there are fewer.

    A step on top of it makes them about a quarter more; at least ``nodes`` cost no more than the bound, or all.
    """
    chain = marginals.chain
    first = chain[:, 0].where(chain[:, 0] < torch.inf, 0)
    bound = _bound(marginals, nodes)
    reach = bound - first
    for _ in range(ZOOMS):
        unit = reach / (POINTS - 1)
        depths = max(1, int((chain <= (first + reach).unsqueeze(1)).sum(1).amax()))  # no prefix beyond them is cheap enough
        later = (chain[:, :depths] - first.unsqueeze(1)) / unit.unsqueeze(1)
        total = _prefixes(_histogram(marginals.logits[:, :depths], unit), later)
        guess, more = (_crossing(total, share * nodes + 1) * unit for share in (SURPLUS, 1.25 * SURPLUS))
        if bool((3 * guess >= reach).all()):
            break
        reach = torch.minimum(reach, 2 * guess + 2 * unit)  # a bound that is far too high makes the grid too coarse
    return torch.minimum(first + guess, bound), (more - guess).clamp(min=1e-6), bound


def _crossing(total: Tensor, wanted: float) -> Tensor:
    """[B]: where total [B, POINTS], given half way between grid points, reaches ``wanted``, in units."""
    point = (total < wanted).sum(1, keepdim=True).clamp(1, POINTS - 1)
    low, high = total.gather(1, point - 1), total.gather(1, point)
    share = ((wanted - low) / (high - low)).nan_to_num(1.0).clamp(0, 1)
    return (point - 0.5 + share).squeeze(1)


def _bound(marginals: Marginals, nodes: int) -> Tensor:
    """D depths of ceil(nodes / D) tokens each, below the chain, are enough prefixes, for the best D; else all prefixes."""
    logits, chain = marginals.logits, marginals.chain
    depths, width = logits.shape[1:]
    cost = torch.full_like(chain[:, 0], torch.inf)
    for used in {1, 2, 4, 8, depths}:
        rank = -(-nodes // used) - 1
        if used <= depths and rank < width:
            added = logits[:, :used, 0].double() - logits[:, :used, rank].double()
            cost = torch.minimum(cost, (chain[:, :used] + added).amax(1).nan_to_num(torch.inf))
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


def _prefixes(histogram: Tensor, later: Tensor) -> Tensor:
    """[B, POINTS] float64: prefixes of any depth by cost, up to half a unit above each grid point, the chain adding ``later``.

    Fourier transforms: products of spectra convolve, multiples of roots shift.  Counts are tilted by exp(-TILT cost): what
    lies beyond the grid, and would come back at its low end, vanishes, and rounding hurts where there is most to lose.
    """
    tilt, shifts = _constants(later.device)
    whole = later.clamp(max=POINTS).long()
    part = (later - whole).unsqueeze(2)
    shift = torch.lerp(shifts[whole], shifts[whole + 1], part.to(shifts.dtype)).where(part < 1, 0)  # beyond the grid: not at all
    spectrum = torch.fft.rfft(histogram * tilt, n=2 * POINTS).cumprod(1)
    count: Tensor = torch.fft.irfft((spectrum * shift).sum(1), n=2 * POINTS)[:, :POINTS] / tilt
    return count.cumsum(1)


@cache
def _constants(device: torch.device) -> tuple[Tensor, Tensor]:
    """The tilt at each grid point; and what shifts a tilted spectrum by 0, 1, ... points, [POINTS + 2, POINTS + 1]."""
    grid = torch.arange(POINTS + 2, dtype=torch.float64, device=device)
    turns = grid.unsqueeze(1) * grid[: POINTS + 1] * (-torch.pi / POINTS)
    return torch.exp(-TILT * grid[:POINTS]), torch.polar(torch.exp(-TILT * grid).unsqueeze(1).expand_as(turns), turns)
