"""The whole-tree ceiling: proved on both sides, exactly, and where it has to be."""

from fractions import Fraction

import pytest

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.exits import length_bound
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.rational import Rational, fraction, rational
from draftproof.reference.transport import exact_simplex
from draftproof.reference.transport.candidates import set_law
from draftproof.reference.transport.certificate import Rejected, check
from draftproof.reference.transport.exact_simplex import Ceiling, ceiling_of, choices_of, solve_exactly
from draftproof.reference.transport.node import optimum
from draftproof.reference.transport.record import whole_tree
from draftproof.reference.transport.tree import Acceptance, Problem, SolverFailed, TooManyTrees, problem_of, proved, reached, solve, tree_sets
from draftproof.reference.trees import level_order, merged
from draftproof.reference.verifiers import FAMILIES, Family, family

from .instances import SCHEMES, Instance, instance


def problem(given: Instance) -> Problem:
    return problem_of(given.target, given.topology, given.scheme)


def length(rule: Family, given: Instance) -> Fraction:
    return fraction(expected_length(block_law(rule, given.target, given.topology, given.scheme)))


def is_feasible(asked: Problem, accepted: Acceptance) -> bool:
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
    """1 + mean coverage <= recursive rejection <= the ceiling <= the node bound; the gap is zero on small instances."""
    for seed in range(5):
        children = (1, 1, 1) if scheme == "chain" else [(2, 2), (2, 1), (1, 2), (3,), (2, 1, 1)][seed % 5]
        given = instance(seed, scheme, 3 if scheme == "with_replacement" else 2 + seed % 3, *children, zeros=0.3 * (seed % 2))
        found = ceiling_of(problem(given))
        assert found.gap == 0
        assert found.ceiling <= length_bound(given.target, tree_law(given.topology, given.scheme).map(merged))
        lengths = {rule.name: length(rule, given) for rule in FAMILIES.values() if rule.admits(given) and rule.name != "tree_exit"}
        assert lengths["predraw_follow"] <= lengths["recursive_rejection"] and max(lengths.values()) <= fraction(found.ceiling)


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


def test_linear_program_agrees() -> None:
    for scheme in SCHEMES:
        asked = problem(instance(4, scheme, 3, 2, 2))
        alpha = solve(asked)
        masses = {paths: {path: rational(max(mass, 0.0)) for path, mass in law.items()} for paths, law in alpha.items()}
        assert abs(sum(reached(asked, masses).values(), ZERO) - ceiling_of(asked).ceiling) < rational("1e-6")


@pytest.mark.parametrize("scheme", ["with_replacement", "without_replacement", "greedy"])
def test_the_start_does_not_matter(scheme: str) -> None:
    """Without a solver, from its answer, from nonsense: the same ceiling, gap zero, both proofs good."""
    for seed in range(3):
        given = instance(seed, scheme, 3, 2, 2, zeros=0.3 * (seed % 2))
        asked = problem(given)
        nonsense = {paths: {path: 1.0 / number for number, path in enumerate(sorted(paths), 1)} for paths in asked.trees}
        found = [solve_exactly(asked, start) for start in ((), choices_of(solve(asked)), choices_of(nonsense))]
        assert len({one.ceiling for one in found}) == 1
        for one in found:
            assert one.gap == 0 and is_feasible(asked, one.acceptance)
            assert proved(asked, one.multipliers) == one.ceiling == sum(reached(asked, one.acceptance).values(), ZERO)


def test_choices_are_the_mixture_they_come_from() -> None:
    """Laid out on [0, 1): first the nodes before any cut, then the rest."""
    one, two = frozenset([(), (0,)]), frozenset([(), (1,), (1, 1)])
    alpha = {one: {(): 0.25, (0,): 0.75}, two: {(): 0.25, (1,): 0.25, (1, 1): 0.5}}
    assert choices_of(alpha) == [{one: (), two: ()}, {one: (0,), two: (1,)}, {one: (0,), two: (1, 1)}]


def test_trees_of_tiny_probability() -> None:
    """Below a solver's notice, but not below an exact proof's: the gap is at most 1e-9 all the same."""
    given = instance(1, "without_replacement", 3, 2, 2)
    weights = [[10**9, 1, 10**9], [1, 10**8, 7], [1, 1, 10**9]]

    def scheme(slot: object, prefix: tuple[int, ...], elders: tuple[int, ...]) -> Law[int] | None:
        return Law.row(weights[(sum(prefix) + len(prefix)) % 3]).without(elders) if len(elders) < 2 else None

    asked = problem_of(given.target, given.topology, scheme)
    assert min(probability for _, probability in asked.trees.items()) < rational("1e-16")
    assert ceiling_of(asked).gap <= rational("1e-9")


def test_stopping_early_leaves_proofs_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little patience and a gap of a tenth allowed, what is stated is still exactly proved."""
    given = instance(2, "without_replacement", 3, 2, 2)
    asked, best = problem(given), ceiling_of(problem(given)).ceiling
    monkeypatch.setattr(exact_simplex, "CLOSE", rational("1/10"))
    found = solve_exactly(asked, patience=0)
    assert 0 < found.gap <= rational("1/10") and found.reached <= best <= found.ceiling
    assert check(whole_tree(given, found))


def shallowest(problem: Problem, multipliers: dict[tuple[int, ...], object]) -> dict[object, tuple[int, ...]]:
    return {paths: () for paths in problem.trees}


def test_columns_that_are_not_the_best_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """If pricing misses columns, the method stops too early: the gap says so, whatever it believes."""
    monkeypatch.setattr(exact_simplex, "best_choice", shallowest)
    given = instance(2, "without_replacement", 3, 2, 2)
    found = solve_exactly(problem(given))
    assert found.gap > 0
    with pytest.raises(Rejected, match="growth|gap|acceptance|multipliers"):
        check(whole_tree(given, Ceiling(found.reached, found.reached, found.multipliers, found.acceptance)))


def test_a_solver_that_fails_says_so() -> None:
    class Fails(Problem):
        """Growth inequalities that cannot be met: a negative step."""

        def p(self, path: tuple[int, ...]) -> Rational:
            return rational(-1)

    asked = problem(instance(1, "top_k", 3, 2))
    with pytest.raises(SolverFailed, match="HIGHS found no solution: infeasible"):
        solve(Fails(asked.target, asked.trees, asked.edges))
