"""Exit-guided training (ExitTrain, arXiv 2610.11750): losses on draft trees, for batches, in the drafter's logits.

A drafter of the DFlash kind has logits [B, L, V], row d the marginal of position d + 1 whatever was drafted before; s(v), the
sum of its log-probabilities along a node's path, is what ``ddtree`` ranks by.  Every loss here takes (logits, tokens, parents,
valid, target): the tree as in ``trees``, built from the present logits, and the target's logits [B, N, V] after every node, from
one pass with ``tree_mask`` after the *whole* context.  All return a scalar, float64 for float64 logits and float32 for others.
Nothing flows back into the target or through the choice of the tree.

    tree_loss "exit"     the paper's weights w(v) = P(v) rho(v).  Not the gradient of coverage: alone it can lose some (docs/training.md)
              "prefix"   P(v): the paper's control, and what the released recipes use.  By the path identity the exit-weighted score of whole paths
              "depth"    w(v) d(v): an option of the released code, as much credit as "prefix"
    on_tree_distillation A: every row learns the target's rows of the nodes above it.  Credits tokens outside the tree too; ours
    swap_ranking         B: leaves against missing nodes, by what a swap gains; no inversion left means the best tree of its size; ours
    smoothed_coverage    C: minus the coverage of tree and frontier with the threshold smoothed; ours

``temperature`` is the one the target is *served* at (0: greedy); the draft's logits have none.
"""
from typing import NamedTuple, cast

import torch
from torch import Tensor

from .checks import check_shapes
from .frontier import Frontier, frontier
from .lazy_rows import LazyRows
from .tree_exit import exit_factors
from .trees import Tree, build_tree

WEIGHTINGS = ("exit", "prefix", "depth")
NO_LABEL = -100


class Weights(NamedTuple):
    """Node weights of a batch, detached, float64, 0 at the root and at padding.

    weights [B, N]; depth [B, N] int64, 0 at the root and at padding; nodes: how many there are in the batch, roots and padding not counted.
    """

    weights: Tensor
    depth: Tensor
    nodes: int


def node_weights(
    tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, *, weighting: str = "exit", temperature: float = 1.0
) -> Weights:
    """The weights of a ``weighting``: rho is the sum of the row off its children, never 1 minus the children, so small ones are right.

    target: logits [B, N, V]; float64 arithmetic, a depth of nodes with children at a time.

    Raises:
        ValueError: shapes do not fit, an unknown weighting, a malformed tree, siblings with one token or a target row that is no law; with
            its batch row.
        TypeError: dtypes do not fit.
    """
    if weighting not in WEIGHTINGS:
        raise ValueError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {weighting!r}")
    with torch.no_grad():
        tree = read_tree(tokens, parents, valid, target)
        reach, stay, fine = exit_factors(tree, cast(Tensor, laws(target, temperature)))
        _require(fine, "a target row is no law: a NaN, a +inf, or all -inf")
        weights = reach if weighting == "prefix" else reach * stay * (tree.depth if weighting == "depth" else 1)
        weights = weights.where(tree.depth > 0, 0)
        return Weights(weights, tree.depth, int((tree.depth > 0).sum()))


def tree_loss(
    logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, *, weighting: str = "exit", temperature: float = 1.0
) -> Tensor:
    """- sum_i sum_v weight_i(v) log q_{d(v)}(v_last) / sum_i (|T_i| - 1); 0 for a batch without nodes.

    Grouped by row, sum_d W_d logsumexp(z_d) - sum_v weight(v) z_{d(v)}[v_last]: one normaliser a row, [B, N] logits read, no [B, N, V].

    Args:
        logits: [B, L, V] float, L at least the depth of the trees; the other tensors, and what is raised, as ``node_weights``.
    """
    given = node_weights(tokens, parents, valid, target, weighting=weighting, temperature=temperature)
    _check_logits(logits, given.depth, target)
    return _weighted(logits, tokens, given)


def _weighted(logits: Tensor, tokens: Tensor, given: Weights) -> Tensor:
    z = _working(logits)
    weights = given.weights.to(z.dtype)
    rows = z.new_zeros(z.shape[0], z.shape[1] + 1).scatter_add_(1, given.depth, weights)[:, 1:]  # W_d; column 0 was the root's
    score = z.flatten(1).gather(1, _entry(tokens, given.depth, z.shape[2]))
    credited = torch.where(weights > 0, weights * score, 0)  # 0 * -inf is no credit
    return ((rows * z.logsumexp(-1)).sum() - credited.sum()) / max(given.nodes, 1)


def on_tree_distillation(
    logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, *, temperature: float = 1.0
) -> Tensor:
    """- sum_d sum_a t_d(a) log q_d(a), a mean over the batch, with t_{d+1}(a) = sum_{v in T, d(v) = d} P(v) p(a|v).

    One [B, L, V] teacher and no target pass of its own.  Arguments and errors as ``tree_loss``.
    """
    with torch.no_grad():
        tree = read_tree(tokens, parents, valid, target)
        _check_logits(logits, tree.depth, target)
        rows = laws(target, temperature)
        reach, _, fine = exit_factors(tree, cast(Tensor, rows))
        teacher = torch.zeros(logits.shape, dtype=torch.float64, device=logits.device)
        for depth in range(logits.shape[1]):
            batch, node = ((tree.depth == depth) & (reach > 0)).nonzero(as_tuple=True)
            law = rows[batch, node]
            fine[batch[~law.isfinite().all(1)]] = False
            teacher[:, depth].index_add_(0, batch, reach[batch, node].unsqueeze(1) * law)
        _require(fine, "a target row is no law: a NaN, a +inf, or all -inf")
    draft = _working(logits).log_softmax(-1)
    return -torch.where(teacher > 0, teacher.to(draft.dtype) * draft, 0).sum() / max(len(logits), 1)


def swap_ranking(
    logits: Tensor,
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    *,
    temperature: float = 1.0,
    tau: float = 1.0,
    candidates: int | None = None,
) -> Tensor:
    """sum |gain| softplus(-sgn(gain) (s(c) - s(u)) / tau) over leaves u and frontier nodes c not below u, gain = P(c) - P(u); a mean over the batch.

    candidates: the so many frontier nodes of each request that weigh most under the target; None for all.  Those that are left out weigh less than
    every one that is kept.  Frontier nodes that the draft cannot make (a logit of -inf) are not ranked.  Other arguments and errors as ``tree_loss``.
    """
    tree, reach, edge = _frontier(logits, tokens, parents, valid, target, temperature, candidates)
    inside, outside = _scores(logits, tree, edge)
    has_child = torch.zeros_like(valid).scatter_(1, tree.parents, tree.depth > 0)
    leaf = (tree.depth > 0) & ~has_child
    gain = edge.mass.unsqueeze(1) - reach.unsqueeze(2)  # [B, N, M]
    swaps = leaf.unsqueeze(2) & edge.real.unsqueeze(1) & (edge.parent.unsqueeze(1) != torch.arange(tokens.shape[1], device=logits.device)[:, None])
    gain = gain.where(swaps, 0).to(inside.dtype)
    behind = torch.where(swaps, outside.unsqueeze(1) - inside.unsqueeze(2), 0)
    return (gain.abs() * torch.nn.functional.softplus(-gain.sign() * behind / tau)).sum() / max(len(logits), 1)


def smoothed_coverage(
    logits: Tensor,
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    *,
    temperature: float = 1.0,
    tau: float = 1.0,
    candidates: int | None = None,
    budgets: Tensor | None = None,
) -> Tensor:
    """- sum_v P(v) sigmoid((s(v) - l) / tau) over tree and frontier, l such that the sigmoids sum to the budget; a mean over the batch.

    budgets: [B] float, default the nodes of each tree.  The level l moves with the logits, so the gradient keeps the budget.  Where everything fits
    into the budget there is nothing to choose, and the loss is constant; 0 without any budget.  Other arguments and errors as ``swap_ranking``.
    """
    tree, reach, edge = _frontier(logits, tokens, parents, valid, target, temperature, candidates)
    inside, outside = _scores(logits, tree, edge)
    mass = torch.cat((reach, edge.mass), 1).to(inside.dtype)
    there = torch.cat((tree.depth > 0, edge.real), 1)
    score = torch.cat((inside, outside), 1).where(there, 0) / tau
    wanted = (tree.depth > 0).sum(1).to(score.dtype) if budgets is None else budgets.to(score.dtype)
    level, choice = _level(score.detach().double(), there, wanted)
    level = level.to(score.dtype)
    kept = torch.sigmoid(score - level.unsqueeze(1)).where(there, 0)
    slope = (kept * (1 - kept)).detach().sum(1)
    # one Newton step from the solution, which moves nothing but carries d l / d s = sigma'_v / sum sigma'
    moved = level + torch.where(choice, (kept.sum(1) - wanted) / slope.where(slope > 0, 1), 0)
    kept = torch.where(choice.unsqueeze(1), torch.sigmoid(score - moved.unsqueeze(1)), (wanted > 0).to(score.dtype).unsqueeze(1))
    return -(mass * kept).where(there, 0).sum() / max(len(logits), 1)


def token_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The usual loss: mean of -log q_d(y_d) over labels [B, L] int64; -100 is no label.  NaN where there is none."""
    return torch.nn.functional.cross_entropy(_working(logits).flatten(0, 1), labels.flatten(), ignore_index=NO_LABEL)


class Combined(NamedTuple):
    """loss = token + weight * tree, and ``credit_ratio``: lambda times the tree's credit for each unit of the token loss's, to be logged.

    For the exit weights it is lambda (1 - w(root)) / |T| on average: 0.15% at lambda = 0.1 and 64 nodes.  A ratio that small trains on tokens only.
    """

    loss: Tensor
    token: Tensor
    tree: Tensor
    credit_ratio: float


def combined(
    logits: Tensor,
    labels: Tensor,
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    target: Tensor,
    *,
    weight: float,
    weighting: str = "exit",
    temperature: float = 1.0,
) -> Combined:
    """The paper's objective: token loss + lambda times ``tree_loss``; ``weight`` is lambda.  Waits for the device to log the ratio."""
    given = node_weights(tokens, parents, valid, target, weighting=weighting, temperature=temperature)
    _check_logits(logits, given.depth, target)
    token, tree = token_loss(logits, labels), _weighted(logits, tokens, given)
    return Combined(token + weight * tree, token, tree, weight * float(given.weights.sum()) / max(given.nodes, 1))


def laws(target: Tensor, temperature: float) -> LazyRows:
    """Target logits [B, N, V] as laws at the served temperature, float64, made when they are read."""
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be at least 0 and finite, not {temperature}")

    def read(batch: Tensor, node: Tensor) -> Tensor:
        row = target[batch, node].detach().double()
        if temperature == 0:
            greedy = torch.zeros_like(row).scatter_(1, row.argmax(1, keepdim=True), 1.0)
            return greedy.where(row.amax(1, keepdim=True).isfinite(), torch.nan)
        return ((row - row.amax(1, keepdim=True)) / temperature).softmax(-1)  # no temperature is so small that 0 overflows

    batch, nodes, vocabulary = target.shape
    return LazyRows((batch, nodes, vocabulary), target.device, read)


def read_tree(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tree:
    """The trees of a batch.  Raises ValueError naming the first malformed one: training on part of a tree would go unnoticed."""
    check_shapes(tokens, parents, valid, target, None)
    tree = build_tree(tokens, parents, valid, target.shape[2])
    _require(tree.sound, "the tree is malformed: an invalid root, a parent that does not come first, or a token outside the vocabulary")
    nodes = torch.arange(tokens.shape[1], device=tokens.device)
    place = torch.where(tree.depth > 0, tree.parents * target.shape[2] + tree.tokens, -1 - nodes).sort(1).values
    _require((place[:, 1:] != place[:, :-1]).all(1), "siblings carry the same token, which would be credited twice: merge them")
    return tree


def _frontier(
    logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, temperature: float, candidates: int | None
) -> tuple[Tree, Tensor, Frontier]:
    with torch.no_grad():
        tree = read_tree(tokens, parents, valid, target)
        _check_logits(logits, tree.depth, target)
        rows = laws(target, temperature)
        reach, _, fine = exit_factors(tree, cast(Tensor, rows))
        edge = frontier(tree, reach, rows, logits, candidates)
        _require(fine & edge.mass.isfinite().all(1), "a target row is no law: a NaN, a +inf, or all -inf")
    return tree, reach, edge


def _scores(logits: Tensor, tree: Tree, edge: Frontier) -> tuple[Tensor, Tensor]:
    """s of the nodes [B, N] and of the frontier [B, M]; anything where there is none."""
    draft = _working(logits).log_softmax(-1).flatten(1)
    vocabulary = logits.shape[2]
    step = torch.where(tree.depth > 0, draft.gather(1, _entry(tree.tokens, tree.depth, vocabulary)), 0)
    score, hop = step, tree.parents
    for _ in range((tree.tokens.shape[1] - 1).bit_length()):  # pointer doubling: 2^k steps of the path are in after k
        score = score + torch.where(hop != hop.gather(1, hop), score.gather(1, hop), 0)
        hop = hop.gather(1, hop)
    depth = tree.depth.gather(1, edge.parent) + 1
    return score, score.gather(1, edge.parent) + draft.gather(1, _entry(edge.token, depth, vocabulary).where(edge.real, 0))


def _level(score: Tensor, there: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The l [B] at which sigmoid(score - l) sums to ``wanted`` [B], by bisection, and [B] bool: there is something to choose."""
    choice = (wanted > 0) & (wanted < there.sum(1))
    low = score.where(there, torch.inf).amin(1).where(choice, 0) - 64
    high = score.where(there, -torch.inf).amax(1).where(choice, 0) + 64
    for _ in range(100):
        middle = (low + high) / 2
        above = torch.sigmoid(score - middle.unsqueeze(1)).where(there, 0).sum(1) > wanted
        low, high = middle.where(above, low), high.where(above, middle)
    return (low + high) / 2, choice


def _entry(tokens: Tensor, depth: Tensor, vocabulary: int) -> Tensor:
    """Where in [L * V] the logit of a node [B, N] stands; 0 for the root and padding."""
    return ((depth - 1) * vocabulary + tokens).where(depth > 0, 0)


def _working(logits: Tensor) -> Tensor:
    return logits if logits.dtype == torch.float64 else logits.float()


def _check_logits(logits: Tensor, depth: Tensor, target: Tensor) -> None:
    if logits.dim() != 3 or logits.shape[0] != target.shape[0] or logits.shape[2] != target.shape[2]:
        raise ValueError(f"logits must be [B, L, V] with B = {target.shape[0]} and V = {target.shape[2]}, got {list(logits.shape)}")
    if not logits.shape[1]:
        raise ValueError("logits must have at least one row, got none")
    if not logits.dtype.is_floating_point:
        raise TypeError(f"logits must be floating, got {logits.dtype}")
    deepest = int(depth.amax()) if depth.numel() else 0
    if deepest > logits.shape[1]:
        raise ValueError(f"a tree is {deepest} deep, the draft has {logits.shape[1]} rows")


def _require(fine: Tensor, fault: str) -> None:
    if not fine.all():
        raise ValueError(f"batch row {int((~fine).nonzero()[0])}: {fault}")
