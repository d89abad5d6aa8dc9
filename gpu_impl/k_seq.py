"""K-SEQ: independent drafts, tested one after the other against one thinned target."""
import torch
from torch import Tensor

from .checks import check_shapes
from .laws import read_declared, read_law
from .rowwise import long_rows, verify
from .rowwise.k_seq import k_seq as one_tree
from .sampling import inverse_cdf, read_uniforms
from .trees import Tree, build_tree, emit

GRID = 2.0**-40
ROUNDING = 2.0**-44  # of beta, a sum over the vocabulary


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
    than that.  rho is the smallest multiple of 2^-40 for which that is not negative, found by bisection: some
    40 + log2(k) sums over the vocabulary a node.  Lossless if all siblings were drawn from q.

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
    if long_rows(target):
        return verify(one_tree, tokens, parents, valid, target, declared, draws)
    tree = build_tree(tokens, parents, valid, target.shape[2])
    batch = torch.arange(len(tokens), device=tokens.device)

    node, sound = torch.zeros_like(batch), tree.sound
    for _ in tree.levels:
        p, q, drafts, fine = _rows(tree, target, declared, batch, node)
        sound = sound & fine
        rho = smallest_rho(p, q, drafts, tree.children.shape[2])
        chosen = node
        for rank in range(tree.children.shape[2]):
            child = tree.children[batch, node, rank]
            token = tree.tokens[batch, child].unsqueeze(1)
            wanted, offered = p.gather(1, token).squeeze(1), rho * q.gather(1, token).squeeze(1)
            accepts = (draws[batch, child] * offered < wanted) & (chosen == node) & (child > 0)
            chosen = child.where(accepts, chosen)
        node = chosen
    p, q, drafts, fine = _rows(tree, target, declared, batch, node)
    kept = torch.minimum(q, p / smallest_rho(p, q, drafts, tree.children.shape[2]).unsqueeze(1))
    reject = 1 - kept.sum(1)
    gain = sum(((reject**j).where(j < drafts, 0.0) for j in range(tree.children.shape[2])), torch.zeros_like(reject))
    rest = (p - kept * gain.unsqueeze(1)).clamp(min=0)
    rest = rest.where(rest.sum(1, keepdim=True) > 0, p)
    return emit(tree, node, inverse_cdf(rest, draws[:, 0]), sound & fine)


def _rows(
    tree: Tree, target: Tensor, declared: Tensor | None, batch: Tensor, node: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """p and q [n, V] of n nodes, the number of their children [n] (q means nothing at 0) and whether both are laws."""
    p, fine = read_law(target, batch, node)
    drafts = (tree.children[batch, node] > 0).sum(1)
    q, q_fine = read_declared(declared, tree.tokens, batch, tree.children[batch, node, 0], target.shape[2])
    return p, q, drafts, fine & (q_fine | (drafts == 0))


def smallest_rho(p: Tensor, q: Tensor, drafts: Tensor, most: int) -> Tensor:
    """The smallest multiple of 2^-40 with 1 - (1 - beta)^k <= rho beta, k = drafts [n] <= most; [n] float64."""
    low = torch.full_like(drafts, round(1 / GRID))
    high = low * drafts.clamp(min=1)
    for _ in range(40 + most.bit_length() if most > 1 else 0):
        middle = (low + high) // 2
        rho = middle.double() * GRID
        beta = torch.minimum(q, p / rho.unsqueeze(1)).sum(1)
        enough = 1 - (1 - beta) ** drafts <= rho * beta + ROUNDING
        low, high = torch.where(enough, low, torch.minimum(middle + 1, high)), torch.where(enough, middle, high)
    return low.double() * GRID
