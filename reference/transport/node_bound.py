"""The ceiling of fixed trees and sampled chains in closed form: there the node bound is reached, and it is a proof.

With kappa(u) = Pr(u is drafted) every lossless verifier has f(ua) <= min(kappa(ua), f(u) p(a|u)), from f(root) = 1 down.  The sum of these bounds is
reached on a fixed tree (by leaving it where the target does) and on a sampled chain (by block verification, arXiv 2403.10444).  Multipliers that
prove it: lambda(ua) = G(ua) where f(u) p(a|u) is the smaller, else 0, with G(u) = 1 + sum_a lambda(ua) p(a|u) from the leaves up.

One pass, where the simplex method needs minutes for eight drafts of two tokens; what comes out is evaluated like any other pair of solutions.
"""

from collections.abc import Mapping

from ..laws import ONE, ZERO
from ..models import Prefix
from ..rational import Rational
from .tree import Acceptance, Paths, Problem


def closed_form(problem: Problem) -> tuple[dict[Prefix, Rational], Acceptance] | None:
    """Multipliers and acceptance of a fixed tree, or where every draft tree is a single path; None elsewhere."""
    fixed = len(problem.trees) == 1
    if not fixed and any(len(paths) != len(max(paths, key=len)) + 1 for paths in problem.trees):
        return None
    drafted = dict.fromkeys(problem.nodes, ZERO)
    for paths, probability in problem.trees.items():
        for path in paths:
            drafted[path] += probability
    most: dict[Prefix, Rational] = {(): ONE}
    passed = set[Prefix]()
    for path in problem.edges:
        owed = most[path[:-1]] * problem.p(path)
        most[path] = min(drafted[path], owed)
        if owed <= drafted[path]:
            passed.add(path)
    worth, below = dict.fromkeys(problem.nodes, ONE), dict.fromkeys(problem.nodes, ZERO)
    for path in reversed(problem.edges):
        below[path[:-1]] += most[path]
        if path in passed:
            worth[path[:-1]] += problem.p(path) * worth[path]
    multipliers = {path: worth[path] if path in passed else ZERO for path in problem.edges}
    ends = {path: most[path] - below[path] for path in problem.nodes}
    if fixed:
        return multipliers, {paths: {path: ends[path] for path in paths if ends[path]} for paths in problem.trees}
    stays = {path: end / (drafted[path] - below[path]) if end else ZERO for path, end in ends.items()}
    return multipliers, {paths: _deepest(paths, stays) for paths in problem.trees}


def _deepest(paths: Paths, stays: Mapping[Prefix, Rational]) -> dict[Prefix, Rational]:
    """The deepest node that stays, each asked once the deeper ones did not."""
    left, masses = ONE, dict[Prefix, Rational]()
    for path in sorted(paths, key=len, reverse=True):
        masses[path] = left * (stays[path] if path else ONE)
        left -= masses[path]
    return {path: mass for path, mass in masses.items() if mass}
