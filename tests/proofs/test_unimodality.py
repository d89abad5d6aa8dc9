"""Why CaDDTree's curve has one peak: the D_n identity by sympy, the step by Z3, and what happens where the cost is not convex."""

import random
from itertools import pairwise

import pytest
import sympy

from draftproof.proofs.symbolic.unimodality import d, d_identity
from draftproof.reference.budgets.cost import RoundCost
from draftproof.reference.budgets.stopping import caddtree, full_scan
from draftproof.reference.budgets.throughput import discriminants, throughput
from draftproof.reference.rational import rational


def test_d_identity() -> None:
    assert sympy.expand(d_identity()) == 0


def test_planted_fault_in_the_identity() -> None:
    assert sympy.expand(d_identity(bonus=0)) != 0


def test_d_is_what_the_reference_computes() -> None:
    gains, costs = [rational("1/2"), rational("1/3"), rational("1/5")], [2, 3, 5, 9]
    values = dict(zip(sympy.symbols("A0:4"), (0, *map(sympy.Rational, ("1/2", "5/6", "31/30"))), strict=True))
    values |= dict(zip(sympy.symbols("C0:4"), costs, strict=True))
    found = discriminants(gains, RoundCost(0, costs))
    assert [sympy.Rational(str(value)) for value in found] == [d(n).subs(values) for n in range(3)]


def test_sign_of_d() -> None:
    """Positive where one more node raises the throughput, zero where it leaves it, negative where it lowers it."""
    seen = set()
    for seed in range(300):
        rng = random.Random(seed)
        gains = sorted((rational(rng.randint(0, 4)) / 4 for _ in range(4)), reverse=True)
        cost = RoundCost(1, [rng.randint(0, 4) for _ in range(5)])
        for sign, (now, then) in zip(discriminants(gains, cost), pairwise(throughput(gains, cost)), strict=True):
            assert (sign > 0, sign == 0, sign < 0) == (then > now, then == now, then < now)
            seen.add((sign > 0) - (sign < 0))
    assert seen == {-1, 0, 1}


def test_unimodality_step() -> None:
    smt = pytest.importorskip("draftproof.proofs.symbolic.smt", reason="z3-solver is not installed", exc_type=ImportError)
    assert smt.unimodality_counterexample() is None


def test_without_convexity_the_counterexample_misleads_the_reference() -> None:
    smt = pytest.importorskip("draftproof.proofs.symbolic.smt", reason="z3-solver is not installed", exc_type=ImportError)
    found = smt.unimodality_counterexample(convex=False)
    assert found is not None
    gains, costs = ([rational(value) for value in values] for values in found)
    cost = RoundCost(0, costs)
    assert caddtree(gains, cost) == 0 and full_scan(gains, cost) == 2
    assert not cost.convex_up_to(2)
