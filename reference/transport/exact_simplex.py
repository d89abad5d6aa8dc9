"""The whole-tree program solved exactly: a simplex method in rationals that generates its columns.

A *choice* accepts one node of every draft tree.  Acceptance laws are mixtures of choices, so the program of ``tree`` is the same as

    max  sum_k w_k value(k)     s.t.  sum_k w_k (f_k(ua) - f_k(u) p(a|u)) <= 0 for every path ua,     sum_k w_k = 1,     w >= 0,

over all choices k: few rows, many columns.  For multipliers lambda the best column is to accept the node that is worth most in every tree, which is
what ``tree.proved`` does.  It starts from "accept the root" and, to be quick, from the choices that a floating-point solution mixes.

Every step holds a feasible mixture, and whenever a column is generated the multipliers are a proof: both are exact wherever it is stopped.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from ..laws import ONE, ZERO
from ..models import Prefix
from ..rational import Rational, rational
from .node_bound import closed_form
from .tree import Acceptance, Paths, Problem, TooManyTrees, proved, reached, solve, worth_of

Choice = Mapping[Paths, Prefix]
"""The accepted node of every draft tree."""

PATIENCE = 200
"""Steps after which a gap of at most ``CLOSE`` will do: rows over many orders of magnitude make for long numbers and many steps."""

CLOSE = rational("1e-9")

MAX_PATHS = 1000
"""The inverse has this many rows and columns of exact numbers."""


@dataclass(frozen=True)
class Ceiling:
    """``ceiling`` is proved by ``multipliers`` (lambda), ``reached`` by ``acceptance`` (alpha): the optimum lies between them, exactly."""

    ceiling: Rational
    reached: Rational
    multipliers: Mapping[Prefix, Rational]
    acceptance: Acceptance

    @property
    def gap(self) -> Rational:
        """What is not known about the optimum; 0 unless the method was stopped."""
        return self.ceiling - self.reached


@dataclass(frozen=True)
class Column:
    """A choice, or the slack of a row (``choice`` None)."""

    value: Rational
    entries: list[Rational]
    choice: Choice | None = field(default=None, repr=False)


def ceiling_of(problem: Problem, solver: str = "HIGHS") -> Ceiling:
    """The ceiling with both its proofs, quickly: in closed form, or else from the solver's answer on.

    Raises tree.SolverFailed, and tree.TooManyTrees beyond ``MAX_PATHS`` paths.
    """
    if (found := closed_form(problem)) is not None:
        multipliers, acceptance = found
        bound, total = proved(problem, multipliers), sum(reached(problem, acceptance).values(), ZERO)
        if bound == total:
            return Ceiling(bound, total, multipliers, acceptance)
    if len(problem.edges) > MAX_PATHS:
        raise TooManyTrees(f"the draft trees have {len(problem.edges)} paths; the exact simplex method takes {MAX_PATHS}")
    return solve_exactly(problem, choices_of(solve(problem, solver)))


def solve_exactly(problem: Problem, start: Iterable[Choice] = (), patience: int = PATIENCE) -> Ceiling:
    """The ceiling; ``start`` are choices that are tried before others are generated."""
    simplex = _Simplex(problem)
    pool = [simplex.column(choice) for choice in start]
    best: tuple[Rational, dict[Prefix, Rational]] | None = None
    for step in count():
        prices = simplex.prices()
        entering = simplex.slack_to_enter(prices) or max(pool, key=lambda column: gain(column, prices), default=None)
        if entering is None or gain(entering, prices) <= 0:  # nothing known is better, and no multiplier is negative: generate
            multipliers = dict(zip(problem.edges, prices, strict=False))
            bound = proved(problem, multipliers)
            best = (bound, multipliers) if best is None or bound < best[0] else best
            entering = simplex.column(best_choice(problem, multipliers))
            if gain(entering, prices) <= 0 or (step >= patience and best[0] - simplex.value() <= CLOSE):
                break
            pool.append(entering)
        simplex.enter(entering)
    assert best is not None
    acceptance = simplex.acceptance()
    return Ceiling(best[0], sum(reached(problem, acceptance).values(), ZERO), best[1], acceptance)


def best_choice(problem: Problem, multipliers: Mapping[Prefix, Rational]) -> dict[Paths, Prefix]:
    """The node that is worth most in every tree."""
    worth = worth_of(problem, multipliers)
    return {paths: max(paths, key=worth.__getitem__) for paths in problem.trees}


def gain(column: "Column", prices: Sequence[Rational]) -> Rational:
    """What a column adds to the value, by its weight: its own value less the price of its entries."""
    return column.value - sum((entry * price for entry, price in zip(column.entries, prices, strict=True) if entry), ZERO)


class _Simplex:
    """Revised simplex with an explicit inverse; lexicographic ratio test, since almost every right-hand side is zero."""

    def __init__(self, problem: Problem):
        self.problem = problem
        size = len(problem.edges)
        root = self.column({paths: () for paths in problem.trees})
        self.basis = [Column(ZERO, [ONE if row == place else ZERO for place in range(size + 1)]) for row in range(size)] + [root]
        self.inverse = [[ONE if row == place else ZERO for place in range(size + 1)] for row in range(size + 1)]
        for row in range(size):
            self.inverse[row][size] = -root.entries[row]

    def column(self, choice: Choice) -> Column:
        """The column of a choice."""
        masses: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO)
        for paths, probability in self.problem.trees.items():
            masses[choice[paths]] += probability
        accepted = dict.fromkeys(self.problem.nodes, ZERO)
        for path in reversed(self.problem.nodes):
            accepted[path] += masses[path]
            if path:
                accepted[path[:-1]] += accepted[path]
        rows = [accepted[edge] - accepted[edge[:-1]] * self.problem.p(edge) for edge in self.problem.edges]
        return Column(sum(accepted.values(), ZERO), [*rows, ONE], choice)

    def prices(self) -> list[Rational]:
        """The multiplier of every row, that of sum_k w_k = 1 last."""
        used = [(column.value, row) for column, row in zip(self.basis, self.inverse, strict=True) if column.value]
        return [sum((value * row[place] for value, row in used), ZERO) for place in range(len(self.inverse))]

    def value(self) -> Rational:
        """E[L] of the current mixture."""
        return sum((column.value * row[-1] for column, row in zip(self.basis, self.inverse, strict=True)), ZERO)

    def slack_to_enter(self, prices: Sequence[Rational]) -> Column | None:
        """The slack of the row with the most negative multiplier."""
        size = len(prices) - 1
        lowest = min(range(size), key=prices.__getitem__, default=0)
        if not size or prices[lowest] >= 0:
            return None
        return Column(ZERO, [ONE if place == lowest else ZERO for place in range(size + 1)])

    def enter(self, column: Column) -> None:
        """One step: ``column`` takes the place of the one that reaches zero first, ties broken lexicographically."""
        direction = [sum((entry * value for entry, value in zip(column.entries, row, strict=True) if entry), ZERO) for row in self.inverse]
        leaving = min(
            (row for row, rate in enumerate(direction) if rate > 0),
            key=lambda row: [self.inverse[row][place] / direction[row] for place in (-1, *range(len(direction) - 1))],
        )
        rate = direction[leaving]
        pivot = [value / rate for value in self.inverse[leaving]]
        for row, amount in enumerate(direction):
            if row != leaving and amount:
                self.inverse[row] = [value - amount * other if other else value for value, other in zip(self.inverse[row], pivot, strict=True)]
        self.inverse[leaving], self.basis[leaving] = pivot, column

    def acceptance(self) -> dict[Paths, dict[Prefix, Rational]]:
        """The mixture of the basis: the weight of a column is the last entry of its row of the inverse."""
        mixed: dict[Paths, dict[Prefix, Rational]] = {paths: {} for paths in self.problem.trees}
        for column, row in zip(self.basis, self.inverse, strict=True):
            if column.choice is not None and row[-1]:
                for paths, path in column.choice.items():
                    mixed[paths][path] = mixed[paths].get(path, ZERO) + row[-1]
        return mixed


def choices_of(alpha: Mapping[Paths, Mapping[Prefix, float]], least: float = 1e-9) -> list[Choice]:
    """The choices that a floating-point acceptance mixes: each tree's nodes laid out on [0, 1) in one order, cut wherever a node begins."""
    cuts, ends = {0.0}, dict[Paths, list[tuple[float, Prefix]]]()
    for paths, masses in alpha.items():
        total, listed = 0.0, list[tuple[float, Prefix]]()
        for path, mass in sorted(masses.items()):
            if mass > least:
                total += mass
                listed.append((total, path))
        ends[paths] = listed
        cuts.update(end for end, _ in listed[:-1])
    return [{paths: next((path for end, path in listed if end > cut), listed[-1][1]) for paths, listed in ends.items()} for cut in sorted(cuts)]
