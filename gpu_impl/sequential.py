"""Several draws from one row, one after the other, without or with replacement, each from one uniform; the row is read once.

Draw j without replacement is the inverse CDF of the row off its elders, tokens in id order.  Its place in the CDF of the
whole row is found by stepping over the elders; then the block of tokens that holds it, then the token in the block.
"""
import torch
from torch import Tensor

from .sampling import inverse_cdf

BLOCK = 512  # tokens summed at a time: a row's CDF is held by blocks, the tokens' own only where a draw falls
SPENT = 2.0**-20  # where the elders leave less than this share of a row, sums have lost too many bits and are made anew


def draw_sequence(law: Tensor, row: Tensor, uniforms: Tensor, counts: Tensor, replace: bool) -> tuple[Tensor, Tensor]:
    """Draw up to R tokens at each of n places, from rows that places may share.

    law [G, V] probabilities, which need not sum to 1 exactly; row [n] int64, the row each place draws from; uniforms [n, R]
    float64 in [0, 1); counts [n] int64, how many draws are wanted.  Returns tokens [n, R] int64, -1 where none is wanted or
    the row's support is exhausted, and [n, R] bool: exhausted.
    """
    cdf, support = _block_cdf(law), _support(law)[row]
    tokens = torch.full_like(uniforms, -1, dtype=torch.int64)
    exhausted = torch.zeros_like(tokens, dtype=torch.bool)
    mass, below = torch.zeros_like(uniforms), torch.zeros_like(uniforms)  # of the token drawn, and of all before it
    for rank in range(uniforms.shape[1]):
        elders = slice(0 if replace else rank)
        exhausted[:, rank] = (counts > rank) & (support <= elders.stop)
        live = ((counts > rank) & (support > elders.stop)).nonzero(as_tuple=True)[0]
        uniform, source, elder = uniforms[live, rank], row[live], tokens[live, elders]
        total = cdf[source, -1]
        place, left = _place(uniform, total, elder, mass[live, elders], below[live, elders])
        token, weight, start = _token_at(law, cdf, source, place)
        doubtful = ((left < SPENT * total) | (weight <= 0) | (elder == token.unsqueeze(1)).any(1)).nonzero(as_tuple=True)[0]
        if len(doubtful):
            token[doubtful], weight[doubtful], start[doubtful] = _exactly(
                law[source[doubtful]], elder[doubtful], uniform[doubtful])
        tokens[live, rank], mass[live, rank], below[live, rank] = token, weight, start
    return tokens, exhausted


def _block_cdf(law: Tensor) -> Tensor:
    """Mass [G, V / BLOCK] float64 up to the end of each block of tokens, the last one short."""
    rows, vocabulary = law.shape
    whole = vocabulary - vocabulary % BLOCK
    sums = law[:, :whole].reshape(rows, -1, BLOCK).sum(-1) if whole else law.new_zeros(rows, 0)
    if whole < vocabulary:
        sums = torch.cat([sums, law[:, whole:].sum(-1, keepdim=True)], 1)
    return sums.double().cumsum(-1)


def _support(law: Tensor) -> Tensor:
    """How many tokens each row [G, V] makes possible, [G]; rows without a zero are not counted."""
    support = torch.full((len(law),), law.shape[1], dtype=torch.int64, device=law.device)
    row = (law.amin(-1) <= 0).nonzero(as_tuple=True)[0]
    support[row] = torch.count_nonzero(law[row], dim=-1)
    return support


def _place(uniform: Tensor, total: Tensor, elder: Tensor, mass: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """Where in the CDF of the whole row draws [n] off their elders [n, j] fall, and the mass [n] that the elders leave."""
    if not elder.shape[1]:
        return uniform * total, total
    order = elder.sort(1).indices
    mass, below = mass.gather(1, order), below.gather(1, order)
    taken = mass.cumsum(1)
    left = total - taken[:, -1]
    place = uniform * left
    passed = place.unsqueeze(1) >= below - (taken - mass)  # in the CDF of what is left
    return place + (mass * passed).sum(1), left


def _token_at(law: Tensor, cdf: Tensor, row: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens at places [n] of the CDFs of rows [n], their mass, and the mass of all tokens before them."""
    vocabulary = law.shape[1]
    block = torch.searchsorted(cdf[row], place.unsqueeze(1), right=True).clamp_(max=cdf.shape[1] - 1)  # [n, 1]
    before = torch.nn.functional.pad(cdf, (1, 0))[row].gather(1, block)
    index = block * BLOCK + torch.arange(min(BLOCK, vocabulary), device=law.device)  # [n, BLOCK]
    inside = law.take(row.unsqueeze(1) * vocabulary + index.clamp(max=vocabulary - 1)).double().where(index < vocabulary, 0)
    sums = inside.cumsum(1)
    offset = torch.searchsorted(sums, place.unsqueeze(1) - before, right=True).clamp_(max=index.shape[1] - 1)
    weight, end = inside.gather(1, offset), sums.gather(1, offset)
    return (block * BLOCK + offset).clamp_(max=vocabulary - 1).squeeze(1), weight.squeeze(1), (before + end - weight).squeeze(1)


def _exactly(law: Tensor, elders: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same draws [n] from rows [n, V] in which the elders [n, j] are set to zero, summed anew."""
    law = law.double()
    rest = law.scatter(1, elders, 0.0)
    cdf = rest.cumsum(-1)
    token = torch.searchsorted(cdf, (uniform * cdf[:, -1]).unsqueeze(1), right=True).clamp_(max=law.shape[1] - 1)
    token = token.where(rest.gather(1, token) > 0, rest.argmax(1, keepdim=True))
    weight = law.gather(1, token)
    return token.squeeze(1), weight.squeeze(1), (law.cumsum(-1).gather(1, token) - weight).squeeze(1)


def draw_greedily(law: Tensor, uniforms: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Of rows [n, V] the counts [n] - 1 most probable tokens, and one draw off them: tokens and exhausted as ``draw_sequence``.

    uniforms [n, R] float64; the last slot's draws by inverse CDF.
    """
    support = _support(law).unsqueeze(1)
    rank = torch.arange(uniforms.shape[1], device=law.device)
    top = law.topk(min(uniforms.shape[1], law.shape[1]), dim=-1).indices
    tokens = torch.nn.functional.pad(top, (0, len(rank) - top.shape[1]), value=-1)
    fixed, last = rank < counts.unsqueeze(1) - 1, rank == counts.unsqueeze(1) - 1
    rest = torch.nn.functional.pad(law.double(), (0, 1))  # a column more, to send nothing to
    rest.scatter_(1, tokens.where(fixed & (tokens >= 0), law.shape[1]), 0.0)
    drawn = inverse_cdf(rest, (uniforms * last).sum(1)).unsqueeze(1)
    tokens = tokens.where(fixed, drawn.where(last, -1))
    exhausted = (fixed | last) & (support <= rank)
    return tokens.where(~exhausted, -1), exhausted


def gumbel_top(law: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """``count`` draws without replacement from each row of probabilities [n, V] at once, in the order of drawing: [n, count].

    They are the largest keys, log probabilities plus Gumbel noise, in descending order (arXiv 1903.06059); the keys are
    compared as exp of that, probability / exponential.  Where a row has fewer possible tokens, the places left are -1.
    """
    source = law.device if generator is None else generator.device
    noise = torch.empty(law.shape, dtype=law.dtype, device=source).exponential_(generator=generator).to(law.device)
    top = (law / noise.clamp_(min=torch.finfo(law.dtype).tiny)).topk(min(count, law.shape[1]), dim=-1)
    return torch.nn.functional.pad(top.indices.where(top.values > 0, -1), (0, count - top.indices.shape[1]), value=-1)
