"""When a call goes to a kernel, and what all kernels need to know of it."""
import importlib.util
from dataclasses import dataclass

import torch
from torch import Tensor

from ..lazy_rows import LazyRows
from ..logit_rows import LogitRows

BLOCK = 2048  # tokens a tile
WARPS = 8
REGISTERS = 255  # the most a thread may take; left alone, the assembler spills some to fit more programs on a core than there are
MOST_NODES = 1024
MOST_KEPT = 1024  # tokens of a row in a list that one program sorts
INTERPRETED = False
"""For tests: kernels serve CPU tensors, too.  Their modules must have been imported with TRITON_INTERPRET=1 set."""

LOGITS = (torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Rows:
    """What a kernel reads rows from: the tensor [B, N, V], whether it holds logits, and 1 / temperature."""

    tensor: Tensor
    logits: bool
    cold: float


def kernel_rows(rows: Tensor | LazyRows) -> Rows | None:
    """None: only the plain rules can read these."""
    if isinstance(rows, LogitRows):
        tensor, logits, cold = rows.logits, True, 1 / rows.temperature if rows.temperature else 0.0
        if not rows.plain or not cold or tensor.dtype not in LOGITS:
            return None
    elif isinstance(rows, LazyRows):
        return None
    else:
        tensor, logits, cold = rows.detach(), False, 1.0
    return Rows(tensor, logits, cold) if tensor.stride(2) == 1 else None


def read_by_kernel(rows: Tensor | LazyRows) -> Rows:
    """Of rows that ``has_kernels`` said yes to."""
    found = kernel_rows(rows)
    assert found is not None
    return found


def on_device(rows: Tensor | LazyRows) -> bool:
    """Whether kernels can run where these rows are."""
    return (rows.device.type == "cuda" or INTERPRETED) and importlib.util.find_spec("triton") is not None


def has_kernels(rows: Tensor | LazyRows, *more: Tensor | LazyRows | None) -> bool:
    """Whether a call with these rows is for the kernels: on CUDA with Triton, trees not too large."""
    if not on_device(rows) or rows.shape[0] == 0 or rows.shape[1] > MOST_NODES:
        return False
    return all(given is None or kernel_rows(given) is not None for given in (rows, *more))


def padded(count: int) -> int:
    """The next power of two."""
    return 1 << max(0, count - 1).bit_length()


def blocks_of(vocabulary: int) -> int:
    return -(-vocabulary // BLOCK)
