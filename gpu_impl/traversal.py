"""Traversal verification: accept the longest path, leaves first; block verification on a chain."""
import torch
from torch import Tensor

from .checks import check_shapes
from .kernels.use import has_kernels, read_by_kernel
from .laws import Index, excess, read_declared, read_law, take
from .rowwise import long_rows, verify
from .rowwise.traversal import traversal as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import Tree, build_tree, earliest, emit, postorder


def traversal(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of draft trees from the leaves up (arXiv 2505.12398; on a chain block verification, 2403.10444).

    A node is visited with a mass a (the root with 1) and its target row f.  Its children are visited in turn, child x,
    drawn from r, with mass min(1, a f(x) / r(x)); one that comes back rejected leaves m = total of (a f - r)_+, which
    becomes f, and a = m / (m + 1 - a).  After its children the node itself is accepted with probability a.  The root
    always is.  The bonus is drawn from the f of the accepted node.  Lossless under the same condition as
    ``recursive_rejection``.

    What a node is visited with depends on which elder siblings there were, not on what happened inside them beyond
    their being rejected.  So all masses are computed top-down, and the accepted node is the first in post-order that
    passes its own test.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V], row i is the law that node i's token was drawn from; None: deterministic drafts, a point
            mass each. A token to which its own row gives no mass is visited with mass 1 if a f gives it some.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] tests node v, accepting iff u < a;
            uniforms[b, 0] draws the bonus by inverse CDF in token order.
        generator: draws the uniforms if they are not given.

    Returns:
        blocks [B, D+1] int64: accepted path and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
        Both are -1 for a malformed tree or when a row that was read is no law.  Read are the target rows of all nodes
        with children and of the accepted node, and all declared rows.

    Raises:
        ValueError, TypeError: shapes, devices or dtypes do not fit.
    """
    check_shapes(tokens, parents, valid, target, declared)
    draws = read_uniforms(uniforms, generator, (tokens.shape[0], tokens.shape[1]), tokens.device)
    if has_kernels(target, declared):
        from .kernels.exits import exits
        from .kernels.traversal import traversal as kernel

        if declared is None:
            return exits(tokens, parents, valid, read_by_kernel(target), draws)
        return kernel(tokens, parents, valid, read_by_kernel(target), read_by_kernel(declared), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])

    size, nodes = tokens.shape
    visited = torch.ones(nodes, size, dtype=torch.float64, device=tokens.device)  # the mass each node is visited with
    left = []  # and is left with when its children were all rejected
    fine = torch.ones_like(visited, dtype=torch.bool)
    for batch, node, width in tree.visits():
        offers, mass, _, fine[node, batch] = _visit(tree, target, declared, batch, node, visited[node, batch], width)
        left.append((node, batch, mass))
        for child, offer in offers:
            visited[child, batch] = offer  # a missing child is the root, where the 1 written is not used
    kept = visited.clone()
    for node, batch, mass in left:
        kept[node, batch] = mass

    passes = (draws.t() < kept) & (tree.depth.t() > 0)
    passes[0] = True
    last = earliest(tree, postorder(tree), passes)

    batch = torch.arange(size, device=tokens.device)
    _, _, residual, laws = _visit(tree, target, declared, batch, last, take(visited, last, batch), tree.children.shape[2])
    return emit(tree, last, inverse_cdf(residual, draws[:, 0]), tree.sound & fine.all(0) & laws)


def _visit(
    tree: Tree, target: Tensor, declared: Tensor | None, batch: Index, node: Index, mass: Tensor, width: int
) -> tuple[list[tuple[Index, Tensor]], Tensor, Tensor, Tensor]:
    """Visit n nodes of at most ``width`` children with masses [n] and reject all their children, one sibling after the other.

    Returns the children and the masses they are visited with (1 where there is none), by rank, [n] each; the mass left
    [n], the residual [n, V] and whether all rows read are laws [n].
    """
    residual, fine = read_law(target, batch, node)
    offers = []
    for child, exists in tree.family(batch, node, width):
        law, law_fine = read_declared(declared, tree.tokens, batch, child, target.shape[2])
        fine = fine & (law_fine if exists is None else law_fine | ~exists)
        token = take(tree.tokens, batch, child).unsqueeze(1)
        wanted, offered = mass * residual.gather(1, token).squeeze(1), law.gather(1, token).squeeze(1)
        ratio = (wanted / offered).clamp(max=1).nan_to_num(0.0)  # 0 / 0: neither law has the token
        offers.append((child, ratio if exists is None else ratio.where(exists, 1.0)))
        rest, total = excess(residual, law, mass.unsqueeze(1))
        residual = rest if exists is None else rest.where(exists.unsqueeze(1), residual)
        # 1 - mass first: a mass of 1 then stays exactly 1; and 0 / 0 is a rejection that could not be
        after = (total / (total + (1 - mass))).nan_to_num(0.0)
        mass = after if exists is None else after.where(exists, mass)
    return offers, mass, residual, fine
