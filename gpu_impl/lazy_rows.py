"""Rows [B, N, V] that are computed when a verifier reads them: a walk reads few of them, and all of them would not fit."""
from collections.abc import Callable

import torch
from torch import Tensor


class LazyRows:
    """Stands in for a tensor of probabilities in a call of a verifier: has its shape, dtype and device, and is indexed like it."""

    dtype = torch.float64

    def __init__(self, shape: tuple[int, int, int], device: torch.device, read: Callable[[Tensor, Tensor], Tensor]):
        """``read(batch [n], node [n])`` returns the laws [n, V] of n nodes, float64."""
        self.shape, self.device, self._read = torch.Size(shape), device, read

    def dim(self) -> int:
        return 3

    def __getitem__(self, where: tuple[Tensor | slice | int, ...]) -> Tensor:
        """rows[batch, node] -> [n, V], rows[batch, node, token] -> [n]; index vectors [n]; rows[:, i] -> [B, V]."""
        every = torch.arange(self.shape[0], device=self.device)
        batch, node, *token = (one if isinstance(one, Tensor) else every if isinstance(one, slice) else torch.full_like(every, one) for one in where)
        rows = self._read(batch, node)
        return rows.gather(1, token[0].unsqueeze(1)).squeeze(1) if token else rows

    def rows(self) -> Tensor:
        """All of them, [B, N, V]."""
        batch, nodes, _ = self.shape
        every = torch.cartesian_prod(torch.arange(batch, device=self.device), torch.arange(nodes, device=self.device))
        return self._read(every[:, 0], every[:, 1]).view(self.shape)
