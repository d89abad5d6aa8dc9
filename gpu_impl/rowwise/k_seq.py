"""K-SEQ on one tree: reads the target row and the eldest child's declared row of nodes on the accepted path.

rho lies between 1 and the number of children, which settles many tests without knowing it; most others take one sum.
"""
import math
from collections.abc import Callable, Sequence

import torch

from .rows import Row, summed
from .trees import Tree

GRID = 2.0**-40
ROUNDING = 2.0**-44  # of beta, a sum over the vocabulary
ROUGH = 2.0**-10
CLEAR = 2.0**-16  # of the slack, beyond what rounding of sums of float32 can do


def k_seq(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node = 0
    while children := tree.children[node]:
        target, declared = tree.target(node), tree.declared(children[0])
        declared = declared or one_hot(tree.tokens[children[0]], target)
        rho = Rho(target, declared, len(children))
        for child in children:
            token = tree.tokens[child]
            if rho.passes(target.mass(token), uniforms[child] * declared.mass(token)):
                node = child
                break
        else:
            return node, owed(rho).draw(uniforms[0])
    return node, tree.target(node).draw(uniforms[0])


def one_hot(token: int, like: Row) -> Row:
    """All mass on one token."""
    return Row(torch.zeros_like(like.weights).index_fill_(0, torch.tensor(token), 1.0), 1.0, like.work)


class Rho:
    """The smallest multiple of 2^-40 with 1 - (1 - beta)^k <= rho beta; of float32 rows, to 2^-22, as far as their sums carry.

    It is searched for when its value is asked for; what it is compared with before that narrows the search.
    """

    def __init__(self, target: Row, declared: Row, drafts: int) -> None:
        self.target, self.declared, self.drafts = target, declared, drafts
        self.low, self.high = 1.0, float(drafts)
        self.unit = target.total / declared.total
        self.scratch = torch.empty_like(declared.weights)

    def passes(self, wanted: float, offered: float) -> bool:
        """rho offered < wanted."""
        if not offered * self.low < wanted or offered * self.high < wanted:
            return offered * self.low < wanted
        if self.low < self.high:
            place = wanted / offered
            if (slack := self.rough(place)) > CLEAR:
                self.high = place
                return True
            if slack < -CLEAR:
                self.low = place
                return False
        return offered * self.value() < wanted

    def value(self) -> float:
        """First roughly, on the rows as they are.

        Between two rough bounds only few tokens have a ratio p / q; of all others it is known whether p or rho q is the smaller, so
        that the rest of the search is about these few.
        """
        if self.low < self.high:
            self.low = self.high = self._search()
        return self.low

    def _search(self) -> float:
        if self.target.work == self.declared.work == torch.float32:
            return bracketed_root(self.rough, self.low, self.high, 2.0**-22)[1]
        low, high = bracketed_root(self.rough, self.low, self.high, ROUGH)
        for margin in (ROUGH, float(self.drafts)):  # rounding of the rough sums may have misled the search
            low, high = max(1.0, low - margin), min(float(self.drafts), high + margin)
            fine = _fine(self.target, self.declared, low, high, self.drafts)
            if (low == 1 or fine(low) < 0) and fine(high) >= 0:
                break
        return math.ceil(bracketed_root(fine, low, high, GRID)[1] / GRID) * GRID

    def rough(self, rho: float) -> float:
        larger = torch.mul(self.declared.weights, rho * self.unit, out=self.scratch)
        both = torch.minimum(larger, self.target.weights, out=self.scratch).sum().item() / self.target.total
        return slack(both, rho, self.drafts)


def owed(rho: Rho) -> Row:
    """What p has more than min(q, p / rho) (1 - (1 - beta)^k) / beta; p itself where that is nothing."""
    target, value = rho.target, rho.value()
    work = torch.promote_types(target.work, rho.declared.work)
    p, q = target.weights.to(work), rho.declared.weights.to(work)
    both = torch.minimum(q * (value * rho.unit), p)  # rho min(q, p / rho)
    reject = 1 - both.sum().item() / (target.total * value)
    row = summed(torch.sub(p, both, alpha=sum(reject**j for j in range(rho.drafts)) / value, out=both).clamp_(min=0))
    return row if row.total > 0 else target


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
