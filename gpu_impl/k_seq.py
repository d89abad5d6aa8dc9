"""K-SEQ: independent drafts, tested one after the other against one thinned target."""
from collections.abc import Callable

import torch
from torch import Tensor

from .checks import check_shapes
from .kernels.use import has_kernels, read_by_kernel
from .laws import read_declared, read_law, row_sums, take
from .rowwise import long_rows, verify
from .rowwise.k_seq import k_seq as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import Tree, build_tree, emit

GRID = 2.0**-40
ROUNDING = 2.0**-44  # of beta, a sum over the vocabulary
SECANTS = 24  # steps


def k_seq(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    declared: Tensor | None = None,
    *,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify a batch of trees whose siblings are drawn independently from one law (SpecTr's K-SEQ, arXiv 2310.15141).

    At a node with target row p and k children drawn from q, child x is accepted with probability
    min(1, p(x) / (rho q(x))) and is then the next node.  With beta the total of min(q, p / rho), the children are
    accepted with min(q, p / rho) (1 - (1 - beta)^k) / beta; with none accepted the bonus is drawn from what p has more
    than that.  rho is the smallest multiple of 2^-40 for which that is not negative: some ten sums over
    the vocabulary a node with several children, 40 + log2(k) on other devices than a CPU.  Lossless if all siblings were drawn from q.

    Args:
        tokens, parents: [B, N] int64; valid: [B, N] bool; the tree as in ``trees``.
        target: [B, N, V] probabilities; row i is the target law after node i.
        declared: [B, N, V], row i is the law that node i's token was drawn from: the same for all siblings, of which
            only the eldest's is read. None: deterministic drafts, a point mass each; siblings then repeat one token.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] tests node v, accepting iff u rho q(x) < p(x);
            uniforms[b, 0] draws the bonus by inverse CDF in token order.
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
        from .kernels.k_seq import k_seq as kernel

        return kernel(tokens, parents, valid, read_by_kernel(target), None if declared is None else read_by_kernel(declared), draws)
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])
    batch = torch.arange(len(tokens), device=tokens.device)

    node, sound, walking = torch.zeros_like(batch), tree.sound, torch.ones_like(tree.sound)
    rho = torch.ones_like(draws[:, 0])
    for width in tree.widths:
        p, q, drafts, fine = _rows(tree, target, declared, batch, node)
        sound = sound & fine
        rho = smallest_rho(p, q, drafts, width).where(walking, rho)
        chosen = node
        for child in take(tree.children, batch, node).unbind(1)[:width]:
            token = take(tree.tokens, batch, child).unsqueeze(1)
            wanted, offered = p.gather(1, token).squeeze(1), rho * q.gather(1, token).squeeze(1)
            accepts = (take(draws, batch, child) * offered < wanted) & (chosen == node) & (child > 0) & walking
            chosen = child.where(accepts, chosen)
        walking, node = chosen != node, chosen
    p, q, drafts, fine = _rows(tree, target, declared, batch, node)
    kept = torch.minimum(q, p / rho.unsqueeze(1))  # q is meaningless at a leaf, where the gain is 0
    reject = 1 - row_sums(kept)
    gain = sum(((reject**j).where(j < drafts, 0.0) for j in range(tree.children.shape[2])), torch.zeros_like(reject))
    rest = (p - kept.mul_(gain.unsqueeze(1))).clamp_(min=0)
    rest = rest.where(row_sums(rest).unsqueeze(1) > 0, p)
    return emit(tree, node, inverse_cdf(rest, draws[:, 0]), sound & fine)


def _rows(
    tree: Tree, target: Tensor, declared: Tensor | None, batch: Tensor, node: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """p and q [n, V] of n nodes, the number of their children [n] (q means nothing at 0) and whether both are laws."""
    p, fine = read_law(target, batch, node)
    children = take(tree.children, batch, node)
    drafts = row_sums((children > 0).long())
    q, q_fine = read_declared(declared, tree.tokens, batch, children[:, 0], target.shape[2])
    return p, q, drafts, fine & (q_fine | (drafts == 0))


def smallest_rho(p: Tensor, q: Tensor, drafts: Tensor, most: int) -> Tensor:
    """The smallest multiple of 2^-40 with 1 - (1 - beta)^k <= rho beta, k = drafts [n] <= most; [n] float64."""
    least = torch.full(drafts.shape, 1 / GRID, dtype=torch.float64, device=p.device)

    def slack(place: Tensor) -> Tensor:
        rho = place * GRID
        beta = row_sums(torch.minimum(q, p / rho.unsqueeze(1)))
        reject = power = 1 - beta
        for elders in range(1, most):
            power = torch.where(drafts > elders, power * reject, power)
        return rho * beta + ROUNDING - (1 - power)

    if most > 1:
        least = crossing(slack, least, least * drafts.clamp(min=1), 40 + most.bit_length(), asks=p.device.type == "cpu")
    return least * GRID


def crossing(function: Callable[[Tensor], Tensor], low: Tensor, high: Tensor, halvings: int, asks: bool) -> Tensor:
    """The first whole number from low to high [n] where an increasing function is not negative, as it is at high; float64 [n].

    If it may ask whether all are there, by a secant that keeps its bracket (the Illinois rule), in about ten steps, before
    it comes to halving; where asking would be a wait for the device, by so many halvings as are always enough.
    """
    secants = SECANTS if asks else 0
    under, over = function(low), function(high)
    enough = under >= 0
    below, above = low - enough.double(), torch.where(enough, low, high)
    for step in range(secants + halvings):
        width = above - below
        if asks and not (width > 1).any():
            break
        part = under / (under - over) if step < secants else 0.5
        point = below + torch.minimum((width * part).floor_(), width - 1).clamp_(min=1)
        value = function(point)
        before, enough = enough, value >= 0
        stale = 1 - 0.5 * (enough == before).double()  # the end that stays again counts half
        under, over = torch.where(enough, under * stale, value), torch.where(enough, value, over * stale)
        below, above = torch.where(enough, below, point), torch.where(enough, point, above)
    return above
