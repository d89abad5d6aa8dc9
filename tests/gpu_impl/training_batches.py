"""Batches of trees to train on, as tensors and as exact contexts."""

import math
import random

import torch
from torch import Tensor

from draftproof.reference.laws import Law
from draftproof.reference.models import random_law, random_model
from draftproof.reference.training import Context, Credit, built, gradient
from draftproof.reference.trees import level_order

VOCABULARY, DEPTHS = 4, 3


def contexts(seed: int, sizes: tuple[int, ...] = (5, 0, 3, 8)) -> list[Context]:
    rng = random.Random(seed)
    return [
        built(random_model(rng.randrange(1 << 30), VOCABULARY, zeros=0.2), [random_law(rng, VOCABULARY) for _ in range(DEPTHS)], nodes)
        for nodes in sizes
    ]


def logits_of(law: Law[int]) -> list[float]:
    return [math.log(law[token]) if law[token] else -math.inf for token in range(VOCABULARY)]


def tensors(batch: list[Context], dtype: torch.dtype = torch.float64, padding: int = 2) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
    """(draft logits that require a gradient, (tokens, parents, valid, target logits)); padding is not clean."""
    nodes = max(len(level_order(one.root)) for one in batch) + padding
    tokens = torch.zeros(len(batch), nodes, dtype=torch.int64)
    parents, valid = torch.arange(nodes).repeat(len(batch), 1), torch.zeros(len(batch), nodes, dtype=torch.bool)
    target = torch.full((len(batch), nodes, VOCABULARY), 3.5, dtype=torch.float64)
    for b, one in enumerate(batch):
        index = {node.path: place for place, node in enumerate(level_order(one.root))}
        for path, place in index.items():
            valid[b, place] = True
            target[b, place] = torch.tensor(logits_of(one.target(path)), dtype=torch.float64)
            if path:
                tokens[b, place], parents[b, place] = path[-1], index[path[:-1]]
    logits = torch.tensor([[logits_of(row) for row in one.draft] for one in batch], dtype=torch.float64)
    return logits.to(dtype).requires_grad_(), (tokens, parents, valid, target.to(dtype))


def exact(credits: list[Credit], batch: list[Context]) -> Tensor:
    rows = [[[float(entry) for entry in row] for row in gradient(credit, one.draft, VOCABULARY)] for credit, one in zip(credits, batch, strict=True)]
    return torch.tensor(rows, dtype=torch.float64)


def slope(loss: Tensor, logits: Tensor) -> Tensor:
    return torch.autograd.grad(loss, logits)[0].double()
