"""Draft models of one parallel pass: base logits for every position of a block, and a head that corrects them by what was drafted before.

No temperature is hidden in any of it.  The block has L positions besides the anchor, the last emitted token, whose own slot drafts nothing.
"""
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import torch
from torch import Tensor

from .checks import check_logits


class Head(Protocol):
    """A bias on the base logits that depends on the path.  States are [n, S]; each branch of a tree carries its own."""

    def start(self, anchor: Tensor) -> Tensor:
        """States [n, S] at the root, from the anchors [n]."""
        ...

    def step(self, state: Tensor, token: Tensor) -> Tensor:
        """States [n, S] below tokens [n] that were drafted at states [n, S]."""
        ...

    def bias(self, state: Tensor, tokens: Tensor | None = None) -> Tensor:
        """What is added to the base logits: [n, V], or [n, K] of the given tokens [n, K]."""
        ...


@dataclass(frozen=True)
class MarkovHead:
    """The bias of a token depends on its parent: a table of rank R (DSpark).  inner [V, R], outer [R, V]."""

    inner: Tensor
    outer: Tensor

    def start(self, anchor: Tensor) -> Tensor:
        return self.inner[anchor]

    def step(self, state: Tensor, token: Tensor) -> Tensor:
        return self.inner[token]

    def bias(self, state: Tensor, tokens: Tensor | None = None) -> Tensor:
        return _project(state, self.outer, tokens)


@dataclass(frozen=True)
class RecurrentHead:
    """A state of size S goes down each branch: tanh(state @ recur + embed[token]).  embed [V, S], recur [S, S], outer [S, V]."""

    embed: Tensor
    recur: Tensor
    outer: Tensor

    def start(self, anchor: Tensor) -> Tensor:
        return torch.tanh(self.embed[anchor])

    def step(self, state: Tensor, token: Tensor) -> Tensor:
        return torch.tanh(state @ self.recur + self.embed[token])

    def bias(self, state: Tensor, tokens: Tensor | None = None) -> Tensor:
        return _project(state, self.outer, tokens)


def _project(state: Tensor, outer: Tensor, tokens: Tensor | None) -> Tensor:
    if tokens is None:
        return state @ outer
    return torch.einsum("ns,nks->nk", state, outer.t()[tokens])


@dataclass(frozen=True)
class Draft:
    """What one parallel pass says about the next L tokens of B requests.

    base    [B, L, V]  logits: row i is position i + 1 after the anchor, at that position itself
    anchor  [B] int64  the last emitted token of each request
    head    None for a marginal drafter (DFlash)

    Raises ValueError or TypeError when shapes, dtypes or devices do not fit.
    """

    base: Tensor
    anchor: Tensor
    head: Head | None = None

    def __post_init__(self) -> None:
        check_logits(self.base, "base")
        if self.anchor.shape != self.base.shape[:1] or self.anchor.device != self.base.device:
            wanted = f"[{self.base.shape[0]}] on {self.base.device}"
            raise ValueError(f"anchor must be {wanted}, got {list(self.anchor.shape)} on {self.anchor.device}")
        if self.anchor.dtype != torch.int64:
            raise TypeError(f"anchor must be int64, got {self.anchor.dtype}")
        if isinstance(self.head, MarkovHead | RecurrentHead) and self.head.outer.shape[-1] != self.base.shape[2]:
            raise ValueError(f"the head is for {self.head.outer.shape[-1]} tokens, the base logits have {self.base.shape[2]}")

    def logits(self, batch: Tensor, depth: Tensor, state: Tensor | None) -> Tensor:
        """Logits [n, V] of the children of n nodes at ``depth`` [n] with states [n, S]: float64 for float64 logits, else float32."""
        row = self.base[batch, depth]
        row = row if row.dtype == torch.float64 else row.float()
        return row if self.head is None or state is None else row + self.head.bias(state).to(row.dtype)


def at_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Logits [..., V] at a temperature, float32 at least; 0 leaves the most probable token alone.  Rows that are no law stay none.

    Raises ValueError for a temperature that is negative or not finite.
    """
    check_temperature(temperature)
    if temperature == 1:
        return logits
    wide = logits if logits.dtype == torch.float64 else logits.float()
    best = wide.amax(-1, keepdim=True)
    if temperature > 0:
        return (wide - best) / temperature  # from the largest down: nothing overflows
    return torch.full_like(wide, -torch.inf).scatter_(-1, wide.argmax(-1, keepdim=True), best - best)


def check_temperature(temperature: float) -> None:
    """Raises ValueError for one that is negative or not finite."""
    if not (isfinite(temperature) and temperature >= 0):
        raise ValueError(f"a temperature must be a number from 0 up, got {temperature}")


def block_logits(output: Tensor, *, predicts_next: bool = False) -> Tensor:
    """The L positions of a drafter's output [B, b, V]: all slots but the anchor's, as [B, b - 1, V] (DFlash).

    ``predicts_next``: the checkpoint predicts the next token from every slot, the anchor's included, so all b slots draft.  The wrong choice drafts
    tokens shifted by one: low acceptance, and no error.  Raises ValueError, TypeError: as ``Draft`` for its base.
    """
    check_logits(output, "output")
    return output if predicts_next else output[:, 1:]
