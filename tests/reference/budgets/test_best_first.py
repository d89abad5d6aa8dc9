import random
from itertools import islice, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.reference.budgets import best_first, coverage, ddtree, gains, top_prefixes
from draftproof.reference.budgets.optimum import optimum
from draftproof.reference.drafting import ranked
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Prefix, marginal, random_model

from .draws import random_marginals


@pytest.mark.parametrize("count", [600, pytest.param(2000, marks=pytest.mark.slow)])
def test_trees_are_optimal(count: int) -> None:
    """Mass by dynamic programming over all valid trees, node list by sorting all prefixes; ties, zeros and certainties included."""
    rng = random.Random(1)
    ties = certainties = 0
    for _ in range(count):
        rows = random_marginals(rng)
        nodes = rng.randint(0, 9)
        draft, depth = marginal(rows), len(rows)
        tree, added = ddtree(draft, depth, nodes), gains(draft, depth, nodes)
        assert sum(added, ZERO) == optimum(rows, nodes)
        assert tree == top_prefixes(draft, depth, nodes)
        assert len(tree) == min(nodes, prefixes(rows))
        assert all(not path[:-1] or path[:-1] in tree[:index] for index, path in enumerate(tree)), "a parent after its child"
        assert added == sorted(added, reverse=True)
        ties += len(set(added)) < len(added)
        certainties += ONE in added
    assert ties > count // 4 and certainties > count // 10, "the instances are too tame to mean anything"


def prefixes(rows: list[Law[int]]) -> int:
    return sum(prod(len(law) for law in rows[:depth]) for depth in range(1, len(rows) + 1))


def test_sorting_without_the_tie_rule_is_no_tree() -> None:
    """Certain tokens tie with their parents: youngest first gives (0, 0) before (0)."""
    rows = [Law.point(0)] * 3
    everything = sorted(top_prefixes(marginal(rows), 3, 9), key=lambda path: (-prod(rows[i][t] for i, t in enumerate(path)), -len(path)))
    assert everything[:2] == [(0, 0, 0), (0, 0)]
    assert ddtree(marginal(rows), 3, 2) == [(0,), (0, 0)]


def test_drafts_that_depend_on_the_prefix() -> None:
    for seed in range(60):
        draft = random_model(seed, 3, zeros=0.2, largest=3)
        tree = ddtree(draft, 3, 12)
        assert tree == top_prefixes(draft, 3, 12)


def test_coverage_is_the_expected_accepted_length() -> None:
    """Phi(T) = E alpha_T(y) for y drawn from the marginals; and with another law in their place, the sum of that law's masses."""
    rng = random.Random(2)
    for _ in range(60):
        rows, others = random_marginals(rng), random_marginals(rng)
        depth = min(len(rows), len(others))
        tree = set(ddtree(marginal(rows[:depth]), depth, rng.randint(0, 8)))
        for law in (rows[:depth], others[:depth]):
            mean = ZERO
            for draw in product(*law):
                accepted = next((d for d in range(depth) if draw[: d + 1] not in tree), depth)
                mean += accepted * prod((row[t] for row, t in zip(law, draw, strict=True)), start=ONE)
            assert mean == sum((prod((law[i][t] for i, t in enumerate(path)), start=ONE) for path in tree), ZERO)


@given(st.integers(0, 1 << 32), st.integers(-1, 9))
def test_nested_concave_and_monotone(seed: int, nodes: int) -> None:
    rows = random_marginals(random.Random(seed))
    draft, depth = marginal(rows), len(rows)
    assert ddtree(draft, depth, nodes) == ddtree(draft, depth, nodes + 1)[: max(nodes, 0)]
    phi = coverage(draft, depth, 9)
    steps = [right - left for left, right in zip(phi, phi[1:], strict=False)]
    assert phi[0] == 0 and steps == sorted(steps, reverse=True) and phi[-1] <= depth
    assert steps == gains(draft, depth, 9)


@given(st.integers(0, 1 << 32))
def test_permuting_the_vocabulary_permutes_the_tree(seed: int) -> None:
    """Up to ties, so masses are compared."""
    rng = random.Random(seed)
    rows = random_marginals(rng)
    order = rng.sample(range(4), 4)
    renamed = [row.map(order.__getitem__) for row in rows]
    assert gains(marginal(rows), len(rows), 9) == gains(marginal(renamed), len(rows), 9)


def test_known_shapes() -> None:
    uniform = [Law.row([1] * 8)] * 3
    assert ddtree(marginal(uniform), 3, 8) == [(token,) for token in range(8)], "uniform marginals: a star"
    peaked = [Law.row([1, 98, 1])] * 4
    assert ddtree(marginal(peaked), 4, 4) == [(1,) * depth for depth in range(1, 5)], "near certainty: the chain first"
    assert ddtree(marginal(peaked), 0, 4) == [] == ddtree(marginal(peaked), 4, 0)
    assert ddtree(marginal([Law.point(5)]), 1, 4) == [(5,)], "fewer prefixes than nodes"


def test_lazy() -> None:
    """A huge lattice costs no more than what is taken from it."""
    rows = [Law.row(range(1, 200))] * 30
    assert len(list(islice(best_first(marginal(rows), 30), 5))) == 5


def test_rank_tuples_break_ties() -> None:
    """Equal masses come in lexicographic order of ranks, a parent before its children."""
    rows = [Law.row([1, 1]), Law.row([1, 1])]
    assert ddtree(marginal(rows), 2, 6) == [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    assert ranked(rows[0]) == [0, 1]
    order: list[Prefix] = ddtree(marginal([Law.point(1), Law.row([1, 1])]), 2, 3)
    assert order == [(1,), (1, 0), (1, 1)]
