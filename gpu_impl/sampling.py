"""Randomness: where the uniforms come from, and how one of them picks a token."""
import torch
from torch import Tensor


def read_uniforms(
    uniforms: Tensor | None, generator: torch.Generator | None, shape: tuple[int, int], device: torch.device
) -> Tensor:
    """Uniforms in [0, 1) as float64 of the given shape: those handed over, or fresh ones with 53 bits.

    Fresh ones come from `generator`, on its own device, or else from torch's global generator.

    Raises:
        ValueError: both are given, or the uniforms do not have this shape or device.
        TypeError: the uniforms are not float32 or float64.
    """
    if uniforms is None:
        source = device if generator is None else generator.device
        return torch.rand(shape, generator=generator, dtype=torch.float64, device=source).to(device)
    if generator is not None:
        raise ValueError("give uniforms or a generator, not both")
    if uniforms.shape != shape or uniforms.device != device:
        raise ValueError(f"uniforms must be {list(shape)} on {device}, got {list(uniforms.shape)} on {uniforms.device}")
    if uniforms.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"uniforms must be float32 or float64, got {uniforms.dtype}")
    return uniforms.double()


def inverse_cdf(weights: Tensor, uniform: Tensor) -> Tensor:
    """The first t with cdf[t] > uniform * total among the t of positive weight; [n] int64.

    weights [n, V] float64, need not sum to 1; uniform [n] in [0, 1).  Where rounding leaves no such t, the last of
    positive weight; -1 where no weight is positive.  Positivity is asked for explicitly because a parallel prefix sum
    may grow at a token of weight 0.
    """
    cdf = weights.cumsum(-1)
    positive = weights > 0
    beyond = positive & (cdf > (uniform * cdf[:, -1]).unsqueeze(1))
    # on a CPU minima of integers take ten times as long, and a choice by mask three times as long as arithmetic with it
    size = weights.shape[-1]
    token = torch.arange(size, dtype=torch.float64, device=weights.device)
    first = torch.add(token, beyond, alpha=-size).amin(-1) + size
    last = ((token + 1) * positive).amax(-1) - 1
    return torch.minimum(first, last).long()
