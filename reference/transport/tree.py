"""The whole-tree ceiling: the largest expected block length of any lossless verifier on an instance, whatever it does.

Let T be the draft tree, as the set of its paths, with law Q.  A verifier accepts node v of T with probability alpha_T(v); f(u) is the probability
that u is in T and on the accepted path.  What a lossless verifier can reach is exactly::

    max  sum_u f(u)
    s.t. f(u)  = sum_T Q(T) sum_{v in T, v >= u} alpha_T(v)
         f(ua) <= f(u) p(a|u)                               for every path ua of any tree     (the growth identity)
         sum_{v in T} alpha_T(v) = 1,  alpha >= 0           for every T

and its value is E[L], bonus included.  With a multiplier lambda(ua) >= 0 for every growth inequality, put

    c(u) = 1 - lambda(u) + sum_a lambda(ua) p(a|u),     C(v) = sum_{u <= v} c(u),     lambda(root) = 0.

Then E[L] <= sum_T Q(T) max_{v in T} C(v) for *every* lambda >= 0: any multipliers prove a bound, and the best ones prove the optimum.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from ..laws import ONE, ZERO, Law
from ..models import Model, Prefix
from ..rational import Rational, fraction
from ..trees import Scheme, Slot

Paths = frozenset[Prefix]
"""A draft tree as the set of its paths, the root's () included; same-token siblings are one."""

Acceptance = Mapping[Paths, Mapping[Prefix, Rational]]
"""alpha_T(v), positive entries only."""

MAX_TREES = 20_000

HIGHS_OPTIONS = {"solver": "ipm", "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "small_matrix_value": 1e-12}
"""Interior point, several times quicker here than its simplex, and trees of small probability are not forgotten."""


class TooManyTrees(ValueError):
    """The instance has more draft trees, or paths of them, than can be handled one by one."""


class SolverFailed(RuntimeError):
    """The linear-programming solver gave no solution; says what it answered."""


@dataclass(frozen=True)
class Problem:
    """The program of one instance: ``trees`` is Q; ``edges`` are the non-root paths of all trees, short ones first."""

    target: Model
    trees: Law[Paths]
    edges: Sequence[Prefix]

    @property
    def nodes(self) -> Sequence[Prefix]:
        """Every path that some tree has, the root first."""
        return ((), *self.edges)

    def p(self, path: Prefix) -> Rational:
        """p(a|u) of the last step of a path."""
        return self.target(path[:-1])[path[-1]]

    @cached_property
    def children(self) -> Mapping[Prefix, Sequence[Prefix]]:
        below: defaultdict[Prefix, list[Prefix]] = defaultdict(list)
        for path in self.edges:
            below[path[:-1]].append(path)
        return below


def problem_of(target: Model, topology: Slot, scheme: Scheme, limit: int = MAX_TREES) -> Problem:
    """The program of an instance.  Raises TooManyTrees beyond ``limit`` of them."""
    trees = tree_sets(topology, scheme, limit)
    return Problem(target, trees, sorted({path for paths in trees for path in paths if path}, key=lambda path: (len(path), path)))


def tree_sets(topology: Slot, scheme: Scheme, limit: int = MAX_TREES) -> Law[Paths]:
    """Q: law of the draft tree as a set of paths.  Raises TooManyTrees beyond ``limit`` of them."""
    known: dict[tuple[Slot, Prefix], dict[Paths, Rational]] = {}

    def below(slot: Slot, path: Prefix) -> dict[Paths, Rational]:
        if (slot, path) in known:
            return known[slot, path]
        states: dict[tuple[Prefix, Paths], Rational] = {((), frozenset([path])): ONE}
        for child in slot:
            longer: defaultdict[tuple[Prefix, Paths], Rational] = defaultdict(lambda: ZERO)
            for (elders, paths), probability in states.items():
                law = scheme(slot, path, elders)
                if law is None:
                    longer[elders, paths] += probability
                    continue
                for token, weight in law.items():
                    for more, share in below(child, (*path, token)).items():
                        longer[(*elders, token), paths | more] += probability * weight * share
                    if len(longer) > 16 * limit:
                        raise TooManyTrees(f"the instance has more than the {limit} draft trees that are listed one by one")
            states = longer
        merged: defaultdict[Paths, Rational] = defaultdict(lambda: ZERO)
        for (_, paths), probability in states.items():
            merged[paths] += probability
        if len(merged) > limit:
            raise TooManyTrees(f"the instance has more than the {limit} draft trees that are listed one by one")
        known[slot, path] = dict(merged)
        return known[slot, path]

    return Law(below(topology, ()))


def proved(problem: Problem, multipliers: Mapping[Prefix, Rational]) -> Rational:
    """The bound that non-negative multipliers prove: sum_T Q(T) max_{v in T} C(v)."""
    worth = worth_of(problem, multipliers)
    return sum((probability * max(worth[path] for path in paths) for paths, probability in problem.trees.items()), ZERO)


def worth_of(problem: Problem, multipliers: Mapping[Prefix, Rational]) -> dict[Prefix, Rational]:
    """C(v) of every node."""
    children, worth = problem.children, dict[Prefix, Rational]()
    for path in problem.nodes:
        gain = sum((multipliers[child] * problem.p(child) for child in children[path]), ONE)
        worth[path] = worth[path[:-1]] + gain - multipliers[path] if path else gain
    return worth


def reached(problem: Problem, acceptance: Acceptance) -> dict[Prefix, Rational]:
    """f(u) of every node; their sum is E[L]."""
    accepted: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO)
    for paths, probability in problem.trees.items():
        for path, mass in acceptance[paths].items():
            for depth in range(len(path) + 1):
                accepted[path[:depth]] += probability * mass
    return {path: accepted[path] for path in problem.nodes}


def solve(problem: Problem, solver: str = "HIGHS") -> dict[Paths, dict[Prefix, float]]:
    """alpha of the program above by cvxpy, in floating point; ``exact_simplex`` makes it exact.  Raises SolverFailed."""
    import numpy as np
    from scipy.sparse import csr_array

    from .quiet import quiet_stdout

    cp: Any = import_module("cvxpy")  # seconds to import

    row = {path: number for number, path in enumerate(problem.nodes)}
    choices = [(number, paths, path) for number, paths in enumerate(problem.trees) for path in sorted(paths)]
    weight = [float(fraction(problem.trees[paths])) for paths in problem.trees]
    entries = [(row[path[:depth]], column, weight[number]) for column, (number, _, path) in enumerate(choices) for depth in range(len(path) + 1)]
    rows, columns, values = zip(*entries, strict=True)
    on_path = csr_array((values, (rows, columns)), shape=(len(row), len(choices)))
    of_tree = csr_array((np.ones(len(choices)), ([number for number, _, _ in choices], range(len(choices)))), shape=(len(weight), len(choices)))
    acceptance = cp.Variable(len(choices), nonneg=True)
    accepted = cp.Variable(len(row))
    constraints = [accepted == on_path @ acceptance, of_tree @ acceptance == 1]
    if problem.edges:
        parents = [row[path[:-1]] for path in problem.edges]
        steps = np.array([float(fraction(problem.p(path))) for path in problem.edges])
        constraints.append(accepted[1:] <= cp.multiply(steps, accepted[parents]))
    program = cp.Problem(cp.Maximize(cp.sum(accepted)), constraints)
    with quiet_stdout():
        try:
            program.solve(solver=solver, **({"highs_options": HIGHS_OPTIONS} if solver == "HIGHS" else {}))
        except cp.error.SolverError as error:
            raise SolverFailed(f"{solver} found no solution: {error}") from None
    if acceptance.value is None:
        raise SolverFailed(f"{solver} found no solution: {program.status}")
    alpha: dict[Paths, dict[Prefix, float]] = defaultdict(dict)
    for (_, paths, path), mass in zip(choices, acceptance.value, strict=True):
        alpha[paths][path] = float(mass)
    return dict(alpha)
