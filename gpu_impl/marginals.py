"""Draft logits as what a tree builder needs: the most probable tokens of each depth, and exact log masses."""
from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 1 << 21  # logits read at a time: about what a CPU cache holds, so the second look at them is nearly free
LOGIT_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Marginals:
    """The K most probable tokens at each of L depths, for a batch of B rows.

    tokens  [B, L, K] int64    most probable first; which of equally probable tokens comes first is torch.topk's choice
    logits  [B, L, K] float    theirs, non-increasing (float32, or float64 where that was given); 0 where the chain is infinite
    chain   [B, L] float64     cost (minus log mass) of the prefix of most probable tokens down to this depth, at least 0;
                               infinite from the first depth on whose row is no law: a NaN, a +inf, or all -inf
    beyond  [B, L] float64     cost of the cheapest prefix that needs a token outside the K; infinite if there is none

    The cost of a prefix of depth d is chain[d] plus, at each depth, the logit of the most probable token minus that of
    its own: differences of logits are exact in float64, so siblings and cousins compare exactly, and only the
    normalisers, one number a depth, are rounded.
    """

    tokens: Tensor
    logits: Tensor
    chain: Tensor
    beyond: Tensor


def read_marginals(logits: Tensor, width: int) -> Marginals:
    """Read logits [B, L, V] (float64, float32, bfloat16 or float16) once, keeping ``width`` <= V tokens of each depth.

    Normalisers are over the full vocabulary: exponentials in float32 (float64 for float64 logits), summed in float64.
    """
    batch, depths, vocabulary = logits.shape
    kept = min(width + 1, vocabulary)
    exact = torch.float64 if logits.dtype == torch.float64 else torch.float32
    top = torch.empty(batch * depths, kept, dtype=exact, device=logits.device)
    tokens = torch.empty(batch * depths, kept, dtype=torch.int64, device=logits.device)
    surprise = torch.empty(batch * depths, dtype=torch.float64, device=logits.device)  # -log of the top probability
    rows, step = logits.flatten(0, 1), max(1, CHUNK // vocabulary)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        read = rows[part].to(exact)
        torch.topk(read, kept, out=(top[part], tokens[part]))
        surprise[part] = (read - top[part, :1]).exp_().sum(1, dtype=torch.float64).log_()

    chain = surprise.view(batch, depths).cumsum(1)  # NaN spreads to all later depths
    chain = chain.clamp(min=0).where(chain.isfinite(), torch.inf)
    top, tokens = top.view(batch, depths, kept), tokens.view(batch, depths, kept)
    if kept > width:
        beyond = chain + (top[:, :, 0].double() - top[:, :, width].double())
    else:
        beyond = torch.full_like(chain, torch.inf)
    lawful = chain < torch.inf
    top = top[:, :, :width].where(lawful.unsqueeze(2), 0)
    return Marginals(tokens[:, :, :width].contiguous(), top, chain, beyond.where(lawful, torch.inf))
