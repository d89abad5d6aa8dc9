"""UniVer: optimal transport at every node, conditioned on how the node was reached; leaves first."""
import torch
from torch import Tensor

from .checks import check_shapes
from .greedy_plan import greedy_plan
from .kernels.use import has_kernels, read_by_kernel
from .laws import read_law, row_sums, take
from .rowwise import long_rows, verify
from .rowwise.univer import univer as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import build_tree, earliest, emit, postorder


def univer(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of greedily drafted trees (UniVer, arXiv 2605.04543; block verification on a chain).

    Greedy drafting makes all children of a node deterministic except the youngest, which is drawn off their tokens
    (2502.18779); a tree of deterministic drafts only is one too.  *Allocate*, top-down: a node visited with a mass a
    (the root with 1) hands child y the mass m_y of ``greedy_plan``, given that the elders were rejected
    m_y / (1 - their masses); what it owes to other tokens has the total s.  *Decide*, in post-order: a leaf is
    accepted with probability a, any other node with s / (s + 1 - a), the root always; the bonus is drawn from what the
    accepted node owes.  Lossless if every tree was drafted that way, siblings with distinct tokens, b from its declared
    row.  No rule that is lossless at every node goes on below a node visited with mass a more often.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V], row i is the law that node i's token was drawn from, exactly one-hot where it is
            deterministic; None: all drafts are.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] tests node v, accepting iff u is below its
            probability; uniforms[b, 0] draws the bonus by inverse CDF in token order.
        generator: draws the uniforms if they are not given.

    Returns:
        blocks [B, D+1] int64: accepted path and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
        Both are -1 for a malformed tree, where an elder sibling is not deterministic, or when a row that was read is
        no law.  Read are the rows that ``greedy_plan`` reads at all nodes with children and at the accepted node.

    Raises:
        ValueError, TypeError: shapes, devices or dtypes do not fit.
    """
    check_shapes(tokens, parents, valid, target, declared)
    draws = read_uniforms(uniforms, generator, (tokens.shape[0], tokens.shape[1]), tokens.device)
    if has_kernels(target, declared):
        from .kernels.exits import exits
        from .kernels.univer import univer as kernel

        if declared is None:
            return exits(tokens, parents, valid, read_by_kernel(target), draws)
        return kernel(tokens, parents, valid, read_by_kernel(target), read_by_kernel(declared), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])

    size, nodes = tokens.shape
    visited = torch.ones(nodes, size, dtype=torch.float64, device=tokens.device)  # the mass each node is visited with
    left = []  # the probability of accepting it when its children were all rejected
    fine = torch.ones_like(visited, dtype=torch.bool)
    for batch, node, width in tree.visits():
        mass = visited[node, batch]
        masses, rest, fine[node, batch] = greedy_plan(tree, target, declared, batch, node, mass)
        total = row_sums(rest)
        # from the residual itself: with a near 1 the difference a - masses would be all rounding
        left.append((node, batch, (total / (total + (1 - mass))).nan_to_num(0.0)))
        for (child, exists), offer in zip(tree.family(batch, node, width), conditional(masses).unbind(1), strict=False):
            # a missing child is the root, where the 1 written is not used
            visited[child, batch] = offer if exists is None else offer.where(exists, 1.0)
    stays = visited.clone()
    for node, batch, stay in left:
        stays[node, batch] = stay

    passes = (draws.t() < stays) & (tree.depth.t() > 0)
    passes[0] = True
    last = earliest(tree, postorder(tree), passes)

    batch = torch.arange(size, device=tokens.device)
    _, rest, laws = greedy_plan(tree, target, declared, batch, last, take(visited, last, batch))
    rest = rest.where(row_sums(rest).unsqueeze(1) > 0, read_law(target, batch, last)[0])  # the root is accepted anyway
    return emit(tree, last, inverse_cdf(rest, draws[:, 0]), tree.sound & fine.all(0) & laws)


def conditional(masses: Tensor) -> Tensor:
    """Each sibling's mass [n, R] given that its elders were rejected: m_i / (1 - m_1 - ... - m_{i-1})."""
    left = 1 - (masses.cumsum(1) - masses)
    return torch.where(left > 0, masses / left, 0.0).clamp(max=1)
