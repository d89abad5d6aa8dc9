"""Draft trees: slots, lazily drawn nodes, populated trees."""

from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest

from draftproof.reference.blocks import tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafting import top_k, with_replacement, without_replacement
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, random_model
from draftproof.reference.rational import Rational, fraction
from draftproof.reference.trees import DraftNode, LazyNode, Node, Scheme, Slot, Tokens, level_order, merged, one_hot, populate, uniform_topology

from . import brute
from .instances import SCHEMES, random_cases, rows


def frozen(node: LazyNode) -> Node:
    return Node(node.path, node.declared, tuple(frozen(child) for child in list(node.children())))


def nested(node: Node) -> brute.Tree:
    return [(child.token, {x: fraction(w) for x, w in child.declared.items()}, nested(child)) for child in node.below if child.declared]


def test_uniform_topologies() -> None:
    assert uniform_topology(()) == ()
    assert uniform_topology((1, 1)) == (((),),)
    assert uniform_topology((2, 1)) == (((),), ((),))


@pytest.mark.parametrize("scheme", ["chain", "with_replacement", "without_replacement"])
def test_trees_have_their_law(scheme: str) -> None:
    """Every tree with its probability and its declared laws, against plain loops."""
    for case in random_cases(scheme, 12, 27):
        q = rows(case.draft)

        def declare(prefix: Prefix, elders: Tokens, q: brute.Rows = q) -> brute.Row:
            if scheme == "without_replacement":
                return brute.normalised({x: w for x, w in q(prefix).items() if x not in elders})
            return q(prefix)

        expected: defaultdict[str, Fraction] = defaultdict(Fraction)
        for probability, tree in brute.trees(case.topology, declare):
            expected[spelled(tree)] += probability
        found = {spelled(nested(tree)): fraction(p) for tree, p in tree_law(case.topology, case.scheme).items()}
        assert found == expected


def spelled(tree: brute.Tree) -> str:
    return repr([(x, sorted(r.items()), spelled(below)) for x, r, below in tree])


class Watched(Chance):
    """Draws the most probable token and counts the draws."""

    draws = 0

    def flip(self, probability: Rational, at: Any = None) -> bool:
        raise AssertionError("a tree flips no coins")

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        self.draws += 1
        return max(law, key=lambda token: law[token])


def test_a_token_is_drawn_when_it_is_first_looked_at() -> None:
    chance = Watched()
    root = LazyNode(uniform_topology((3, 2)), (), without_replacement(random_model(0, 4)), chance)
    children = root.children()
    assert chance.draws == 0
    first = next(children)
    assert chance.draws == 1
    assert next(root.children()) is first  # a second look sees the same child
    assert [child.path for child in root.children()][0] == first.path and chance.draws == 3
    assert next(children) is list(root.children())[1]
    assert list(first.children())[1].path[0] == first.token and chance.draws == 5
    assert list(root.redrawn(chance).children())[0] is not first and chance.draws == 8


def test_lazy_nodes_are_equal_where_what_is_below_has_the_same_law() -> None:
    chance = Watched()
    root = LazyNode(((), ((),), ()), (), with_replacement(random_model(0, 2)), chance)
    leaf, inner, other = root.children()
    assert leaf == other and hash(leaf) == hash(other) and leaf is not other
    assert leaf != inner and leaf != leaf.path


def test_lazy_and_up_front_give_the_same_trees() -> None:
    for scheme in SCHEMES:
        for case in random_cases(scheme, 6, 27):
            lazily = law_of(lambda chance, case=case: frozen(LazyNode(case.topology, (), case.scheme, chance)))
            assert lazily == tree_law(case.topology, case.scheme)


def test_lazily_joined_twins_are_merged_trees() -> None:
    for case in random_cases("with_replacement", 60):
        topology, scheme = case.topology, case.scheme

        def joined(chance: Chance, topology: Slot = topology, scheme: Scheme = scheme) -> Node:
            return frozen(LazyNode(topology, (), scheme, chance, distinct=True))

        up_front = tree_law(topology, scheme)
        assert law_of(joined) == up_front.map(merged)
        for tree in up_front:
            strings = [node.path for node in level_order(merged(tree))]
            assert len(strings) == len(set(strings)) and set(strings) == {node.path for node in level_order(tree)}


def test_twins_join_what_is_below_them() -> None:
    p = Law.row([1, 1])
    deep = Node((0,), p, (Node((0, 1), p),))
    twin = Node((0,), p, (Node((0, 0), p), Node((0, 1), p, (Node((0, 1, 0), p),))))
    one = Node((1,), p)
    assert merged(Node((), None, (deep, one, twin))) == Node(
        (), None, (Node((0,), p, (Node((0, 1), p, (Node((0, 1, 0), p),)), Node((0, 0), p))), one)
    )


def test_no_siblings_beyond_the_support() -> None:
    draft = random_model(3, 2)
    assert {len(tree.below) for tree in tree_law(uniform_topology((4,)), without_replacement(draft))} == {2}
    tree = populate(((), ((),), ((),)), top_k(draft), Watched())
    assert [len(child.below) for child in tree.below] == [0, 1]  # the third slot is dropped with all that is below it


def test_level_order_and_one_hot() -> None:
    case = next(random_cases("without_replacement", 1, start=3))
    for tree in tree_law(case.topology, case.scheme):
        nodes: list[DraftNode] = level_order(tree)
        assert [len(node.path) for node in nodes] == sorted(len(node.path) for node in nodes)
        for rank, node in enumerate(nodes[1:], 1):
            assert any(node in list(parent.children()) for parent in nodes[:rank])
        assert all(node.declared == Law.point(node.token) for node in level_order(one_hot(tree))[1:])
        assert [node.path for node in level_order(one_hot(tree))] == [node.path for node in nodes]
