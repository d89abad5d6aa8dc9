"""UniVer with its sums by kernel: a level of nodes at a time, no row of probabilities is written."""
import torch
from torch import Tensor

from ..trees import Tree, build_tree, emit, postorder
from . import use
from .plan_sums import PlanSums
from .row_sums import row_sums


def univer(tokens: Tensor, parents: Tensor, valid: Tensor, rows: use.Rows, declared: use.Rows | None, draws: Tensor) -> tuple[Tensor, Tensor]:
    """As the rule, with the plain rule's one wait for the device, in ``build_tree``."""
    tree = build_tree(tokens, parents, valid, rows.tensor.shape[2])
    visited, stays, fine = torch.ones_like(draws), torch.ones_like(draws), torch.ones_like(valid)
    for batch, node in tree.levels:
        mass = visited[batch, node]
        masses, sums, fine[batch, node] = plan(tree, rows, declared, batch, node, mass)
        stays[batch, node] = torch.where(sums.left > 0, sums.left / (sums.left + (1 - mass)), 0.0)
        children = tree.children[batch, node]
        left = 1 - (masses.cumsum(1) - masses)
        offers = torch.where(left > 0, masses / left, 0.0).clamp(max=1).where(children > 0, 1.0)
        visited[batch.unsqueeze(1), children] = stays[batch.unsqueeze(1), children] = offers
    passes = (draws < stays) & (tree.depth > 0)
    passes[:, 0] = True
    last = postorder(tree).where(passes, tokens.shape[1]).argmin(1)
    batch = torch.arange(len(tokens), device=tokens.device)
    _, sums, last_fine = plan(tree, rows, declared, batch, last, visited[batch, last])
    none = torch.zeros_like(tree.children[batch, last])
    whole = PlanSums(rows, rows, batch, last, torch.ones_like(draws[:, 0]), none, none[:, 0], none[:, 0])  # the root is accepted anyway
    bonus = sums.draw(draws[:, 0]).where(sums.left > 0, whole.draw(draws[:, 0]))
    return emit(tree, last, bonus, tree.sound & fine.all(1) & last_fine)


def plan(
    tree: Tree, rows: use.Rows, declared: use.Rows | None, batch: Tensor, node: Tensor, mass: Tensor
) -> tuple[Tensor, PlanSums, Tensor]:
    """The masses [n, R] of ``greedy_plan``, its sums, and whether all rows read are laws [n]."""
    children = tree.children[batch, node]
    names = tree.tokens[batch.unsqueeze(1), children].where(children > 0, -1)
    count = (children > 0).sum(1)
    rank = torch.arange(children.shape[1], device=children.device)
    repeats = ((names.unsqueeze(2) == names.unsqueeze(1)) & (rank.unsqueeze(1) > rank)).any(2)  # [n, R]: an elder has this token
    elder = rank < count.unsqueeze(1) - 1
    last = (count - 1).clamp(min=0)
    youngest = children.gather(1, last.unsqueeze(1)).squeeze(1) if declared is not None else torch.zeros_like(node)
    taken = count if declared is None else last
    sums = PlanSums(rows, declared or rows, batch, node, mass, names, taken, youngest)
    own = use.weight(rows, batch.unsqueeze(1), node.unsqueeze(1), names.clamp(min=0), sums.top.unsqueeze(1)) / sums.total.unsqueeze(1)
    owed = torch.where((children > 0) & ~repeats, mass.unsqueeze(1) * own, 0.0)
    if declared is None:
        return owed, sums, sums.sound
    name = names.gather(1, last.unsqueeze(1)).squeeze(1).clamp(min=0)
    offered = use.weight(declared, batch, youngest, name, sums.other_top) / sums.other_total
    wanted = owed.gather(1, last.unsqueeze(1)).squeeze(1)
    accepts = torch.where(wanted < offered, wanted / offered, (wanted > 0).double()).where(count > 0, 0.0)
    share = torch.where(sums.missing > 0, (1 - accepts) / sums.missing, 0.0)
    masses = (owed * share.unsqueeze(1)).where(elder, 0.0).scatter(1, last.unsqueeze(1), accepts.unsqueeze(1))
    return masses, sums, sums.sound & (_certain(declared, batch, children, names) | ~elder).all(1)


def _certain(declared: use.Rows, batch: Tensor, children: Tensor, names: Tensor) -> Tensor:
    """[n, R]: the child's token is all of its declared row."""
    rows, names = batch.unsqueeze(1).expand_as(children), names.clamp(min=0)
    if not declared.logits:
        return declared.tensor[rows, children, names] == 1
    top, total = row_sums(declared, rows.flatten(), children.flatten())
    return use.weight(declared, rows, children, names, top.view_as(children)) == total.view_as(children)
