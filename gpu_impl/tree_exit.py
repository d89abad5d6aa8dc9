"""Tree exit verification (TEV): one draw says where to leave the tree, one draw says with which token."""
import torch
from torch import Tensor

from .checks import check_shapes
from .kernels.use import has_kernels, read_by_kernel
from .laws import read_law, row_sums
from .rowwise import long_rows, verify
from .rowwise.tree_exit import tree_exit as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import Tree, build_tree, emit


def tree_exit(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of draft trees by their exit law (Hu, Ren, Lu, Zhou, arXiv 2610.11750, Algorithm 1).

    Let P(v) be the target probability of the path to node v and rho(v) the target mass of the tokens that are not
    children of v.  The last accepted node is v with probability P(v) rho(v); the bonus is drawn from target row v
    without the children's tokens.  Lossless for every tree that is independent of the uniforms, and no lossless rule
    accepts more on a fixed tree.  Siblings are meant to be distinct; of siblings with the same token the eldest gets
    all the mass, the others and what is below them are never accepted (merge them first to lose nothing).

    rho is the sum of the row with the children zeroed, never 1 minus the children: where they cover the support it is
    exactly 0, and such an exit cannot be drawn.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V] or None; this rule ignores it.
        uniforms: [B, 2] in [0, 1), float32 or float64; uniforms[b, 0] draws the bonus by inverse CDF in token order,
            uniforms[b, 1] the exit node by inverse CDF in index order.
        generator: draws the uniforms if they are not given.

    Returns:
        blocks [B, D+1] int64: accepted path and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
        Both are -1 for a malformed tree or when a row that was read is no law.  Read are the target rows of all nodes
        with children and of the exit node.

    Raises:
        ValueError, TypeError: shapes, devices or dtypes do not fit.
    """
    check_shapes(tokens, parents, valid, target, declared)
    draws = read_uniforms(uniforms, generator, (tokens.shape[0], 2), tokens.device)
    if has_kernels(target):
        from .kernels.tree_exit import tree_exit as kernel

        return kernel(tokens, parents, valid, read_by_kernel(target), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])

    reach, stay, fine = exit_factors(tree, target)
    last = inverse_cdf(reach * stay, draws[:, 1]).clamp(min=0)  # -1 only where a row was no law
    batch = torch.arange(len(tokens), device=tokens.device)
    _, residual, last_fine = _split(tree, target, batch, last)
    return emit(tree, last, inverse_cdf(residual, draws[:, 0]), tree.sound & fine & last_fine)


def exit_factors(tree: Tree, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """P(v) [B, N], 0 at padding, and rho(v) [B, N], 1 at a leaf, both float64; [B] bool: the target rows read are laws.

    Their product is the exit law.  Read are the target rows [B, N, V] of nodes with children, a depth at a time.
    """
    reach = torch.zeros(tree.tokens.shape, dtype=torch.float64, device=tree.tokens.device)
    reach[:, 0] = 1.0
    stay = torch.ones_like(reach)
    fine = torch.ones_like(tree.tokens, dtype=torch.bool)
    for batch, node in tree.levels:
        masses, residual, fine[batch, node] = _split(tree, target, batch, node)
        stay[batch, node] = row_sums(residual)
        children = tree.children[batch, node]  # [n, R]; a missing one is the root, which keeps its 1
        followed = reach[batch, node].unsqueeze(1) * masses
        reach[batch.unsqueeze(1), children] = followed.where(children > 0, 1.0)
    return reach, stay, fine.all(1)


def _split(tree: Tree, target: Tensor, batch: Tensor, node: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Divide the target law of n nodes between their children [n, R] and the other tokens [n, V].

    Also returns whether the rows are laws [n].  A token is handed out once: a sibling that repeats it gets 0.
    """
    residual, fine = read_law(target, batch, node)
    masses = []
    for rank in range(tree.children.shape[2]):
        child = tree.children[batch, node, rank]
        token = tree.tokens[batch, child].unsqueeze(1)
        mass = residual.gather(1, token)
        residual.scatter_(1, token, torch.where((child > 0).unsqueeze(1), 0.0, mass))
        masses.append(mass.squeeze(1))
    return torch.stack(masses, 1), residual, fine
