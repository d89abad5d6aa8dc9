"""What is checked about a call: shapes always, numbers on request."""
import torch
from torch import Tensor

from .trees import edges

FLOATING = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
SUM_TOLERANCE = 1e-2  # a bfloat16 row is off by up to 2^-9, a row of logits or counts by far more


def check_shapes(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor | None) -> None:
    """Check what can be known without reading a tensor, hence without waiting for the device.

    Raises:
        ValueError: a shape or a device does not fit.
        TypeError: a dtype is not int64 (tokens, parents), bool (valid) or floating (target, declared).
    """
    if tokens.dim() != 2 or tokens.shape[1] < 1:
        raise ValueError(f"tokens must be [B, N] with N >= 1 (node 0 is the root), got {list(tokens.shape)}")
    for name, tensor in (("parents", parents), ("valid", valid)):
        if tensor.shape != tokens.shape:
            raise ValueError(f"{name} must be {list(tokens.shape)} like tokens, got {list(tensor.shape)}")
    for name, tensor, dtype in (("tokens", tokens, torch.int64), ("parents", parents, torch.int64),
                                ("valid", valid, torch.bool)):
        if tensor.dtype != dtype:
            raise TypeError(f"{name} must be {dtype}, got {tensor.dtype}")
    if target.dim() != 3 or target.shape[:2] != tokens.shape or target.shape[2] < 1:
        raise ValueError(f"target must be [B, N, V] with [B, N] = {list(tokens.shape)}, got {list(target.shape)}")
    if declared is not None and declared.shape != target.shape:
        raise ValueError(f"declared must be {list(target.shape)} like target, got {list(declared.shape)}")
    rows = [("target", target)] if declared is None else [("target", target), ("declared", declared)]
    for name, tensor in rows:
        if tensor.dtype not in FLOATING:
            raise TypeError(f"{name} must be float64, float32, bfloat16 or float16, got {tensor.dtype}")
    for name, tensor in (("parents", parents), ("valid", valid), *rows):
        if tensor.device != tokens.device:
            raise ValueError(f"{name} is on {tensor.device}, tokens on {tokens.device}")


def check_tree(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor | None = None) -> None:
    """Check everything that the verifiers take on trust; waits for the device, so not for every call.

    Args: as for the verifiers: tokens and parents [B, N] int64, valid [B, N] bool, target and declared [B, N, V].

    Raises:
        ValueError: names the first batch row and node at fault: an invalid root, a parent that does not come before its
            child or is padding, a token outside 0..V-1, a row with a NaN, a negative mass or a sum far from 1, a token
            that its declared law says cannot be drawn.
        TypeError, ValueError: as ``check_shapes``.
    """
    check_shapes(tokens, parents, valid, target, declared)
    is_root = torch.zeros_like(valid)
    is_root[:, 0] = True
    inner = valid & ~is_root
    before = (parents >= 0) & (parents < torch.arange(tokens.shape[1], device=tokens.device))
    known = (tokens >= 0) & (tokens < target.shape[2])
    _require(valid | ~is_root, "the root is not valid")
    _require(before | ~inner, "the parent does not come before its child")
    _require(known | ~inner, f"the token is outside 0..{target.shape[2] - 1}")
    _require(edges(tokens, parents, valid, target.shape[2]) | ~inner, "the parent is padding")
    _require(_is_law(target) | ~valid, "the target row is not a probability law")
    if declared is not None:
        _require(_is_law(declared) | ~inner, "the declared row is not a probability law")
        mass = declared.gather(2, tokens.where(inner, 0).unsqueeze(2)).squeeze(2)
        _require((mass > 0) | ~inner, "the declared row gives the drafted token no mass")


def _is_law(rows: Tensor) -> Tensor:
    return (rows >= 0).all(-1) & ((rows.sum(-1, dtype=torch.float64) - 1).abs() <= SUM_TOLERANCE)


def _require(fine: Tensor, fault: str) -> None:
    if not fine.all():
        row, node = (~fine).nonzero()[0].tolist()
        raise ValueError(f"batch row {row}, node {node}: {fault}")


def check_logits(logits: Tensor, name: str) -> None:
    """Raises TypeError or ValueError, with this name, unless they are a floating tensor [B, L, V] with V >= 1."""
    if not isinstance(logits, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(logits).__name__}")
    if logits.dim() != 3 or logits.shape[2] < 1:
        raise ValueError(f"{name} must be [B, L, V] with V >= 1, got {list(logits.shape)}")
    if logits.dtype not in FLOATING:
        raise TypeError(f"{name} must be float64, float32, bfloat16 or float16, got {logits.dtype}")
