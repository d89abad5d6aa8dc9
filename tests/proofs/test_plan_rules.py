"""The verifiers driven by plans, on the instances of the golden vectors: lossless, as their theorems say."""

import pytest

from draftproof.proofs.golden import Vector, read
from draftproof.reference.blocks import Block, block_law
from draftproof.reference.growth import violations
from draftproof.reference.instances import Instance
from draftproof.reference.laws import Law
from draftproof.reference.rational import rational
from draftproof.reference.verifiers import FAMILIES, Family, descend
from draftproof.reference.verifiers.k_seq import k_seq_with, smallest_rho

PLAN_RULES = ("univer", "univer_lookahead", "univer_transport", "greedy_transport", "k_seq")
INSTANCES = [vector.instance for vector in read() if vector.verifier == "traversal"]


def exact(law: Law[Block], instance: Instance) -> bool:
    return next(iter(violations(law, instance.target)), None) is None


def lossless(family: Family, instance: Instance) -> bool:
    return exact(block_law(family, instance.target, instance.topology, instance.scheme), instance)


@pytest.mark.parametrize("name", PLAN_RULES)
def test_lossless_on_the_golden_instances(name: str) -> None:
    admitted = [instance for instance in INSTANCES if FAMILIES[name].admits(instance)]
    assert len(admitted) >= 15
    assert all(lossless(FAMILIES[name], instance) for instance in admitted)


def test_univer_reaches_no_less_on_the_golden_instances() -> None:
    """At least as deep as the token-level rule, at every depth, and deeper somewhere."""
    deeper = 0
    for instance in [i for i in INSTANCES if FAMILIES["univer"].admits(i)]:
        univer, greedy = (block_law(FAMILIES[n], instance.target, instance.topology, instance.scheme) for n in ("univer", "greedy_transport"))
        for depth in range(1, instance.depth + 1):
            reaches = [law.mass(block for block in law if len(block) > depth) for law in (univer, greedy)]
            assert reaches[0] >= reaches[1]
            deeper += reaches[0] > reaches[1]
    assert deeper


def test_every_rho_from_the_smallest_on() -> None:
    cases = [instance for instance in INSTANCES if instance.scheme_name == "with_replacement" and instance.depth == 1]
    assert len(cases) >= 2
    for instance in cases:
        p, q = instance.target(()), instance.scheme(instance.topology, (), ())
        assert q is not None
        least = smallest_rho(p, q, len(instance.topology))
        for rho in (least, least + rational("1/7"), least + 5):
            level = k_seq_with(rho)
            assert lossless(Family("k_seq", descend(level), level), instance)


def test_too_small_a_rho_is_refused() -> None:
    level, (instance, *_) = k_seq_with(rational("1/4")), [i for i in INSTANCES if i.scheme_name == "with_replacement" and i.depth == 1]
    with pytest.raises(ValueError, match="accepts more than the target owes"):
        lossless(Family("k_seq", descend(level), level), instance)


def test_a_golden_law_with_mass_moved_is_not_lossless() -> None:
    """The check can fail: half of one block's mass goes to another block."""
    vector: Vector = next(v for v in read() if len(v.law) > 4)
    (first, mass), (second, other) = list(vector.law.items())[:2]
    assert not exact(Law({**vector.law, first: mass / 2, second: other + mass / 2}), vector.instance)
