"""Integrate: exact laws of subjects whose uniforms are given, and refusals where the method does not apply."""

from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from draftproof.oracle.readings.integrate import Integration, integrate_law
from draftproof.oracle.readings.refused import Refused

Array = NDArray[Any]
Subject = Callable[[Array], Array]
FRESH = 50_000


def distance(found: Integration, exact: Mapping[int, float]) -> float:
    return 0.5 * sum(abs(found.law.get(i, 0) - exact.get(i, 0)) for i in found.law.keys() | exact.keys())


def chain(v: int, k: int, *, fault: str = "", dtype: type = np.float64) -> tuple[Subject, dict[int, float]]:
    """A token-level chain verifier (uniform i tests draft i, the last draws the bonus) and its exact block law."""
    rng = np.random.default_rng(v * 10 + k)
    target, draft = rng.dirichlet(np.ones(v), k + 1), rng.dirichlet(np.ones(v), k)
    drafts = (draft - target[:k]).argmax(1)  # each may be rejected
    accept = np.minimum(1, target[range(k), drafts] / draft[range(k), drafts])
    rows = np.maximum(target[:k] - (0 if fault == "residual" else draft), 0)
    bonus = np.vstack([rows / rows.sum(1, keepdims=True), target[k]])
    cdf = np.cumsum(bonus, 1)
    accept, cdf = accept.astype(dtype), (cdf / cdf[:, -1:]).astype(dtype)

    def verify(u: Array) -> Array:
        u = u.astype(dtype)
        tests = u[:, [0] * k] if fault == "reuse" else u[:, :k]
        accepted = np.append(tests < accept, np.zeros((len(u), 1), bool), 1).argmin(1)
        return np.asarray(accepted * v + (cdf[accepted] <= u[:, k:]).sum(1))

    # accepted >= j has probability prod(accept[:j]), or the least of them when one uniform makes every test
    reach = [1.0] + [float((np.min if fault == "reuse" else np.prod)(accept[: j + 1])) for j in range(k)] + [0.0]
    law = {j * v + t: (reach[j] - reach[j + 1]) * float(bonus[j, t]) for j in range(k + 1) for t in range(v)}
    return verify, law


def walk(v: int, seed: int = 0) -> tuple[Subject, dict[int, float]]:
    """Predraw-and-follow on a tree of 7 nodes, uniform i drawing the token after node i, and its exact block law."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(v), 7)
    cdf = np.cumsum(rows, 1) / rows.sum(1, keepdims=True)
    child = np.full((7, v), -1)
    for node, (parent, token) in enumerate([(0, 0), (0, 2), (1, 1), (1, 2), (2, 0), (4, 0)], start=1):
        child[parent, token] = node

    def verify(u: Array) -> Array:
        node, out = np.zeros(len(u), int), np.full(len(u), -1)
        for _ in range(4):
            token = (cdf[node] <= u[np.arange(len(u)), node][:, None]).sum(1)
            below = child[node, token]
            out = np.where((out < 0) & (below < 0), node * v + token, out)
            node = np.where(below < 0, node, below)
        return out

    law: dict[int, float] = {}

    def add(node: int, mass: float) -> None:
        for token in range(v):
            if child[node, token] >= 0:
                add(child[node, token], mass * rows[node, token])
            else:
                law[node * v + token] = mass * rows[node, token]

    add(0, 1.0)
    return verify, law


@pytest.mark.parametrize(("v", "k"), [(2, 2), (5, 3), (4, 6)])
def test_chain_law_is_exact(v: int, k: int) -> None:
    verify, law = chain(v, k)
    found = integrate_law(verify, k + 1, fresh=FRESH)
    assert distance(found, law) < 1e-6
    assert sum(found.law.values()) == pytest.approx(1, abs=1e-12)
    assert (found.disagreements, found.rounds) == (0, 1)
    assert found.certified == pytest.approx(14.5 / FRESH, rel=0.01)


def test_float32_chain() -> None:
    verify, law = chain(5, 3, dtype=np.float32)
    assert distance(integrate_law(verify, 4, fresh=FRESH), law) < 1e-6


@pytest.mark.parametrize("fault", ["residual", "reuse"])
def test_planted_faults_are_read_as_they_are(fault: str) -> None:
    verify, law = chain(5, 3, fault=fault)
    found = integrate_law(verify, 4, fresh=FRESH)
    assert distance(found, law) < 1e-6
    assert distance(found, chain(5, 3)[1]) > 0.01


def test_overhead_is_small() -> None:
    verify, _ = chain(5, 3)
    found = integrate_law(verify, 4, fresh=1)
    assert found.tapes < 5_000 and found.calls < 60


def test_walk_order_needs_few_tapes() -> None:
    verify, law = walk(5)
    found = integrate_law(verify, 7, fresh=FRESH)
    assert distance(found, law) < 1e-6
    assert found.rounds == 1 and found.tapes - FRESH < 50_000


@pytest.mark.parametrize("seed", range(3))
def test_bad_order_is_mended(seed: int) -> None:
    verify, law = walk(4, seed)
    found = integrate_law(verify, 7, order=range(6, -1, -1), completions=6, fresh=FRESH, seed=seed)
    assert distance(found, law) < 1e-6
    assert found.rounds > 1 and found.disagreements > 0


def test_without_fresh_tapes_a_bad_order_is_wrong_and_certifies_nothing() -> None:
    verify, law = walk(4)
    found = integrate_law(verify, 7, order=range(6, -1, -1), completions=6, fresh=1)
    assert distance(found, law) > 0.01
    assert found.certified > 0.99


@pytest.mark.parametrize("low", [0, 3_000_000, (1 << 24) - 16])
def test_rare_interval(low: int) -> None:
    """Mass 2^-20, at either end or between two different outcomes."""
    edges = np.array([low, low + 16]) * 2.0**-24
    found = integrate_law(lambda u: (u[:, 1:] >= edges).sum(1), 2, fresh=FRESH)
    assert found.law[1] == 2.0**-20


def test_island_between_equal_outcomes_is_found_by_the_fresh_tapes() -> None:
    found = integrate_law(lambda u: ((u[:, 0] > 0.41) & (u[:, 0] < 0.411)).astype(int), 2, fresh=FRESH)
    assert found.law[1] == pytest.approx(0.001, abs=2.0**-23)
    assert found.rounds > 1


def test_boundary_event_is_seen() -> None:
    found = integrate_law(lambda u: (u[:, 1] == 0).astype(int), 2, fresh=FRESH)
    assert found.law == {0: 1 - 2.0**-24, 1: 2.0**-24}


def test_tape_ignored() -> None:
    found = integrate_law(lambda u: np.full(len(u), -7), 5, fresh=FRESH)
    assert found.law == {-7: 1.0}


def test_coarse_grid_is_enumerated() -> None:
    found = integrate_law(lambda u: (u * 8).astype(int) @ [8, 1], 2, grid_bits=3, fresh=1000)
    assert found.law == {i: 1 / 64 for i in range(64)}


def test_calls_are_bounded_and_counted() -> None:
    sizes: list[int] = []
    verify, _ = walk(4)

    def watched(u: Array) -> Array:
        sizes.append(len(u))
        assert u.dtype == np.float64 and ((u >= 0) & (u < 1)).all() and (u * 2**24 % 1 == 0).all()
        return verify(u)

    found = integrate_law(watched, 7, order=range(6, -1, -1), fresh=600_000)
    assert (found.calls, found.tapes) == (len(sizes), sum(sizes))
    assert max(sizes) <= 1 << 18


def test_refuses_a_map_that_is_not_constant_on_boxes() -> None:
    with pytest.raises(Refused, match="cells|boxes"):
        integrate_law(lambda u: (u[:, 0] + u[:, 1] < 1).astype(int), 2, fresh=FRESH, max_cells=5_000)


def test_refuses_hidden_randomness() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(Refused, match="two ways"):
        integrate_law(lambda u: (rng.random(len(u)) < 0.3).astype(int), 2, fresh=FRESH)
    with pytest.raises(Refused, match="two ways|boxes"):
        integrate_law(lambda u: (u[:, 0] < 0.5) * 2 + (rng.random(len(u)) < 1e-3), 2, fresh=FRESH)


def test_refuses_when_a_limit_is_reached() -> None:
    verify, _ = walk(4)
    with pytest.raises(Refused, match="cells"):
        integrate_law(verify, 7, max_cells=10, fresh=FRESH)
    with pytest.raises(Refused, match="cells"):
        integrate_law(lambda u: (u[:, 0] * 2**24).astype(int) * 48271 % 997, 1, fresh=FRESH)
    with pytest.raises(Refused, match="time limit was over"):
        integrate_law(verify, 7, deadline=monotonic() - 1, fresh=FRESH)


@pytest.mark.parametrize(
    "change",
    [{"order": [0, 0]}, {"columns": 0}, {"completions": 0}, {"fresh": 0}, {"grid_bits": 0}, {"grid_bits": 53}],
)
def test_malformed_arguments(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        integrate_law(lambda u: np.zeros(len(u), int), **{"columns": 2} | change)


@pytest.mark.parametrize("answer", [lambda u: np.zeros((len(u), 1), int), lambda u: np.zeros(len(u))])
def test_malformed_answers(answer: Subject) -> None:
    with pytest.raises(ValueError, match="integer ids"):
        integrate_law(answer, 2)


def test_agreement_with_sampling() -> None:
    verify, _ = walk(3)
    found = integrate_law(verify, 7, fresh=FRESH)
    n = 200_000
    counts = Counter(verify(np.random.default_rng(1).random((n, 7))).tolist())
    assert all(abs(counts[i] / n - m) < 6 * (m * (1 - m) / n) ** 0.5 + 1e-9 for i, m in found.law.items())


@pytest.mark.parametrize("seed", range(12))
def test_random_decision_trees_in_any_order_stay_within_the_certificate(seed: int) -> None:
    """Against all 2^18 tapes of a coarse grid: three uniforms, each compared again and again at any depth."""
    rng = np.random.default_rng(seed)
    grid = np.arange(64) / 64
    tapes = np.stack(np.meshgrid(grid, grid, grid), -1).reshape(-1, 3)
    tests = [(rng.integers(3), rng.choice(grid)) for _ in range(63)]

    def subject(u: Array) -> Array:
        node = np.zeros(len(u), int)
        columns, thresholds = (np.array(values) for values in zip(*tests, strict=True))
        for _ in range(6):
            node = 2 * node + 1 + (u[np.arange(len(u)), columns[node]] < thresholds[node])
        return np.asarray(node * 2654435761 % 2**32 % 5)  # five outcomes, spread over the leaves

    found = integrate_law(
        subject, 3, order=rng.permutation(3).tolist(), grid_bits=6, completions=6, fresh=FRESH, seed=seed
    )
    exact = dict(enumerate((np.bincount(subject(tapes)) / len(tapes)).tolist()))
    assert distance(found, exact) <= found.certified
