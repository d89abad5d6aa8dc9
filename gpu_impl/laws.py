"""Rows of probabilities as float64 laws, and the one step that changes a law: a draft is rejected."""
import torch
from torch import Tensor


def read_law(rows: Tensor, batch: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
    """The rows [B, N, V] of n nodes, upcast and divided by their sums; batch and node are index vectors [n].

    Returns the laws [n, V] float64 and [n] bool: the row has no NaN, no negative and a positive finite sum.
    """
    law = take(rows, batch, node).detach().double()
    total = law.sum(-1)
    sound = (law.amin(-1) >= 0) & (total > 0) & (total < torch.inf)
    return law / total.unsqueeze(-1), sound


def read_declared(
    declared: Tensor | None, tokens: Tensor, batch: Tensor, node: Tensor, vocabulary: int
) -> tuple[Tensor, Tensor]:
    """As ``read_law``; where nothing is declared, the drafts are deterministic: all mass on the node's own token."""
    if declared is not None:
        return read_law(declared, batch, node)
    token = tokens[batch, node].unsqueeze(1)
    law = torch.zeros(len(node), vocabulary, dtype=torch.float64, device=tokens.device).scatter_(1, token, 1.0)
    return law, torch.ones_like(node, dtype=torch.bool)


def excess(law: Tensor, declared: Tensor, mass: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
    """(mass * law - declared)_+ and its total: the residual after a draft from `declared` was rejected.

    law, declared [n, V] float64 summing to 1, mass [n, 1] or a number.  Returns the residual, normalised, [n, V] and
    its total [n].  A total of 0 means that the rejection was impossible; the law is then returned unchanged.
    """
    residual = (mass * law - declared).clamp(min=0)
    total = residual.sum(-1)
    return torch.where(total.unsqueeze(1) > 0, residual / total.unsqueeze(1), law), total


def take(rows: Tensor, batch: Tensor, node: Tensor) -> Tensor:
    """rows[batch, node] of rows [B, N, ...], by one index where memory allows it: with two, short rows take several times as long."""
    if isinstance(rows, Tensor) and rows.is_contiguous():
        return rows.flatten(0, 1).index_select(0, batch * rows.shape[1] + node)
    return rows[batch, node]
