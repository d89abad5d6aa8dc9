"""How many blocks a fault takes: hand-made laws, the table of the specification, and the e-process against the floor."""

from fractions import Fraction
from math import log
from statistics import median

import pytest

from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.detection import blocks_needed, floor, implied, information
from draftproof.oracle.faults import blocks, chains, exits, tapes
from draftproof.oracle.reading import read
from draftproof.oracle.subjects import Subject
from draftproof.reference.laws import Law
from draftproof.reference.models import table


def test_information_of_a_coin() -> None:
    """One token, fair by the target, 3/4 by the subject."""
    target = table({(): Law.row([1, 1])})
    law = {(0,): Fraction(3, 4), (1,): Fraction(1, 4)}
    nats = 0.75 * log(1.5) + 0.25 * log(0.5)
    assert information(law, target) == pytest.approx(nats)
    assert floor(law, target, 1e-6) == pytest.approx(log(1e6) / nats)
    assert floor({(0,): Fraction(1, 2), (1,): Fraction(1, 2)}, target, 1e-6) is None


def test_information_counts_what_comes_after_a_prefix_by_how_often_it_is_reached() -> None:
    """The second token is off, and only reached after 0, half of the time."""
    target = table({(): Law.row([1, 1]), (0,): Law.row([1, 1])})
    law = {(1,): Fraction(1, 2), (0, 0): Fraction(3, 8), (0, 1): Fraction(1, 8)}
    assert information(law, target) == pytest.approx((0.75 * log(1.5) + 0.25 * log(0.5)) / 2)


def test_an_impossible_token_has_no_floor() -> None:
    target = table({(): Law.row([1, 0])})
    law = {(0,): Fraction(9, 10), (1,): Fraction(1, 10)}
    assert floor(law, target, 1e-6) is None and blocks_needed(law, target, 1e-6) is None


@pytest.mark.parametrize(("cells", "noncentrality"), [(10, 72), (50, 112), (200, 184)])
def test_blocks_of_a_chi_square_test(cells: int, noncentrality: int) -> None:
    """Level 1e-6 and power 0.99: lambda / (4 TV^2)."""
    assert implied(Fraction(1, 100), cells) == pytest.approx(noncentrality * 2500, rel=0.01)


SOME = [
    (chains.residual_is_target, "chain-one-draft"),
    (chains.ratio_inflated, "chain-one-draft"),
    (chains.residual_of_first_row, "chain-rows-by-position"),
    (tapes.ratio_off_by_a_twentieth, "chain-one-draft"),
    (blocks.block_with_token_residual, "chain-block"),
    (blocks.block_without_owed_mass, "chain-block"),
    (exits.bonus_not_masked, "tree-worked-example"),
]


def test_the_e_process_takes_less_than_twice_what_a_test_that_knows_the_fault_takes() -> None:
    """The median; at the same alpha.  No test takes less than the floor on average, and a median over 15 streams is not far below."""
    assert 0.7 < min(ratios()) and median(ratios()) < 2


def ratios() -> list[float]:
    found = []
    subject: Subject
    for subject, name in SOME:
        case = Case(subject, find(name))
        law = read(case, "enumerate").law
        needed, least = blocks_needed(law, case.target, 1e-6 / 3), floor(law, case.target, 1e-6 / 3)
        assert needed is not None and least is not None
        found.append(needed / least)
    return found
