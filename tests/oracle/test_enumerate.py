"""Enumerate: exact laws of unmodified Python programs, and the programs it must not be trusted with."""

import os
import random
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from fractions import Fraction
from itertools import accumulate, count
from random import random as captured_random
from typing import Any

import numpy as np
import pytest
import torch

from draftproof.oracle.readings import scripted
from draftproof.oracle.readings.enumerate import Enumeration, Refused, enumerate_law, scripted_generator
from draftproof.oracle.readings.exploring import Explorer
from draftproof.oracle.readings.uniforms import DOUBLE

P, Q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
SECOND_TARGET, SECOND_DRAFT = [0.15, 0.15, 0.35, 0.35], [0.45, 0.45, 0.05, 0.05]


def off_by(found: Enumeration[Any], exact: dict[Any, float]) -> float:
    """Total variation from a law given in floats; failures count."""
    assert sum(found.law.values()) + sum(found.failures.values()) == 1
    wrong = sum(abs(float(found.law.get(outcome, 0)) - exact.get(outcome, 0)) for outcome in found.law.keys() | exact)
    return 0.5 * (wrong + float(sum(found.failures.values())))


def inverse_cdf(weights: Sequence[float], u: Any) -> int:
    for token, edge in enumerate(accumulate(weights)):
        if u < edge:
            return token
    return len(weights) - 1


def speculative(p: Sequence[float], q: Sequence[float], *, fault: str = "") -> int:
    """One draft, one accept test, one residual draw."""
    draft = random.choices(range(len(q)), q)[0]
    u = random.random()
    if fault == "always" or u * q[draft] < p[draft]:
        return draft
    residual = p if fault == "residual" else [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    v = u if fault == "reuse" else random.random()
    return inverse_cdf(residual, v * sum(residual))


def law_of(p: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(p))


def test_lossless_rule() -> None:
    found = enumerate_law(lambda: speculative(P, Q))
    assert off_by(found, law_of(P)) < 1e-15 and found.leaves == 4


@pytest.mark.parametrize(
    ("fault", "law"),
    [("always", SECOND_DRAFT), ("residual", [0.24, 0.24, 0.26, 0.26]), ("reuse", [0.15, 0.15, 0.20, 0.50])],
)
def test_faults_have_their_own_exact_law(fault: str, law: list[float]) -> None:
    """`reuse` narrows one uniform twice: rejected at u > 1/3, then sent through the inverse CDF."""
    found = enumerate_law(lambda: speculative(SECOND_TARGET, SECOND_DRAFT, fault=fault))
    assert off_by(found, law_of(law)) < 1e-15
    assert off_by(found, law_of(SECOND_TARGET)) > 0.1


def test_masses_are_those_of_the_grid() -> None:
    def program() -> str:
        u = random.random()
        return "zero" if u <= 0 else "half" if u == 0.5 else "last" if u >= 1 - 2**-53 else "third" if u < 1 / 3 else ""

    found, tick = enumerate_law(program).law, Fraction(1, 2**53)
    assert found["zero"] == found["half"] == found["last"] == tick
    assert found["third"] == Fraction(1 / 3) - tick + (1 - Fraction(1 / 3) * 2**53 % 1) * tick


def test_calls_of_the_random_module() -> None:
    rng = random.Random()
    programs: dict[Callable[[], Hashable], dict[Any, float]] = {
        lambda: random.choice("abcd"): dict.fromkeys("abcd", 0.25),
        lambda: rng.choice("abcd"): dict.fromkeys("abcd", 0.25),
        lambda: random.Random().choice("abcd"): dict.fromkeys("abcd", 0.25),
        lambda: random.SystemRandom().choice("abcd"): dict.fromkeys("abcd", 0.25),
        lambda: random.choices("ab", [3, 1])[0]: {"a": 0.75, "b": 0.25},
        lambda: tuple(rng.choices("ab", k=2)): dict.fromkeys([(a, b) for a in "ab" for b in "ab"], 0.25),
        lambda: random.randint(1, 4): dict.fromkeys([1, 2, 3, 4], 0.25),
        lambda: random.randrange(0, 8, 2): dict.fromkeys([0, 2, 4, 6], 0.25),
        lambda: random.getrandbits(2): dict.fromkeys(range(4), 0.25),
        lambda: random.uniform(2, 6) < 3: {True: 0.25, False: 0.75},
        lambda: rng.uniform(2, 6) < 3: {True: 0.25, False: 0.75},
        lambda: tuple(random.sample("ab", 2)): {("a", "b"): 0.5, ("b", "a"): 0.5},
        lambda: int(random.random() * 4): dict.fromkeys(range(4), 0.25),
    }
    for program, law in programs.items():
        assert off_by(enumerate_law(program), law) < 1e-15


def test_failures_have_their_mass() -> None:
    def program() -> int:
        if random.random() < 0.25:
            raise ValueError("no token")
        if random.random() == 0.0:
            return 1 // 0
        return 1

    found = enumerate_law(program)
    assert found.failures["ValueError: no token"] == Fraction(1, 4)
    assert found.failures["ZeroDivisionError: integer division or modulo by zero"] == Fraction(3, 4) / 2**53
    assert found.law == {1: 1 - sum(found.failures.values())}


def test_division_by_a_uniform_fails_at_zero() -> None:
    found = enumerate_law(lambda: 0.25 / random.random() < 0.5)
    assert found.failures == {"ZeroDivisionError: float division by zero": Fraction(1, 2**53)}


def test_a_program_without_randomness() -> None:
    assert enumerate_law(lambda: "a") == Enumeration({"a": Fraction(1)}, {}, 1)


# programs that the script does not control

COUNTER = count()
HELD: Any = np.random.default_rng(7)
KEPT: list[int] = []
LAZY: list[float] = []


def previous() -> int:
    KEPT.append(random.randrange(3))
    return KEPT[-2] if len(KEPT) > 1 else 0


def outliving() -> bool:
    LAZY.append(random.random())
    return LAZY[-2] < 0.5 if len(LAZY) > 1 else True


def swallowing() -> float:
    try:
        return float(random.random())
    except Exception:
        return 0.5


class Verifier:
    def __init__(self) -> None:
        self.rng = np.random.RandomState(3)

    def __call__(self) -> bool:
        return bool(self.rng.rand() < 1e-6)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda: captured_random() < 1e-6, "of Python was used or seeded; call random.random\\(\\) through its module, or take `generator`"),
        (lambda: HELD.random() < 1e-6, "a Generator that the program holds"),
        (Verifier(), "a RandomState that the program holds"),
        (lambda: next(COUNTER) % 2, "the same script gave"),
        (lambda: next(COUNTER) % 2 and random.random() < 0.5, "not controlled"),
        (previous, "the same script gave"),
        (
            lambda: [random.random() < 0.5 for _ in range(random.randrange(2) + next(COUNTER) % 2)] == [],
            "another question",
        ),
        (outliving, "outlived the run"),
        (swallowing, "used as a plain number"),
        (lambda: random.random(), "returned"),
        (lambda: (random.random() + random.random()) < 1, "combines two uniforms"),
        (lambda: random.gauss(0, 1) < 0, "used as a plain number"),
        (lambda: random.random().hex()[0] == "0", "plain number: hex"),
        (lambda: random.seed(0), "seeds its own randomness"),
        (lambda: random.Random(3).random() < 0.5, "seeds its own randomness"),
        (lambda: random.setstate(random.getstate()), "sets the state"),
        (lambda: random.getrandbits(64), "too many branches"),
        (lambda: sum(random.random() < 0.5 for _ in range(20)), "more than 100 branches"),
    ],
)
def test_refused(program: Callable[[], Hashable], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        enumerate_law(program, max_leaves=100)


def test_deadline() -> None:
    with pytest.raises(Refused, match="time limit was over"):
        enumerate_law(lambda: sum(random.random() < 0.5 for _ in range(20)), deadline=time.monotonic() + 0.05)


def test_fresh_seeds() -> None:
    def program(*seeds: int) -> int:
        return sum(random.Random(seed).random() < 0.25 for seed in seeds)

    assert enumerate_law(lambda: program(1, 2), fresh_seeds=True).law[2] == Fraction(1, 16)
    with pytest.raises(Refused, match="seeds twice"):
        enumerate_law(lambda: program(1, 1), fresh_seeds=True)


def test_nesting_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="nested"):
        enumerate_law(lambda: bool(enumerate_law(lambda: 1)))
    with pytest.raises(RuntimeError, match="inside enumerate_law"):
        scripted_generator("numpy").random()
    with pytest.raises(ValueError, match="no generators of 'jax'"):
        scripted_generator("jax")


def test_unhashable_outcomes_are_an_error() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        enumerate_law(lambda: [random.random() < 0.5])  # type: ignore[type-var]


# nothing is left behind


def interrupted() -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "program",
    [lambda: random.random() < 0.5, lambda: random.random(), lambda: HELD.random() < 0.5, lambda: 1 // 0, interrupted],
)
def test_generators_and_functions_are_put_back(program: Callable[[], Hashable]) -> None:
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    owners: list[Any] = [random, random.Random, random.SystemRandom, np, np.random, torch, torch.random, torch.Tensor]
    before = [dict(vars(owner)) for owner in owners]
    expected = random.random(), np.random.random(), torch.rand(3).tolist()
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    held = HELD.bit_generator.state
    try:
        enumerate_law(program)
    except (Refused, KeyboardInterrupt):
        pass
    assert [dict(vars(owner)) for owner in owners] == before
    assert (random.random(), np.random.random(), torch.rand(3).tolist()) == expected
    assert HELD.bit_generator.state == held


def test_torch_imported_by_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its first call torch is scripted; later it is refused."""

    def imports_torch() -> bool:
        sys.modules["torch"] = torch
        return bool(torch.rand(()) < 0.5)

    def late() -> bool:
        return random.random() < 1e-9 and imports_torch()

    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(Refused, match="import it first"):
        enumerate_law(late)
    del sys.modules["torch"]
    assert enumerate_law(imports_torch).law == {True: Fraction(1, 2), False: Fraction(1, 2)}


@pytest.mark.parametrize(
    "use",
    [abs, round, complex, lambda u: u**1.0, lambda u: 2**u, lambda u: u % 1, lambda u: 1 % u, lambda u: 1 // u]
    + [lambda u: divmod(u, 1), lambda u: u.is_integer(), lambda u: u.real, lambda u: u.as_integer_ratio()],
)
def test_what_a_float_can_and_a_uniform_cannot_is_refused_even_if_swallowed(use: Callable[[Any], Any]) -> None:
    """Else the branches would be those of the handler, while unscripted numbers never come to it."""

    def program() -> int:
        u = random.random()
        try:
            use(u)
        except (TypeError, AttributeError, ZeroDivisionError):
            return int(u < 0.5)
        return int(u < 0.5 or 0.6 < u < 0.7)

    with pytest.raises(Refused, match="plain number"):
        enumerate_law(program)


def test_bytes_of_the_operating_system_are_refused() -> None:
    """Used in one branch of many, they would hardly differ between two runs."""
    with pytest.raises(Refused, match="os.urandom"):
        enumerate_law(lambda: random.random() < 0.01 and os.urandom(1)[0] < 26)
    assert len(os.urandom(3)) == 3


def test_an_array_of_an_earlier_program_is_refused() -> None:
    kept = list[np.ndarray]()

    def first() -> bool:
        kept.append(np.random.random(3))
        return bool((kept[-1] < 0.5).all())

    enumerate_law(first)
    with pytest.raises(Refused, match="outlived the run"):
        enumerate_law(lambda: bool((kept[1] < 0.25).all()))  # kept[0] is of the run before anything is scripted


def test_a_statement_on_numbers_of_another_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not be answered from what that run found."""
    over = Explorer()
    for script, refused in ((over, False), (Explorer(), True)):
        script.begin()
        monkeypatch.setattr(scripted, "active", script)
        if not refused:
            number = over.draw(DOUBLE)
            bool(number < 0.5)
        with pytest.raises(Refused, match="outlived the run") if refused else nullcontext():
            bool(number >= 0.25)
    monkeypatch.setattr(scripted, "active", None)
    with pytest.raises(Refused, match="outlived the run"):
        bool(number < 0.75)
