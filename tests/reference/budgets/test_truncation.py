import random

import pytest

from draftproof.reference.budgets import ddtree, gains
from draftproof.reference.budgets.optimum import optimum
from draftproof.reference.budgets.truncation import certified, dominated, heaviest_excluded, mass, truncated
from draftproof.reference.drafting import ranked
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import marginal

from .draws import random_marginals


@pytest.mark.parametrize("count", [500, pytest.param(2000, marks=pytest.mark.slow)])
def test_certificate_agrees_with_brute_force(count: int) -> None:
    rng = random.Random(3)
    said = {True: 0, False: 0}
    for _ in range(count):
        rows = random_marginals(rng)
        nodes, width = rng.randint(1, 8), rng.randint(1, 4)
        tree = truncated(rows, nodes, width)
        optimal = sum((mass(rows, path) for path in tree), ZERO) == optimum(rows, nodes)
        assert certified(rows, tree, width, nodes) == optimal
        said[optimal] += 1
    assert min(said.values()) > count // 7, said


def test_uniform_truncation_loses() -> None:
    """V = 64, L = 2, B = 32: eight tokens a depth cover 0.131 where 0.5 is possible (the star of 32)."""
    rows = [Law.row([1] * 64)] * 2
    tree = truncated(rows, 32, 8)
    covered = sum((mass(rows, path) for path in tree), ZERO)
    assert round(float(covered), 3) == 0.131 and sum(gains(marginal(rows), 2, 32), ZERO) == ZERO + 1 / (ZERO + 2)
    assert not certified(rows, tree, 8, 32)


def test_budget_many_tokens_a_depth_lose_nothing() -> None:
    rng = random.Random(4)
    for _ in range(300):
        rows = random_marginals(rng)
        nodes = rng.randint(1, 6)
        assert truncated(rows, nodes, nodes) == ddtree(marginal(rows), len(rows), nodes)
        for path in ddtree(marginal(rows), len(rows), nodes):
            ranks = tuple(ranked(rows[i]).index(token) for i, token in enumerate(path))
            assert dominated(ranks) <= nodes


def test_heaviest_excluded() -> None:
    rows = [Law.row([5, 3, 2]), Law.row([1, 8, 1])]
    assert heaviest_excluded(rows, 1) == Law.row([5, 3, 2])[1]
    assert heaviest_excluded(rows, 2) == Law.row([5, 3, 2])[2]
    assert heaviest_excluded(rows, 3) == 0
