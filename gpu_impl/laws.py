"""Rows of probabilities as float64 laws, and the one step that changes a law: a draft is rejected."""
from functools import reduce

import torch
from torch import Tensor

SHORT = 8  # tokens: shorter rows lie token after token on a CPU, so that what is done to each of many rows runs along all of them
Index = Tensor | slice | int


def read_law(rows: Tensor, batch: Index, node: Index) -> tuple[Tensor, Tensor]:
    """The rows [B, N, V] of n nodes, upcast and divided by their sums; batch and node are index vectors [n], or all and a number.

    Returns the laws [n, V] float64 and [n] bool: the row has no NaN, no negative and a positive finite sum.
    """
    law = upcast(take(rows, batch, node).detach())
    total = row_sums(law)
    sound = (law.amin(-1) >= 0) & (total > 0) & (total < torch.inf)
    return law.div_(total.unsqueeze(-1)), sound


def read_declared(
    declared: Tensor | None, tokens: Tensor, batch: Index, node: Index, vocabulary: int
) -> tuple[Tensor, Tensor]:
    """As ``read_law``; where nothing is declared, the drafts are deterministic: all mass on the node's own token."""
    if declared is not None:
        return read_law(declared, batch, node)
    token = take(tokens, batch, node).unsqueeze(1)
    law = upcast(torch.zeros(1, device=tokens.device).expand(len(token), vocabulary))
    return law.scatter_(1, token, 1.0), torch.ones(len(token), dtype=torch.bool, device=tokens.device)


def excess(law: Tensor, declared: Tensor, mass: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
    """(mass * law - declared)_+ and its total: the residual after a draft from `declared` was rejected.

    law, declared [n, V] float64 summing to 1, mass [n, 1] or a number.  Returns the residual, normalised, [n, V] and
    its total [n].  A total of 0 means that the rejection was impossible; the law is then returned unchanged.
    """
    residual = (mass * law).sub_(declared).clamp_(min=0)
    total = row_sums(residual)
    return torch.where(total.unsqueeze(1) > 0, residual.div_(total.unsqueeze(1)), law), total


def take(rows: Tensor, batch: Index, node: Index) -> Tensor:
    """rows[batch, node] of rows [B, N, ...], by one index where memory allows it: with two, short rows take several times as long."""
    if not (isinstance(batch, Tensor) and isinstance(node, Tensor)):
        return rows[:, node]
    if isinstance(rows, Tensor) and len(rows) and rows.stride(0) == 0:  # all trees have the same
        return rows[0].index_select(0, node)
    if isinstance(rows, Tensor) and rows.is_contiguous():
        return rows.flatten(0, 1).index_select(0, batch * rows.shape[1] + node)
    return rows[batch, node]


def entry(rows: Tensor, batch: Index, node: Index, token: Tensor) -> Tensor:
    """rows[batch, node, token] of rows [B, N, V], by one index as in ``take``."""
    if not (isinstance(batch, Tensor) and isinstance(node, Tensor)):
        return rows[:, node].gather(1, token.unsqueeze(1)).squeeze(1)
    if isinstance(rows, Tensor) and rows.is_contiguous():
        return rows.flatten().index_select(0, (batch * rows.shape[1] + node) * rows.shape[2] + token)
    return rows[batch, node, token]


def upcast(rows: Tensor) -> Tensor:
    """A copy of rows [n, V] as float64; of short ones the copy lies token after token."""
    if is_short(rows):
        return torch.empty(rows.shape[::-1], dtype=torch.float64, device=rows.device).copy_(rows.t()).t()
    return rows.to(torch.float64, copy=True)


def row_sums(rows: Tensor) -> Tensor:
    """The sums of rows [n, V], each of which depends on its own row only; [n]."""
    return reduce(torch.add, rows.unbind(1)) if is_short(rows) else rows.sum(1)


def is_short(rows: Tensor) -> bool:
    """Of rows [n, V]."""
    return rows.device.type == "cpu" and 1 < rows.shape[1] <= SHORT  # the sum of one token would be that token itself, not a copy
