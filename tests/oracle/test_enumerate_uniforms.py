"""Numbers that are not known yet must branch exactly where real numbers would: tried at every point of a small grid."""

import bisect
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.oracle.readings import scripted
from draftproof.oracle.readings.exploring import Explorer
from draftproof.oracle.readings.patched import patched
from draftproof.oracle.readings.refused import Refused
from draftproof.oracle.readings.tensors import filled
from draftproof.oracle.readings.uniforms import Grid

BITS = 5
TINY = Grid("tiny", BITS)
POINTS = [k / 2**BITS for k in range(2**BITS)]
Law = dict[Hashable, Fraction]


def explored(program: Callable[[Explorer], Hashable]) -> Law:
    explorer, law, more = Explorer(), defaultdict[Hashable, Fraction](Fraction), True
    with patched():
        while more:
            explorer.begin()
            scripted.active = explorer
            try:
                outcome = program(explorer)
            finally:
                scripted.active = None
            law[outcome] += Fraction(*explorer.mass())
            more = explorer.advance()
    return dict(law)


def lazily(program: Callable[[Any], Hashable], kind: type = float) -> Law:
    return explored(lambda explorer: program(explorer.draw(TINY, kind)))


def plainly(program: Callable[[Any], Hashable], kind: type = float) -> Law:
    counts = Counter(program(kind(point)) for point in POINTS)
    return {outcome: Fraction(count, len(POINTS)) for outcome, count in counts.items()}


constants = st.sampled_from([0.0, 0.1, -0.3, 0.5, 1.0, -1.0, 2.75, 3.0, 1e-3, 1 / 3, -7.0])
thresholds = constants | st.sampled_from([math.inf, -math.inf, math.nan, 31 / 32, 1 / 32, 0.25, 2, -1, 0, True])
exact_thresholds = thresholds | st.sampled_from([Fraction(1, 3), Fraction(1, 4), np.float32(0.3), np.float64(0.3)])
comparisons = st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
STEPS: dict[str, Callable[[Any, float], Any]] = {
    "u + c": lambda u, c: u + c,
    "c + u": lambda u, c: c + u,
    "u - c": lambda u, c: u - c,
    "c - u": lambda u, c: c - u,
    "u * c": lambda u, c: u * c,
    "c * u": lambda u, c: c * u,
    "u / c": lambda u, c: u / (c or 1.0),
    "u // c": lambda u, c: u // (c or 1.0),
    "-u": lambda u, c: -u,
    "max": lambda u, c: max(u, c),
}
steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), constants), max_size=3)


@given(
    steps, comparisons, exact_thresholds, comparisons, thresholds, st.booleans(), st.sampled_from([float, np.float64])
)
def test_arithmetic_and_comparisons(
    chain: list[tuple[str, float]], first: Any, t: Any, second: Any, s: Any, exchanged: bool, kind: type
) -> None:
    def program(u: Any) -> Hashable:
        for name, constant in chain:
            u = STEPS[name](u, constant)
        if exchanged:
            return bool(first(t, u)), bool(second(u, s))
        return bool(first(u, t)), bool(second(u, s))

    assert lazily(program, kind) == plainly(program, kind)


@given(constants, constants, st.sampled_from([int, math.floor, math.ceil, math.trunc]))
def test_whole_numbers(scale: float, shift: float, whole: Callable[[Any], int]) -> None:
    def program(u: Any) -> Hashable:
        return whole(u * scale + shift)

    assert lazily(program) == plainly(program)


@pytest.mark.parametrize("search", [bisect.bisect, bisect.bisect_left])
def test_bisect(search: Any) -> None:
    cdf = list(itertools.accumulate([0.1, 0.25, 0.0, 0.4]))
    assert lazily(lambda u: search(cdf, u)) == plainly(lambda u: search(cdf, u))


def test_division_by_a_uniform() -> None:
    assert lazily(lambda u: 0.1 / (1 - u) < 0.3) == plainly(lambda u: 0.1 / (1 - u) < 0.3)
    with pytest.raises(Refused, match="either sign"):
        lazily(lambda u: 1 / (u - 0.5) < 0.3)


def test_truth_and_numpy_functions() -> None:
    for program in (
        bool,
        lambda u: bool(u - 0.25),
        lambda u: bool(np.log1p(-u) < -0.3),
        lambda u: bool(np.sqrt(u) < 0.3),
    ):
        assert lazily(program) == plainly(program)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_known_numbers(dtype: Any) -> None:
    """A Python float is weak: against a float32 array it is compared, and multiplied, in float32."""
    known = np.array([[0.1, 0.3], [0.30000001, 0.75]], dtype=dtype)

    def program(u: Any) -> Hashable:
        compared = (u < known, known <= u, (1 - u) * known > 0.2, known - u == 0.05)
        return tuple(tuple(each.ravel().tolist()) for each in compared)

    assert lazily(program) == plainly(program)


@pytest.mark.parametrize(
    "misuse",
    [
        float,
        repr,
        lambda u: f"{u}",
        lambda u: u + u,
        lambda u: {u: 1},
        lambda u: math.exp(u),
        lambda u: u / 0.0 if u > 2 else u * math.inf,
        lambda u: int(u * 1e6),
        lambda u: np.array([u]).astype(float),
    ],
)
def test_needing_the_number_is_refused(misuse: Callable[[Any], Any]) -> None:
    with pytest.raises(Refused):
        lazily(lambda u: misuse(u) and None)


# the same for tensors

TENSOR_STEPS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "u * c": lambda u, c: u * c,
    "c - u": lambda u, c: c - u,
    "1 - u": lambda u, c: 1 - u,
    "u / 3": lambda u, c: u / 3,
    "u += 0.1": lambda u, c: u.clone().add_(0.1),
    "-log1p": lambda u, c: -torch.log1p(u.clamp(min=-0.5)),
    "clamp": lambda u, c: u.clamp(0.2, max=0.7),
    "minimum": lambda u, c: torch.minimum(u, c),
    "floor": lambda u, c: (u * 4).floor(),
    "double": lambda u, c: u.double(),
    "float": lambda u, c: u.float(),
    "bfloat16": lambda u, c: u.to(torch.bfloat16),
    "half": lambda u, c: u.half(),
    "turn": lambda u, c: u.unsqueeze(0).mT.reshape(1, 2).repeat(1, 1).squeeze()[[1, 0]],
    "join": lambda u, c: torch.cat([u[:1], u[1:]]),
}


def pairs_lazily(program: Callable[[torch.Tensor], Hashable], dtype: torch.dtype) -> Law:
    def run(explorer: Explorer) -> Hashable:
        return program(filled(torch.empty(2, dtype=dtype), [explorer.draw(TINY) for _ in range(2)]))

    return explored(run)


def pairs_plainly(program: Callable[[torch.Tensor], Hashable], dtype: torch.dtype) -> Law:
    counts = Counter(program(torch.tensor(pair, dtype=dtype)) for pair in itertools.product(POINTS, repeat=2))
    return {outcome: Fraction(count, len(POINTS) ** 2) for outcome, count in counts.items()}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(TENSOR_STEPS)), max_size=3),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]),
    st.sampled_from([torch.lt, torch.le, torch.gt, torch.ge, torch.eq]),
    st.sampled_from([0.3, torch.tensor([0.1, 0.7]), torch.tensor([0.3], dtype=torch.bfloat16), torch.tensor(1), -0.2]),
)
def test_tensors(chain: list[str], dtype: torch.dtype, compare: Any, threshold: Any) -> None:
    def program(u: torch.Tensor) -> Hashable:
        for name in chain:
            u = TENSOR_STEPS[name](u, torch.tensor([0.4, -1.5]))
        return tuple(compare(u, threshold).tolist())

    assert pairs_lazily(program, dtype) == pairs_plainly(program, dtype)


@pytest.mark.parametrize(
    "program",
    [
        lambda u: tuple((u * 3).long().tolist()),
        lambda u: tuple((0.3 < u.log()).tolist()),
        lambda u: bool(u[0] < 0.3) + 2 * int(u[1] * 3),
        lambda u: [v < 0.3 for v in u.tolist()][1],
        lambda u: u[1].item() * 2 < 0.6,
        lambda u: tuple(torch.where(torch.tensor([True, False]), u, 0.25).le(0.25).tolist()),
        lambda u: tuple(u.masked_fill(torch.tensor([True, False]), 0.75).le(0.25).tolist()),
        lambda u: tuple(u.gather(0, torch.tensor([1, 1, 0])).lt(torch.tensor([0.1, 0.2, 0.3])).tolist()),
        lambda u: tuple((torch.stack([u, torch.tensor([0.5, 0.1])]) < 0.3).flatten().tolist()),
        lambda u: tuple((u.view(2, 1).expand(2, 3) > torch.tensor([0.1, 0.4, 0.9])).sum(-1).tolist()),
        lambda u: tuple(torch.searchsorted(torch.tensor([0.1, 0.4, 0.4, 1.0]), u, right=True).tolist()),
        lambda u: tuple(
            torch.searchsorted(torch.tensor([[0.1, 0.4], [0.3, math.nan]]), u.unsqueeze(1)).flatten().tolist()
        ),
        lambda u: tuple(torch.bucketize(u, torch.tensor([0.25, 0.5])).tolist()),
        lambda u: tuple((torch.zeros_like(u) + (u < 0.5)).tolist()),
        lambda u: tuple((0.5 * torch.tensor(u[0].item()) < torch.tensor([0.1, 0.2])).tolist()),
        lambda u: tuple((torch.tensor([0.1, 0.2]) < u[0].item()).tolist()),
        lambda u: tuple((u[0] * 0.1 < torch.tensor([0.03, 0.05, 0.07], dtype=torch.bfloat16)).tolist()),
        lambda u: tuple((torch.tensor([0.03, 0.07], dtype=torch.float16) >= u[0].item() / 10).tolist()),
        lambda u: bool(u.isfinite().all()) and not bool(u.isnan().any()),
        lambda u: tuple((torch.tensor([v for v in u.tolist()]) < 0.3).tolist()),
        lambda u: bool(u[0]) and u.shape == (2,) and u.dtype == torch.float32 and len(u) == 2,
        lambda u: tuple(part.lt(0.5).item() for part in u.split(1)) + tuple(bool(v < 0.25) for v in u),
    ],
)
def test_tensor_operations(program: Callable[[torch.Tensor], Hashable]) -> None:
    assert pairs_lazily(program, torch.float32) == pairs_plainly(program, torch.float32)


def test_writing_into_tensors() -> None:
    def program(u: torch.Tensor) -> Hashable:
        table = torch.full((2, 2), 0.5)
        table[1] = u
        table[0, 0] = 0.125
        row = table[1]
        table[1, 0] = u[1]
        return tuple((table < 0.3).flatten().tolist()) + tuple((row < 0.6).tolist())

    assert pairs_lazily(program, torch.float32) == pairs_plainly(program, torch.float32)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda u: u.sum(),
        lambda u: u.max(),
        lambda u: u[0] < u[1],
        lambda u: u * u,
        lambda u: u.softmax(0),
        lambda u: u.numpy(),
        lambda u: float(u[0]),
        lambda u: str(u),
        lambda u: 1 / (u - 0.5),
        lambda u: torch.log(u - 0.5),
        lambda u: u.log().isinf(),
        lambda u: torch.searchsorted(u, torch.tensor([0.5])),
        hash,
    ],
)
def test_needing_the_numbers_is_refused(misuse: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(Refused):
        pairs_lazily(lambda u: misuse(u) and None, torch.float32)
