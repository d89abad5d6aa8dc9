"""One row of weights, held by sums of blocks of tokens: read once, changed where a token is taken out, drawn from in two levels.

Sums and differences are float64 whatever the dtype of the row.  A draw costs a look at the block sums and at one block.
"""
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..lazy_rows import LazyRows
from ..logit_rows import LogitRows

BLOCK = 512
Sums = NDArray[np.float64]


class NoLaw(Exception):
    """A row that was read holds a NaN, a negative or no mass: the tree gets no answer."""


@dataclass
class Row:
    """Weights [V] that need not sum to 1, float32 or float64, less the tokens ``taken``; ``blocks`` are sums without these."""

    weights: Tensor
    blocks: Sums
    total: float
    taken: list[int] = field(default_factory=list)

    def mass(self, token: int) -> float:
        """The normalised mass of a token."""
        return self.weight(token) / self.total

    def weight(self, token: int) -> float:
        """What of a token is left, not normalised."""
        return 0.0 if token in self.taken else self.weights[token].item()

    def without(self, token: int) -> "Row":
        """The row with this token's mass set to 0.  The sum is made anew, not by subtraction: no mass left is exactly 0."""
        taken, blocks = [*self.taken, token], self.blocks.copy()
        blocks[token // BLOCK] = _block(self.weights, token // BLOCK, taken).sum()
        return Row(self.weights, blocks, blocks.sum(), taken)

    def draw(self, uniform: float) -> int:
        """The first token whose CDF exceeds the uniform, among those with mass; the last of these where rounding leaves none."""
        cdf = self.blocks.cumsum()
        block = _beyond(self.blocks, cdf, uniform * cdf[-1])
        inside = _block(self.weights, block, self.taken)
        below = cdf[block - 1] if block else 0.0
        return block * BLOCK + _beyond(inside, inside.cumsum(), uniform * cdf[-1] - below)

    def excess(self, declared: "Row", scale: float) -> tuple["Row", float]:
        """(scale * weights - r)_+, r the declared row normalised, and its total; with a total of 0 the row as it was."""
        rest = self._less(declared, scale).clamp_(min=0)
        blocks = block_sums(rest)
        total = float(blocks.sum())
        return (Row(rest, blocks, total), total) if total > 0 else (self, 0.0)

    def missing(self, declared: "Row", scale: float) -> float:
        """The total of (r - scale * weights)_+."""
        return -self._less(declared, scale).clamp_(max=0).sum().item()

    def law(self) -> Tensor:
        """The normalised row, [V] float64, newly made."""
        return self._scaled(1 / self.total)

    def _scaled(self, scale: float) -> Tensor:
        rest = self.weights * scale if self.weights.dtype == torch.float64 else self.weights.double().mul_(scale)
        if self.taken:
            rest[self.taken] = 0
        return rest

    def _less(self, declared: "Row", scale: float) -> Tensor:
        return self._scaled(scale).sub_(declared.weights, alpha=1 / declared.total)


def block_sums(weights: Tensor) -> Sums:
    """Sums of BLOCK weights each, the last of what is left, [V / BLOCK] float64."""
    whole = len(weights) - len(weights) % BLOCK
    sums = weights[:whole].view(-1, BLOCK).sum(-1, dtype=torch.float64)
    if whole < len(weights):
        sums = torch.cat([sums, weights[whole:].sum(0, keepdim=True, dtype=torch.float64)])
    found: Sums = sums.numpy()
    return found


def read(rows: Tensor | LazyRows, batch: int, node: int) -> Row:
    """Read rows[batch, node].  Raises NoLaw."""
    if isinstance(rows, LogitRows):
        weights = rows.weights(rows.logits[batch, node].unsqueeze(0))[0]
    elif isinstance(rows, LazyRows):
        weights = rows[torch.tensor([batch]), torch.tensor([node])][0]
    else:
        weights = rows[batch, node].detach()
        weights = (weights if weights.dtype in (torch.float32, torch.float64) else weights.float()).contiguous()
    blocks = block_sums(weights)
    total = float(blocks.sum())
    # softmax makes no negative number
    if not 0 < total < np.inf or not (isinstance(rows, LogitRows) or weights.amin().item() >= 0):
        raise NoLaw
    return Row(weights, blocks, total)


def entry(rows: Tensor | LazyRows, batch: int, node: int, token: int) -> float:
    """One number of a row, as it stands."""
    if isinstance(rows, LazyRows):
        return rows[torch.tensor([batch]), torch.tensor([node]), torch.tensor([token])].item()
    return float(rows[batch, node, token].item())


def _block(weights: Tensor, block: int, taken: list[int]) -> Sums:
    inside: Sums = weights[block * BLOCK : (block + 1) * BLOCK].double().numpy()
    gone = [token - block * BLOCK for token in taken if token // BLOCK == block]
    if gone:
        inside = inside.copy()  # float64 weights are not copied on the way here
        inside[gone] = 0
    return inside


def _beyond(weights: Sums, cdf: Sums, place: Any) -> int:
    """The first positive weight whose CDF is greater than the place, else the last positive weight."""
    first = int(cdf.searchsorted(place, side="right"))
    while first < len(cdf) and not weights[first] > 0:
        first += 1
    return first if first < len(cdf) else int(weights.nonzero()[0][-1])
