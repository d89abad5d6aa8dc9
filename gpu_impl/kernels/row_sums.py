"""The largest logit and the sum of exponentials of listed rows, each read once by several programs side by side."""
import torch
import triton
import triton.language as tl
from torch import Tensor

from . import use
from .rows import weights


@triton.jit
def row_sums_kernel(target, batches, places, sums, tops, parts, vocabulary, cold, stride_batch, stride_node,
                    LOGITS: tl.constexpr, BLOCK: tl.constexpr):
    listed = tl.program_id(0)
    block = tl.program_id(1)
    row = target + tl.load(batches + listed) * stride_batch + tl.load(places + listed) * stride_node
    tokens = block * BLOCK + tl.arange(0, BLOCK)
    top = tl.full([], 0.0, tl.float32)
    if LOGITS:
        top = tl.max(tl.load(row + tokens, mask=tokens < vocabulary, other=float("-inf")).to(tl.float32))
        tl.store(tops + listed.to(tl.int64) * parts + block, top)
        top = tl.where(top == float("-inf"), 0.0, top)
    tl.store(sums + listed.to(tl.int64) * parts + block, tl.sum(weights(row, tokens, vocabulary, top, cold, LOGITS)))


def row_sums(rows: use.Rows, batch: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
    """Of n rows, batch and node [n] int64: the largest logit [n] float32 (0 for probabilities) and the sum of weights over it [n] float64."""
    vocabulary, parts = rows.tensor.shape[2], use.blocks_of(rows.tensor.shape[2])
    sums = torch.zeros(len(batch), parts, dtype=torch.float64, device=batch.device)
    tops = torch.zeros_like(sums, dtype=torch.float32)
    if len(batch):
        row_sums_kernel[(len(batch), parts)](
            rows.tensor, batch, node, sums, tops, parts, vocabulary, rows.cold, rows.tensor.stride(0), rows.tensor.stride(1),
            LOGITS=rows.logits, BLOCK=use.BLOCK, num_warps=use.WARPS, maxnreg=use.REGISTERS,
        )
    return on_one_scale(tops, sums, rows.cold)


def on_one_scale(tops: Tensor, sums: Tensor, cold: float) -> tuple[Tensor, Tensor]:
    """The largest of the tiles' largest logits [n, parts], and the sum of their sums of exponentials, each over its own, over that one."""
    top = tops.amax(1)
    scale = torch.where(tops == -torch.inf, 0.0, (tops - top.unsqueeze(1)).double() * cold).exp()
    return top, (sums * scale).sum(1)
