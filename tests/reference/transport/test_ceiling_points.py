"""Every feasible point of the ceiling program is a lossless verifier (``lp_attained_law``, ``lp_attained_exact``): it is built, and judged."""

from collections import defaultdict
from collections.abc import Mapping

import pytest

from draftproof.reference.blocks import Block
from draftproof.reference.growth import expected_length, violations
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import Prefix
from draftproof.reference.rational import Rational, rational
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.tree import Acceptance, Problem, problem_of, reached

from .instances import SCHEMES, instance


def verifier(problem: Problem, acceptance: Acceptance) -> Mapping[Block, Rational]:
    """Accept v of the drawn tree with probability alpha_T(v), then draw the bonus from f(v) p(a|v) - f(va), normalised."""
    f = reached(problem, acceptance)
    owed = {v: {a: f[v] * weight - f.get((*v, a), ZERO) for a, weight in problem.target(v).items()} for v in problem.nodes}
    blocks: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)
    for tree, probability in problem.trees.items():
        for v, mass in acceptance[tree].items():
            total = sum(owed[v].values(), ZERO)
            for a, weight in owed[v].items():
                blocks[(*v, a)] += probability * mass * weight / total if weight else ZERO
    return blocks


def points(problem: Problem) -> list[Acceptance]:
    """The optimum, the point that accepts nothing, and their middle."""
    best = ceiling_of(problem).acceptance
    nothing: Acceptance = {tree: {(): rational(1)} for tree in problem.trees}
    middle = {tree: mixed(best[tree], nothing[tree]) for tree in problem.trees}
    return [best, nothing, middle]


def mixed(one: Mapping[Prefix, Rational], other: Mapping[Prefix, Rational]) -> dict[Prefix, Rational]:
    return {v: (one.get(v, ZERO) + other.get(v, ZERO)) / 2 for v in {*one, *other}}


@pytest.mark.parametrize("scheme", [*SCHEMES, "chain"])
def test_every_feasible_point_is_a_lossless_verifier(scheme: str) -> None:
    for seed in range(3):
        given = instance(seed, scheme, 3, *([1, 1, 1] if scheme == "chain" else [2, 2]), zeros=0.3 * (seed % 2))
        problem = problem_of(given.target, given.topology, given.scheme)
        for acceptance in points(problem):
            blocks = verifier(problem, acceptance)
            assert min(blocks.values()) >= 0 and sum(blocks.values(), ZERO) == 1
            law = Law(blocks)
            assert next(iter(violations(law, given.target)), None) is None
            assert expected_length(law) == sum(reached(problem, acceptance).values(), ZERO)


def test_a_point_outside_is_no_lossless_verifier() -> None:
    """The deepest node of every tree accepted always: more is passed on than the target gives."""
    given = instance(1, "without_replacement", 3, 2, 2)
    problem = problem_of(given.target, given.topology, given.scheme)
    blocks = verifier(problem, {tree: {max(tree, key=len): rational(1)} for tree in problem.trees})
    assert sum(blocks.values(), ZERO) == 1 and next(iter(violations(Law(blocks), given.target)), None) is not None
