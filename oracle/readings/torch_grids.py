"""Where torch's uniforms lie, by dtype."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from .scripted import current, rounded
from .uniforms import DOUBLE, SINGLE, Grid, exponential


def _narrow(name: str, digits: int) -> Grid:
    """A float32 uniform rounded to fewer digits, where the top of the range, which would round to 1, becomes 0.

    That top is put first, as k = 0 .. wrapped - 1, so that values do not decrease with k.
    """
    wrapped = 1 << (23 - digits)
    return Grid(name, 24, lambda k: 0.0 if k < wrapped else rounded((k - wrapped) * 2.0**-24, digits))


GRIDS = {
    torch.float32: SINGLE,
    torch.float64: DOUBLE,
    torch.float16: _narrow("float16", 11),
    torch.bfloat16: _narrow("bfloat16", 8),
}


@cache
def exponentials(dtype: torch.dtype, rate: float) -> Grid:
    """Exponential variables as elements of this dtype, from a grid finer than any device's: they race, and only their ratios matter."""
    if dtype is torch.float32:
        return Grid(f"exponential {dtype}", 53, lambda k: float(np.float32(exponential(k) / rate)))
    return Grid(f"exponential {dtype}", 53, lambda k: float(torch.tensor(exponential(k) / rate, dtype=dtype).item()))


_rand, _Generator = torch.rand, torch.Generator


@cache
def _known(dtype: torch.dtype) -> bool:
    """Does this torch make its uniforms as `GRIDS` says? Compared with the 24 bits of a float32 uniform on one seed."""
    values = _rand(4096, dtype=dtype, generator=_Generator().manual_seed(0))
    if dtype is torch.float64:
        return torch.equal((values * 2.0**53).frac(), torch.zeros_like(values))
    wide = _rand(4096, generator=_Generator().manual_seed(0))
    expected = wide.to(dtype)
    return torch.equal(values, expected.masked_fill(expected == 1, 0)) and not bool(
        (wide.double() * 2**24).frac().any()
    )


def grid_of(tensor: torch.Tensor) -> Grid:
    """The grid of uniforms of this dtype on this device; Refused where it is not known."""
    grid = GRIDS.get(tensor.dtype)
    if grid is None or not tensor.is_cpu or not _known(tensor.dtype):
        current().refuse(f"where uniforms of {tensor.dtype} lie on {tensor.device.type} is not known")
    return grid
