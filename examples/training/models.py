"""A small target language model that can look at a tree, and a block-marginal drafter that reads its features (the interface of DFlash)."""

import math

import torch
from torch import Tensor, nn

WIDTH, HEADS, LAYERS, POSITIONS = 48, 4, 2, 64
Past = list[tuple[Tensor, Tensor]]


class Attention(nn.Module):
    """Queries [B, N, W] over keys and values of [B, M, W]; ``mask`` [B, N, M] bool says who sees whom."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return _heads(self.key(x)), _heads(self.value(x))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        seen = nn.functional.scaled_dot_product_attention(_heads(self.query(x)), keys, values, mask.unsqueeze(1))
        answer: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return answer


def _heads(x: Tensor) -> Tensor:
    return x.unflatten(2, (HEADS, WIDTH // HEADS)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.before, self.between = Attention(), nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def fed(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + attended
        fed: Tensor = x + self.feed(self.between(x))
        return fed


class Target(nn.Module):
    """A causal transformer.  A pass over a tree is a pass over its nodes with an ancestor mask, after the keys and values of the whole context."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embed, self.position = nn.Embedding(vocabulary, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        nn.init.normal_(self.embed.weight, std=1 / math.sqrt(WIDTH))
        nn.init.normal_(self.position.weight, std=1 / math.sqrt(WIDTH))
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.RMSNorm(WIDTH)

    def forward(self, tokens: Tensor, positions: Tensor, mask: Tensor, past: Past | None = None) -> tuple[Tensor, Tensor, Past]:
        """Logits [B, N, V], features [B, N, LAYERS * W] and keys and values of tokens [B, N]; mask [B, N, M + N] over past and tokens."""
        x = self.embed(tokens) + self.position(positions)
        features, present = [], []
        for layer, block in enumerate(self.blocks):
            keys, values = block.attention.keys(block.before(x))
            present.append((keys, values))
            if past is not None:
                keys, values = torch.cat((past[layer][0], keys), 2), torch.cat((past[layer][1], values), 2)
            x = block.fed(x, block.attention(block.before(x), keys, values, mask))
            features.append(x)
        return self.norm(x) @ self.embed.weight.t(), torch.cat(features, 2), present

    def read(self, tokens: Tensor) -> tuple[Tensor, Tensor, Past]:
        """A pass over plain text."""
        positions = torch.arange(tokens.shape[1]).expand_as(tokens)
        return self(tokens, positions, torch.ones(tokens.shape[1], tokens.shape[1]).tril().bool().expand(len(tokens), -1, -1))  # type: ignore[no-any-return]


class Drafter(nn.Module):
    """Logits [B, L, V] of the L positions after the anchor, from one pass: the anchor's slot, then L mask slots, none causal, over target features.

    Embedding and head are the target's and stay as they are.
    """

    def __init__(self, target: Target, depths: int) -> None:
        super().__init__()
        self.depths, self._target = depths, [target]  # in a list: not a part of this module
        self.mask = nn.Parameter(torch.randn(WIDTH) / math.sqrt(WIDTH))
        self.slot, self.behind = nn.Embedding(depths + 1, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        nn.init.normal_(self.slot.weight, std=1 / math.sqrt(WIDTH))  # not louder than the anchor beside it
        self.project, self.seen = nn.Linear(LAYERS * WIDTH, WIDTH, bias=False), nn.RMSNorm(WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.RMSNorm(WIDTH)

    def forward(self, features: Tensor, anchor: Tensor, place: Tensor) -> Tensor:
        """features [B, T, LAYERS * W] of the text; anchor [B] the token at place [B], whose features do not exist yet."""
        target, size = self._target[0], len(anchor)
        slots = torch.arange(self.depths + 1)
        x = torch.cat((target.embed(anchor).unsqueeze(1), self.mask.expand(size, self.depths, -1)), 1)
        x = x + self.slot(slots)
        behind = place.unsqueeze(1) - torch.arange(features.shape[1])
        known = behind > 0
        context = self.seen(self.project(features)) + self.behind(behind.clamp(min=0))
        mask = torch.cat((known, known.new_ones(size, self.depths + 1)), 1).unsqueeze(1).expand(-1, self.depths + 1, -1)
        for block in self.blocks:
            keys, values = block.attention.keys(torch.cat((context, block.before(x)), 1))
            x = block.fed(x, block.attention(block.before(x), keys, values, mask))
        logits: Tensor = self.norm(x)[:, 1:] @ target.embed.weight.t()
        return logits
