"""Optimal transport at one node: the largest probability with which any lossless rule can go on to one of the drafted candidates.

The node is visited with capacity a (1 for a rule that looks at one node at a time; the conditional problem of UniVer, arXiv 2605.04543, below
that), it owes a p(y) to every token y, and D is the law of its candidate set.  A plan pi(S, y), y in S, is worth its total::

    max  sum_S sum_{y in S} pi(S, y)
    s.t. sum_{y in S} pi(S, y)    <= D(S)       for every set S       (a drafted set is used once)
         sum_{S: y in S} pi(S, y) <= a p(y)     for every token y     (no token is emitted more often than owed)
         pi >= 0

which is a maximum flow, so the optimum is a minimum cut: 1 + min over token sets A of [a p(A) - D(S subset of A)]  (arXiv 2502.18779, 2511.15898).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from math import lcm
from typing import Any

from ..laws import ONE, Law
from ..rational import Rational, fraction, rational
from .candidates import TokenSet
from .flow import maximum_flow

Plan = Mapping[tuple[TokenSet, int], Rational]
"""pi(S, y), positive entries only."""


@dataclass(frozen=True)
class Optimum:
    """The optimum of one node with its proof: ``plan`` reaches ``value``, and the cut ``tokens`` shows that no plan exceeds it."""

    value: Rational
    plan: Plan
    tokens: TokenSet


def optimum(p: Law[int], sets: Law[TokenSet], capacity: Rational = ONE, start: Plan | None = None) -> Optimum:
    """The exact optimum, by integer maximum flow over the common denominator.

    ``start``: a feasible plan to augment.  No token then gets less than in ``start``.
    """
    owed = {token: capacity * weight for token, weight in p.items() if capacity}
    first = start or {}
    scale = lcm(*(int(number.denominator) for numbers in (owed.values(), dict(sets.items()).values(), first.values()) for number in numbers))
    tokens = list(owed)
    place = {token: number for number, token in enumerate(tokens)}
    listed = [members for members, _ in sets.items()]
    row = {members: number for number, members in enumerate(listed)}
    begun: list[dict[int, int]] = [{} for _ in listed]
    for (members, token), mass in first.items():
        begun[row[members]][place[token]] = _scaled(mass, scale)
    supply = [_scaled(sets[members], scale) for members in listed]
    candidates = [[place[token] for token in sorted(members) if token in place] for members in listed]
    flow, side = maximum_flow(candidates, supply, [_scaled(mass, scale) for mass in owed.values()], begun)
    unit = rational(1) / scale
    plan = {(members, tokens[number]): amount * unit for members, sent in zip(listed, flow, strict=True) for number, amount in sent.items()}
    free = {token for members in listed for token in members if token not in place}  # owed nothing: always on the source side
    value = rational(sum(amount for sent in flow for amount in sent.values())) / scale
    return Optimum(value, plan, frozenset({tokens[number] for number in side} | free))


def _scaled(mass: Rational, scale: int) -> int:
    return int(mass.numerator) * (scale // int(mass.denominator))


def linear_program(p: Law[int], sets: Law[TokenSet], capacity: Rational = ONE, solver: str = "HIGHS") -> float:
    """The same optimum as the linear program above, by cvxpy; a float, without a certificate."""
    import numpy as np
    from scipy.sparse import coo_array

    from .quiet import quiet_stdout

    cp: Any = import_module("cvxpy")  # seconds to import

    listed, tokens = [members for members, _ in sets.items()], list(p)
    pairs = [(row, token) for row, members in enumerate(listed) for token in members if token in p]
    if not pairs:
        return 0.0
    ones, count = np.ones(len(pairs)), np.arange(len(pairs))
    of_set = coo_array((ones, ([row for row, _ in pairs], count)), shape=(len(listed), len(pairs)))
    of_token = coo_array((ones, ([tokens.index(token) for _, token in pairs], count)), shape=(len(tokens), len(pairs)))
    plan = cp.Variable(len(pairs), nonneg=True)
    supply = np.array([float(fraction(sets[members])) for members in listed])
    owed = np.array([float(fraction(capacity * p[token])) for token in tokens])
    problem = cp.Problem(cp.Maximize(cp.sum(plan)), [of_set.tocsr() @ plan <= supply, of_token.tocsr() @ plan <= owed])
    with quiet_stdout():
        problem.solve(solver=solver)
    return float(problem.value)
