"""Ceilings with proofs in exact rationals, from a solver's floating-point answer.

The solver stops at a vertex: some multipliers are zero and some nodes of a tree are worth the same; some growth inequalities are equalities and
most of alpha is zero.  Those equations are read off its answer and solved exactly.  Where that fails the answer itself is made exact and feasible,
which costs a gap of about the solver's accuracy: multipliers are raised to zero, acceptance is moved up the tree where there is too much of it.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ..laws import ONE, ZERO, Law
from ..models import Prefix
from ..rational import Rational, fraction, rational
from .elimination import Equation, solve_near
from .tree import Acceptance, Paths, Problem, proved, reached, solve, worth_of

NEAR = (1e-7, 1e-9, 1e-11)
"""Numbers of a solver that are nearer than this are taken to be equal: tried in turn."""


@dataclass(frozen=True)
class Ceiling:
    """``ceiling`` is proved by ``multipliers`` (lambda), ``reached`` by ``acceptance`` (alpha): the optimum lies between them, exactly."""

    ceiling: Rational
    reached: Rational
    multipliers: Mapping[Prefix, Rational]
    acceptance: Acceptance

    @property
    def gap(self) -> Rational:
        """What is not known about the optimum; 0 where the basis was recovered."""
        return self.ceiling - self.reached


def ceiling_of(problem: Problem, solver: str = "HIGHS") -> Ceiling:
    """The ceiling with both its proofs.  Raises tree.SolverFailed."""
    guess, alpha = solve(problem, solver)
    multipliers = _best_multipliers(problem, guess)
    offers = [exact_acceptance(problem, alpha, multipliers, near) for near in NEAR] + [rounded_acceptance(problem, alpha, multipliers)]
    acceptance = max((offer for offer in offers if offer is not None), key=lambda offer: sum(reached(problem, offer).values(), ZERO))
    return Ceiling(proved(problem, multipliers), sum(reached(problem, acceptance).values(), ZERO), multipliers, acceptance)


def bound_of(problem: Problem, solver: str = "HIGHS") -> Rational:
    """The proved, upper side alone.  Raises tree.SolverFailed."""
    return proved(problem, _best_multipliers(problem, solve(problem, solver)[0]))


def _best_multipliers(problem: Problem, guess: Mapping[Prefix, float]) -> dict[Prefix, Rational]:
    found = [rounded_multipliers(guess), *(exact_multipliers(problem, guess, near) for near in NEAR)]
    return min(found, key=lambda multipliers: proved(problem, multipliers))


def rounded_multipliers(guess: Mapping[Prefix, float]) -> dict[Prefix, Rational]:
    """The solver's multipliers as they are, negative ones raised to zero: always a proof of something."""
    return {path: max(rational(value), ZERO) for path, value in guess.items()}


def exact_multipliers(problem: Problem, guess: Mapping[Prefix, float], near: float) -> dict[Prefix, Rational]:
    """Multipliers that meet exactly the equations which ``guess`` meets nearly: some are zero, some nodes of a tree are worth the same."""
    worth = {path: float(fraction(value)) for path, value in worth_of(problem, rounded_multipliers(guess)).items()}
    equations: list[Equation[Prefix]] = [({path: ONE}, ZERO) for path, value in guess.items() if value < near]
    ties = set[tuple[Prefix, Prefix]]()
    for paths in problem.trees:
        most = max(worth[path] for path in paths)
        first, *others = sorted(path for path in paths if worth[path] > most - near)
        ties.update((first, other) for other in others)
    children = problem.children
    for first, other in sorted(ties):
        difference: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO)
        constant = ZERO
        for path, sign in ((first, 1), (other, -1)):
            for depth in range(len(path) + 1):
                constant -= sign
                if depth:
                    difference[path[:depth]] -= sign
                for child in children[path[:depth]]:
                    difference[child] += sign * problem.p(child)
        equations.append((difference, constant))
    found = solve_near(equations, guess)
    return rounded_multipliers(guess) if found is None or min(found.values(), default=ZERO) < 0 else found


def exact_acceptance(
    problem: Problem, alpha: Mapping[Paths, Mapping[Prefix, float]], multipliers: Mapping[Prefix, Rational], near: float
) -> dict[Paths, dict[Prefix, Rational]] | None:
    """An exact alpha that meets the growth inequalities the guess nearly meets with equality; None if it fails.

    Its support is that of the guess, as far as it is worth most under ``multipliers`` (trees of tiny probability mean nothing to the solver).
    """
    support = supports(problem, alpha, multipliers, ZERO, near)
    shared = {paths: chosen for paths, chosen in support.items() if len(chosen) > 1}
    guess = {(paths, path): alpha[paths][path] for paths, chosen in shared.items() for path in chosen}
    equations: list[Equation[tuple[Paths, Prefix]]] = [({(paths, path): ONE for path in chosen}, ONE) for paths, chosen in shared.items()]
    sole = {paths: {chosen[0]: ONE} if len(chosen) == 1 else {} for paths, chosen in support.items()}
    base = reached(problem, sole)
    about = {path: float(fraction(value)) for path, value in base.items()}
    for (paths, path), mass in guess.items():
        for depth in range(len(path) + 1):
            about[path[:depth]] += float(fraction(problem.trees[paths])) * mass
    for edge in problem.edges:
        step = problem.p(edge)
        if about[edge] < about[edge[:-1]] * float(fraction(step)) - near:
            continue
        row = dict[tuple[Paths, Prefix], Rational]()
        for paths, path in guess:
            factor = (ONE if path[: len(edge)] == edge else ZERO) - (step if path[: len(edge) - 1] == edge[:-1] else ZERO)
            row[paths, path] = factor * problem.trees[paths]
        equations.append((row, base[edge[:-1]] * step - base[edge]))
    found = solve_near(equations, guess)
    if found is None or min(found.values(), default=ZERO) < 0:
        return None
    exact = {paths: sole[paths] or {path: found[paths, path] for path in support[paths]} for paths in alpha}
    accepted = reached(problem, exact)
    return exact if all(accepted[edge] <= accepted[edge[:-1]] * problem.p(edge) for edge in problem.edges) else None


def supports(
    problem: Problem, alpha: Mapping[Paths, Mapping[Prefix, float]], multipliers: Mapping[Prefix, Rational], slack: Rational, near: float
) -> dict[Paths, list[Prefix]]:
    """Where the guess accepts, as far as that is worth most up to ``slack``; never empty."""
    worth, support = worth_of(problem, multipliers), dict[Paths, list[Prefix]]()
    for paths, masses in alpha.items():
        most = max(worth[path] for path in paths)
        best = [path for path in sorted(paths) if worth[path] + slack >= most]
        support[paths] = [path for path in best if masses[path] > near] or best[:1]
    return support


def rounded_acceptance(
    problem: Problem, alpha: Mapping[Paths, Mapping[Prefix, float]], multipliers: Mapping[Prefix, Rational]
) -> dict[Paths, dict[Prefix, Rational]]:
    """The guess made exact and feasible: laws are normalised, then acceptance is moved up to the parent where a node has too much of it.

    If ua is kept with probability min(1, f(u) p(a|u) / f(ua)) and its acceptance otherwise goes to u, all the way along a path, then the new f
    satisfies every growth inequality.
    """
    chosen = supports(problem, alpha, multipliers, rational(NEAR[0]), NEAR[0])
    laws = {paths: Law({path: max(alpha[paths][path], NEAR[0]) for path in support}) for paths, support in chosen.items()}
    accepted = reached(problem, {paths: dict(law.items()) for paths, law in laws.items()})
    kept = {edge: min(ONE, accepted[edge[:-1]] * problem.p(edge) / accepted[edge]) if accepted[edge] else ONE for edge in problem.edges}
    moved: dict[Paths, dict[Prefix, Rational]] = {}
    for paths, law in laws.items():
        masses: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO)
        for path, mass in law.items():
            for depth in range(1, len(path) + 1):
                masses[path[: depth - 1]] += mass * (1 - kept[path[:depth]])
                mass *= kept[path[:depth]]
            masses[path] += mass
        moved[paths] = {path: mass for path, mass in masses.items() if mass}
    return moved
