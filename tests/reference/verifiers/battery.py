"""What every verifier is put through: exact losslessness on random instances, and the same law from plain loops."""

from collections.abc import Mapping
from fractions import Fraction

from draftproof.reference.blocks import tree_law
from draftproof.reference.exits import length_bound
from draftproof.reference.growth import expected_length, total_variation

from .. import brute
from ..instances import Case, plain, random_cases, rows

SMALL, MEDIUM, DEEP = 27, 64, 4096
"""Most populated trees of an instance: three sampled nodes at vocabulary 3, six at vocabulary 2, six at vocabulary 4."""


def assert_lossless(verifier: str, scheme: str, count: int, largest: int, start: int = 0) -> None:
    """Total variation exactly 0, and never longer than a lossless verifier can be (looked at in some of them)."""
    for case in random_cases(scheme, count, largest, start):
        law = case.law(verifier)
        assert total_variation(law, case.target) == 0, case
        if largest <= MEDIUM and case.seed % 3 == 0:
            assert expected_length(law) <= length_bound(case.target, tree_law(case.topology, case.scheme)), case


def declare(scheme: str, q: brute.Rows) -> brute.Declare:
    """Sampled schemes once more."""
    if scheme == "without_replacement":
        return lambda prefix, elders: brute.normalised({x: w for x, w in q(prefix).items() if x not in elders})
    return lambda prefix, elders: q(prefix)


def from_definition(verifier: str, scheme: str, case: Case) -> Mapping[brute.Path, Fraction]:
    """Block law of recursive rejection or traversal, averaged over all trees."""
    p = rows(case.target)

    def blocks(tree: brute.Tree) -> Mapping[brute.Path, Fraction]:
        return brute.traversal(p, tree)[0] if verifier == "traversal" else brute.recursive_rejection(p, tree)

    return brute.average(case.topology, declare(scheme, rows(case.draft)), blocks)


def assert_defined_law(verifier: str, scheme: str, count: int) -> None:
    """Block by block the law of the definition."""
    for case in random_cases(scheme, count, 27, start=4000):
        assert plain(case.law(verifier)) == from_definition(verifier, scheme, case), case
