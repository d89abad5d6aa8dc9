"""K-SEQ: lossless for every rho from rho* on, and for none below."""

import random

import pytest

from draftproof.reference.blocks import block_law
from draftproof.reference.chance import Chance
from draftproof.reference.drafting import with_replacement, without_replacement
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.laws import ONE, Law
from draftproof.reference.models import Model, random_law
from draftproof.reference.rational import fraction, rational
from draftproof.reference.trees import DraftNode, uniform_topology
from draftproof.reference.verifiers import Family, Stop, descend, family
from draftproof.reference.verifiers.k_seq import STEP, k_seq_with, smallest_rho, thinned

from .transport import two_levels

PUBLISHED = Law.row([5, 3, 2]), Law.row([2, 3, 5])
"""k = 2: rho* = (9 + sqrt 31) / 10."""


def level_of(rho: object) -> Family:
    level = k_seq_with(rho)  # type: ignore[arg-type]
    return Family(f"k_seq with {rho}", descend(level), level)


def test_lossless() -> None:
    for case in two_levels(200, seed=12):
        assert total_variation(case.law("k_seq", "with_replacement"), case.target) == 0


def test_lossless_for_every_larger_rho() -> None:
    """Up to k and beyond; the larger, the less it accepts."""
    for case in two_levels(25, largest=4, seed=13):
        topology, scheme = uniform_topology([case.siblings]), with_replacement(case.draft)
        least = smallest_rho(case.target(()), case.draft(()), case.siblings)
        lengths = []
        for rho in (None, least, least + STEP, (least + case.siblings) / 2, rational(case.siblings), rational(case.siblings) * 3):
            law = block_law(level_of(rho), case.target, topology, scheme)
            assert total_variation(law, case.target) == 0
            lengths.append(expected_length(law))
        assert lengths[0] == lengths[1] and lengths == sorted(lengths, reverse=True)


def test_smallest_rho() -> None:
    """The next multiple of 2^-40 above the irrational rho*: lossless there, and not one step below."""
    p, q = PUBLISHED
    found = smallest_rho(p, q, 2)
    assert (found / STEP).denominator == 1
    assert (10 * (found - STEP) - 9) ** 2 < 31 <= (10 * found - 9) ** 2
    assert smallest_rho(p, q, 1) == smallest_rho(p, p, 3) == smallest_rho(Law.point(0), Law.point(1), 2) == 1
    rng = random.Random(0)
    for _ in range(60):
        p, q, drafts = random_law(rng, 4, 0.3), random_law(rng, 4, 0.3), rng.randint(2, 4)
        rho = smallest_rho(p, q, drafts)
        assert 1 <= rho <= drafts
        for value, lossless in ((rho, True), (rho - STEP, rho == 1)):
            beta = thinned(p, q, value)[1]
            assert (1 - (1 - beta) ** drafts <= value * beta) is lossless or value < 1


def test_one_draft_is_token_level_speculative_sampling() -> None:
    for case in two_levels(20, seed=14):
        topology, scheme = uniform_topology([1, 1]), with_replacement(case.draft)
        assert block_law(family("k_seq"), case.target, topology, scheme) == block_law(family("token"), case.target, topology, scheme)


def test_smaller_rho_is_refused() -> None:
    p, q = PUBLISHED
    with pytest.raises(ValueError, match=r"rho = 7/5 accepts more than the target owes; the smallest that does not is"):
        block_law(level_of(rational("7/5")), lambda prefix: p, ((), ()), with_replacement(lambda prefix: q))


def test_dependent_drafts_are_refused() -> None:
    p, q = PUBLISHED
    with pytest.raises(ValueError, match="drawn independently from one law"):
        block_law(family("k_seq"), lambda prefix: p, ((), ()), without_replacement(lambda prefix: q))


def below_the_smallest(rho: object) -> Family:
    """The rule without its check: what a smaller rho would do, its residual cut at zero."""

    def level(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
        p, children = target(node.path), tuple(node.children())
        if not children:
            return Stop(bonus=p)
        q = children[0].declared
        assert q is not None
        for child in children:
            if chance.flip(min(ONE, p[child.token] / (rho * q[child.token])), at=child):  # type: ignore[operator]
                return child
        kept, beta = thinned(p, q, rho)  # type: ignore[arg-type]
        gain = sum((1 - beta) ** draft for draft in range(len(children)))
        left = {token: max(ONE * 0, weight - kept[token] * gain) for token, weight in p.items()}
        return Stop(bonus=Law(left) if any(left.values()) else p)

    return Family("k_seq below rho*", descend(level), level)


def test_a_smaller_rho_is_lossy() -> None:
    p, q = PUBLISHED
    sizes = []
    for rho in ("7/5", "29/20", "3/2"):
        law = block_law(below_the_smallest(rational(rho)), lambda prefix: p, ((), ()), with_replacement(lambda prefix: q))
        sizes.append(fraction(total_variation(law, lambda prefix: p)))
    assert sizes[0] > sizes[1] > sizes[2] == 0  # rho* = 1.4568
