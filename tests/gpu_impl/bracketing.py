"""Read an implementation without sampling: drive it just inside every box of tapes of the exact program.

Agreement at the corners of all boxes bounds the total variation of the laws by about (number of boxes) * 2 * margin.
"""
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from .exact import Box, Program, branches, volume
from .instances import exact_tree, repeat

MARGIN = {torch.float64: Fraction(1, 2**36), torch.float32: Fraction(1, 2**22)}  # by dtype of the uniforms

Verifier = Callable[..., tuple[Tensor, Tensor]]


def tapes(box: Box, margin: Fraction, coordinates: int, rng: random.Random) -> list[list[float]]:
    """The low corner, the high corner, the middle and a random corner; uniforms that decide nothing are random."""
    low = {c: Fraction(0) if a == 0 else a + margin for c, (a, _) in box.items()}
    high = {c: b - margin for c, (_, b) in box.items()}
    middle = {c: (a + b) / 2 for c, (a, b) in box.items()}
    mixed = {c: rng.choice([low[c], high[c]]) for c in box}
    return [[float(t.get(c, rng.random())) for c in range(coordinates)] for t in (low, high, middle, mixed)]


def disagreements(
    verifier: Verifier, program: Program, call: dict[str, Any], device: str = "cpu", dtype: torch.dtype = torch.float64
) -> list[str]:
    """Tapes on which `verifier` and the exact `program` emit different blocks for this tree (a batch of one)."""
    rng = random.Random(0)
    coordinates = 2 if program.__name__ == "tree_exit" else call["tokens"].shape[1]
    blocks, rows, skipped = [], [], Fraction(0)
    for block, box in branches(program, exact_tree(call)):
        if any(b - a <= 2 * MARGIN[dtype] for a, b in box.values()):
            skipped += volume(box)
            continue
        for tape in tapes(box, MARGIN[dtype], coordinates, rng):
            blocks.append(block)
            rows.append(tape)
    assert skipped < 1e-4, "too much of this tree is too narrow to be driven"
    uniforms = torch.tensor(rows, dtype=dtype, device=device)
    emitted, accepted = verifier(**repeat(call, len(rows), device), uniforms=uniforms)
    found = [
        (tuple(t for t in row if t != -1), count)
        for row, count in zip(emitted.tolist(), accepted.tolist(), strict=True)
    ]
    return [
        f"{tape}: {got} instead of {block}"
        for tape, got, block in zip(rows, found, blocks, strict=True)
        if got != (block, len(block) - 1)
    ]
