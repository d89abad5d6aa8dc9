"""Optimal transport at one node: flow = cut = linear program, at every capacity."""

import random
from collections.abc import Callable
from itertools import chain, combinations

import pytest

from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import random_law
from draftproof.reference.rational import Rational, fraction, rational
from draftproof.reference.transport import flow
from draftproof.reference.transport.candidates import Greedy, TokenSet, WithoutReplacement, WithReplacement, set_law
from draftproof.reference.transport.certificate import Rejected, check
from draftproof.reference.transport.node import linear_program, optimum
from draftproof.reference.transport.record import one_node

from .instances import Node, greedy_draws, random_node, random_nodes


def cut(p: Law[int], sets: Law[TokenSet], tokens: TokenSet, capacity: Rational = ONE) -> Rational:
    """1 + a p(A) - Pr(set inside A)."""
    return 1 + capacity * p.mass(tokens) - sum((weight for members, weight in sets.items() if members <= tokens), ZERO)


def least_cut(node: Node) -> Rational:
    """Over every token set."""
    sets = set_law(node.draws)
    everything = sorted({*node.p, *chain.from_iterable(members for members, _ in sets.items())})
    subsets = chain.from_iterable(combinations(everything, size) for size in range(len(everything) + 1))
    return min(cut(node.p, sets, frozenset(tokens), node.capacity) for tokens in subsets)


def test_optimum_is_the_least_cut() -> None:
    for node in random_nodes(600):
        found = optimum(node.p, set_law(node.draws), node.capacity)
        assert found.value == least_cut(node) == cut(node.p, set_law(node.draws), found.tokens, node.capacity)


def test_linear_program_agrees() -> None:
    for node in random_nodes(40, seed=1):
        sets = set_law(node.draws)
        assert abs(linear_program(node.p, sets, node.capacity) - fraction(optimum(node.p, sets, node.capacity).value)) < 1e-7


def test_certificates_of_optima_are_accepted() -> None:
    for node in random_nodes(200, seed=2):
        sets = set_law(node.draws)
        found = optimum(node.p, sets, node.capacity)
        assert f"above {found.value}, and a plan reaches it" in check(one_node(node.p, sets, node.capacity, found))


def test_closed_forms() -> None:
    """One draft: sum of min(a p, q).  Greedy: a p(H) + sum off H of min(a p, r).  A fixed set: a p(S)."""
    rng = random.Random(3)
    for _ in range(200):
        p, q = random_law(rng, 5, rng.choice([0, 0.3])), random_law(rng, 5, rng.choice([0, 0.3]))
        a, k = rational(rng.randint(0, 7)) / 7, rng.randint(1, 3)
        single = sum((min(a * p[x], q[x]) for x in range(5)), ZERO)
        assert single == optimum(p, set_law(WithReplacement(q, 1)), a).value == optimum(p, set_law(WithoutReplacement(q, 1)), a).value
        draws = greedy_draws(q, k)
        rest = draws.law
        off = sum((min(a * p[x], rest[x]) for x in range(5) if rest is not None and x not in draws.hubs), ZERO)
        assert optimum(p, set_law(draws), a).value == a * p.mass(draws.hubs) + off
        fixed = tuple(rng.sample(range(5), k))
        assert optimum(p, set_law(Greedy(fixed)), a).value == a * p.mass(fixed)


def test_all_tokens_drafted_are_all_accepted() -> None:
    p, q = Law.row([1, 5, 2]), Law.row([3, 1, 1])
    for a in (rational(0), rational("2/3"), ONE):
        assert optimum(p, set_law(WithoutReplacement(q, 3)), a).value == a


def test_concave_and_nondecreasing_in_the_capacity() -> None:
    """Slope at most 1, never above a; and the chance of stopping at the node itself, (a - alpha) / (1 - alpha), grows with a."""
    rng = random.Random(4)
    grid = [rational(step) / 8 for step in range(9)]
    for number in range(60):
        node = random_node(rng, ("with_replacement", "without_replacement", "greedy", "top_k")[number % 4], rng.randint(2, 5), rng.randint(1, 3))
        alpha = [optimum(node.p, set_law(node.draws), a).value for a in grid]
        slopes = [later - earlier for earlier, later in zip(alpha, alpha[1:], strict=False)]
        assert all(0 <= slope <= rational("1/8") for slope in slopes) and slopes == sorted(slopes, reverse=True)
        assert all(value <= a for value, a in zip(alpha, grid, strict=True))
        stays = [(a - value) / (1 - value) for a, value in zip(grid, alpha, strict=True) if value < 1]
        assert stays == sorted(stays) and all(0 <= stay <= 1 for stay in stays)


def test_least_cut_is_a_prefix_of_the_tokens_by_ratio() -> None:
    """With and without replacement, the same order at every capacity: what ``sorted_ratio`` stands on."""
    rng = random.Random(5)
    for number in range(300):
        node = random_node(rng, ("with_replacement", "without_replacement")[number % 2], rng.randint(2, 5), rng.randint(1, 3))
        draws = node.draws
        assert isinstance(draws, WithReplacement | WithoutReplacement)
        order = sorted(draws.law, key=lambda token: node.p[token] / draws.law[token])
        prefixes = [frozenset(order[:size]) for size in range(len(order) + 1)]
        sets = set_law(draws)
        assert optimum(node.p, sets, node.capacity).value == min(cut(node.p, sets, tokens, node.capacity) for tokens in prefixes)


def test_augmenting_takes_from_no_token() -> None:
    """From any feasible plan to an optimal one, no token gets less."""
    rng = random.Random(6)
    for node in random_nodes(150, seed=6):
        sets = set_law(node.draws)
        best = optimum(node.p, sets, node.capacity)
        start = {pair: mass * rational(rng.randint(0, 4)) / 4 for pair, mass in optimum(node.p, sets, node.capacity / 2).plan.items()}
        start = {pair: mass for pair, mass in start.items() if mass}
        found = optimum(node.p, sets, node.capacity, start)
        assert found.value == best.value
        for token in range(5):
            given = [sum((mass for (_, y), mass in plan.items() if y == token), ZERO) for plan in (start, found.plan)]
            assert given[0] <= given[1]


def no_augmentation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(flow._Network, "layers", lambda self: setattr(self, "level_of_token", {}))


def nothing_taken_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(flow._Network, "_take_back", lambda self, number, token, amount: None)


@pytest.mark.parametrize("fault", [no_augmentation, nothing_taken_back])
def test_wrong_flows_are_found(fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    wrong = 0
    for node in random_nodes(300):
        sets = set_law(node.draws)
        found = optimum(node.p, sets, node.capacity)
        try:
            check(one_node(node.p, sets, node.capacity, found))
        except Rejected:
            wrong += 1
        else:
            assert found.value == least_cut(node)
    assert wrong > 3
