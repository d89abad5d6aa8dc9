"""Draft trees with logits, of a given batch, size and vocabulary, for the speed benchmarks: drafts of decent quality, deterministic in the seed."""
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

LIKELY = 20  # tokens that stand out of a row


@dataclass(frozen=True)
class Shape:
    batch: int
    nodes: int  # with the root
    vocabulary: int
    tree: str  # chain, or tree: three children a node, breadth first

    @property
    def bytes(self) -> int:
        """Of the target and the draft logits, float32."""
        return 2 * 4 * self.batch * self.nodes * self.vocabulary

    def __str__(self) -> str:
        return f"{self.batch} x {self.nodes} x {self.vocabulary} {self.tree}"


@dataclass(frozen=True)
class Case:
    """tokens, parents [B, N] int64, valid [B, N] bool; target [B, N, V] logits; draft [B, N, V]: what node i was drawn from, siblings alike."""

    tokens: Tensor
    parents: Tensor
    valid: Tensor
    target: Tensor
    draft: Tensor

    @property
    def tree(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.tokens, self.parents, self.valid

    @cached_property
    def logsumexp(self) -> Tensor:
        """Of the draft logits [B, N], float64: a drafter that samples has it."""
        return torch.stack([torch.stack([row.double().logsumexp(-1) for row in rows]) for rows in self.draft])

    def children(self) -> list[list[int]]:
        """Of each node; all trees of a batch have one topology."""
        found: list[list[int]] = [[] for _ in range(self.tokens.shape[1])]
        for node, parent in enumerate(self.parents[0].tolist()):
            if node:
                found[parent].append(node)
        return found


def make(shape: Shape, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Case:
    """Siblings are independent draws from one row; the target is that row with some noise, so that a few drafts in a row are accepted."""
    batch, nodes, vocabulary = shape.batch, shape.nodes, shape.vocabulary
    generator = torch.Generator(device).manual_seed(0)
    noise = torch.randn(4 * vocabulary, generator=generator, device=device)  # shared: a row takes a piece of it

    def piece() -> Tensor:
        start = int(torch.randint(3 * vocabulary, (), generator=generator, device=device))
        return noise[start : start + vocabulary]

    width = 1 if shape.tree == "chain" else 3
    parents = torch.tensor([0] + [(node - 1) // width for node in range(1, nodes)], device=device).repeat(batch, 1)
    target = torch.empty(batch, nodes, vocabulary, dtype=dtype, device=device)
    draft = torch.zeros_like(target)
    tokens = torch.zeros_like(parents)
    for b in range(batch):
        for node in range(nodes):
            row = 2 * piece()
            likely = torch.randint(vocabulary, (LIKELY,), generator=generator, device=device)
            row[likely] += 16 - 4 * torch.rand(LIKELY, generator=generator, device=device).cumsum(0)
            target[b, node] = row + 0.5 * piece()
            below = [child for child in range(width * node + 1, min(width * node + 1 + width, nodes))]
            if below:
                draft[b, below] = row.to(dtype)
                tokens[b, below] = torch.multinomial(row.softmax(-1), len(below), replacement=True, generator=generator)
    return Case(tokens, parents, torch.ones_like(parents, dtype=torch.bool), target, draft)


def greedy_drafts(case: Case) -> Case:
    """The same trees drafted greedily, in place: elder siblings are the most probable tokens, declared one-hot, the youngest drawn off them."""
    tokens = case.tokens.clone()
    for below in case.children():
        for b in range(len(tokens) if len(below) > 1 else 0):
            *elders, youngest = below
            row = case.draft[b, youngest]
            top = row.topk(len(elders)).indices
            row[top] = -torch.inf
            tokens[b, elders] = top
            tokens[b, youngest] = torch.multinomial(row.softmax(-1), 1)[0]
            for elder, token in zip(elders, top, strict=True):
                case.draft[b, elder] = -torch.inf
                case.draft[b, elder, token] = 0
    return Case(tokens, case.parents, case.valid, case.target, case.draft)
