"""A rule over a batch, tree after tree."""
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..lazy_rows import LazyRows
from .rows import NoLaw, given
from .trees import Tree, build

LONG = 1 << 12
"""Tokens a row from which on a row costs more than the steps around it."""

Rule = Callable[[Tree, Sequence[float]], tuple[int, int]]
"""(tree, its uniforms) -> (accepted node, bonus token).  Raises NoLaw."""


def long_rows(target: Tensor | LazyRows) -> bool:
    """Whether rows [B, N, V] are for the rules of this folder."""
    return target.device.type == "cpu" and target.shape[2] >= LONG


def verify(
    rule: Rule, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor | LazyRows, declared: Tensor | LazyRows | None, draws: Tensor
) -> tuple[Tensor, Tensor]:
    """As the verifiers: blocks [B, D+1] int64, padded with -1, and accepted [B] int64; -1 where there is no answer."""
    wanted, offered = given(target, parents, tokens), given(declared, torch.arange(tokens.shape[1]).expand_as(tokens), tokens)
    trees = [
        build(*row, batch, target, declared, wanted[batch] if wanted else None, offered[batch] if offered else None)
        for batch, row in enumerate(zip(tokens.tolist(), parents.tolist(), valid.tolist(), strict=True))
    ]
    longest = 1 + max((max(tree.depth) for tree in trees), default=0)
    blocks, accepted = [[-1] * longest for _ in trees], [-1] * len(trees)
    for tree, uniforms in zip(trees, draws.tolist(), strict=True):
        if not tree.sound:
            continue
        try:
            node, bonus = rule(tree, uniforms)
        except NoLaw:
            continue
        path = [*tree.path(node), bonus]
        blocks[tree.batch][: len(path)] = path
        accepted[tree.batch] = len(path) - 1
    return torch.tensor(blocks, dtype=torch.int64).view(len(trees), longest), torch.tensor(accepted, dtype=torch.int64)
