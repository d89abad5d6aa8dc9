"""One row of weights: read once, changed where a token is taken out, drawn from in two levels by sums of blocks of tokens.

A draw costs the sums of blocks, and a look at one of them.  Differences of rows of probabilities are float64, whatever their
dtype.  Rows made from logits are float32 to some 1e-7 already: their differences and the sums within a block are float32 too,
which moves a law by as much again; sums of blocks are float64.  Of a row that is only asked for one token nothing is kept.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..lazy_rows import LazyRows
from ..logit_rows import LogitRows

BLOCK = 512
WRONG = 1e-4  # a logsumexp that is given is off by no more than rounding
Sums = NDArray[np.float64]


class NoLaw(Exception):
    """A row that was read holds a NaN, a negative or no mass: the tree gets no answer."""


@dataclass
class Row:
    """Weights [V], float32 or float64, less the tokens ``taken``; ``total`` is their sum, to the precision of the weights.

    ``work`` is the dtype of differences, and of sums within a block.
    """

    weights: Tensor
    total: float
    work: torch.dtype = torch.float64
    taken: list[int] = field(default_factory=list)
    sums: Sums | None = None

    @property
    def blocks(self) -> Sums:
        """Sums of BLOCK weights each, made when they are first asked for."""
        if self.sums is None:
            self.sums = self._off(self.taken, block_sums(self.weights, self.work), self.taken)
        return self.sums

    def weight(self, token: int) -> float:
        """What of a token is left, not normalised."""
        return 0.0 if token in self.taken else self.weights[token].item()

    def mass(self, token: int) -> float:
        """The normalised mass of a token."""
        return self.weight(token) / self.total

    def without(self, tokens: list[int]) -> "Row":
        """The row with the mass of these tokens set to 0.  The sum is made anew, not by subtraction: no mass left is exactly 0."""
        taken = [*self.taken, *tokens]
        sums = self._off(tokens, self.blocks.copy(), taken)
        return Row(self.weights, float(sums.sum()), self.work, taken, sums)

    def draw(self, uniform: float) -> int:
        """The first token whose CDF exceeds the uniform, among those with mass; the last of these where rounding leaves none."""
        cdf = self.blocks.cumsum()
        block = _beyond(self.blocks, cdf, uniform * cdf[-1])
        inside = _block(self.weights, block, self.taken)
        below = cdf[block - 1] if block else 0.0
        return block * BLOCK + _beyond(inside, inside.cumsum(), uniform * cdf[-1] - below)

    def excess(self, declared: "Row", scale: float, off: Sequence[int] = ()) -> tuple["Row", float]:
        """(scale * weights - r)_+, r the declared row normalised, the tokens ``off`` at 0, and its total.

        With a total of 0 the row as it was.
        """
        row = summed(self._less(declared, scale, off).clamp_(min=0))
        return (row, row.total) if row.total > 0 else (self, 0.0)

    def missing(self, declared: "Row", scale: float, off: Sequence[int] = ()) -> float:
        """The total of (r - scale * weights)_+, weights 0 at the tokens ``off``."""
        return -self._less(declared, scale, off).clamp_(max=0).sum().item()

    def law(self) -> Tensor:
        """The normalised row, [V], newly made."""
        return self._scaled(1 / self.total, ())

    def _off(self, tokens: Sequence[int], sums: Sums, taken: Sequence[int]) -> Sums:
        """These sums, those of blocks with one of the tokens made anew with ``taken`` at 0."""
        for block in {token // BLOCK for token in tokens}:
            sums[block] = _block(self.weights, block, taken).sum()
        return sums

    def _scaled(self, scale: float, off: Sequence[int]) -> Tensor:
        rest = self.weights * scale if self.weights.dtype == self.work else self.weights.to(self.work).mul_(scale)
        if self.taken or off:
            rest[[*self.taken, *off]] = 0
        return rest

    def _less(self, declared: "Row", scale: float, off: Sequence[int]) -> Tensor:
        rest = self._scaled(scale, off)
        if declared.work != self.work:
            rest = rest.double()
        return rest.sub_(declared.weights, alpha=1 / declared.total)


def block_sums(weights: Tensor, work: torch.dtype) -> Sums:
    """Sums of BLOCK weights each, the last of what is left, [V / BLOCK]; each summed in ``work``."""
    starts = np.arange(0, weights.shape[0], BLOCK)
    return np.add.reduceat(weights.numpy(), starts, dtype=np.float64 if work == torch.float64 else np.float32).astype(np.float64)


def summed(weights: Tensor) -> Row:
    """A row of weights of which none is negative."""
    return Row(weights, weights.sum().item(), weights.dtype)


def read(rows: Tensor | LazyRows, batch: int, node: int) -> Row:
    """Read rows[batch, node].  Raises NoLaw."""
    if isinstance(rows, LogitRows):
        logits = rows.logits[batch, node]
        largest = logits.amax()
        row = summed(rows.powers(logits, largest)) if rows.powered else None
        if row is None or not 0 < row.total < np.inf:
            row = summed(rows.weights(logits.unsqueeze(0))[0])  # whose sum misses 1 by 1e-5: it is summed anew
        if not row.total > 0:  # softmax makes no negative number, and all NaN of a row that is no law
            raise NoLaw
        if rows.logsumexp is not None:
            off = largest.item() / rows.temperature - rows.logsumexp[batch, node].item() - math.log(row.weights.amax().item() / row.total)
            if not abs(off) <= WRONG:
                raise NoLaw
        return row
    if isinstance(rows, LazyRows):
        weights = rows[torch.tensor([batch]), torch.tensor([node])][0]
    else:
        weights = rows[batch, node].detach()
        weights = (weights if weights.dtype in (torch.float32, torch.float64) else weights.float()).contiguous()
    total = weights.sum(dtype=torch.float64).item()
    if not (0 < total < np.inf and weights.amin().item() >= 0):
        raise NoLaw
    return Row(weights, total)


def mass(rows: Tensor | LazyRows, batch: int, node: int, token: int) -> float:
    """The normalised mass of one token of rows[batch, node], of which nothing else is asked.  Raises NoLaw."""
    if isinstance(rows, LogitRows) and rows.powered:
        logits = rows.logits[batch, node]
        total = rows.powers(logits, logits[token]).sum().item()  # the largest need not be looked for; the token's weight is 1
        if 0 < total < np.inf:  # the token may be far below the largest, or have no mass
            return 1 / total
    return read(rows, batch, node).mass(token)


def given(rows: Tensor | LazyRows | None, nodes: Tensor, tokens: Tensor) -> list[list[float]] | None:
    """The normalised masses of tokens [B, N] in rows of nodes [B, N], where the rows' logsumexp is given; NaN where it cannot be right."""
    if not isinstance(rows, LogitRows) or rows.logsumexp is None:
        return None
    batch, (_, last, vocabulary) = torch.arange(len(tokens)).unsqueeze(1), rows.shape
    nodes, tokens = nodes.clamp(0, last - 1), tokens.clamp(0, vocabulary - 1)  # of trees that are not sound
    log_mass = rows.logits[batch, nodes, tokens].double() / rows.temperature - rows.logsumexp[batch, nodes].double()
    masses: list[list[float]] = log_mass.clamp(max=0).exp().masked_fill_(log_mass > WRONG, torch.nan).tolist()
    return masses


def alone(rows: LogitRows, batch: int, node: int, token: int) -> bool:
    """Whether all other logits of the row are -inf and the token's is finite, which takes no exponentials."""
    logits = rows.logits[batch, node]
    sides = [side for side in (logits[:token], logits[token + 1 :]) if side.shape[0]]
    return math.isfinite(logits[token].item()) and all(side.amax().item() == -math.inf for side in sides)


def share(wanted: float, offered: float) -> float:
    """min(1, wanted / offered)."""
    return wanted / offered if wanted < offered else float(wanted > 0)


def entry(rows: Tensor | LazyRows, batch: int, node: int, token: int) -> float:
    """One probability, as it stands."""
    if isinstance(rows, LazyRows):
        return rows[torch.tensor([batch]), torch.tensor([node]), torch.tensor([token])].item()
    return float(rows[batch, node, token].item())


def _block(weights: Tensor, block: int, taken: Sequence[int]) -> Sums:
    inside = weights.numpy()[block * BLOCK : (block + 1) * BLOCK].astype(np.float64)
    for token in taken:
        if token // BLOCK == block:
            inside[token - block * BLOCK] = 0
    return inside


def _beyond(weights: Sums, cdf: Sums, place: Any) -> int:
    """The first positive weight whose CDF is greater than the place, else the last positive weight."""
    first = int(cdf.searchsorted(place, side="right"))
    while first < len(cdf) and not weights[first] > 0:
        first += 1
    return first if first < len(cdf) else int(weights.nonzero()[0][-1])
