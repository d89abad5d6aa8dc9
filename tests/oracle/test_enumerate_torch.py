"""Enumerate: torch's random calls, and the sampler that transformers ships."""

from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import torch
from torch import rand as captured_rand

from draftproof.oracle.readings.enumerate import Enumeration, Refused, enumerate_law, scripted_generator

P, Q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5])
SECOND_TARGET, SECOND_DRAFT = torch.tensor([0.15, 0.15, 0.35, 0.35]), torch.tensor([0.45, 0.45, 0.05, 0.05])
TICK = Fraction(1, 2**24)


def off_by(found: Enumeration[Any], exact: dict[Any, float]) -> float:
    """Total variation, failures included."""
    assert sum(found.law.values()) + sum(found.failures.values()) == 1
    wrong = sum(abs(float(found.law.get(outcome, 0)) - exact.get(outcome, 0)) for outcome in found.law.keys() | exact)
    return 0.5 * (wrong + float(sum(found.failures.values())))


def sample(distribution: Any) -> torch.Tensor:
    drawn: torch.Tensor = distribution.sample()
    return drawn


def by_search(row: torch.Tensor, u: torch.Tensor) -> int:
    return int(torch.searchsorted(row.cumsum(-1), u * row.sum(), right=True).clamp(max=len(row) - 1))


def by_sum(row: torch.Tensor, u: torch.Tensor) -> int:
    return int((row.cumsum(-1) <= u * row.sum()).sum().clamp(max=len(row) - 1))


def by_argmax(row: torch.Tensor, u: torch.Tensor) -> int:
    return int((row.cumsum(-1) / row.sum() > u).int().argmax())


def by_multinomial(row: torch.Tensor, u: torch.Tensor) -> int:
    return int(torch.multinomial(row, 1))


DRAWS = [by_search, by_sum, by_argmax, by_multinomial]


def speculative(
    p: torch.Tensor, q: torch.Tensor, draw: Callable[[torch.Tensor, torch.Tensor], int], reuse: bool
) -> int:
    draft = q.multinomial(1)
    u = torch.rand(1)
    if u < (p / q)[draft]:
        return int(draft)
    return draw((p - q).clamp(min=0), u if reuse else torch.rand(1))


@pytest.mark.parametrize("draw", DRAWS)
def test_lossless_rule(draw: Any) -> None:
    for p, q in ((P, Q), (SECOND_TARGET, SECOND_DRAFT)):
        found = enumerate_law(lambda: speculative(p, q, draw, reuse=False))  # noqa: B023
        assert off_by(found, dict(enumerate(p.double().tolist()))) < 2e-7
        assert draw is by_argmax or found.leaves < 25


@pytest.mark.parametrize("draw", [by_search, by_sum, by_argmax])
def test_reusing_a_uniform_has_its_own_exact_law(draw: Any) -> None:
    found = enumerate_law(lambda: speculative(SECOND_TARGET, SECOND_DRAFT, draw, reuse=True))
    assert off_by(found, dict(enumerate([0.15, 0.15, 0.20, 0.50]))) < 2e-7
    assert off_by(found, dict(enumerate(SECOND_TARGET.tolist()))) > 0.1


def test_a_row_of_uniforms() -> None:
    ratio = torch.tensor([[0.25, 0.5, 0.75]])

    def program() -> tuple[bool, ...]:
        return tuple((torch.rand_like(ratio) < ratio)[0].tolist())

    found = enumerate_law(program)
    assert found.leaves == 8
    law = {bits: 1.0 for bits in product((False, True), repeat=3)}
    for bits, i in product(law, range(3)):
        law[bits] *= float(ratio[0, i]) if bits[i] else 1 - float(ratio[0, i])
    assert off_by(found, law) == 0


@pytest.mark.parametrize(
    ("dtype", "zero", "below_half"),
    [
        (torch.float32, TICK, Fraction(1, 2)),
        (torch.float64, Fraction(1, 2**53), Fraction(1, 2)),
        # rounded from 24 bits, and what rounds to 1 becomes 0
        (torch.float16, TICK + Fraction(1, 2**12), Fraction(1, 2) + Fraction(1, 2**12) - Fraction(1, 2**13)),
        (torch.bfloat16, TICK + Fraction(1, 2**9), Fraction(1, 2) + Fraction(1, 2**9) - Fraction(1, 2**10)),
    ],
)
def test_the_grid_of_each_dtype(dtype: torch.dtype, zero: Fraction, below_half: Fraction) -> None:
    assert enumerate_law(lambda: bool(torch.rand((), dtype=dtype) <= 0.0)).law[True] == zero
    assert enumerate_law(lambda: bool(torch.rand((), dtype=dtype) < 0)).law == {False: 1}
    assert enumerate_law(lambda: bool(torch.rand(1, dtype=dtype) < 0.5)).law[True] in (below_half, below_half + TICK)
    real = torch.rand(200_000, dtype=dtype, generator=torch.Generator().manual_seed(1))
    assert abs(float((real <= 0).double().mean()) - float(zero)) < 5e-4
    assert abs(float((real < 0.5).double().mean()) - float(below_half)) < 6e-3


GENERATOR, HELD = scripted_generator("torch"), torch.Generator().manual_seed(5)
FORMS: list[Callable[[], torch.Tensor]] = [
    lambda: torch.rand(2),
    lambda: torch.rand((2,)),
    lambda: torch.rand(size=(2,)),
    lambda: torch.rand(2, 1, dtype=torch.float64).squeeze(1),
    lambda: torch.rand([1, 2], device="cpu", generator=GENERATOR)[0],
    lambda: torch.rand(2, generator=torch.default_generator),
    lambda: torch.rand(2, generator=HELD),
    lambda: torch.rand(2, requires_grad=True),
    lambda: torch.rand_like(P[:2]),
    lambda: torch.rand_like(P[:2], dtype=torch.float64),
    lambda: torch.empty(2).uniform_(),
    lambda: torch.empty(2).uniform_(0, 1, generator=GENERATOR),
    lambda: torch.zeros(2).copy_(torch.rand(2)),
    lambda: sample(torch.distributions.Uniform(torch.zeros(2), torch.ones(2))),
]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_uniforms(form: Callable[[], torch.Tensor]) -> None:
    def program() -> tuple[bool, ...]:
        u = form()
        return tuple((u < torch.tensor([0.25, 0.5])).tolist())

    law = {(a, b): (0.75, 0.25)[a] / 2 for a, b in product((False, True), repeat=2)}
    assert off_by(enumerate_law(program), law) == 0


flips = {(a, b): (0.75, 0.25)[a] * (0.5, 0.5)[b] for a, b in product((0, 1), repeat=2)}
quarters = dict.fromkeys(range(4), 0.25)
DISCRETE: list[tuple[Callable[[], Hashable], dict[Any, float]]] = [
    (lambda: torch.multinomial(torch.tensor([1.0, 3.0]), 1).item(), {0: 0.25, 1: 0.75}),
    (lambda: torch.tensor([1.0, 3.0]).multinomial(num_samples=1, generator=GENERATOR).item(), {0: 0.25, 1: 0.75}),
    (lambda: tuple(torch.multinomial(torch.tensor([[3.0, 1], [2, 2]]), 1).flatten().tolist()), flips),
    (lambda: tuple(torch.multinomial(torch.tensor([1.0, 1, 0]), 2).tolist()), {(0, 1): 0.5, (1, 0): 0.5}),
    (
        lambda: tuple(torch.multinomial(torch.tensor([3.0, 1]), 2, replacement=True).tolist()),
        {(a, b): (3 - 2 * a) * (3 - 2 * b) / 16 for a, b in product((0, 1), repeat=2)},
    ),
    (lambda: tuple(torch.bernoulli(torch.tensor([0.25, 0.5])).int().tolist()), flips),
    (lambda: tuple(torch.tensor([0.25, 0.5]).bernoulli().int().tolist()), flips),
    (lambda: tuple(torch.zeros(2).bernoulli_(torch.tensor([0.25, 0.5])).int().tolist()), flips),
    (lambda: torch.zeros(()).bernoulli(0.25).item(), {0: 0.75, 1: 0.25}),
    (lambda: torch.zeros((), dtype=torch.bool).bernoulli_(0.25).item(), {False: 0.75, True: 0.25}),
    (lambda: sample(torch.distributions.Categorical(torch.tensor([1.0, 3.0]))).item(), {0: 0.25, 1: 0.75}),
    (lambda: sample(torch.distributions.Bernoulli(torch.tensor(0.25))).item(), {0: 0.75, 1: 0.25}),
    (lambda: torch.randint(4, ()).item(), quarters),
    (lambda: torch.randint(2, 6, (1,), generator=GENERATOR).item() - 2, quarters),
    (lambda: torch.randint(low=0, high=4, size=(1,)).item(), quarters),
    (lambda: int(torch.rand(()) * 4), quarters),
    (lambda: (torch.rand(1) * 4).long().item(), quarters),
    (lambda: bool(torch.log(torch.rand(())) < torch.tensor(0.25).log()), {True: 0.25, False: 0.75}),
]


@pytest.mark.parametrize(("draw", "law"), DISCRETE)
def test_discrete_draws(draw: Callable[[], Hashable], law: dict[Any, float]) -> None:
    assert off_by(enumerate_law(draw), law) < 2e-7


def test_weights_are_exact() -> None:
    weights = [Fraction(w) for w in torch.tensor([0.1, 0.2, 0.7]).tolist()]
    found = enumerate_law(lambda: torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 1).item())
    assert found.law == {token: weight / sum(weights) for token, weight in enumerate(weights)}


@pytest.mark.parametrize(
    "weights",
    [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [-1.0, 1.0], [], [[[1.0]]], [[1.0, 0.0], [0.0, 0.0]]],
)
def test_bad_weights_raise_as_usual(weights: Any) -> None:
    def program() -> int:
        return int(torch.multinomial(torch.tensor(weights), 1))

    with pytest.raises(RuntimeError) as usual:
        program()
    assert enumerate_law(program).failures == {f"RuntimeError: {usual.value}": Fraction(1)}


def seeded(*seeds: int) -> int:
    return sum(bool(torch.rand((), generator=torch.Generator().manual_seed(seed)) < 0.5) for seed in seeds)


def test_fresh_seeds() -> None:
    assert enumerate_law(lambda: seeded(1, 2), fresh_seeds=True).law == {
        0: Fraction(1, 4),
        1: Fraction(1, 2),
        2: Fraction(1, 4),
    }
    with pytest.raises(Refused, match="seeds twice"):
        enumerate_law(lambda: seeded(1, 1), fresh_seeds=True)


def rewinding() -> bool:
    state = torch.get_rng_state()
    u = torch.rand(())
    torch.set_rng_state(state)
    return bool(u < 0.5) and bool(torch.rand(()) < 0.5)


def forked() -> bool:
    with torch.random.fork_rng():
        return bool(torch.rand(()) < 0.5)


def reseeding() -> bool:
    """Looks random to a script, but every call draws the same."""
    HELD.manual_seed(5)
    return bool(torch.rand((), generator=HELD) < 0.5)


def captured_and_held() -> bool:
    return bool(captured_rand((), generator=HELD) < 1e-6)


def only_unscripted() -> bool:
    if torch.rand is not captured_rand:
        raise TypeError("an unknown function")
    return bool(torch.rand(()) < 0.5)


def view_of_a_view() -> bool:
    """Another view, made before, does not know."""
    table = torch.zeros(2, 2).T
    table[0].uniform_()
    return bool(table[0, 0] < 0.5)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda: int(torch.nn.functional.gumbel_softmax(P).argmax()), "needs the value of a uniform: torch softmax"),
        (lambda: bool(torch.randn(()) < 0), "torch randn"),
        (lambda: bool(torch.empty(()).normal_() < 0), "torch normal_"),
        (lambda: int(torch.randperm(3)[0]), "torch randperm"),
        (lambda: bool(torch.empty(()).uniform_(0, 2) < 1), "other bounds"),
        (view_of_a_view, "the same script gave"),
        (lambda: bool(torch.empty_strided((2, 2), (1, 2))[0].uniform_()[0] < 0.5), "into a view"),
        (lambda: bool(captured_rand(()) < 1e-6), "of torch cpu was used or seeded; call torch.rand\\(\\) through its module, or take"),
        (lambda: bool(torch.nn.functional.dropout(P)[0] == 0), "global generator of torch"),
        (lambda: bool(torch.rand(()).numpy() < 0.5), "torch numpy"),
        (lambda: bool(torch.rand((), dtype=torch.complex64).real < 0.5), "complex"),
        (lambda: torch.rand(()), "returned"),
        (lambda: torch.multinomial(P, 1), "the same script gave"),
        (lambda: torch.manual_seed(0), "seeds its own randomness"),
        (lambda: seeded(0), "seeds its own randomness"),
        (lambda: bool(torch.rand((), generator=torch.Generator()) < 0.5), "without a seed"),
        (lambda: GENERATOR.clone_state(), "sets the state"),
        (reseeding, "a Generator that the program holds was used or seeded; take `generator`"),
        (lambda: bool(captured_rand((), generator=GENERATOR) < 1e-6), "that the program holds was used or seeded"),
        (captured_and_held, "a Generator that the program holds was used or seeded"),
        (only_unscripted, "only fails when its random calls are scripted: TypeError"),
        (rewinding, "sets the state"),
        (forked, "sets the state"),
        (lambda: int(torch.randint(10**6, ())), "too many branches"),
        (lambda: int((torch.rand(10) < 0.5).sum()), "more than 1000 branches"),
    ],
)
def test_refused(program: Callable[[], Hashable], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        enumerate_law(program, max_leaves=1000)
