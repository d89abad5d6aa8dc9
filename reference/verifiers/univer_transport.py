"""UniVer with any drafting scheme: the two phases of arXiv 2605.04543 over an optimal plan found by maximum flow.

At a node visited with capacity a, let D be the law of its candidate set and pi an optimal plan of ``transport.node`` at that capacity.  Given the
drawn set S, child y carries m_y = pi(S, y) / D(S); a p(y) - sum_S pi(S, y) stays owed.  Of siblings with one token the eldest carries its mass.

Optimal plans differ in where they put their mass, and what is best at one node may be worse below it.  The plan used here starts from recursive
rejection scaled by a and is augmented from there: no token then gets less than a times what recursive rejection gives it, so this rule accepts at
least as much as ``recursive_rejection`` on the same drafts.  ``univer_transport_by`` takes other plans; an arbitrary optimal one can accept less.

Proved in proofs/rocq/Univer_transport.v: univer_transport_exact.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

from ..chance import Chance
from ..laws import ONE, ZERO, Law
from ..models import Model
from ..rational import Rational
from ..transport.candidates import TokenSet, draws_of, set_law
from ..transport.node import Plan, optimum
from ..trees import DraftNode, Draws, Tokens
from .ascent import Visit, ascend
from .descent import Accepted
from .two_phase import two_phase

Planner = Callable[[Law[int], Draws, Rational], Plan]
"""(target law, draws, capacity) -> a plan that is feasible for ``transport.node``."""


def augmented(p: Law[int], draws: Draws, capacity: Rational) -> Plan:
    """An optimal plan in which no token gets less than ``capacity`` times its share in recursive rejection."""
    start = {pair: capacity * mass for pair, mass in rejection_plan(p, draws).items() if capacity}
    return optimum(p, set_law(draws), capacity, start).plan


def unguided(p: Law[int], draws: Draws, capacity: Rational) -> Plan:
    """The optimal plan that the maximum flow happens to find from nothing."""
    return optimum(p, set_law(draws), capacity).plan


@lru_cache(maxsize=1 << 12)
def rejection_plan(p: Law[int], draws: Draws) -> Plan:
    """pi(S, y) of recursive rejection at capacity 1: the set is S and y is the draft that passes its test."""
    plan: defaultdict[tuple[TokenSet, int], Rational] = defaultdict(lambda: ZERO)

    def follow(elders: Tokens, reach: Rational, residual: Law[int] | None, accepted: int | None) -> None:
        law = draws(elders)
        if law is None:
            if accepted is not None:
                plan[frozenset(elders), accepted] += reach
            return
        left = None if residual is None else residual.excess(law)[1]
        for token, weight in law.items():
            keep = ZERO if residual is None else min(ONE, residual[token] / weight)
            if keep:
                follow((*elders, token), reach * weight * keep, None, token)
            if keep < 1:
                follow((*elders, token), reach * weight * (1 - keep), left, accepted)

    follow((), ONE, p, None)
    return dict(plan)


def univer_transport_by(planner: Planner) -> Visit:
    """One node of the rule with the given plans."""

    @lru_cache(maxsize=1 << 12)
    def planned(p: Law[int], draws: Draws, capacity: Rational) -> tuple[Plan, dict[int, Rational]]:
        """pi(S, y) / D(S), and what the plan leaves owed."""
        plan, sets = planner(p, draws, capacity), set_law(draws)
        owed = {token: capacity * weight for token, weight in p.items()}
        for (_, token), mass in plan.items():
            owed[token] -= mass
        return {(members, token): mass / sets[members] for (members, token), mass in plan.items()}, owed

    def allocate(p: Law[int], children: Sequence[DraftNode], capacity: Rational) -> tuple[list[Rational], dict[int, Rational]]:
        shares, owed = planned(p, draws_of(children), capacity)
        tokens = [child.token for child in children]
        drawn = frozenset(tokens)
        return [ZERO if token in tokens[:rank] else shares.get((drawn, token), ZERO) for rank, token in enumerate(tokens)], owed

    return two_phase(allocate)


visit = univer_transport_by(augmented)
"""One node of the rule, its children tried in draw order."""


def univer_transport(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """The whole tree, visited in post-order.  Raises ValueError where declared laws follow no known drafting scheme."""
    return ascend(visit)(target, root, chance)
