"""Recursive rejection: test the children one after the other, subtract what was rejected, descend."""
import torch
from torch import Tensor

from .checks import check_shapes
from .kernels.use import has_kernels, read_by_kernel
from .laws import excess, read_declared, read_law
from .rowwise import long_rows, verify
from .rowwise.recursive_rejection import recursive_rejection as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import build_tree, emit


def recursive_rejection(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of draft trees from the root down, sibling by sibling.

    At a node let f be its target row.  Child x, drawn from r, is accepted with probability min(1, f(x) / r(x)) and is
    then the next node; rejected, it leaves f = (f - r)_+, normalised.  With no child accepted, the bonus is drawn from
    f.  On a chain this is token-level speculative sampling (arXiv 2211.17192, 2302.01318); with siblings drawn
    independently SpecInfer's RRS (2305.09781), without replacement RRSw (2402.14160).  Lossless if every token was
    drawn from its declared row, given all that was drawn before it.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V], row i is the law that node i's token was drawn from; None: deterministic drafts, a point
            mass each. A token to which its own row gives no mass is accepted if f gives it some.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] tests node v, accepting iff u < f(x) / r(x) and
            f(x) > 0; uniforms[b, 0] draws the bonus by inverse CDF in token order.
        generator: draws the uniforms if they are not given.

    Returns:
        blocks [B, D+1] int64: accepted path and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
        Both are -1 for a malformed tree or when a row that was read is no law.

    Raises:
        ValueError, TypeError: shapes, devices or dtypes do not fit.
    """
    check_shapes(tokens, parents, valid, target, declared)
    draws = read_uniforms(uniforms, generator, (tokens.shape[0], tokens.shape[1]), tokens.device)
    if has_kernels(target, declared):
        from .kernels.recursive_rejection import recursive_rejection as kernel
        from .kernels.sibling_masses import sibling_masses

        if declared is None:
            return sibling_masses(tokens, parents, valid, read_by_kernel(target), draws)
        return kernel(tokens, parents, valid, read_by_kernel(target), read_by_kernel(declared), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])
    batch = torch.arange(len(tokens), device=tokens.device)

    node = torch.zeros_like(batch)
    residual, sound = read_law(target, batch, node)
    sound = sound & tree.sound
    walking = torch.ones_like(sound)
    for _ in tree.widths:
        chosen = node  # until a child is accepted
        for rank in range(tree.children.shape[2]):
            child = tree.children[batch, node, rank]
            tested = walking & (chosen == node) & (child > 0)
            law, fine = read_declared(declared, tree.tokens, batch, child, target.shape[2])
            sound = sound & (fine | ~tested)
            token = tree.tokens[batch, child].unsqueeze(1)
            wanted, offered = residual.gather(1, token).squeeze(1), law.gather(1, token).squeeze(1)
            accepts = draws[batch, child] * offered < wanted  # strict: what f gives no mass is never accepted
            chosen = child.where(tested & accepts, chosen)
            residual = excess(residual, law)[0].where((tested & ~accepts).unsqueeze(1), residual)
        walking = chosen != node
        node = chosen
        law, fine = read_law(target, batch, node)
        sound = sound & fine
        residual = law.where(walking.unsqueeze(1), residual)
    return emit(tree, node, inverse_cdf(residual, draws[:, 0]), sound)
