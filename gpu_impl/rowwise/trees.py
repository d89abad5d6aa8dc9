"""One tree as lists."""
import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ..lazy_rows import LazyRows
from ..logit_rows import LogitRows
from .rows import NoLaw, Row, alone, entry, mass, read


@dataclass
class Tree:
    """Nodes in index order, root first, with what a rule is given: rows are read on demand.

    children of each node in index order; depth 0 at padding; declared None: drafts are deterministic.  wanted, offered: p(x) and
    r(x) of each node's own token, where they are known without reading a row.
    """

    tokens: Sequence[int]
    parents: Sequence[int]
    children: Sequence[Sequence[int]]
    depth: Sequence[int]
    sound: bool
    batch: int
    target_rows: Tensor | LazyRows
    declared_rows: Tensor | LazyRows | None
    wanted: Sequence[float] | None
    offered: Sequence[float] | None

    def target(self, node: int) -> Row:
        return read(self.target_rows, self.batch, node)

    def declared(self, node: int) -> Row | None:
        """The law the node's token was drawn from; None: all mass on it."""
        return None if self.declared_rows is None else read(self.declared_rows, self.batch, node)

    def target_mass(self, node: int) -> float:
        """p(x) of the node's own token, where no more is asked of its parent's row."""
        if self.wanted:
            return _law(self.wanted[node])
        return mass(self.target_rows, self.batch, self.parents[node], self.tokens[node])

    def offer(self, node: int) -> float:
        """r(x) of the node's own token, where no more is asked of the row."""
        if self.offered:
            return _law(self.offered[node])
        return 1.0 if self.declared_rows is None else mass(self.declared_rows, self.batch, node, self.tokens[node])

    def declares_one(self, node: int) -> bool:
        """Whether the node's own token is certain under its declared law, exactly."""
        if isinstance(self.declared_rows, LogitRows):
            return not self.offered and alone(self.declared_rows, self.batch, node, self.tokens[node]) or self.offer(node) == 1
        return self.declared_rows is None or entry(self.declared_rows, self.batch, node, self.tokens[node]) == 1

    def path(self, node: int) -> list[int]:
        tokens = []
        while node:
            tokens.append(self.tokens[node])
            node = self.parents[node]
        return tokens[::-1]


def _law(known: float) -> float:
    if math.isnan(known):
        raise NoLaw
    return known


def build(
    tokens: Sequence[int], parents: Sequence[int], valid: Sequence[bool], batch: int, target: Tensor | LazyRows,
    declared: Tensor | LazyRows | None, wanted: Sequence[float] | None, offered: Sequence[float] | None,
) -> Tree:
    """What ``build_tree`` of the batched rules says, for one row of a batch."""
    children: list[list[int]] = [[] for _ in tokens]
    depth = [0] * len(tokens)
    sound, vocabulary = valid[0], target.shape[2]
    for node in range(1, len(tokens)):
        if valid[node]:
            parent = parents[node]
            if 0 <= parent < node and valid[parent] and 0 <= tokens[node] < vocabulary:
                children[parent].append(node)
                depth[node] = depth[parent] + 1
            else:
                sound = False
    return Tree(tokens, parents, children, depth, sound, batch, target, declared, wanted, offered)
