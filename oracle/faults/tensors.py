"""Faults in batched torch code, drawing with torch's own functions.  torch is imported when a verifier runs, not before."""

from typing import Any, TypeAlias

from .rows import arrays

Tensor: TypeAlias = Any
Tensors = tuple[Tensor, Tensor]


def passed(drafts: Tensor, declared: Tensor, target: Tensor) -> Tensor:
    """Number of leading drafts [B] that pass u q(x) < p(x)."""
    import torch

    p, q = (rows.gather(2, drafts[..., None])[..., 0] for rows in (target[:, :-1], declared))
    return (torch.rand_like(p) * q < p).int().cumprod(1).sum(1)


def difference(declared: Tensor, target: Tensor, accepted: Tensor) -> Tensor:
    """p - q at the position after the last accepted draft [B, V], q = 0 after the last draft of all."""
    import torch

    requests = torch.arange(len(target))
    return target[requests, accepted] - torch.nn.functional.pad(declared, (0, 0, 0, 1))[requests, accepted]


def emitted(drafts: Tensor, accepted: Tensor, bonus: Tensor) -> Tensors:
    """Blocks [B, K + 1] of the first ``accepted`` [B] drafts, then ``bonus`` [B, 1]."""
    import torch

    places = torch.arange(drafts.shape[1] + 1)
    blocks = torch.where(places < accepted[:, None], torch.nn.functional.pad(drafts, (0, 1)), -1)
    return blocks.scatter(1, accepted[:, None], bonus), accepted


@arrays("chain", framework="torch", dtype="float32", family="recursive_rejection")
def residual_by_softmax(drafts: Tensor, declared: Tensor, target: Tensor) -> Tensors:
    """Normalises the residual with a softmax."""
    import torch

    accepted = passed(drafts, declared, target)
    left = difference(declared, target, accepted).clamp(min=0)
    rejected = (accepted < drafts.shape[1])[:, None]
    left = torch.where(rejected, left.softmax(1), left)  # fault: divided by its sum
    return emitted(drafts, accepted, torch.multinomial(left, 1))


@arrays("chain", framework="torch", dtype="float32", family="recursive_rejection")
def residual_with_floor(drafts: Tensor, declared: Tensor, target: Tensor) -> Tensors:
    """Gives every token of the residual a floor, so that a sum of zero does not occur: tokens the target excludes are emitted."""
    import torch

    accepted = passed(drafts, declared, target)
    left = difference(declared, target, accepted).clamp(min=1e-5)  # fault: min=0
    return emitted(drafts, accepted, torch.multinomial(left, 1))


def child_with(tokens: Tensor, parents: Tensor, valid: Tensor, node: Tensor, token: Tensor) -> Tensor:
    """The child of ``node`` [B] that carries ``token`` [B], 0 where there is none."""
    match = valid & (parents == node[:, None]) & (tokens == token[:, None])
    match[:, 0] = False
    return match.int().argmax(1)


def follow(tokens: Tensor, parents: Tensor, valid: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Walk from the root while a child carries its parent's ``drawn`` [B, N]: (last node [B], blocks [B, N] so far, their lengths [B])."""
    import torch

    requests = torch.arange(len(tokens))
    node, length = torch.zeros_like(requests), torch.zeros_like(requests)
    blocks = torch.full_like(tokens, -1)
    for depth in range(tokens.shape[1] - 1):
        child = child_with(tokens, parents, valid, node, drawn[requests, node])
        on = (child > 0) & (length == depth)
        blocks[on, depth] = tokens[requests, child][on]
        node, length = torch.where(on, child, node), length + on
    return node, blocks, length


@arrays("tree", framework="torch", dtype="float32", family="predraw_follow", randomness="generator")
def drawn_again_after_miss(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor, generator: Tensor) -> Tensors:
    """Where the target's draw is no child, draws another token for the bonus."""
    import torch

    drawn = torch.multinomial(target.flatten(0, 1), 1, generator=generator).view(tokens.shape)
    node, blocks, length = follow(tokens, parents, valid, drawn)
    bonus = torch.multinomial(target[torch.arange(len(node)), node], 1, generator=generator)  # fault: drawn at node
    return blocks.scatter(1, length[:, None], bonus), length


@arrays("tree", framework="torch", dtype="float32", family="predraw_follow", randomness="uniforms", layout="draftproof")
def one_uniform_for_all_levels(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor, uniforms: Tensor) -> Tensors:
    """Draws the target's token at every node with the same uniform."""
    drawn = (target.cumsum(2) <= uniforms[:, :1, None]).sum(2)  # fault: uniforms[..., None]
    node, blocks, length = follow(tokens, parents, valid, drawn)
    return blocks.scatter(1, length[:, None], drawn.gather(1, node[:, None])), length


@arrays("tree", framework="torch", dtype="float32", family="predraw_follow")
def rows_by_depth(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor) -> Tensors:
    """Reads the target row of a node at its depth, as on a chain, not at its index."""
    import torch

    depth = torch.zeros_like(tokens)
    for v in range(1, tokens.shape[1]):
        depth[:, v] = depth.gather(1, parents[:, v, None])[:, 0] + 1
    rows = target.gather(1, depth[..., None].expand_as(target))  # fault: target
    drawn = torch.multinomial(rows.flatten(0, 1), 1).view(tokens.shape)
    node, blocks, length = follow(tokens, parents, valid, drawn)
    return blocks.scatter(1, length[:, None], drawn.gather(1, node[:, None])), length


@arrays("tree", framework="torch", dtype="float32", family="predraw_follow")
def argmax_inside_the_tree(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor) -> Tensors:
    """Follows the most probable token inside the tree and samples at its leaves only."""
    import torch

    inner = (parents[:, None, 1:] == torch.arange(tokens.shape[1])[:, None]).any(2)
    drawn = torch.multinomial(target.flatten(0, 1), 1).view(tokens.shape)
    drawn = torch.where(inner, target.argmax(2), drawn)  # fault: drawn
    node, blocks, length = follow(tokens, parents, valid, drawn)
    return blocks.scatter(1, length[:, None], drawn.gather(1, node[:, None])), length


@arrays("chain", framework="torch", dtype="float32", family="recursive_rejection")
def softmax_of_probabilities(drafts: Tensor, declared: Tensor, target: Tensor) -> Tensors:
    """Takes the softmax of rows that are probabilities already."""
    import torch

    p = target.softmax(2)  # fault: target
    accepted = passed(drafts, declared, p)
    return emitted(drafts, accepted, torch.multinomial(difference(declared, p, accepted).clamp(min=0), 1))


@arrays("chain", framework="torch", dtype="float32", family="recursive_rejection")
def ratio_of_next_draft(drafts: Tensor, declared: Tensor, target: Tensor) -> Tensors:
    """Gathers the ratio at the next draft's token."""
    import torch

    accepted = passed(drafts.roll(-1, 1), declared, target)  # fault: drafts
    return emitted(drafts, accepted, torch.multinomial(difference(declared, target, accepted).clamp(min=0), 1))
