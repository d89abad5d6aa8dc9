"""What the acceptance verdict holds a subject against: the certified ceiling, and what its author claims."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from draftproof.oracle import ceilings
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import catalogue, find
from draftproof.oracle.league import random_instance
from draftproof.oracle.reading import Reading
from draftproof.oracle.subjects import Subject
from draftproof.oracle.verdicts import Verdict, judge
from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length
from draftproof.reference.instances import Instance
from draftproof.reference.rational import fraction
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.tree import problem_of
from draftproof.reference.verifiers import family as rule

CHAIN, FIXED, GREEDY, PLAIN = (find(name) for name in ("chain-block", "tree-fixed-kids", "tree-two-levels-greedy", "tree-two-levels"))


def case(instance: Instance, **declares: Any) -> Case:
    return Case(Subject(print, "s", **{"dtype": "float64", **declares}), instance)


def law_of(name: str, given: Case) -> Mapping[tuple[int, ...], Fraction]:
    """The exact law of a reference on the rounded rows."""
    law = block_law(rule(name), given.target, given.instance.topology, given.scheme)
    return {block: fraction(mass) for block, mass in law.items()}


def acceptance(name: str, instance: Instance, **declares: Any) -> Verdict:
    """The verdict on a subject that has the law of the reference ``name``."""
    given = case(instance, **declares)
    return next(found for found in judge(given, Reading("enumerate", law_of(name, given))) if found.verdict == "acceptance")


def test_the_ceiling_is_that_of_the_rounded_rows() -> None:
    for instance in (CHAIN, PLAIN):
        for dtype in ("float64", "bfloat16"):
            given = case(instance, dtype=dtype)
            found = ceiling_of(problem_of(given.target, instance.topology, given.scheme))
            assert given.ceiling == found.ceiling and ceilings.attained(given)


def test_no_reference_is_above_the_ceiling() -> None:
    """On the whole catalogue, rows rounded; and the optimal plans at every node are found whatever the rounding did to declared laws."""
    for instance in catalogue():
        for name in ("univer_transport", "univer", "recursive_rejection", "traversal"):
            given = case(instance, dtype="float32", family=name if rule(name).admits(instance) else None)
            assert given.ceiling is not None
            assert given.expected_length is None or given.expected_length <= given.ceiling, (instance.name, name)


def test_beyond_the_listed_trees_the_bound_is_a_weaker_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ceilings._certified.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(ceilings, "MAX_TREES", 3)
        given = case(PLAIN)
        assert not ceilings.attained(given) and given.ceiling == given.length_bound
        found = acceptance("traversal", PLAIN)
    ceilings._certified.cache_clear()
    assert found.outcome == "conform" and "a bound that need not be reached: too many draft trees for the ceiling" in found.message
    assert "gap" not in found.details and given.ceiling > (case(PLAIN).ceiling or 0)


@pytest.mark.parametrize(
    ("claims", "instance", "floor"),
    [
        (("lossless",), GREEDY, None),
        (("optimal_on_chains",), CHAIN, "ceiling"),
        (("optimal_on_chains",), FIXED, None),
        (("optimal_on_fixed_trees",), FIXED, "ceiling"),
        (("optimal_on_fixed_trees",), CHAIN, None),
        (("conditionally_optimal",), CHAIN, "ceiling"),
        (("conditionally_optimal",), FIXED, "ceiling"),
        (("conditionally_optimal",), GREEDY, "one draft"),
    ],
)
def test_what_claims_promise(claims: tuple[str, ...], instance: Instance, floor: str | None) -> None:
    given = case(instance, claims=claims)
    wanted = {None: None, "ceiling": given.ceiling, "one draft": 1 + ceilings.root_optimum(given)}
    assert ceilings.floor(given) == wanted[floor]


def test_above_the_ceiling_is_a_proof_of_loss() -> None:
    given = case(GREEDY)
    deepest = max(law_of("univer", given), key=len)
    found = next(one for one in judge(given, Reading("enumerate", {deepest: Fraction(1)})) if one.verdict == "acceptance")
    assert found.outcome == "nonconform" and found.message.endswith("which no lossless verifier exceeds, so it is lossy")


def test_at_the_ceiling_is_optimal() -> None:
    for name, instance in (("traversal", CHAIN), ("predraw_follow", FIXED), ("univer", CHAIN)):
        found = acceptance(name, instance, family=name)
        assert found.outcome == "conform" and found.message.endswith("; optimal: no lossless verifier has more")
        assert abs(found.details["gap"]) < 1e-9


def test_below_the_ceiling_the_gap_is_said() -> None:
    found = acceptance("recursive_rejection", PLAIN, family="recursive_rejection")
    gap = (case(PLAIN).ceiling or 0) - expected_length(block_law(rule("recursive_rejection"), PLAIN.target, PLAIN.topology, PLAIN.scheme))
    assert found.outcome == "conform" and found.details["gap"] == pytest.approx(float(gap)) and float(gap) > 0.1
    assert found.message.endswith(f"; the ceiling is {float(case(PLAIN).ceiling or 0):.6g}, {float(gap):.6g} more")


def test_conditionally_optimal_where_only_that_is_claimed() -> None:
    """The paper's order misses the ceiling here, and no rule that is lossless at every node accepts below the root more often."""
    instance = random_instance("x", 3, 3, "greedy", [2, 2])
    claims = ("lossless", "conditionally_optimal")
    found = acceptance("univer", instance, family="univer", claims=claims)
    assert found.outcome == "conform" and "; conditionally optimal, and the ceiling is " in found.message
    assert "conditionally" not in acceptance("univer", instance, family="univer").message


def test_a_false_claim_of_conditional_optimality_is_found() -> None:
    """Recursive rejection is no optimal coupling, although its E[L] is above what one accepted draft would give."""
    given = case(PLAIN, family="recursive_rejection", claims=("lossless", "conditionally_optimal"))
    assert (given.expected_length or 0) > 1 + ceilings.root_optimum(given)
    found = acceptance("recursive_rejection", PLAIN, family="recursive_rejection", claims=("lossless", "conditionally_optimal"))
    assert found.outcome == "nonconform" and "a conditionally optimal rule does with" in found.message


def test_without_a_family_it_says_so() -> None:
    found = acceptance("traversal", PLAIN)
    assert found.outcome == "conform" and "the ceiling is" in found.message
    assert found.message.endswith("; no family is declared, so no reference says what it should be")
    assert "no family" not in acceptance("traversal", CHAIN, claims=("optimal_on_chains",)).message
