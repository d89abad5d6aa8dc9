"""Exit law, coverage, residuals and the ceiling of E[L]."""

from fractions import Fraction

import pytest

from draftproof.reference.blocks import block_law_on_tree, tree_law
from draftproof.reference.exits import coverage, exit_law, length_bound, reach, residual
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import table
from draftproof.reference.rational import fraction, rational
from draftproof.reference.trees import DraftNode, Node, level_order, merged
from draftproof.reference.verifiers import family

from . import brute
from .instances import SCHEMES, Case, random_cases, rows

WORKED = table({(): Law.row(["7/10", "3/10"]), (0,): Law.row(["3/5", "2/5"]), (0, 0): Law.row(["1/4", "3/4"]), (1,): Law.row(["1/2", "1/2"])})
WORKED_TREE = Node((), None, (Node((0,), None, (Node((0, 0)),)), Node((1,))))


def fixed_trees(count: int) -> list[tuple[Case, Node]]:
    """Trees with distinct siblings: fixed ones, and with-replacement draws with their twins merged."""
    fixed = [(case, tree) for case in random_cases("fixed", count) for tree in tree_law(case.topology, case.scheme)]
    drawn = [(case, merged(next(iter(tree_law(case.topology, case.scheme))))) for case in random_cases("with_replacement", count // 4, 27)]
    return fixed + drawn


def children(node: DraftNode) -> list[DraftNode]:
    return list(node.children())


def test_worked_example() -> None:
    weights = {node.path: str(weight) for node, weight in exit_law(WORKED, WORKED_TREE).items()}
    assert weights == {(0,): "7/25", (1,): "3/10", (0, 0): "21/50"}  # the root's children cover its row: exit probability 0
    assert coverage(WORKED, WORKED_TREE) == rational("71/50")
    joint = {block: str(probability) for block, probability in block_law_on_tree(family("tev"), WORKED, WORKED_TREE).items()}
    assert joint == {(0, 1): "7/25", (1, 0): "3/20", (1, 1): "3/20", (0, 0, 0): "21/200", (0, 0, 1): "63/200"}
    assert expected_length(block_law_on_tree(family("tev"), WORKED, WORKED_TREE)) == rational("121/50")


def test_flow_identities() -> None:
    """Lemma 3 of the exit law's mathematics, (a) to (d), and what a missing child would add."""
    for case, tree in fixed_trees(60):
        path, weight = reach(case.target, tree), exit_law(case.target, tree)
        assert list(path) == level_order(tree)
        for node in level_order(tree):
            assert weight[node] + sum((path[child] for child in children(node)), ZERO) == path[node]
            subtree = [below for below in path if below.path[: len(node.path)] == node.path]
            assert weight.mass(subtree) == path[node]
            assert fraction(path[node]) == brute.probability(rows(case.target), node.path)
            left = residual(case.target, node)
            for token, p in case.target(node.path).items():
                inside = any(child.token == token for child in children(node))
                assert (left is not None and left[token] * weight[node] == path[node] * p) or inside or not path[node]
        assert coverage(case.target, tree) == weight.expectation(lambda node: len(node.path))


def test_residual_is_off_the_children() -> None:
    assert residual(WORKED, WORKED_TREE) is None
    assert residual(WORKED, WORKED_TREE.below[0]) == Law.point(1)
    assert residual(WORKED, WORKED_TREE.below[1]) == WORKED((1,))


def test_twins_are_refused() -> None:
    tree = Node((), None, (Node((0,)), Node((0,))))
    for function in (reach, coverage, exit_law):
        with pytest.raises(ValueError, match=r"two siblings carry token 0 below \(\); merge them first"):
            function(WORKED, tree)
    assert coverage(WORKED, merged(tree)) == rational("7/10")


def test_bound_of_one_tree_is_its_coverage() -> None:
    for case, tree in fixed_trees(60):
        assert length_bound(case.target, Law.point(tree)) == 1 + coverage(case.target, tree)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bound_from_the_definition(scheme: str) -> None:
    """fbar(va) = min(Pr(va in T), fbar(v) p(a|v)), over all strings."""
    for case in random_cases(scheme, 15, 27):
        trees = tree_law(case.topology, case.scheme)
        p = rows(case.target)
        strings = {node.path for tree in trees for node in level_order(tree)}

        def reached(s: brute.Path, trees: Law[Node] = trees, p: brute.Rows = p) -> Fraction:
            if not s:
                return Fraction(1)
            present = sum(fraction(weight) for tree, weight in trees.items() if any(node.path == s for node in level_order(tree)))
            return min(present, reached(s[:-1]) * p(s[:-1]).get(s[-1], 0))

        assert fraction(length_bound(case.target, trees)) == sum(map(reached, strings))
