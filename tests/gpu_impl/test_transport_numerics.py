"""How far floating point takes the transport verifiers from the exact law: small instances, full vocabulary, capacities next to one."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

from draftproof.gpu_impl import greedy_plan as plans
from draftproof.gpu_impl.greedy_plan import greedy_plan
from draftproof.gpu_impl.trees import build_tree
from draftproof.oracle import reading as readings
from draftproof.oracle.cases import Case
from draftproof.oracle.league import random_instance
from draftproof.oracle.reading import Reading, bracket, read
from draftproof.reference.instances import Instance, parse
from draftproof.reference.rational import fraction

from .transport import DRAFTING, NAMES, VERIFIERS, subject

VOCABULARY = 151_936
CLASS = 131_072
"""Tokens that share the mass of one: a power of two, so that each share is a bfloat16 number and their sum is exact."""

BOUND = Fraction(1, 10**6)


def off_by(case: Case, reading: Reading) -> Fraction:
    """Total variation between the law that was read and the reference's."""
    exact = {block: fraction(mass) for block, mass in (case.reference_law or {}).items()}
    return sum((abs(reading.law.get(block, Fraction(0)) - exact.get(block, Fraction(0))) for block in {*reading.law, *exact}), Fraction(0)) / 2


def shared_last(name: str, seed: int, children: tuple[int, ...], zeros: float = 0.0) -> Instance:
    """A random instance whose last token the draft never proposes: at full vocabulary it stands for all the others."""
    vocabulary = 3 if DRAFTING[name] == "with_replacement" else max(children) + 2
    source = dict(random_instance("lifted", seed, vocabulary, "chain" if set(children) == {1} else DRAFTING[name], children, zeros).source)
    source["draft"] = {prefix: [*row[:-1], "0"] for prefix, row in source["draft"].items()}
    return parse(source)


def small(name: str) -> list[Instance]:
    """What is integrated as it is, and judged at full vocabulary too."""
    return [shared_last(name, 2, (2,)), shared_last(name, 2, (3,)), shared_last(name, 1, (1, 1))]


@pytest.mark.parametrize("chosen", [0, 1, 2])
@pytest.mark.parametrize("name", ["univer", "greedy_transport"])
def test_integrated_law(name: str, chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """float32 rows and 24-bit uniforms, nothing known about thresholds: within 1e-6 of the exact law."""
    assert_integrated(name, small(name)[chosen], monkeypatch)


@pytest.mark.parametrize("chosen", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_integrated_law_of_k_seq(chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call searches for rho anew, which makes three drafts slow to integrate."""
    assert_integrated("k_seq", small("k_seq")[chosen], monkeypatch)


def assert_integrated(name: str, given: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "FRESH", 20_000)  # tapes that look for boxes that were missed: with fewer of them it is harder to pass
    case = Case(subject(name, layout=None, uniforms_dtype="float32"), given)
    assert len(case.trees) > 1
    assert off_by(case, read(case, "integrate")) <= BOUND


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_integrated_law_of_two_levels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "FRESH", 100_000)
    for seed in range(6):
        given = random_instance("small", seed, 3, DRAFTING[name], (2, 1), zeros=0.3 * (seed % 2))
        case = Case(subject(name, layout=None, uniforms_dtype="float32"), given)
        assert off_by(case, read(case, "integrate")) <= BOUND


def lifted(name: str, prepare: Callable[[Tensor], Tensor] = Tensor.bfloat16) -> Callable[..., tuple[Tensor, Tensor]]:
    """The verifier on the same trees in a vocabulary of 151,936: tokens scattered, the last one, which is never drafted, shared by a class.

    Their order is kept, since bracketing goes by the inverse CDF.  ``prepare`` is what the verifier's caller does to the large rows.
    """
    shared = torch.arange(VOCABULARY - CLASS, VOCABULARY)
    scattered = torch.randperm(VOCABULARY - CLASS, generator=torch.Generator().manual_seed(0))[:16].sort().values

    def rows(small: Tensor) -> Tensor:
        large = torch.zeros(*small.shape[:2], VOCABULARY, dtype=small.dtype)
        large[:, :, scattered[: small.shape[2] - 1]] = small[:, :, :-1]
        large[:, :, shared] = (small[:, :, -1:] / CLASS).expand(-1, -1, CLASS)
        return large

    def verify(tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor, declared: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        small_of = torch.full((VOCABULARY + 1,), -7)
        small_of[shared] = target.shape[2] - 1
        small_of[scattered[: target.shape[2] - 1]] = torch.arange(target.shape[2] - 1)
        small_of[-1] = -1  # padding of blocks
        blocks, accepted = [], []
        for first in range(0, len(tokens), 16):  # a few trees at a time: a row is 300 kB
            part = slice(first, first + 16)
            large_tokens = scattered[tokens[part].clamp(max=target.shape[2] - 2)]
            more = prepare(rows(target[part])), prepare(rows(declared[part]))
            found = VERIFIERS[name](large_tokens, parents[part], valid[part], *more, uniforms=uniforms[part])
            width = parents.shape[1]
            blocks.append(torch.nn.functional.pad(small_of[found[0]], (0, width - found[0].shape[1]), value=-1))
            accepted.append(found[1])
        return torch.cat(blocks), torch.cat(accepted)

    return verify


@pytest.fixture(autouse=True)
def few_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of the full vocabulary takes long: thresholds are what is looked at here."""
    monkeypatch.setattr(readings, "INSIDE", 1 << 6)


def renormalised(rows: Tensor) -> Tensor:
    """bfloat16 rows as an engine would make them laws: upcast to float32 and divided by their float32 sums."""
    upcast = rows.float()
    return upcast / upcast.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("name", "prepare", "chosen"),
    [
        ("univer", renormalised, 0),
        pytest.param("univer", renormalised, 1, marks=pytest.mark.slow),
        ("univer", renormalised, 2),
        ("univer", Tensor.bfloat16, 0),
        ("greedy_transport", renormalised, 0),
    ],
)
def test_law_at_full_vocabulary_in_bfloat16(name: str, prepare: Callable[[Tensor], Tensor], chosen: int) -> None:
    """The exact law of the bfloat16 numbers, projected by class, to within 1e-6: on the small instances that were integrated."""
    case = Case(subject(name, lifted(name, prepare), dtype="bfloat16"), small(name)[chosen])
    reading = bracket(case)
    assert reading is not None and reading.resolution <= BOUND


@pytest.mark.slow
@pytest.mark.parametrize(("name", "children"), [("univer", (2, 1)), ("greedy_transport", (2, 1)), ("k_seq", (2,))])
def test_larger_trees_at_full_vocabulary_in_bfloat16(name: str, children: tuple[int, ...]) -> None:
    case = Case(subject(name, lifted(name), dtype="bfloat16"), shared_last(name, 2, children))
    reading = bracket(case)
    assert reading is not None and reading.resolution <= BOUND


def off_by_a_little(rows: Tensor) -> Tensor:
    """Divided by a sum that leaves out a part in a thousand of one token; deterministic drafts as they are."""
    first = rows.float().argmax(-1, keepdim=True)
    largest = rows.float().gather(-1, first)
    return rows.float().scatter(-1, first, torch.where(largest == 1, largest, 0.999 * largest))


def test_other_laws_at_full_vocabulary_are_found() -> None:
    case = Case(subject("univer", lifted("univer", off_by_a_little), dtype="bfloat16"), small("univer")[0])
    assert bracket(case) is None


def test_rows_that_are_not_renormalised_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 rows sum to one only up to 2^-9: used as they are, they are another law."""
    everything_sound = lambda rows, batch, node: (law := rows[batch, node].double(), torch.ones(len(law)).bool())  # noqa: E731
    monkeypatch.setattr(plans, "read_law", everything_sound)
    given = [random_instance("small", seed, 4, "greedy", (2,)) for seed in range(4)]
    assert any(bracket(Case(subject("univer", dtype="bfloat16"), one)) is None for one in given)


def scaled(row: Tensor) -> tuple[list[int], int]:
    """A row of floats as integers over one power of two, and their sum."""
    exact = [Fraction(value) for value in row.double().tolist()]
    unit = max(value.denominator for value in exact)
    integers = [int(value * unit) for value in exact]
    return integers, sum(integers)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("capacity", [1.0, 1 - 1e-6, 0.5])
def test_plan_of_one_node_at_thirty_two_thousand_tokens(dtype: torch.dtype, capacity: float) -> None:
    """Masses, chance of staying and bonus law against exact arithmetic on the same bits; the subtractive formula for staying is no good."""
    random_rows, size = np.random.default_rng(0), 32_000
    logits = torch.from_numpy(2 * random_rows.standard_normal(size))
    p = torch.softmax(logits, 0).to(dtype)
    q = torch.softmax(0.9 * logits + torch.from_numpy(random_rows.standard_normal(size)), 0)
    elder = int(q.argmax())
    drawn_row = q.clone()
    drawn_row[elder] = 0
    drawn_row = (drawn_row / drawn_row.sum()).to(dtype)
    child = int(torch.multinomial(drawn_row.double(), 1, generator=torch.Generator().manual_seed(1)))
    target, declared = p.expand(1, 3, size).clone(), torch.zeros(1, 3, size, dtype=dtype)
    declared[0, 1, elder], declared[0, 2] = 1, drawn_row
    tree = build_tree(torch.tensor([[0, elder, child]]), torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 3).bool(), size)
    root, mass = torch.zeros(1, dtype=torch.int64), torch.tensor([capacity], dtype=torch.float64)
    masses, rest, fine = greedy_plan(tree, target, declared, root, root, mass)
    assert fine.item()

    (w, total_w), (m, total_m), a = scaled(p), scaled(drawn_row), Fraction(capacity)
    owed = [a.numerator * x * total_m for x in w]  # times a's denominator, total_w and total_m
    offered = [a.denominator * y * total_w for y in m]
    unit = a.denominator * total_w * total_m
    accepts = min(Fraction(1), Fraction(owed[child], offered[child]))
    z = Fraction(sum(max(y - x, 0) for token, (x, y) in enumerate(zip(owed, offered, strict=True)) if token != elder), unit)
    left = [0 if token == elder else max(x - y, 0) for token, (x, y) in enumerate(zip(owed, offered, strict=True))]
    s = Fraction(sum(left), unit)
    stay = s / (s + 1 - a)
    hub = Fraction(owed[elder], unit) * (1 - accepts) / z
    assert abs(masses[0, 1].item() - float(accepts)) < 1e-12 and abs(masses[0, 0].item() - float(hub)) < 1e-12
    total = rest.sum(1)
    assert abs((total / (total + (1 - mass))).item() - float(stay)) < 1e-9
    exact_rest = np.array([float(Fraction(x, unit)) for x in left]) / float(s)
    assert np.abs((rest / total)[0].numpy() - exact_rest).sum() / 2 < 1e-9

    single = (mass.float() * p.float() / p.float().sum()).clone()
    alpha = single[elder] + torch.minimum(single, drawn_row.float() / drawn_row.float().sum())[torch.arange(size) != elder].sum()
    subtracted = (mass.float() - alpha) / (1 - alpha)
    if capacity == 1 - 1e-6 and dtype == torch.float32:
        assert abs(subtracted.item() - float(stay)) > 1e-9, "in float32 and by subtraction it misses the bound"
