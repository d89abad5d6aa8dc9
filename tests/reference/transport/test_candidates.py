"""Laws of candidate sets."""

import random

import pytest

from draftproof.reference import drafting
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.laws import Law
from draftproof.reference.models import random_law
from draftproof.reference.transport.candidates import Greedy, WithoutReplacement, WithReplacement, draws_of, set_law
from draftproof.reference.trees import Draws, DrawsAt, LazyNode, Node, Scheme, populate

from .instances import declared_only, greedy_draws


@pytest.mark.parametrize("scheme", ["with_replacement", "without_replacement", "greedy", "top_k"])
def test_set_law_is_that_of_the_drafting_scheme(scheme: str) -> None:
    for seed in range(30):
        rng = random.Random(seed)
        vocabulary, count = rng.randint(1, 5), rng.randint(1, 3)
        q = random_law(rng, vocabulary, rng.choice([0, 0.4]))
        made: Scheme = getattr(drafting, scheme)(lambda prefix, q=q: q)
        topology = ((),) * count

        def program(chance: Chance, topology: tuple[()] = topology, made: Scheme = made) -> frozenset[int]:
            return frozenset(child.token for child in LazyNode(topology, (), made, chance).children())

        wanted = law_of(program)

        assert set_law(DrawsAt(made, topology, ())) == wanted
        for tree in law_of(lambda chance, topology=topology, made=made: populate(topology, made, chance)):
            assert set_law(draws_of(tree.below)) == wanted
            assert set_law(draws_of(declared_only(tree.below))) == wanted, "read off the declared laws of any draw"


def test_schemes_by_hand() -> None:
    q = Law.row([1, 2, 1])
    assert set_law(WithReplacement(q, 2))[frozenset([1])] == set_law(WithReplacement(q, 2))[frozenset([0, 1])] == Law({0: 1, 1: 3})[0]
    assert set_law(WithoutReplacement(q, 2)) == Law({frozenset([0, 1]): 5, frozenset([1, 2]): 5, frozenset([0, 2]): 2})
    assert set_law(WithoutReplacement(q, 5)) == Law.point(frozenset([0, 1, 2]))
    assert set_law(greedy_draws(q, 2)) == Law({frozenset([0, 1]): 1, frozenset([1, 2]): 1})
    assert set_law(Greedy((2, 0))) == set_law(Greedy((0,), Law.point(2))) == Law.point(frozenset([0, 2]))
    assert set_law(Greedy(())) == set_law(draws_of(())) == Law.point(frozenset())


@pytest.mark.parametrize("laws", [([1, 2, 1], [2, 1, 1]), ([1, 2, 1], [0, 0, 1]), ([1, 1, 1], [0, 1, 2])])
def test_unknown_schemes_are_refused(laws: tuple[list[int], list[int]]) -> None:
    """The second sibling's law is neither the first's nor the first's off its token."""
    with pytest.raises(ValueError, match=r"siblings \[0, 2\] follow no drafting scheme"):
        draws_of([Node((token,), Law.row(law)) for token, law in zip((0, 2), laws, strict=True)])


def test_set_law_of_an_empty_draw() -> None:
    nothing: Draws = WithReplacement(Law.point(0), 0)
    assert set_law(nothing) == Law.point(frozenset())
