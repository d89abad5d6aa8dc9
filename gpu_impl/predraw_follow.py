"""Predraw-and-follow: draw from the target, descend while the draw is a child."""
import torch
from torch import Tensor

from .checks import check_shapes
from .kernels.use import has_kernels, read_by_kernel
from .laws import read_law
from .rowwise import long_rows, verify
from .rowwise.predraw_follow import predraw_follow as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import build_tree, emit


def predraw_follow(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of draft trees against target draws alone (DDTree, arXiv 2604.12989).

    At node v draw y ~ target row v.  If y is the token of a child, go on from the first such child; else stop, and y is
    the bonus.  Lossless for every tree that is independent of the uniforms.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V] or None; this rule ignores it.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] draws y at node v by inverse CDF in token order.
        generator: draws the uniforms if they are not given.

    Returns:
        blocks [B, D+1] int64: accepted path and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
        Both are -1 for a malformed tree or when a row that was read is no law.

    Raises:
        ValueError, TypeError: shapes, devices or dtypes do not fit.
    """
    check_shapes(tokens, parents, valid, target, declared)
    draws = read_uniforms(uniforms, generator, (tokens.shape[0], tokens.shape[1]), tokens.device)
    if has_kernels(target):
        from .kernels.predraw_follow import predraw_follow as kernel

        return kernel(tokens, parents, valid, read_by_kernel(target), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])
    batch = torch.arange(len(tokens), device=tokens.device)

    node = drawn = torch.zeros_like(batch)
    sound = tree.sound
    for _ in range(len(tree.widths) + 1):  # a walk that has stopped repeats its last draw
        law, fine = read_law(target, batch, node)
        sound = sound & fine
        drawn = inverse_cdf(law, draws[batch, node])
        children = tree.children[batch, node]  # [B, R]
        matches = (children > 0) & (tree.tokens.gather(1, children) == drawn.unsqueeze(1))
        first = children.gather(1, matches.int().argmax(1, keepdim=True)).squeeze(1)
        node = first.where(matches.any(1), node)
    return emit(tree, node, drawn, sound)
