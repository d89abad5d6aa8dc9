"""The whole-tree ceiling: proved on both sides, exactly, and where it has to be."""

from fractions import Fraction

import pytest

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.exits import length_bound
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.rational import fraction, rational
from draftproof.reference.transport import recovery
from draftproof.reference.transport.candidates import set_law
from draftproof.reference.transport.certificate import check
from draftproof.reference.transport.elimination import Equation, solve_near
from draftproof.reference.transport.node import optimum
from draftproof.reference.transport.record import whole_tree
from draftproof.reference.transport.recovery import bound_of, ceiling_of, exact_acceptance, rounded_acceptance, rounded_multipliers
from draftproof.reference.transport.tree import Problem, TooManyTrees, problem_of, proved, reached, solve, tree_sets
from draftproof.reference.trees import level_order, merged
from draftproof.reference.verifiers import FAMILIES, Family, family

from .instances import SCHEMES, Instance, instance


def problem(given: Instance) -> Problem:
    return problem_of(given.target, given.topology, given.scheme)


def length(rule: Family, given: Instance) -> Fraction:
    return fraction(expected_length(block_law(rule, given.target, given.topology, given.scheme)))


def is_feasible(asked: Problem, accepted: recovery.Acceptance) -> bool:
    masses = reached(asked, accepted)
    return all(sum(law.values(), ZERO) == 1 and min(law.values()) >= 0 for law in accepted.values()) and all(
        masses[edge] <= masses[edge[:-1]] * asked.p(edge) for edge in asked.edges
    )


@pytest.mark.parametrize("zeros", [0, 0.3])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_vocabulary_four_two_siblings_two_levels(scheme: str, zeros: float) -> None:
    """Zero gap, certificate accepted, no verifier above, every scheme."""
    given = instance(3, scheme, 4, 2, 2, zeros=zeros)
    found = ceiling_of(problem(given))
    assert found.gap == 0
    assert f"above {found.ceiling}, and one has at least {found.reached}" in check(whole_tree(given, found))
    for rule in FAMILIES.values():
        if rule.admits(given) and (rule.reads_declared or len(problem(given).trees) < 100):
            assert length(rule, given) <= fraction(found.ceiling), rule.name


@pytest.mark.parametrize("scheme", [*SCHEMES, "chain"])
def test_every_verifier_is_below_and_the_known_bounds_are_kept(scheme: str) -> None:
    """1 + mean coverage <= every lossless rule's best <= the node bound; the gap is zero on small instances."""
    for seed in range(10):
        children = (1, 1, 1) if scheme == "chain" else [(2, 2), (2, 1), (1, 2), (3,), (2, 1, 1)][seed % 5]
        given = instance(seed, scheme, 3 if scheme == "with_replacement" else 2 + seed % 3, *children, zeros=0.3 * (seed % 2))
        found = ceiling_of(problem(given))
        assert found.gap == 0 and bound_of(problem(given)) == found.ceiling
        assert found.ceiling <= length_bound(given.target, tree_law(given.topology, given.scheme).map(merged))
        best = max(length(rule, given) for rule in FAMILIES.values() if rule.admits(given))
        assert length(family("tree_exit"), given) <= best <= fraction(found.ceiling)


def test_block_verification_is_the_ceiling_of_a_chain() -> None:
    for seed in range(12):
        given = instance(seed, "chain", 2 + seed % 2, 1, 1, *([1] if seed % 3 else []), zeros=0.3 * (seed % 2))
        laws = {name: block_law(family(name), given.target, given.topology, given.scheme) for name in ("traversal", "univer", "univer_transport")}
        assert {expected_length(law) for law in laws.values()} == {ceiling_of(problem(given)).ceiling}
        assert laws["traversal"] == laws["univer"]


def test_one_level_is_the_single_node_optimum() -> None:
    for seed in range(12):
        for scheme in SCHEMES:
            given = instance(seed, scheme, 4, 2 + seed % 2, zeros=0.3 * (seed % 2))
            draws = set_law(lambda elders, given=given: given.scheme(given.topology, (), elders))
            assert ceiling_of(problem(given)).ceiling == 1 + optimum(given.target(()), draws).value


def test_fixed_trees_have_one_plus_coverage() -> None:
    for seed in range(12):
        given = instance(seed, "top_k", 4, 2, 2, zeros=0.3 * (seed % 2))
        assert fraction(ceiling_of(problem(given)).ceiling) == length(family("predraw_follow"), given)


def test_trees_are_those_that_are_drawn() -> None:
    """Same-token siblings joined; their probabilities add up."""
    for scheme in SCHEMES:
        given = instance(1, scheme, 3, 2, 2)
        wanted = tree_law(given.topology, given.scheme).map(lambda tree: frozenset(node.path for node in level_order(merged(tree))))
        assert tree_sets(given.topology, given.scheme) == wanted


def test_too_many_trees_are_refused() -> None:
    given = instance(1, "without_replacement", 4, 2, 2)
    assert len(tree_sets(given.topology, given.scheme, limit=216)) == 216
    with pytest.raises(TooManyTrees, match="more than the 215 draft trees"):
        tree_sets(given.topology, given.scheme, limit=215)


def test_any_multipliers_prove_a_bound() -> None:
    """Weak duality: no multipliers at all, and thrice the best ones."""
    for scheme in SCHEMES:
        given = instance(2, scheme, 3, 2, 2)
        asked = problem(given)
        found = ceiling_of(asked)
        for factor in (0, 3):
            assert proved(asked, {edge: factor * value for edge, value in found.multipliers.items()}) >= found.ceiling
    assert proved(asked, dict.fromkeys(asked.edges, ZERO)) == 3  # then no growth inequality counts: every block has all the tree's depth


def test_answers_of_a_solver_are_repaired() -> None:
    """Without the basis, and with a solver that is off by a thousandth: still exact on both sides, only the gap is what it was off by."""
    for seed in range(6):
        given = instance(seed, "without_replacement", 3, 2, 2)
        asked = problem(given)
        best = ceiling_of(asked).ceiling
        multipliers, alpha = solve(asked)
        below = rounded_acceptance(asked, alpha, rounded_multipliers(multipliers))
        assert is_feasible(asked, below)
        assert 0 <= proved(asked, rounded_multipliers(multipliers)) - best < rational("1e-9")
        assert 0 <= best - sum(reached(asked, below).values(), ZERO) < rational("1e-9")
        crude = {edge: value + (1e-3 if number % 2 else -1e-3) for number, (edge, value) in enumerate(multipliers.items())}
        noisy = {paths: {path: mass + 1e-3 * number for number, (path, mass) in enumerate(law.items())} for paths, law in alpha.items()}
        below = rounded_acceptance(asked, noisy, rounded_multipliers(multipliers))
        assert is_feasible(asked, below)
        assert sum(reached(asked, below).values(), ZERO) <= best <= proved(asked, rounded_multipliers(crude))
        assert proved(asked, rounded_multipliers(crude)) - sum(reached(asked, below).values(), ZERO) < rational("1/10")


def test_exact_acceptance_is_feasible_or_none() -> None:
    for seed in range(8):
        given = instance(seed, "greedy", 4, 2, 2)
        asked = problem(given)
        multipliers, alpha = solve(asked)
        wrong = {paths: {path: 1.0 / len(law) for path in law} for paths, law in alpha.items()}
        for guess in (alpha, wrong):
            found = exact_acceptance(asked, guess, ceiling_of(asked).multipliers, 1e-9)
            assert found is None or is_feasible(asked, found)


def test_trees_of_tiny_probability() -> None:
    """Below a solver's notice, but not below an exact proof's: the gap is zero all the same."""
    given = instance(1, "without_replacement", 3, 2, 2)
    weights = [[10**9, 1, 10**9], [1, 10**8, 7], [1, 1, 10**9]]

    def scheme(slot: object, prefix: tuple[int, ...], elders: tuple[int, ...]) -> Law[int] | None:
        return Law.row(weights[(sum(prefix) + len(prefix)) % 3]).without(elders) if len(elders) < 2 else None

    asked = problem_of(given.target, given.topology, scheme)
    assert min(probability for _, probability in asked.trees.items()) < rational("1e-16")
    assert ceiling_of(asked).gap == 0


def test_elimination() -> None:
    half, one = rational("1/2"), rational(1)
    equations: list[Equation[str]] = [({"x": one, "y": one}, one), ({"x": one, "y": -one}, half), ({"x": 2 * one, "z": one}, 3 * one)]
    guess = {"x": 0.7, "y": 0.2, "z": 1.4, "free": 0.1}
    found = solve_near(equations, guess)
    assert found is not None and (found["x"], found["y"], found["z"]) == (rational("3/4"), rational("1/4"), rational("3/2"))
    assert abs(fraction(found["free"]) - Fraction(1, 10)) < Fraction(1, 1 << 40)
    assert solve_near([*equations, ({"x": one}, one)], guess) is None, "a contradiction"
    assert solve_near([*equations, ({"x": 2 * one, "y": 2 * one}, 2 * one)], guess) == found, "a repetition"
    loose = solve_near([({"x": one, "y": 3 * one}, one)], {"x": 0.25, "y": 0.25})
    assert loose is not None and loose["x"] + 3 * loose["y"] == 1 and loose["x"] == rational("1/4")


def test_a_solver_that_fails_says_so() -> None:
    from draftproof.reference.transport.tree import SolverFailed

    class Fails(Problem):
        """Growth inequalities that cannot be met: a negative step."""

        def p(self, path: tuple[int, ...]) -> object:  # type: ignore[override]
            return rational(-1)

    given = instance(1, "top_k", 3, 2)
    asked = problem(given)
    with pytest.raises(SolverFailed, match="HIGHS found no solution: infeasible"):
        solve(Fails(asked.target, asked.trees, asked.edges))
