"""Fixed trees and sampled chains in closed form: the same ceiling as the simplex method's, certified, and large ones at once."""

import pytest

from draftproof.oracle.catalogue import catalogue
from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length
from draftproof.reference.instances import parse
from draftproof.reference.transport.certificate import check
from draftproof.reference.transport.exact_simplex import ceiling_of, solve_exactly
from draftproof.reference.transport.node_bound import closed_form
from draftproof.reference.transport.record import whole_tree
from draftproof.reference.transport.tree import TooManyTrees, problem_of, proved, reached
from draftproof.reference.verifiers import family

from .instances import instance


@pytest.mark.parametrize("scheme", ["chain", "top_k"])
def test_it_is_what_the_simplex_method_finds(scheme: str) -> None:
    for seed in range(12):
        given = instance(seed, scheme, 3, *([1, 1] if scheme == "chain" else [2, 2]), zeros=0.3 * (seed % 2))
        problem = problem_of(given.target, given.topology, given.scheme)
        found = closed_form(problem)
        assert found is not None
        multipliers, acceptance = found
        assert proved(problem, multipliers) == solve_exactly(problem).ceiling == sum(reached(problem, acceptance).values())


def test_every_chain_and_fixed_tree_of_the_catalogue() -> None:
    """Chains cut short and dead branches among them; nothing else has a closed form."""
    for given in catalogue():
        problem = problem_of(given.target, given.topology, given.scheme)
        found = closed_form(problem)
        if given.deterministic or given.is_chain:
            assert found is not None and proved(problem, found[0]) == sum(reached(problem, found[1]).values()), given.name
    several = instance(1, "without_replacement", 3, 2)
    assert closed_form(problem_of(several.target, several.topology, several.scheme)) is None


def test_a_long_chain() -> None:
    """Nine drafts, 512 draft trees: block verification reaches it, and the checker follows."""
    given = instance(1, "chain", 2, *[1] * 9)
    found = ceiling_of(problem_of(given.target, given.topology, given.scheme))
    assert found.gap == 0 and found.ceiling == expected_length(block_law(family("block"), given.target, given.topology, given.scheme))
    assert check(whole_tree(given, found))


def test_a_large_fixed_tree() -> None:
    rows = {" ".join(path): [3, 2] for depth in range(9) for path in _strings(depth)}
    tree = [" ".join(path) for depth in range(1, 9) for path in _strings(depth)]
    given = parse({"vocabulary": 2, "target": rows, "drafting": {"scheme": "fixed", "tree": tree}})
    found = ceiling_of(problem_of(given.target, given.topology, given.scheme))
    assert found.gap == 0 and found.ceiling == 9 and check(whole_tree(given, found))


def _strings(length: int) -> list[tuple[str, ...]]:
    return [()] if not length else [(*path, token) for path in _strings(length - 1) for token in "01"]


def test_the_simplex_method_is_not_asked_for_what_it_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    given = instance(1, "without_replacement", 3, 2)
    monkeypatch.setattr("draftproof.reference.transport.exact_simplex.MAX_PATHS", 2)
    with pytest.raises(TooManyTrees, match="3 paths; the exact simplex method takes 2"):
        ceiling_of(problem_of(given.target, given.topology, given.scheme))
