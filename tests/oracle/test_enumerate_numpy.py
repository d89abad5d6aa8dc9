"""Enumerate: numpy's random calls."""

import random
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.random import rand as captured_rand

from draftproof.oracle.readings.enumerate import Enumeration, Refused, enumerate_law, scripted_generator

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
GENERATOR = scripted_generator("numpy")


def off_by(found: Enumeration[Any], exact: dict[Any, float]) -> float:
    assert sum(found.law.values()) == 1 and not found.failures
    return 0.5 * sum(
        abs(float(found.law.get(outcome, 0)) - exact.get(outcome, 0)) for outcome in found.law.keys() | exact
    )


def speculative(rng: Any, search: Callable[[Any, Any], Any]) -> int:
    draft = rng.choice(3, p=Q)
    if rng.random() < P[draft] / Q[draft]:
        return int(draft)
    residual = np.maximum(P - Q, 0)
    return int(search(np.cumsum(residual / residual.sum()), rng.random()))


SEARCHES: dict[str, Callable[[Any, Any], Any]] = {
    "function": lambda cdf, u: np.searchsorted(cdf, u, side="right"),
    "method": lambda cdf, u: cdf.searchsorted(u, side="right"),
    "sum": lambda cdf, u: (cdf <= u).sum(),
    "argmax": lambda cdf, u: np.argmax(u < cdf),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    "rng", [lambda: np.random.default_rng(), lambda: np.random.RandomState(), lambda: np.random, lambda: GENERATOR]
)
def test_rejection_sampler(search: str, rng: Callable[[], Any]) -> None:
    def program() -> int:
        return speculative(rng(), SEARCHES[search])

    assert off_by(enumerate_law(program), dict(enumerate(P))) < 1e-15


@pytest.mark.parametrize("search", ["function", "sum"])
def test_a_batch_with_one_uniform_a_row(search: str) -> None:
    cdf = np.cumsum(P)

    def program() -> Hashable:
        u = np.random.default_rng().random((2, 2))
        accepted = u[:, 0] < [0.25, 0.75]
        tokens = np.searchsorted(cdf, u[:, 1]) if search == "function" else (u[:, 1:] > cdf).sum(-1)
        return (*accepted.tolist(), *tokens.tolist())

    found = enumerate_law(program)
    assert found.leaves == 36
    law = {
        (a, b, s, t): (0.75, 0.25)[a] * (0.25, 0.75)[b] * P[s] * P[t]
        for a, b, s, t in product(*2 * [(0, 1)], *2 * [range(3)])
    }
    assert off_by(found, law) < 1e-15


def test_reusing_a_uniform() -> None:
    p, q = np.array([0.15, 0.15, 0.35, 0.35]), np.array([0.45, 0.45, 0.05, 0.05])

    def program() -> int:
        draft = np.random.choice(4, p=q)
        u = np.random.rand()
        if u < p[draft] / q[draft]:
            return int(draft)
        residual = np.maximum(p - q, 0)
        return int(np.searchsorted(np.cumsum(residual / residual.sum()), u))

    assert off_by(enumerate_law(program), dict(enumerate([0.15, 0.15, 0.20, 0.50]))) < 1e-15


half, quarters = {0: 0.5, 1: 0.5}, dict.fromkeys(range(4), 0.25)
CALLS: list[tuple[Callable[[Any], Hashable], dict[Any, float]]] = [
    (lambda rng: rng.uniform() < 0.25, {True: 0.25, False: 0.75}),
    (lambda rng: rng.uniform(2, 4) < 2.5, {True: 0.25, False: 0.75}),
    (
        lambda rng: tuple(rng.uniform([2, 0], [4, 1]) < [2.5, 0.5]),
        {(a, b): (0.75, 0.25)[a] / 2 for a in (0, 1) for b in (0, 1)},
    ),
    (lambda rng: int((rng.random(1) * 4).item()), quarters),
    (lambda rng: rng.choice(4), quarters),
    (lambda rng: rng.choice(["a", "b"]), {"a": 0.5, "b": 0.5}),
    (lambda rng: tuple(rng.choice(3, size=2, replace=False)), dict.fromkeys(permutations(range(3), 2), 1 / 6)),
    (
        lambda rng: tuple(rng.choice(2, size=(2,), p=[0.25, 0.75])),
        {(a, b): (1 + 2 * a) * (1 + 2 * b) / 16 for a in (0, 1) for b in (0, 1)},
    ),
    (lambda rng: int(rng.multinomial(1, [0.25] * 4).argmax()), quarters),
    (lambda rng: rng.binomial(1, 0.5), half),
    (lambda rng: tuple(rng.binomial(1, [0.5, 0.0])), {(0, 0): 0.5, (1, 0): 0.5}),
]
MODERN: list[tuple[Callable[[Any], Hashable], dict[Any, float]]] = [
    (lambda rng: rng.integers(4), quarters),
    (lambda rng: rng.integers(0, 3, endpoint=True), quarters),
    (lambda rng: tuple(rng.integers(1, 3, size=2)), {(a, b): 0.25 for a in (1, 2) for b in (1, 2)}),
    (lambda rng: tuple(rng.multinomial(1, [[0.5, 0.5], [0.0, 1.0]]).argmax(-1)), {(0, 1): 0.5, (1, 1): 0.5}),
]
LEGACY: list[tuple[Callable[[Any], Hashable], dict[Any, float]]] = [
    (lambda rng: rng.randint(4), quarters),
    (lambda rng: rng.rand() < 0.5, half),
    (lambda rng: tuple(rng.rand(2) < 0.5), {(a, b): 0.25 for a in (0, 1) for b in (0, 1)}),
    (lambda rng: rng.random_sample(1)[0] < 0.5, half),
    (lambda rng: np.random.ranf() < 0.5, half),
]


@pytest.mark.parametrize(("call", "law"), CALLS + MODERN)
def test_calls_of_generators(call: Callable[[Any], Hashable], law: dict[Any, float]) -> None:
    assert off_by(enumerate_law(lambda: call(np.random.default_rng())), law) < 1e-15


@pytest.mark.parametrize(("call", "law"), CALLS + LEGACY)
def test_calls_of_the_module_and_its_states(call: Callable[[Any], Hashable], law: dict[Any, float]) -> None:
    assert off_by(enumerate_law(lambda: call(np.random)), law) < 1e-15
    assert off_by(enumerate_law(lambda: call(np.random.RandomState())), law) < 1e-15


def test_weights_are_exact() -> None:
    found = enumerate_law(lambda: int(np.random.default_rng().choice(3, p=[0.1, 0.2, 0.7])))
    total = Fraction(0.1) + Fraction(0.2) + Fraction(0.7)
    assert found.law == {0: Fraction(0.1) / total, 1: Fraction(0.2) / total, 2: Fraction(0.7) / total}


def test_searching_among_nan() -> None:
    """numpy puts NaN last."""
    assert enumerate_law(lambda: int(np.searchsorted([np.nan, np.nan], np.random.rand(), side="right"))).law == {0: 1}
    assert enumerate_law(lambda: int(np.searchsorted([0.25, np.nan], np.random.rand()))).law[1] > Fraction(7, 10)


def test_bad_arguments_raise_as_usual() -> None:
    def program() -> int:
        return int(np.random.default_rng().choice(3, p=[0.1, 0.2, 0.6]))

    with pytest.raises(ValueError) as usual:
        program()
    assert enumerate_law(program).failures == {f"ValueError: {usual.value}": Fraction(1)}


def test_types_are_those_of_real_draws() -> None:
    def program() -> Hashable:
        modern, legacy = np.random.default_rng(), np.random.RandomState()
        drawn = (
            modern.choice(3),
            legacy.choice(3),
            modern.choice(["a"]),
            legacy.binomial(1, 0.5),
            modern.integers(3, size=2),
        )
        return isinstance(modern, np.random.Generator), *map(type, drawn), drawn[-1].dtype

    assert enumerate_law(program).law == {program(): 1}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda: captured_rand() < 1e-6, "of numpy was used or seeded; call numpy.random.random\\(\\) through its module, or take `generator`"),
        (lambda: np.random.seed(0), "seeds its own randomness"),
        (lambda: np.random.default_rng(0).random() < 0.5, "seeds its own randomness"),
        (lambda: np.random.RandomState(0).rand() < 0.5, "seeds its own randomness"),
        (lambda: np.random.Generator(np.random.PCG64()).random() < 0.5, "bit generator of its own"),
        (lambda: np.random.set_state(np.random.get_state()), "numpy.random.get_state is not scripted"),
        (lambda: np.random.standard_normal() < 0, "standard_normal is not scripted"),
        (lambda: np.random.default_rng().standard_gamma(1.0) < 1, "standard_gamma is not scripted"),
        (lambda: np.random.default_rng().random(3).sum() < 1, "combines two uniforms"),
        (lambda: np.random.default_rng().random(3).argsort()[0], "raced"),
        (lambda: np.random.default_rng().random(dtype=np.float32) < 0.5, "another dtype"),
        (lambda: np.random.default_rng().random(2).astype(np.float32)[0] < 0.5, "used as a plain number"),
        (lambda: np.random.multinomial(2, [0.5, 0.5])[0], "n != 1"),
        (lambda: np.random.default_rng().integers(10**6), "too many branches"),
    ],
)
def test_refused(program: Callable[[], Hashable], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        enumerate_law(program)


def test_the_same_seed_twice() -> None:
    def program(*seeds: int) -> int:
        return sum(bool(np.random.default_rng(seed).random() < 0.5) for seed in seeds)

    assert enumerate_law(lambda: program(1, 2), fresh_seeds=True).law[1] == Fraction(1, 2)
    with pytest.raises(Refused, match="seeds twice"):
        enumerate_law(lambda: program(1, 1), fresh_seeds=True)


@pytest.mark.parametrize("one", [True, np.bool_(True), np.int64(1), np.float64(1)])
def test_numpy_scalars_multiply_from_either_side(one: Any) -> None:
    for program in (lambda: bool(random.random() * one < 0.25), lambda: bool(one * random.random() < 0.25)):
        assert enumerate_law(program).law == {True: Fraction(1, 4), False: Fraction(3, 4)}
