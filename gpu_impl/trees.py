"""Draft trees as flat tensors, and what every verifier derives from them.

Node 0 is the root; its token and declared row are ignored.  A parent comes before its children, siblings are verified
in index order (the order they were drawn in) and may repeat a token, and only nodes with ``valid`` set exist: padding
may hold anything.
"""
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tree:
    """A batch of B trees of N nodes each, at most R siblings, at most D deep.

    tokens    [B, N] int64   0 at the root and at padding
    parents   [B, N] int64   own index at the root and at padding
    depth     [B, N] int64   0 at the root and at padding
    rank      [B, N] int64   how many elder siblings; 0 at the root and at padding
    children  [B, N, R] int64  by rank; 0 = no such child (the root is nobody's child)
    levels    D pairs (b, i) of equally long int64 vectors: the nodes i of trees b that have children, by depth
    sound     [B] bool       the tree is well formed
    alike     all have one topology: parents, depth, rank and children then are views of one row, and not to be written to
    """

    tokens: Tensor
    parents: Tensor
    depth: Tensor
    rank: Tensor
    children: Tensor
    levels: tuple[tuple[Tensor, Tensor], ...]
    sound: Tensor
    alike: bool


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
    edge = edges(tokens, parents, valid, vocabulary)
    index = torch.arange(nodes, device=tokens.device)
    parents = parents.where(edge, index)  # own index: no edge
    alike = tokens.device.type == "cpu" and batch > 1 and bool((parents == parents[:1]).all())
    above = parents[:1] if alike else parents
    index, below = index.expand_as(above), above < index

    depth, hop = below.long(), above
    for _ in range((nodes - 1).bit_length()):  # pointer doubling: 2^k ancestors counted after step k
        depth = depth + depth.gather(1, hop)
        hop = hop.gather(1, hop)

    family, order = above.where(below, nodes).sort(dim=1, stable=True)  # siblings side by side, in index order
    rank = torch.empty_like(order).scatter_(1, order, index - torch.searchsorted(family, family)).where(below, 0)
    internal = torch.zeros_like(index).scatter_add(1, above, below.long()) > 0

    level = depth.where(internal, nodes).flatten()
    sizes = torch.stack((_histogram(level, nodes), _histogram(rank.where(below, nodes).flatten(), nodes))).tolist()
    level_sizes = [size for size in sizes[0] if size]
    width = max(1, sum(size > 0 for size in sizes[1]))

    members = torch.split(level.argsort(stable=True)[: sum(level_sizes)], level_sizes) if level_sizes else ()
    children = torch.zeros(len(above), nodes * width, dtype=torch.int64, device=tokens.device)
    children.scatter_add_(1, (above * width + rank).where(below, 0), index.where(below, 0))
    every = torch.arange(batch if alike else 1, device=tokens.device)
    return Tree(
        tokens=tokens.where(edge, 0),
        parents=above.expand(batch, nodes),
        depth=depth.expand(batch, nodes),
        rank=rank.expand(batch, nodes),
        children=children.view(-1, nodes, width).expand(batch, nodes, width),
        levels=tuple(
            ((flat // nodes).repeat(len(every)) + every.repeat_interleave(len(flat)), (flat % nodes).repeat(len(every))) for flat in members
        ),
        sound=valid[:, 0] & (edge == valid)[:, 1:].all(1),
        alike=alike,
    )


def postorder(tree: Tree) -> Tensor:
    """[B, N] int64: place of each node, children in rank order and before their parent; padding has none."""
    rows = slice(1) if tree.alike else slice(None)
    parents, depth, rank, children = tree.parents[rows], tree.depth[rows], tree.rank[rows], tree.children[rows]
    size = torch.ones_like(depth)
    for level in range(len(tree.levels), 0, -1):
        size.scatter_add_(1, parents, size.where(depth == level, 0))
    family = size.gather(1, children.flatten(1)).view_as(children).where(children > 0, 0)
    elders = (family.cumsum(2) - family).flatten(1)  # nodes in the subtrees of elder siblings, at (parent, rank)
    offset = elders.gather(1, parents * children.shape[2] + rank)
    first = torch.zeros_like(size)
    for _ in tree.levels:  # right down to depth d after step d
        first = first.gather(1, parents) + offset
    return (first + size - 1).expand_as(tree.depth)


def emit(tree: Tree, last: Tensor, bonus: Tensor, sound: Tensor) -> tuple[Tensor, Tensor]:
    """The blocks that accept the path to node `last` [B] and end with `bonus` [B]; -1 where not `sound` [B].

    Returns blocks [B, D+1] int64, padded with -1, and accepted [B] int64, the number of tokens before the bonus.
    """
    batch = torch.arange(len(last), device=last.device)
    accepted = tree.depth[batch, last]
    blocks = last.new_full((len(last), len(tree.levels) + 1), -1)
    node = last
    for depth in range(len(tree.levels), 0, -1):
        here = tree.depth[batch, node] == depth
        blocks[:, depth - 1] = tree.tokens[batch, node].where(here, -1)
        node = tree.parents[batch, node].where(here, node)
    blocks.scatter_(1, accepted.unsqueeze(1), bonus.unsqueeze(1))
    return blocks.where(sound.unsqueeze(1), -1), accepted.where(sound, -1)


def _histogram(values: Tensor, size: int) -> Tensor:
    """How often each of 0..size-1 occurs among values in 0..size; int64 [size]."""
    counts = torch.zeros(size + 1, dtype=torch.int64, device=values.device)
    return counts.scatter_add_(0, values, torch.ones_like(values))[:size]
