"""K-SEQ on one tree: reads the target row and the eldest child's declared row of nodes on the accepted path.

rho lies between 1 and the number of children, which settles most tests without knowing it.
"""
import math
from collections.abc import Callable, Sequence

import torch

from .rows import Row
from .trees import Tree

GRID = 2.0**-40
ROUNDING = 2.0**-44  # of beta, a sum over the vocabulary
ROUGH = 2.0**-10


def k_seq(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node = 0
    while children := tree.children[node]:
        target, declared, rho = tree.target(node), tree.declared(children[0]), None
        declared = declared or one_hot(tree.tokens[children[0]], target)
        for child in children:
            token = tree.tokens[child]
            wanted, offered = target.mass(token), uniforms[child] * declared.mass(token)
            if rho is None and offered < wanted <= offered * len(children):
                rho = smallest_rho(target, declared, len(children))
            if offered * (rho or 1.0) < wanted:
                node = child
                break
        else:
            rho = rho or smallest_rho(target, declared, len(children))
            return node, owed(target, declared, rho, len(children)).draw(uniforms[0])
    return node, tree.target(node).draw(uniforms[0])


def one_hot(token: int, like: Row) -> Row:
    """All mass on one token."""
    return Row(torch.zeros_like(like.weights).index_fill_(0, torch.tensor(token), 1.0), 1.0, like.work)


def owed(target: Row, declared: Row, rho: float, drafts: int) -> Row:
    """What p has more than min(q, p / rho) (1 - (1 - beta)^k) / beta; p itself where that is nothing."""
    p, q = target.law(), declared.law()
    p, q = p.to(torch.promote_types(p.dtype, q.dtype)), q.to(torch.promote_types(p.dtype, q.dtype))
    kept = torch.minimum(q, p / rho, out=q)
    reject = 1 - kept.sum().item()
    rest = p.sub_(kept, alpha=sum(reject**j for j in range(drafts))).clamp_(min=0)
    total = rest.sum().item()
    return Row(rest, total, rest.dtype) if total > 0 else target


def smallest_rho(target: Row, declared: Row, drafts: int) -> float:
    """The smallest multiple of 2^-40 with 1 - (1 - beta)^k <= rho beta; of float32 rows, to 2^-22, as far as their sums carry.

    First roughly, on the rows as they are.  Between two rough bounds only few tokens have a ratio p / q; of all others it is
    known whether p or rho q is the smaller, so that the rest of the search is about these few.
    """
    if drafts == 1:
        return 1.0
    p, q, unit = target.weights, declared.weights, target.total / declared.total
    scratch = torch.empty_like(q)

    def rough(rho: float) -> float:
        both = torch.minimum(torch.mul(q, rho * unit, out=scratch), p, out=scratch).sum().item() / target.total
        return slack(both, rho, drafts)

    if target.work == declared.work == torch.float32:
        return bracketed_root(rough, 1.0, float(drafts), 2.0**-22)[1]
    low, high = bracketed_root(rough, 1.0, float(drafts), ROUGH)
    for margin in (ROUGH, float(drafts)):  # rounding of the rough sums may have misled the search
        low, high = max(1.0, low - margin), min(float(drafts), high + margin)
        fine = _fine(target, declared, low, high, drafts)
        if (low == 1 or fine(low) < 0) and fine(high) >= 0:
            break
    return math.ceil(bracketed_root(fine, low, high, GRID)[1] / GRID) * GRID


def _fine(target: Row, declared: Row, low: float, high: float, drafts: int) -> Callable[[float], float]:
    """The slack as a function of rho in [low, high]."""
    p, q, unit = target.weights, declared.weights, target.total / declared.total
    smaller, larger = p <= q * (low * unit), p >= q * (high * unit)
    between = (smaller | larger).logical_not_().nonzero().squeeze(1)
    some_p, some_q = p[between].double(), q[between].double().mul_(unit)
    all_p = p.where(smaller, 0).sum(dtype=target.work).item()
    all_q = q.where(larger & ~smaller, 0).sum(dtype=target.work).item() * unit
    return lambda rho: slack((all_p + rho * all_q + torch.minimum(some_q * rho, some_p).sum().item()) / target.total, rho, drafts)


def slack(both: float, rho: float, drafts: int) -> float:
    """rho beta - 1 + (1 - beta)^k, of ``both`` = rho beta."""
    return both - (1 - (1 - both / rho) ** drafts) + ROUNDING


def bracketed_root(function: Callable[[float], float], low: float, high: float, width: float) -> tuple[float, float]:
    """Where an increasing function turns from negative to not negative: two points at most ``width`` apart, both low if it is so there.

    A secant that keeps its bracket (the Illinois rule).
    """
    below, above = function(low), function(high)
    if below >= 0:
        return low, low
    kept = 0  # the end that the last point did not replace: its value is halved when it stays again
    while high - low > width:
        point = low + (high - low) * below / (below - above)
        point = min(max(point, low + width / 2), high - width / 2)
        value = function(point)
        if value >= 0:
            high, above, below, kept = point, value, below / 2 if kept < 0 else below, -1
        else:
            low, below, above, kept = point, value, above / 2 if kept > 0 else above, 1
    return low, high
