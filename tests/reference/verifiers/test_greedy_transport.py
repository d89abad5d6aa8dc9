"""Greedy transport: lossless, and at one node what no lossless rule exceeds."""

from draftproof.reference.blocks import block_law
from draftproof.reference.chance import Chance
from draftproof.reference.drafting import greedy
from draftproof.reference.growth import total_variation
from draftproof.reference.laws import ONE, Law
from draftproof.reference.models import Model
from draftproof.reference.transport.candidates import set_law
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.node import optimum
from draftproof.reference.transport.tree import problem_of
from draftproof.reference.trees import DraftNode, uniform_topology
from draftproof.reference.verifiers import Family, Stop, descend, family
from draftproof.reference.verifiers.univer import allocate

from ..transport.instances import greedy_draws
from .transport import accepted_at_least, two_levels


def test_lossless() -> None:
    for case in two_levels(200, seed=8):
        assert total_variation(case.law("greedy_transport", "greedy"), case.target) == 0


def test_one_node_is_optimal() -> None:
    for case in two_levels(60, seed=9):
        topology, scheme = uniform_topology([case.siblings]), greedy(case.draft)
        law = block_law(family("greedy_transport"), case.target, topology, scheme)
        best = optimum(case.target(()), set_law(greedy_draws(case.draft(()), case.siblings))).value
        assert accepted_at_least(law, 1) == best
        if case.vocabulary < 5:
            assert 1 + best == ceiling_of(problem_of(case.target, topology, scheme)).ceiling


def test_fixed_trees_are_followed_by_the_target() -> None:
    for case in two_levels(40, seed=10):
        assert case.law("greedy_transport", "top_k") == case.law("predraw_follow", "top_k")


def bonus_from_target(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    children: tuple[DraftNode, ...] = tuple(node.children())
    left = ONE
    for child, mass in zip(children, allocate(target(node.path), children, ONE)[0], strict=True):
        if mass and chance.flip(mass / left, at=child):
            return child
        left -= mass
    return Stop(bonus=target(node.path))


def drawn_child_first(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """In another order, but with the conditional probabilities of the draw order."""
    children: tuple[DraftNode, ...] = tuple(node.children())
    masses, owed = allocate(target(node.path), children, ONE)
    left, tests = ONE, []
    for child, mass in zip(children, masses, strict=True):
        tests.append((child, mass / left if mass else mass))
        left -= mass
    for child, offer in reversed(tests):
        if chance.flip(offer, at=child):
            return child
    return Stop(bonus=Law(owed) if owed else target(node.path))


def test_faults_are_found() -> None:
    for level in (bonus_from_target, drawn_child_first):
        rule = Family(level.__name__, descend(level), level)
        assert sum(total_variation(case.law(rule, "greedy"), case.target) > 0 for case in two_levels(20, seed=11)) > 10
