"""K-SEQ on one tree: reads the target row and the eldest child's declared row of nodes on the accepted path.

rho lies between 1 and the number of children, which settles most tests without knowing it.
"""
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .rows import Row, block_sums
from .trees import Tree

GRID = 2.0**-40
ROUNDING = 2.0**-44  # of beta, a sum over the vocabulary


def k_seq(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node = 0
    while children := tree.children[node]:
        target, token = tree.target(node), tree.tokens[children[0]]
        declared = tree.declared(children[0])
        p, q = target.law(), one_hot(token, target) if declared is None else declared.law()
        rho: float | None = None
        for child in children:
            wanted, offered = p[tree.tokens[child]].item(), uniforms[child] * q[tree.tokens[child]].item()
            if offered < wanted <= offered * len(children):
                rho = rho or smallest_rho(p, q, len(children))
            if offered * (rho or 1.0) < wanted:
                node = child
                break
        else:
            return node, owed(p, q, rho or smallest_rho(p, q, len(children)), len(children)).draw(uniforms[0])
    return node, tree.target(node).draw(uniforms[0])


def one_hot(token: int, row: Row) -> Tensor:
    """All mass on one token."""
    law = torch.zeros(len(row.weights), dtype=torch.float64)
    law[token] = 1
    return law


def owed(p: Tensor, q: Tensor, rho: float, drafts: int) -> Row:
    """What p has more than min(q, p / rho) (1 - (1 - beta)^k) / beta; p itself where that is nothing."""
    kept = torch.minimum(p / rho, q)
    reject = 1 - kept.sum().item()
    rest = p.sub(kept, alpha=sum(reject**j for j in range(drafts))).clamp_(min=0)
    blocks = block_sums(rest)
    return Row(rest, blocks, float(blocks.sum())) if blocks.sum() > 0 else Row(p, block_sums(p), 1.0)


def smallest_rho(p: Tensor, q: Tensor, drafts: int) -> float:
    """The smallest multiple of 2^-40 with 1 - (1 - beta)^k <= rho beta, by a secant that keeps its bracket (the Illinois rule)."""
    scratch = torch.empty_like(q)

    def slack(rho: float) -> float:
        both = torch.minimum(torch.mul(q, rho, out=scratch), p, out=scratch).sum().item()  # rho beta
        return both - (1 - (1 - both / rho) ** drafts) + ROUNDING

    return math.ceil(bracketed_root(slack, 1.0, float(drafts), GRID) / GRID) * GRID if drafts > 1 else 1.0


def bracketed_root(function: Callable[[float], float], low: float, high: float, width: float) -> float:
    """A point at most ``width`` above where an increasing function turns from negative to not negative in (low, high]; low if it is not there."""
    below, above = function(low), function(high)
    if below >= 0:
        return low
    kept = 0  # the end that the last point did not replace: its value is halved when it stays again
    while high - low > width:
        point = low + (high - low) * below / (below - above)
        point = min(max(point, low + width / 2), high - width / 2)
        value = function(point)
        if value >= 0:
            high, above, below, kept = point, value, below / 2 if kept < 0 else below, -1
        else:
            low, below, above, kept = point, value, above / 2 if kept > 0 else above, 1
    return high
