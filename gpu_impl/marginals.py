"""Draft logits as what a tree builder needs: the most probable tokens of each depth, and exact log masses."""
from dataclasses import dataclass

import torch
from torch import Tensor

from .kernels.use import LOGITS, MOST_KEPT, on_device

CACHED, STREAMED = 1 << 19, 1 << 26  # logits normalised at a time, on a CPU (what its cache holds) and elsewhere


@dataclass(frozen=True)
class Marginals:
    """The K most probable tokens at each of L depths, for a batch of B rows.

    tokens  [B, L, K] int64    most probable first; which of equally probable tokens comes first is torch.topk's choice
    logits  [B, L, K] float    theirs, non-increasing (float32, or float64 where that was given); 0 where the chain is infinite
    chain   [B, L] float64     cost (minus log mass) of the prefix of most probable tokens down to this depth, at least 0;
                               infinite from the first depth on whose row is no law: a NaN, a +inf, or all -inf
    beyond  [B, L] float64     cost of the cheapest prefix that needs a token outside the K; infinite if there is none
    surprises  [B, L] float64  minus log of the largest probability at each depth, NaN where the row is no law

    The cost of a prefix of depth d is chain[d] plus, at each depth, the logit of the most probable token minus that of
    its own: differences of logits are exact in float64, so siblings and cousins compare exactly, and only the
    normalisers, one number a depth, are rounded.
    """

    tokens: Tensor
    logits: Tensor
    chain: Tensor
    beyond: Tensor
    surprises: Tensor


def read_marginals(logits: Tensor, width: int, surprises: Tensor | None = None) -> Marginals:
    """Read logits [B, L, V] (float64, float32, bfloat16 or float16), keeping ``width`` <= V tokens of each depth.

    ``surprises``: of ``surprise``, where they are known.
    """
    top, tokens, surprises = _top(logits, min(width + 1, logits.shape[2]), surprises)
    kept = top.shape[2]
    chain = surprises.cumsum(1)  # a NaN spreads to all later depths
    lawful = chain < torch.inf
    chain = chain.clamp(min=0).where(lawful, torch.inf)
    beyond = torch.full_like(chain, torch.inf)
    if kept > width:
        beyond = (chain + (top[:, :, 0].double() - top[:, :, width].double())).where(lawful, torch.inf)
    top = top[:, :, :width].where(lawful.unsqueeze(2), 0)
    return Marginals(tokens[:, :, :width].contiguous(), top, chain, beyond, surprises)


def _top(logits: Tensor, kept: int, surprises: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """The ``kept`` largest logits of each row and their tokens [B, L, kept], and the surprises [B, L]."""
    if on_device(logits) and logits.dtype in LOGITS and kept <= MOST_KEPT:
        from .kernels.top_tokens import top_tokens

        return top_tokens(logits, kept)
    found, tokens = logits.topk(kept, dim=2)
    top = found.to(torch.float64 if logits.dtype == torch.float64 else torch.float32)
    return top, tokens, surprise(logits, top[:, :, 0]) if surprises is None else surprises


def surprise(logits: Tensor, top: Tensor) -> Tensor:
    """[B, L] float64: minus log of the largest probability, from logits [B, L, V] and the largest of each row, ``top`` [B, L].

    NaN where there is none.  Over the full vocabulary: exponentials in float32 (float64 if ``top`` is), summed in float64.
    """
    rows, top = logits.flatten(0, 1), top.reshape(-1, 1)
    step = max(1, (CACHED if rows.device.type == "cpu" else STREAMED) // rows.shape[1])
    total = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
    scratch = torch.empty(min(step, len(rows)), rows.shape[1], dtype=top.dtype, device=rows.device)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        weights = scratch[: len(rows[part])]
        torch.sub(rows[part].to(top.dtype), top[part], out=weights)
        torch.sum(weights.exp_(), 1, dtype=torch.float64, out=total[part])
    return total.log_().view(logits.shape[:2])
