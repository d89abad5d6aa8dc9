"""Rows given as logits: temperature, top-k, top-p and min-p are applied to the rows that a verifier reads, when it reads them."""
import math

import torch
from torch import Tensor

from .checks import check_logits
from .lazy_rows import LazyRows

LOG2E = math.log2(math.e)
NUCLEUS = 1024  # the most probable tokens are sorted first; the whole row only where they do not hold top_p


class LogitRows(LazyRows):
    """Stands in for a tensor of probabilities [B, N, V] in a call of a verifier, as ``target`` or as ``declared``.

    The processors come in the order of the usual engines: temperature, the top_k largest, of these the fewest that hold
    top_p, of these the ones with at least min_p times the largest probability.  Equal logits share their fate, so that the
    law does not depend on how they are sorted; top-p and top-k may therefore keep a few tokens more.
    """

    def __init__(
        self, logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0, min_p: float = 0.0,
        logsumexp: Tensor | None = None,
    ) -> None:
        """logits [B, N, V] before softmax, float64, float32, bfloat16 or float16; temperature 0 is greedy, the first of the largest.

        logsumexp [B, N], of logits / temperature: a drafter that samples has it already.  With it a long row on a CPU of which one
        token is asked for is not read; elsewhere it is made anew.  A law is off by as much as this is.  Where a row is read and it
        is off by more than 1e-4, or a token would have more than all mass, the tree gets no answer.

        Raises:
            ValueError: logits are not [B, N, V], or a setting makes no sense: a temperature that is negative or not finite,
                top_k below 1, top_p outside (0, 1], min_p outside [0, 1], logsumexp not [B, N] or of rows that are cut or greedy.
            TypeError: logits are no floating tensor, logsumexp none of float64 or float32.
        """
        check_logits(logits, "logits")
        if not (math.isfinite(temperature) and temperature >= 0):
            raise ValueError(f"temperature must be finite and not negative, got {temperature}")
        if top_k is not None and top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {top_k}")
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {top_p}")
        if not 0 <= min_p <= 1:
            raise ValueError(f"min_p must be in [0, 1], got {min_p}")
        batch, nodes, vocabulary = logits.shape
        super().__init__((batch, nodes, vocabulary), logits.device, lambda batch, node: self._law(batch, node))
        self.logits, self.temperature, self.top_p, self.min_p = logits.detach(), temperature, top_p, min_p
        self.top_k = vocabulary if top_k is None else min(top_k, vocabulary)
        if logsumexp is not None:
            if not isinstance(logsumexp, Tensor) or logsumexp.dtype not in (torch.float64, torch.float32):
                raise TypeError(f"logsumexp must be a tensor of float64 or float32, got {getattr(logsumexp, 'dtype', type(logsumexp).__name__)}")
            if logsumexp.shape != (batch, nodes) or logsumexp.device != logits.device:
                raise ValueError(f"logsumexp must be {[batch, nodes]} on {logits.device}, got {list(logsumexp.shape)} on {logsumexp.device}")
            if not (self.plain and temperature > 0):
                raise ValueError("logsumexp is of whole rows: it does not go with temperature 0, top_k, top_p or min_p")
        self.logsumexp = None if logsumexp is None else logsumexp.detach()

    @property
    def plain(self) -> bool:
        """No token is cut off."""
        return self.top_k == self.shape[2] and self.top_p == 1 and self.min_p == 0

    @property
    def powered(self) -> bool:
        """Whether ``powers`` makes the weights of these rows."""
        return self.plain and self.temperature > 0 and self.logits.dtype != torch.float64

    def powers(self, logits: Tensor, unit: Tensor) -> Tensor:
        """Weights exp((x - unit) / temperature) of a row [V], float32, as powers of two, which take half as long as those of e.

        ``unit``, one of the logits, [], keeps them in range.
        """
        return torch.sub(logits.float(), unit.float()).mul_(LOG2E / self.temperature).exp2_()  # the difference first: an offset is exact

    def _law(self, batch: Tensor, node: Tensor) -> Tensor:
        return self.weights(self.logits[batch, node].double())

    def weights(self, logits: Tensor) -> Tensor:
        """Probabilities of rows of logits [n, V], float32 (float64 for those), which sum to 1 up to rounding; NaN where a row is no law."""
        rows = logits if logits.dtype == torch.float64 else logits.float()
        if self.temperature == 0:
            top, token = rows.max(-1, keepdim=True)
            return torch.zeros_like(rows).scatter_(-1, token, torch.where(top.isfinite(), 1.0, torch.nan).to(rows.dtype))
        if self.temperature != 1:  # the largest goes first: a large offset shared by a row would cost digits
            rows = (rows - rows.amax(-1, keepdim=True)).div_(self.temperature)
        if self.plain:
            return rows.softmax(-1)
        return rows.masked_fill(rows < self.threshold(rows), -torch.inf).softmax(-1)

    def threshold(self, rows: Tensor) -> Tensor:
        """[n, 1]: the smallest logit that is kept, of rows [n, V] after temperature."""
        top = rows.amax(-1, keepdim=True)
        least = top + math.log(self.min_p) if self.min_p > 0 else torch.full_like(top, -torch.inf)
        if self.top_k < rows.shape[1]:
            least = torch.maximum(least, rows.topk(self.top_k, dim=-1).values[:, -1:])
        if self.top_p < 1:
            kept = rows if self.top_k == rows.shape[1] else rows.masked_fill(rows < least, -torch.inf)
            least = torch.maximum(least, self._nucleus(kept))
        return least

    def _nucleus(self, rows: Tensor) -> Tensor:
        """[n, 1]: the last of the largest logits that together hold top_p of each row."""
        total = rows.double().logsumexp(-1, keepdim=True)
        for size in (min(NUCLEUS, rows.shape[1]), rows.shape[1]):
            largest = rows.topk(size, dim=-1).values
            held = (largest.double() - total).exp().cumsum(-1)
            if bool((held[:, -1] >= self.top_p).all()):
                break
        return largest.gather(1, (held < self.top_p).sum(-1, keepdim=True).clamp(max=size - 1))
