"""Small random trees, as tensors and as exact numbers read back from those tensors."""
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from .exact import ExactTree, Law

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def random_row(rng: random.Random, vocabulary: int) -> list[float]:
    """Weights with zeros and ties, or plain random ones."""
    row = [float(rng.randint(0, 3)) for _ in range(vocabulary)] if rng.random() < 0.5 else []
    row = row or [rng.random() ** 3 * (rng.random() > 0.2) for _ in range(vocabulary)]
    row[rng.randrange(vocabulary)] += 0.25
    return row


def random_tree(
    rng: random.Random, dtype: torch.dtype, nodes: int, vocabulary: int, deterministic: bool = False
) -> dict[str, Any]:
    """A tree as a batch of one: the keyword arguments of a verifier.  Siblings may repeat a token."""
    parents = [0] + [rng.choice([i - 1, rng.randrange(i)]) for i in range(1, nodes)]
    target = torch.tensor([random_row(rng, vocabulary) for _ in range(nodes)], dtype=torch.float64)
    declared = torch.tensor([random_row(rng, vocabulary) for _ in range(nodes)], dtype=torch.float64)
    for i in range(1, nodes):
        if rng.random() < 0.2:
            declared[i] = target[parents[i]]
    tokens = [0] + [rng.choice(declared[i].nonzero().flatten().tolist()) for i in range(1, nodes)]
    target, declared = target / target.sum(1, keepdim=True), declared / declared.sum(1, keepdim=True)
    return {
        "tokens": torch.tensor([tokens]),
        "parents": torch.tensor([parents]),
        "valid": torch.ones(1, nodes, dtype=torch.bool),
        "target": target.to(dtype).unsqueeze(0),
        "declared": None if deterministic else declared.to(dtype).unsqueeze(0),
    }


def random_trees(seed: int, count: int, dtype: torch.dtype, nodes: Sequence[int] = range(1, 7)) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        random_tree(rng, dtype, rng.choice(nodes), rng.randint(2, 5), deterministic=rng.random() < 0.2)
        for _ in range(count)
    ]


def exact_tree(call: dict[str, Any]) -> ExactTree:
    """The same tree in rationals: what is judged is the law of the bits handed over."""

    def laws(rows: Tensor | None) -> list[Law] | None:
        return None if rows is None else [[Fraction(x) for x in row] for row in rows[0].double().tolist()]

    target = laws(call["target"])
    assert target is not None
    return ExactTree(call["tokens"][0].tolist(), call["parents"][0].tolist(), target, laws(call["declared"]))


def repeat(call: dict[str, Any], times: int, device: str = "cpu") -> dict[str, Any]:
    return {k: None if x is None else x.expand(times, *x.shape[1:]).to(device) for k, x in call.items()}


def pad(call: dict[str, Any], nodes: int, junk: float = 0.0) -> dict[str, Any]:
    """The same batch with `nodes` nodes a tree; padding is its own parent and carries token -7 and rows of junk."""
    batch, old = call["tokens"].shape
    extra = nodes - old
    own = torch.arange(old, nodes).expand(batch, extra)
    padded = dict(call)
    padded["tokens"] = torch.cat([call["tokens"], torch.full((batch, extra), -7)], 1)
    padded["parents"] = torch.cat([call["parents"], own], 1)
    padded["valid"] = torch.cat([call["valid"], torch.zeros(batch, extra, dtype=torch.bool)], 1)
    for name in ("target", "declared"):
        if call[name] is not None:
            rows = call[name].new_full((batch, extra, call[name].shape[2]), junk)
            padded[name] = torch.cat([call[name], rows], 1)
    return padded
