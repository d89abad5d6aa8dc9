"""Losslessness and acceptance for all p and q at once, region by region."""

import pytest
import sympy

from draftproof.proofs.symbolic.regions import Region, regions, row
from draftproof.proofs.symbolic.step import accepted_mass, one_step, two_without_replacement


def differs(law: list[sympy.Expr], p: list[sympy.Expr]) -> bool:
    return any(sympy.cancel(a - b) != 0 for a, b in zip(law, p, strict=True))


@pytest.mark.parametrize(("tokens", "count"), [(2, 2), (3, 7), (4, 15)])
def test_one_step_is_lossless(tokens: int, count: int) -> None:
    p, q = row("p", tokens), row("q", tokens)
    laws = [law for _, law in regions(lambda region: one_step(region, p, q))]
    assert len(laws) == count
    assert not any(differs(law, p) for law in laws)


@pytest.mark.parametrize("tokens", [2, 3])
def test_two_drafts_without_replacement_are_lossless(tokens: int) -> None:
    p, q = row("p", tokens), row("q", tokens)
    found = [law for _, (law, _) in regions(lambda region: two_without_replacement(region, p, q))]
    assert len(found) >= {2: 2, 3: 18}[tokens]
    assert not any(differs(law, p) for law in found)


@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_acceptance_is_one_minus_the_total_variation(tokens: int) -> None:
    p, q = row("p", tokens), row("q", tokens)

    def program(region: Region) -> sympy.Expr:
        accepted = sum(accepted_mass(region, p, q))
        return sympy.cancel(accepted - 1 + sum(region.positive_part(a - b) for a, b in zip(p, q, strict=True)))

    assert {difference for _, difference in regions(program)} == {0}


def test_two_drafts_of_two_tokens_are_always_accepted() -> None:
    p, q = row("p", 2), row("q", 2)
    assert {sympy.cancel(accepted) for _, (_, accepted) in regions(lambda region: two_without_replacement(region, p, q))} == {1}


def test_planted_faults_are_found() -> None:
    p, q = row("p", 3), row("q", 3)
    assert any(differs(law, p) for _, law in regions(lambda region: one_step(region, p, q, renormalise=False)))
    assert any(differs(law, p) for _, (law, _) in regions(lambda region: two_without_replacement(region, p, q, conditioned=False)))


def test_a_symbolic_row_is_a_law() -> None:
    assert sympy.cancel(sum(row("p", 4))) == 1
