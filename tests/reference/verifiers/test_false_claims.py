"""What one might believe of these verifiers and is not so: each with an instance and the values of both sides.

``drafts`` counts accepted drafts, the bonus token left out.
"""

from draftproof.reference.drafting import greedy, without_replacement
from draftproof.reference.growth import total_variation
from draftproof.reference.laws import Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational, rational
from draftproof.reference.transport.candidates import set_law
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.node import Plan, optimum
from draftproof.reference.transport.tree import problem_of
from draftproof.reference.trees import DraftNode, Draws, Slot, uniform_topology
from draftproof.reference.verifiers import Family, ascend
from draftproof.reference.verifiers.two_phase import Masses, two_phase
from draftproof.reference.verifiers.univer import allocate
from draftproof.reference.verifiers.univer_transport import rejection_plan, univer_transport_by

from ..instances import positions
from .transport import SCHEMES, by_prefix, drafts

PAIRS = uniform_topology([2, 2])


def test_univer_on_greedy_drafts_is_not_always_above_recursive_rejection_without_replacement() -> None:
    """The draft laws differ: here the second fixed candidate is one the target never emits."""
    p, q = positions([0, 3, 0], [1, 3, 1], [2, 3, 0]), positions([1, 1, 1], [2, 1, 1])
    assert drafts("univer", p, PAIRS, greedy(q)) == rational("19/20")
    assert drafts("recursive_rejection", p, PAIRS, without_replacement(q)) == rational("109/90")


def test_univer_on_greedy_drafts_is_not_always_above_traversal_without_replacement() -> None:
    p, q = positions([0, 1, 3], [0, 0, 2], [2, 3, 0]), positions([1, 1, 1], [1, 3, 1])
    assert drafts("univer", p, PAIRS, greedy(q)) == rational("5/4")
    assert drafts("traversal", p, PAIRS, without_replacement(q)) == rational("611/480")


def test_an_optimal_plan_is_not_always_above_traversal_on_the_same_drafts() -> None:
    """What is best at the root is put where less can be had below."""
    p = by_prefix({(): [4, 3, 0], (0,): [0, 2, 2], (1,): [0, 3, 1], (2,): [0, 4, 1]}, otherwise=[1, 1, 1])
    q = by_prefix({(): [1, 2, 0], (0,): [4, 1, 0], (1,): [2, 2, 4], (2,): [3, 0, 4]}, otherwise=[1, 1, 1])
    assert drafts("univer_transport", p, PAIRS, without_replacement(q)) == rational("71/42")
    assert drafts("traversal", p, PAIRS, without_replacement(q)) == rational("1181/693")


def sparing(spared: int) -> Family:
    """Optimal plans that give one token as little as an optimal plan can: it is only augmented for what the others leave."""

    def planner(p: Law[int], draws: Draws, capacity: Rational) -> Plan:
        others, sets = p.without([spared]), set_law(draws)
        start = optimum(others, sets, capacity * (1 - p[spared])).plan if others is not None and capacity else None
        return optimum(p, sets, capacity, start).plan

    visit = univer_transport_by(planner)
    return Family("sparing", ascend(visit), visit=visit)


def test_an_arbitrary_optimal_plan_is_not_always_above_recursive_rejection() -> None:
    """Below token 0 everything is accepted, below token 1 nothing: a plan that spares token 0 is as good at the root and worse after it.

    Augmented from the plan of recursive rejection it cannot be.
    """
    p = by_prefix({(): [1, 1, 0, 0], (0,): [1, 0, 0, 0], (1,): [0, 1, 0, 0]}, otherwise=[1, 1, 1, 1])
    q = by_prefix({(): [1, 1, 1, 1]}, otherwise=[1, 0, 0, 0])
    topology: Slot = (((),), ((),))
    scheme = without_replacement(q)
    assert drafts("recursive_rejection", p, topology, scheme) == rational("5/6") + rational("5/12")
    assert drafts(sparing(0), p, topology, scheme) == rational("5/6") + rational("1/3")
    assert drafts("univer_transport", p, topology, scheme) == rational("5/4")
    plan = rejection_plan(p(()), lambda elders: q(()).without(elders) if len(elders) < 2 else None)
    assert sum(mass for (_, token), mass in plan.items() if token == 0) == rational("5/12")


def test_traversal_is_not_always_above_recursive_rejection() -> None:
    p, q = positions([1, 1], [3, 1], [1, 1], [1, 1]), positions([1, 3], [1, 1], [1, 1])
    topology: Slot = (((), ((),)),)
    assert drafts("traversal", p, topology, without_replacement(q)) == rational("25/16")
    assert drafts("recursive_rejection", p, topology, without_replacement(q)) == rational("27/16")


ORDERED = positions([2, 3, 3], [0, 2, 2], [1, 1, 1]), positions([2, 1, 2], [2, 2, 1])


def test_univer_is_not_globally_optimal() -> None:
    """The certified ceiling is reached by some lossless verifier; neither the paper's order nor ours reaches it."""
    p, q = ORDERED
    found = ceiling_of(problem_of(p, PAIRS, greedy(q)))
    assert found.gap == 0 and found.ceiling - 1 == rational("67/36")
    assert drafts("univer", p, PAIRS, greedy(q)) == rational("29/16")
    assert drafts("univer_lookahead", p, PAIRS, greedy(q)) == rational("11/6")


def first(target: Model, children: "list[DraftNode]", masses: Masses) -> list[int]:
    """The drawn child, then the fixed ones."""
    return [len(children) - 1, *range(len(children) - 1)] if children else []


def test_the_order_of_siblings_matters() -> None:
    """Not for losslessness, but for what is accepted, in either direction."""
    visit = two_phase(allocate, first)  # type: ignore[arg-type]
    drawn_first = Family("drawn child first", ascend(visit), visit=visit)
    for p, q, last_value, first_value in (
        (positions([0, 2, 1], [2, 1, 1], [1, 0, 0]), positions([0, 1, 2], [2, 3, 4]), "29/15", "59/30"),
        (positions([3, 1, 2], [0, 2, 2], [1, 2, 1]), positions([1, 0, 1], [3, 2, 1]), "5/3", "59/36"),
    ):
        assert drafts("univer", p, PAIRS, greedy(q)) == rational(last_value)
        assert drafts(drawn_first, p, PAIRS, greedy(q)) == rational(first_value)


def test_more_than_lossless_verifiers_can_have_is_never_claimed_here() -> None:
    """Every side above is lossless: the comparisons are between fair players."""
    from draftproof.reference.blocks import block_law
    from draftproof.reference.verifiers import family

    p, q = ORDERED
    for name, scheme in (("univer", "greedy"), ("univer_lookahead", "greedy"), ("traversal", "without_replacement")):
        assert total_variation(block_law(family(name), p, PAIRS, SCHEMES[scheme](q)), p) == 0
    law = block_law(sparing(0), p, PAIRS, without_replacement(q))
    assert total_variation(law, p) == 0
