"""Several draws from one row, one after the other, without or with replacement, each from one uniform: the row is summed once.

Draw j without replacement is the inverse CDF of the row off its elders, tokens in id order.  Its place in the CDF of the whole row is found by
stepping over the elders in id order, so it costs a binary search.
"""
import torch
from torch import Tensor

SPENT = 2.0**-20
"""Where the elders have left less than this share of a row, sums have lost too many bits: the row off the elders is summed anew."""


def draw_sequence(law: Tensor, uniforms: Tensor, counts: Tensor, replace: bool) -> tuple[Tensor, Tensor]:
    """Draw up to R tokens at each of M places of G rows.

    law [G, V] float64 probabilities; uniforms [G, M, R] float64 in [0, 1); counts [G, M] int64, how many draws are wanted.
    Returns tokens [G, M, R] int64, -1 where none is wanted or the row's support is exhausted, and [G, M, R] bool: exhausted.
    """
    cdf = law.cumsum(-1)
    total = cdf[:, -1:]
    support = (law > 0).sum(-1, keepdim=True)
    tokens = torch.full_like(uniforms, -1, dtype=torch.int64)
    exhausted = torch.zeros_like(tokens, dtype=torch.bool)
    for rank in range(uniforms.shape[2]):
        wanted = counts > rank
        elders = tokens[:, :, : 0 if replace else rank]
        exhausted[:, :, rank] = wanted & (support <= elders.shape[2])
        live = wanted & ~exhausted[:, :, rank]
        tokens[:, :, rank] = _draw(law, cdf, total, uniforms[:, :, rank], elders, live).where(live, -1)
    return tokens, exhausted


def _draw(law: Tensor, cdf: Tensor, total: Tensor, uniform: Tensor, elders: Tensor, live: Tensor) -> Tensor:
    """One draw [G, M] off the elders [G, M, j]; what comes back where not ``live`` is meaningless."""
    ordered = elders.clamp(min=0).sort(-1).values
    flat = ordered.flatten(1)
    mass = law.gather(1, flat).view_as(ordered).where(live.unsqueeze(2), 0)
    below = cdf.gather(1, flat).view_as(ordered) - mass
    left = total - mass.sum(-1)
    place = uniform * left
    for elder in range(ordered.shape[2]):
        place = place + mass[:, :, elder].where(place >= below[:, :, elder], 0)
    token = torch.searchsorted(cdf, place, right=True).clamp_(max=law.shape[1] - 1)
    doubtful = live & ((left < SPENT * total) | (law.gather(1, token) <= 0) | (elders == token.unsqueeze(2)).any(-1))
    row, column = doubtful.nonzero(as_tuple=True)
    if len(row):
        token[row, column] = _exactly(law, row, elders[row, column], uniform[row, column])
    return token


def _exactly(law: Tensor, row: Tensor, elders: Tensor, uniform: Tensor) -> Tensor:
    """The same draws [n] from rows in which the elders [n, j] were set to zero, summed anew."""
    rest = law[row].scatter(1, elders, 0.0)
    cdf = rest.cumsum(-1)
    token = torch.searchsorted(cdf, (uniform * cdf[:, -1]).unsqueeze(1), right=True).squeeze(1).clamp_(max=law.shape[1] - 1)
    return token.where(rest.gather(1, token.unsqueeze(1)).squeeze(1) > 0, rest.argmax(1))


def gumbel_top(logits: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """``count`` draws without replacement from each row at once, in the order of drawing, [n, count] (arXiv 1903.06059).

    They are the largest keys, logits [n, V] plus Gumbel noise, in descending order.  Where a row has fewer possible
    tokens, the places left are -1.
    """
    source = logits.device if generator is None else generator.device
    noise = torch.empty(logits.shape, dtype=torch.float64, device=source).exponential_(generator=generator).to(logits.device)
    top = (logits.double() - noise.log()).topk(min(count, logits.shape[1]), dim=-1)
    possible = logits.gather(1, top.indices) > -torch.inf
    return torch.nn.functional.pad(top.indices.where(possible, -1), (0, count - top.indices.shape[1]), value=-1)
