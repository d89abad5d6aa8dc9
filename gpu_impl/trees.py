"""Draft trees as flat tensors, and what every verifier derives from them.

Node 0 is the root; its token and declared row are ignored.  A parent comes before its children, siblings are verified
in index order (the order they were drawn in) and may repeat a token, and only nodes with ``valid`` set exist: padding
may hold anything.
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from .laws import Index, row_sums, take

MANY = 256  # trees: a node of all of them at a time takes less long than a level of nodes with its indices


@dataclass(frozen=True)
class Tree:
    """A batch of B trees of N nodes each, at most R siblings, at most D deep.

    tokens    [B, N] int64   0 at the root and at padding
    parents   [B, N] int64   own index at the root and at padding
    depth     [B, N] int64   0 at the root and at padding
    rank      [B, N] int64   how many elder siblings; 0 at the root and at padding
    children  [B, N, R] int64  by rank; 0 = no such child (the root is nobody's child)
    stages    D pairs (b, i) of equally long int64 vectors: the nodes i of trees b that have children, by depth; if alike, of the first tree
    widths    D numbers: the most children that a node of each of these depths has
    sound     [B] bool       the tree is well formed
    alike     all have one topology: parents, depth, rank and children then are views of one row, and not to be written to
    """

    tokens: Tensor
    parents: Tensor
    depth: Tensor
    rank: Tensor
    children: Tensor
    stages: tuple[tuple[Tensor, Tensor], ...]
    widths: tuple[int, ...]
    sound: Tensor
    alike: bool

    @property
    def levels(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """The stages of all trees."""
        if not self.alike:
            return self.stages
        every = torch.arange(len(self.tokens), device=self.tokens.device)
        return tuple((every.repeat_interleave(len(node)), node.repeat(len(every))) for _, node in self.stages)

    def visits(self) -> list[tuple[Index, Index, int]]:
        """What a top-down rule visits in turn, as (batch, node, width): a level of nodes, or a node of all trees if they are alike and many.

        Batch and node are index vectors [n], or every tree and a number; no node visited has more than ``width`` children.
        """
        if not self.alike or len(self.tokens) < MANY:
            return [(batch, node, width) for (batch, node), width in zip(self.levels, self.widths, strict=True)]
        return [(slice(None), node, width) for (_, nodes), width in zip(self.stages, self.widths, strict=True) for node in nodes.tolist()]

    def family(self, batch: Index, node: Index, width: int) -> list[tuple[Index, Tensor | None]]:
        """The children of a visit by rank, each with whether it exists, [n] bool (None: it does); a missing one is 0, the root."""
        if isinstance(node, int):
            return [(child, None) for child in self.children[0, node].tolist() if child]
        return [(child, child > 0) for child in take(self.children, batch, node).unbind(1)[:width]]

    def youngest(self, batch: Index, node: Index) -> tuple[Index, Tensor]:
        """The youngest child of a visit, 0 at a leaf, and its rank [n, 1], 0 there too."""
        if isinstance(node, int):
            rank = (self.children[0, node] > 0).sum() - 1
            return int(self.children[0, node, rank]), rank.expand(len(self.tokens), 1)
        children = take(self.children, batch, node)
        rank = (row_sums((children > 0).long()) - 1).clamp_(min=0).unsqueeze(1)
        return children.gather(1, rank).squeeze(1), rank


def edges(tokens: Tensor, parents: Tensor, valid: Tensor, vocabulary: int) -> Tensor:
    """[B, N] bool: the node hangs below a valid parent that comes before it, by a token in 0..vocabulary-1."""
    index = torch.arange(tokens.shape[1], device=tokens.device)
    below = valid & (parents >= 0) & (parents < index)
    return below & valid.gather(1, parents.where(below, 0)) & (tokens >= 0) & (tokens < vocabulary)


def build_tree(tokens: Tensor, parents: Tensor, valid: Tensor, vocabulary: int) -> Tree:
    """Derive a ``Tree``.  The one wait for the device in a verifier is here: loops need to know depth and width.

    On a CPU, where asking is cheap, what trees of one topology have in common is derived once.
    """
    batch, nodes = tokens.shape
    if batch > 1 and tokens.device.type == "cpu" and _alike(tokens, parents, valid, vocabulary):
        return _repeated(build_tree(tokens[:1], parents[:1], valid[:1], vocabulary), tokens)
    edge = edges(tokens, parents, valid, vocabulary)
    index = torch.arange(nodes, device=tokens.device).expand_as(parents)
    parents = parents.where(edge, index)  # own index: no edge

    depth, hop = edge.long(), parents
    for _ in range((nodes - 1).bit_length()):  # pointer doubling: 2^k ancestors counted after step k
        depth = depth + depth.gather(1, hop)
        hop = hop.gather(1, hop)

    family, order = parents.where(edge, nodes).sort(dim=1, stable=True)  # siblings side by side, in index order
    rank = torch.empty_like(order).scatter_(1, order, index - torch.searchsorted(family, family)).where(edge, 0)
    internal = torch.zeros_like(index).scatter_add(1, parents, edge.long()) > 0

    level = depth.where(internal, nodes).flatten()
    sizes = torch.zeros(nodes + 1, dtype=torch.int64, device=tokens.device).scatter_add_(0, level, torch.ones_like(level))
    widths = torch.zeros_like(sizes).scatter_reduce_(0, depth.flatten(), (rank + 1).where(edge, 0).flatten(), "amax")  # by depth of the children
    known = torch.stack((sizes[:-1], widths[1:])).tolist()
    level_sizes = [size for size in known[0] if size]
    width = max(1, *known[1])

    members = torch.split(level.argsort(stable=True)[: sum(level_sizes)], level_sizes) if level_sizes else ()
    children = torch.zeros(batch, nodes * width, dtype=torch.int64, device=tokens.device)
    children.scatter_add_(1, (parents * width + rank).where(edge, 0), index.where(edge, 0))
    return Tree(
        tokens=tokens.where(edge, 0),
        parents=parents,
        depth=depth,
        rank=rank,
        children=children.view(batch, nodes, width),
        stages=tuple((flat // nodes, flat % nodes) for flat in members),
        widths=tuple(known[1][: len(level_sizes)]),
        sound=valid[:, 0] & (edge == valid)[:, 1:].all(1),
        alike=False,
    )


def _alike(tokens: Tensor, parents: Tensor, valid: Tensor, vocabulary: int) -> bool:
    """Whether all trees have the topology of the first; not where a token is unknown, which takes a node off its tree."""
    if not ((parents == parents[:1]).all() and (valid == valid[:1]).all()):
        return False
    return bool(((tokens >= 0) & (tokens < vocabulary) | ~valid[:1])[:, 1:].all())


def _repeated(one: Tree, tokens: Tensor) -> Tree:
    """The trees with these tokens and the topology of ``one`` [1, N]."""
    batch = len(tokens)
    return Tree(
        tokens=tokens.where(one.depth > 0, 0),
        parents=one.parents.expand(batch, -1),
        depth=one.depth.expand(batch, -1),
        rank=one.rank.expand(batch, -1),
        children=one.children.expand(batch, -1, -1),
        stages=one.stages,
        widths=one.widths,
        sound=one.sound.expand(batch),
        alike=True,
    )


def postorder(tree: Tree) -> Tensor:
    """[B, N] int64: place of each node, children in rank order and before their parent; padding has none."""
    rows = slice(1) if tree.alike else slice(None)
    parents, depth, rank, children = tree.parents[rows], tree.depth[rows], tree.rank[rows], tree.children[rows]
    size = torch.ones_like(depth)
    for level in range(len(tree.widths), 0, -1):
        size.scatter_add_(1, parents, size.where(depth == level, 0))
    family = size.gather(1, children.flatten(1)).view_as(children).where(children > 0, 0)
    elders = (family.cumsum(2) - family).flatten(1)  # nodes in the subtrees of elder siblings, at (parent, rank)
    offset = elders.gather(1, parents * children.shape[2] + rank)
    first = torch.zeros_like(size)
    for _ in tree.widths:  # right down to depth d after step d
        first = first.gather(1, parents) + offset
    return (first + size - 1).expand_as(tree.depth)


def earliest(tree: Tree, order: Tensor, among: Tensor) -> Tensor:
    """Of each tree the node that comes first in ``order`` [B, N] among those with ``among`` [N, B] set, at least one; [B] int64."""
    nodes = len(among)
    place = order[:1] if tree.alike else order
    place = (place * nodes + torch.arange(nodes, device=order.device)).t().double()  # minima of integers take ten times as long
    return torch.add(place, among, alpha=-nodes * nodes).amin(0).long() % nodes


def emit(tree: Tree, last: Tensor, bonus: Tensor, sound: Tensor) -> tuple[Tensor, Tensor]:
    """The blocks that accept the path to node `last` [B] and end with `bonus` [B]; -1 where not `sound` [B].

    Returns blocks [B, D+1] int64, padded with -1, and accepted [B] int64, the number of tokens before the bonus.
    """
    batch = torch.arange(len(last), device=last.device)
    accepted = take(tree.depth, batch, last)
    blocks = last.new_full((len(last), len(tree.widths) + 1), -1)
    node = last
    for depth in range(len(tree.widths), 0, -1):
        here = accepted >= depth
        blocks[:, depth - 1] = take(tree.tokens, batch, node).where(here, -1)
        node = take(tree.parents, batch, node).where(here, node)
    blocks.scatter_(1, accepted.unsqueeze(1), bonus.unsqueeze(1))
    return blocks.where(sound.unsqueeze(1), -1), accepted.where(sound, -1)
