"""CaDDTree (arXiv 2606.01813) for a batch: the draft tree of the size that makes the most tokens per unit of time.

A round with n draft nodes emits 1 + Phi(n) tokens on average (the 1 is the bonus token) and costs C(n) = C_d + C_v(n),
where C_v(n) is the latency of n + 1 query tokens.  Budgets are decided in float64, cross-multiplied, row by row.
"""
import torch
from torch import Tensor

from .ddtree import DraftTrees, ddtree

ROUNDING = 2.0**-48  # differences below this, relative, are rounding: a tie


@torch.no_grad()
def caddtree(logits: Tensor, draft_cost: float, verify_cost: Tensor, *, convex: bool = True) -> tuple[DraftTrees, Tensor]:
    """The best draft trees, and their numbers of nodes besides the root, [B] int64.

    logits [B, L, V] as for ``ddtree``.  draft_cost is C_d and verify_cost C_v(0), ..., C_v(N), a float64 or float32 vector
    [N + 1] or one for each row (its context length) [B, N + 1], on the logits' device, in the same unit of time.
    N caps the tree.  convex: stop at the first node that does not pay, right where C_v is convex; otherwise all sizes
    are compared, right for any cost.  Ties go to the smaller tree; a NaN, or a C(n) that is not positive, does not extend a tree.

    Raises:
        ValueError, TypeError: as ``ddtree``, and where verify_cost has no entry or another shape, device or dtype.
    """
    if not isinstance(verify_cost, Tensor):
        raise TypeError(f"verify_cost must be a tensor, got {type(verify_cost).__name__}")
    if verify_cost.dim() not in (1, 2) or verify_cost.shape[-1] < 1 or verify_cost.device != logits.device:
        raise ValueError(f"verify_cost must be [N + 1] or [B, N + 1] on {logits.device}, got {list(verify_cost.shape)} on {verify_cost.device}")
    if verify_cost.dtype not in (torch.float64, torch.float32):
        raise TypeError(f"verify_cost must be float64 or float32, got {verify_cost.dtype}")
    if verify_cost.dim() == 2 and verify_cost.shape[0] != logits.shape[0]:
        raise ValueError(f"verify_cost has {verify_cost.shape[0]} rows, logits have {logits.shape[0]}")
    trees = ddtree(logits, verify_cost.shape[-1] - 1)
    cost = (draft_cost + verify_cost.double()).expand(len(logits), -1)
    budgets = first_stop(trees.scores, cost) if convex else best_size(trees.scores, cost)
    return trees.truncated(budgets), budgets


def first_stop(scores: Tensor, cost: Tensor) -> Tensor:
    """[B] int64: nodes before the first that does not raise the throughput, delta C(n) > (C(n + 1) - C(n)) (1 + Phi(n)).

    scores [B, 1 + N] float64 log masses as in ``DraftTrees``, cost [B, 1 + N] float64, C(0), ..., C(N).
    """
    gain = scores[:, 1:].exp()
    tokens = 1 + gain.cumsum(1) - gain
    pays, due = gain * cost[:, :-1], (cost[:, 1:] - cost[:, :-1]) * tokens
    worth = (pays - due > ROUNDING * (pays + due.abs())) & (scores[:, 1:] > -torch.inf) & (cost[:, :-1] > 0) & (cost[:, 1:] > 0)
    return worth.long().cumprod(1).sum(1)


def best_size(scores: Tensor, cost: Tensor) -> Tensor:
    """[B] int64: the smallest n of the largest throughput (1 + Phi(n)) / C(n), whatever the cost; arguments as above."""
    throughput = scores.exp().cumsum(1) / cost
    possible = (scores > -torch.inf) & (cost > 0) & (throughput > 0)  # not where it is NaN
    throughput = throughput.where(possible, -torch.inf)
    return (throughput >= throughput.amax(1, keepdim=True) * (1 - ROUNDING)).long().argmax(1)
