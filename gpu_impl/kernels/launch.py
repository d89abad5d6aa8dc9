"""How a kernel with one program a tree is called: the arguments that all of them have, and room for what each keeps of its nodes."""
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import use

I32, I64, F32, F64 = torch.int32, torch.int64, torch.float32, torch.float64


def launch(
    kernel: Any, tree: tuple[Tensor, Tensor, Tensor], rows: use.Rows, draws: Tensor, room: Sequence[torch.dtype] = (),
    declared: use.Rows | None = None, **constants: bool,
) -> tuple[Tensor, Tensor]:
    """Blocks [B, N] and accepted [B], nothing but -1 where a tree got no answer.

    tree: tokens, parents, valid [B, N]; draws: the uniforms; room: for each of them the kernel gets [B, NODES].
    """
    batch, nodes, vocabulary = rows.tensor.shape
    device, width, parts = draws.device, use.padded(nodes), use.padded(use.blocks_of(vocabulary))
    blocks = torch.full((batch, nodes), -1, dtype=I64, device=device)
    accepted = torch.empty(batch, dtype=I64, device=device)
    sums, tops = (torch.empty(batch, parts, dtype=dtype, device=device) for dtype in (F64, F32))
    kept = [torch.empty(batch, width, dtype=dtype, device=device) for dtype in room]
    read = [rows] if declared is None else [rows, declared]
    if declared is not None:
        constants["DECLARED_LOGITS"] = declared.logits
    kernel[(batch,)](
        *(x.contiguous() for x in tree), *(each.tensor for each in read), draws.contiguous(), blocks, accepted, sums, tops, *kept,
        nodes, vocabulary, *(each.cold for each in read), *(stride for each in read for stride in each.tensor.stride()[:2]),
        LOGITS=rows.logits, BLOCK=use.BLOCK, BLOCKS=parts, NODES=width, num_warps=use.WARPS, maxnreg=use.REGISTERS, **constants,
    )
    return blocks.where((accepted >= 0).unsqueeze(1), -1), accepted
