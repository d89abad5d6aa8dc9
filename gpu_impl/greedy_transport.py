"""Greedy transport: optimal transport at one node after the other, from the root down."""
import torch
from torch import Tensor

from .checks import check_shapes
from .greedy_plan import greedy_plan
from .kernels.use import has_kernels, read_by_kernel
from .laws import read_law, row_sums, take
from .rowwise import long_rows, verify
from .rowwise.greedy_transport import greedy_transport as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import build_tree, emit


def greedy_transport(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of greedily drafted trees node by node (Hu et al., arXiv 2502.18779).

    Greedy drafting makes all children of a node deterministic except the youngest, which is drawn off their tokens.
    Child y is accepted with the mass m_y of ``greedy_plan`` at mass 1 and is then the next node; with none accepted the
    bonus is drawn from the plan's rest.  No lossless rule goes on from a single node more often; ``univer`` accepts at
    least as much over several.  Lossless under the same conditions as ``univer``.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V], row i is the law that node i's token was drawn from, exactly one-hot where it is
            deterministic; None: all drafts are.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] tests node v, accepting iff
            u < m_v / (1 - masses of its elders); uniforms[b, 0] draws the bonus by inverse CDF in token order.
        generator: draws the uniforms if they are not given.

    Returns:
        blocks [B, D+1] int64: accepted path and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
        Both are -1 for a malformed tree, where an elder sibling of a tested node is not deterministic, or when a row
        that was read is no law.

    Raises:
        ValueError, TypeError: shapes, devices or dtypes do not fit.
    """
    check_shapes(tokens, parents, valid, target, declared)
    draws = read_uniforms(uniforms, generator, (tokens.shape[0], tokens.shape[1]), tokens.device)
    if has_kernels(target, declared):
        from .kernels.greedy_transport import greedy_transport as kernel
        from .kernels.sibling_masses import sibling_masses

        if declared is None:  # one rule with recursive rejection then
            return sibling_masses(tokens, parents, valid, read_by_kernel(target), draws)
        return kernel(tokens, parents, valid, read_by_kernel(target), read_by_kernel(declared), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])
    batch = torch.arange(len(tokens), device=tokens.device)

    node = torch.zeros_like(batch)
    whole = torch.ones_like(node, dtype=torch.float64)
    sound = tree.sound
    for _ in tree.widths:
        masses, _, fine = greedy_plan(tree, target, declared, batch, node, whole)
        sound = sound & fine
        children, left, chosen = take(tree.children, batch, node), whole, node
        for rank in range(children.shape[1]):
            child, mass = children[:, rank], masses[:, rank]
            accepts = (take(draws, batch, child) * left < mass) & (chosen == node) & (child > 0)
            chosen = child.where(accepts, chosen)
            left = left - mass
        node = chosen
    _, rest, fine = greedy_plan(tree, target, declared, batch, node, whole)
    rest = rest.where(row_sums(rest).unsqueeze(1) > 0, read_law(target, batch, node)[0])
    return emit(tree, node, inverse_cdf(rest, draws[:, 0]), sound & fine)
