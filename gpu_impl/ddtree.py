"""DDTree (arXiv 2604.12989) for a batch, from logits: of every row, the draft tree of n nodes expected to be accepted furthest.

The mass of a prefix is the product of its tokens' marginal probabilities; the n heaviest prefixes, ties to the parent,
are the best tree, and come here in that order, so the tree of a smaller budget is the first nodes of a larger one.
"""
from typing import NamedTuple

import torch
from torch import Tensor

from .checks import check_logits
from .marginals import read_marginals
from .selection import Selection, select

FIRST_WIDTH = 128  # tokens of each depth looked at first


class DraftTrees(NamedTuple):
    """A batch of B draft trees of at most N nodes besides the root, node 0; the array convention of ``trees``.

    tokens   [B, 1 + N] int64    0 at the root and at padding
    parents  [B, 1 + N] int64    own index at the root and at padding
    valid    [B, 1 + N] bool     real nodes: the root, then the row's nodes without a gap
    depth    [B, 1 + N] int64    position after the root's, siblings share it: add the root's position for position ids
    scores   [B, 1 + N] float64  log mass of the prefix, non-increasing; 0 at the root, -inf at padding
    """

    tokens: Tensor
    parents: Tensor
    valid: Tensor
    depth: Tensor
    scores: Tensor

    def truncated(self, budgets: Tensor) -> "DraftTrees":
        """The trees of budgets [B] nodes each, where that is fewer; shapes stay."""
        index = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        valid = self.valid & (index <= budgets.clamp(min=0).unsqueeze(1))
        return DraftTrees(
            tokens=self.tokens.where(valid, 0),
            parents=self.parents.where(valid, index),
            valid=valid,
            depth=self.depth.where(valid, 0),
            scores=self.scores.where(valid, -torch.inf),
        )


@torch.no_grad()
def ddtree(logits: Tensor, nodes: int, budgets: Tensor | None = None) -> DraftTrees:
    """The best draft trees of ``nodes`` nodes besides the root, or of ``budgets`` [B] int64 where smaller.

    logits [B, L, V]: row i is the draft's marginal at depth i + 1 before softmax, no temperature; float64, float32,
    bfloat16 or float16, any device.  Impossible prefixes (a logit of -inf) are no nodes, so trees may have fewer.
    A row of logits that is no law (a NaN, a +inf, or all -inf) ends its tree above that depth.

    Exact in the sense of ``marginals``: the node set is that of the real numbers, up to the rounding of one normaliser a
    depth.  Few tokens of each depth are looked at first, and as many as nodes only where the certificate fails that no
    prefix with another token is as heavy as the lightest node.

    Raises:
        ValueError: logits are not [B, L, V] with V >= 1, or budgets not [B] on the same device.
        TypeError: logits are no floating tensor, nodes no integer, or budgets not int64.
    """
    _check(logits, nodes, budgets)
    batch, depths, vocabulary = logits.shape
    nodes = max(nodes, 0)
    most = min(nodes, vocabulary)
    if not (most and depths and batch):
        trees = _arranged(logits.new_zeros((batch, depths, 1), dtype=torch.int64), None, nodes)
        return trees if budgets is None else trees.truncated(budgets)
    marginals = read_marginals(logits, min(most, FIRST_WIDTH))
    chosen = select(marginals, nodes)
    if most > FIRST_WIDTH and not _certified(chosen, marginals.beyond, nodes):
        marginals = read_marginals(logits, most, marginals.surprises)
        chosen = select(marginals, nodes)
    trees = _arranged(marginals.tokens, chosen, nodes)
    return trees if budgets is None else trees.truncated(budgets)


def _certified(chosen: Selection, beyond: Tensor, nodes: int) -> bool:
    """Whether no prefix outside the tokens looked at is as heavy as the lightest node; waits for the device."""
    outside = beyond.amin(1)
    if chosen.cost.shape[1] < nodes:
        return bool((outside == torch.inf).all())
    return bool(((chosen.cost[:, -1] < outside) | (outside == torch.inf)).all())


def _arranged(tokens: Tensor, chosen: Selection | None, nodes: int) -> DraftTrees:
    """A selection as trees of 1 + ``nodes`` columns."""
    batch, depths, width = tokens.shape
    index = torch.arange(1 + nodes, device=tokens.device)
    node_tokens = torch.zeros(batch, 1 + nodes, dtype=torch.int64, device=tokens.device)
    parents = index.repeat(batch, 1)
    depth = torch.zeros_like(node_tokens)
    scores = torch.full((batch, 1 + nodes), -torch.inf, dtype=torch.float64, device=tokens.device)
    scores[:, 0] = 0
    if chosen is not None:
        taken = slice(1, 1 + chosen.cost.shape[1])
        real = chosen.depth > 0
        row = torch.arange(batch, device=tokens.device).unsqueeze(1)
        entry = (row * depths + chosen.depth - 1) * width + chosen.rank
        node_tokens[:, taken] = tokens.take(entry.where(real, 0)).where(real, 0)
        parents[:, taken] = chosen.parent.where(real, index[taken])
        depth[:, taken] = chosen.depth
        scores[:, taken] = -chosen.cost
    return DraftTrees(node_tokens, parents, scores > -torch.inf, depth, scores)


def _check(logits: Tensor, nodes: int, budgets: Tensor | None) -> None:
    check_logits(logits, "logits")
    if not hasattr(nodes, "__index__"):
        raise TypeError(f"nodes must be an integer, got {nodes!r}")
    if budgets is None:
        return
    if budgets.shape != logits.shape[:1] or budgets.device != logits.device:
        raise ValueError(f"budgets must be [{logits.shape[0]}] on {logits.device}, got {list(budgets.shape)} on {budgets.device}")
    if budgets.dtype != torch.int64:
        raise TypeError(f"budgets must be int64, got {budgets.dtype}")
