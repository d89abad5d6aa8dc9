"""Predraw and follow."""


from draftproof.reference.blocks import block_law, block_law_on_tree, tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafting import fixed
from draftproof.reference.exits import coverage
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, marginal, random_model
from draftproof.reference.rational import fraction
from draftproof.reference.trees import DraftNode, Node, level_order, merged
from draftproof.reference.verifiers import Family, Stop, family, predraw_follow
from draftproof.reference.verifiers.descent import descend

from .. import brute
from ..instances import plain, random_cases, rows
from .battery import SMALL

RULE = family("predraw_follow")


def test_joint_law_on_a_fixed_tree() -> None:
    """P(v) p(a|v) for every node v and token a that leaves the tree, the one optimal law (exit law, theorem 2)."""
    for case in random_cases("fixed", 80, SMALL, start=100):
        (tree,) = tree_law(case.topology, case.scheme)
        p, inside = rows(case.target), {node.path for node in level_order(tree)}
        leaving = [(*path, token) for path in inside for token in p(path) if (*path, token) not in inside]
        joint = {block: brute.probability(p, block) for block in leaving if brute.probability(p, block)}
        law = case.law("predraw_follow")
        assert plain(law) == joint
        assert expected_length(law) == 1 + coverage(case.target, tree)


def test_mean_length_on_sampled_trees() -> None:
    """1 + E[coverage], twins merged."""
    for scheme in ("with_replacement", "without_replacement", "greedy"):
        for case in random_cases(scheme, 30, 27):
            trees = tree_law(case.topology, case.scheme)
            assert expected_length(case.law("predraw_follow")) == 1 + trees.map(merged).expectation(lambda tree, p=case.target: coverage(p, tree))


def test_lossless_on_every_tree_however_it_was_grown() -> None:
    """Here a sampled token decides what hangs below it and beside it; declared laws are never read."""
    for seed in range(30):
        target, draft = random_model(seed, 3), random_model(-1 - seed, 3)

        def build(chance: Chance, draft: Model = draft) -> Node:
            token = chance.draw(draft(()))
            if token == 0:
                return Node((), None, (Node((0,), None, (Node((0, chance.draw(draft((0,))))),)),))
            return Node((), None, (Node((1,)), Node((0,))) if token == 1 else ())

        for tree in law_of(build):
            assert total_variation(block_law_on_tree(RULE, target, tree), target) == 0


def test_one_deterministic_draft() -> None:
    """Case P6 of the fault catalogue: accepted with probability p of the draft."""
    target = marginal([Law.row([6, 3, 1])] * 2)
    law = block_law(RULE, target, *fixed([(0,)]))
    assert str(expected_length(law) - 1) == "3/5" and total_variation(law, target) == 0


def test_a_draw_that_is_reused_is_found() -> None:
    """Planted: the bonus token is drawn anew from the whole row when the draw is no child."""

    def redraw(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
        answer = predraw_follow(target, node, chance)
        return Stop(target(node.path)) if isinstance(answer, Stop) else answer

    target = marginal([Law.row([6, 3, 1])] * 2)
    law = block_law(Family("redraw", descend(redraw), redraw, reads_declared=False), target, *fixed([(0,)]))
    assert fraction(total_variation(law, target)) == fraction("0.24")
