"""univer, greedy_transport and k_seq: the law of the reference to float resolution, and the same answer however the batch is laid out."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from draftproof.gpu_impl.k_seq import crossing, smallest_rho
from draftproof.oracle import check
from draftproof.oracle.cases import Case
from draftproof.oracle.reading import bracket
from draftproof.reference.laws import Law
from draftproof.reference.verifiers.k_seq import smallest_rho as exact_rho

from .bracketing import Verifier
from .instances import pad, repeat
from .test_verifiers import beside_another, one_topology
from .transport import NAMES, VERIFIERS, batch, instances, subject, uniforms_for

every_verifier = pytest.mark.parametrize("name", NAMES)


@pytest.mark.parametrize(("dtype", "name"), [
    *((dtype, name) for dtype in ("float32", "float64") for name in NAMES),
    *(pytest.param("bfloat16", name, marks=pytest.mark.slow if name != "k_seq" else ()) for name in NAMES),
])
def test_law_is_that_of_the_reference(name: str, dtype: str) -> None:
    """Bracketed around every threshold, on every draft tree."""
    report = check(subject(name, dtype=dtype), instances(name, 15))
    assert report.outcome == "conform", str(report)
    assert {verdict.way for verdict in report.verdicts if verdict.verdict != "invariance"} == {"bracket"}
    assert max(verdict.number or 0 for verdict in report.verdicts if verdict.verdict == "exactness") < 5e-8


def test_catalogue() -> None:
    for name in NAMES:
        assert check(subject(name)).outcome == "conform"


def uniform_reused(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    return lambda *call, uniforms, **more: verifier(*call, uniforms=uniforms[:, :1].expand_as(uniforms), **more)


def rows_of_the_wrong_node(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    return lambda tokens, parents, valid, target, declared, **more: verifier(tokens, parents, valid, target.roll(1, 1), declared, **more)


def patched_plan(change: Callable[..., tuple[Tensor, Tensor]]) -> Callable[[Verifier, pytest.MonkeyPatch], Verifier]:
    """The verifier with what the plan returns for (masses, rest) changed."""

    def fault(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
        module = importlib.import_module(f"draftproof.gpu_impl.{verifier.__name__}")
        original = module.greedy_plan

        def plan(tree: Any, target: Tensor, declared: Tensor | None, rows: Tensor, node: Tensor, mass: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            masses, rest, fine = original(tree, target, declared, rows, node, mass)
            return (*change(masses, rest, target[rows, node].double(), tree.children[rows, node] > 0), fine)

        patch.setattr(module, "greedy_plan", plan)
        return verifier

    fault.__name__ = change.__name__
    return fault


def bonus_from_the_target(masses: Tensor, rest: Tensor, p: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    return masses, rest.sum(1, keepdim=True) * p / p.sum(1, keepdim=True)


def elders_get_all_they_are_owed(masses: Tensor, rest: Tensor, p: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    youngest = torch.arange(masses.shape[1]) == exists.sum(1, keepdim=True) - 1
    return torch.where(youngest, masses, masses * 1.1), rest


def youngest_is_always_accepted(masses: Tensor, rest: Tensor, p: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    youngest = torch.arange(masses.shape[1]) == exists.sum(1, keepdim=True) - 1
    return torch.where(youngest & (masses > 0), 1 - (masses * ~youngest).sum(1, keepdim=True), masses), rest


def siblings_not_conditioned(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    patch.setattr(importlib.import_module("draftproof.gpu_impl.univer"), "conditional", lambda masses: masses)
    return verifier


def parents_before_children(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    patch.setattr(importlib.import_module("draftproof.gpu_impl.univer"), "postorder", lambda tree: tree.depth)
    return verifier


def rho_too_small(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    module = importlib.import_module("draftproof.gpu_impl.k_seq")
    original = module.smallest_rho
    patch.setattr(module, "smallest_rho", lambda *rows: original(*rows) * 0.97)
    return verifier


def rho_is_the_number_of_drafts(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    """Lossless, but not what the rule accepts."""
    patch.setattr(importlib.import_module("draftproof.gpu_impl.k_seq"), "smallest_rho", lambda p, q, drafts, most: drafts.clamp(min=1).double())
    return verifier


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *[(name, fault) for name in NAMES for fault in (uniform_reused, rows_of_the_wrong_node)],
        *[
            (name, patched_plan(change))
            for name in ("univer", "greedy_transport")
            for change in (bonus_from_the_target, elders_get_all_they_are_owed, youngest_is_always_accepted)
        ],
        ("univer", siblings_not_conditioned),
        ("univer", parents_before_children),
        ("k_seq", rho_too_small),
        ("k_seq", rho_is_the_number_of_drafts),
    ],
)
def test_planted_fault_is_found(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = fault(VERIFIERS[name], monkeypatch)
    assert any(bracket(Case(subject(name, faulty), instance)) is None for instance in instances(name, 5))


@every_verifier
@pytest.mark.parametrize("deterministic", [False, True])
def test_permuted_batch(name: str, deterministic: bool) -> None:
    call = batch(name, deterministic=deterministic and name != "k_seq")
    uniforms = uniforms_for(call)
    order = torch.randperm(len(uniforms), generator=torch.Generator().manual_seed(1))
    permuted = {key: None if value is None else value[order] for key, value in call.items()}
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    again = VERIFIERS[name](**permuted, uniforms=uniforms[order])
    assert torch.equal(blocks[order], again[0]) and torch.equal(accepted[order], again[1])
    assert len(set(accepted.tolist())) > 2


@every_verifier
def test_each_row_alone(name: str) -> None:
    call = batch(name, copies=1)
    uniforms = uniforms_for(call)
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    for row in range(len(uniforms)):
        alone = {key: None if value is None else value[row : row + 1] for key, value in call.items()}
        block, count = VERIFIERS[name](**alone, uniforms=uniforms[row : row + 1])
        width = block.shape[1]
        assert torch.equal(block[0], blocks[row, :width]) and (blocks[row, width:] == -1).all() and count == accepted[row]


@every_verifier
@pytest.mark.parametrize("vocabulary", [3, 7, 12])
def test_trees_of_one_topology(name: str, vocabulary: int) -> None:
    call = one_topology(vocabulary, deterministic=name != "k_seq")
    assert beside_another(VERIFIERS[name], call, uniforms_for(call))


def wholes(low: int, high: int, count: int = 50) -> Tensor:
    return torch.randint(low, high, (count,), generator=torch.Generator().manual_seed(high)).double()


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize(
    "shape",
    [
        lambda beyond: beyond,
        lambda beyond: beyond.sign() + 0.5,  # tells a secant nothing but the side
        lambda beyond: beyond**3,
        lambda beyond: torch.expm1(beyond / 2.0**30),
        lambda beyond: torch.where(beyond < 0, beyond * 1e-9, beyond + 1e9),
    ],
)
def test_crossing(shape: Callable[[Tensor], Tensor], asks: bool) -> None:
    low, high = torch.full((50,), 2.0**40), torch.full((50,), 3 * 2.0**40)
    wanted = torch.cat([wholes(2**40, 3 * 2**40, 46), low[:1], low[:1] + 1, high[:1], high[:1] - 1])
    assert crossing(lambda place: shape(place - wanted), low, high, 42, asks).equal(wanted)
    one = crossing(lambda place: shape(place - wanted[:1]), low[:1], high[:1], 42, asks)
    assert one.equal(wanted[:1]), "alone as in company"
    assert not crossing(lambda place: shape(place - wanted), low, high, 30, asks=False).equal(wanted), "too few halvings are seen"


@pytest.mark.parametrize("drafts", [1, 2, 3, 5])
def test_smallest_rho(drafts: int) -> None:
    made = torch.Generator().manual_seed(drafts)
    p, q = (torch.randint(1, 9, (40, 4), generator=made).double() for _ in range(2))
    counts = torch.full((40,), drafts)
    found = smallest_rho(p / p.sum(1, keepdim=True), q / q.sum(1, keepdim=True), counts, drafts)
    for rho, weights, others in zip(found.tolist(), p.long().tolist(), q.long().tolist(), strict=True):
        exact = exact_rho(Law.row(weights), Law.row(others), drafts)
        assert abs(rho - float(exact)) <= 2.0**-40


@every_verifier
@pytest.mark.parametrize("junk", [0.0, float("nan"), -1.0])
def test_padding_and_the_root_change_nothing(name: str, junk: float) -> None:
    call = batch(name)
    uniforms = uniforms_for(call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    call = pad(call, 10, junk)
    call["tokens"][:, 0], call["declared"][:, 0] = 10**12, junk
    padded = VERIFIERS[name](**call, uniforms=torch.cat([uniforms, torch.rand(len(uniforms), 2)], 1))
    assert torch.equal(expected[0], padded[0]) and torch.equal(expected[1], padded[1])


@every_verifier
def test_inputs_are_left_alone(name: str) -> None:
    call = batch(name, dtype=torch.float64)
    uniforms = uniforms_for(call)
    before = {key: value.clone() for key, value in call.items()} | {"uniforms": uniforms.clone()}
    VERIFIERS[name](**call, uniforms=uniforms)
    assert all(torch.equal(before[key], value) for key, value in (call | {"uniforms": uniforms}).items())


@every_verifier
def test_root_alone_and_nothing_at_all(name: str) -> None:
    call = {key: value[:1, :1] for key, value in batch(name).items()}
    call = repeat(call, 50)
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms_for(call))
    assert blocks.shape == (50, 1) and (accepted == 0).all() and (call["target"][0, 0][blocks[:, 0]] > 0).all()
    blocks, accepted = VERIFIERS[name](**{key: value[:0] for key, value in call.items()})
    assert blocks.shape == (0, 1) and accepted.shape == (0,)


@every_verifier
@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-24, 1 - 2.0**-53])
def test_nothing_impossible_at_the_ends_of_the_unit_interval(name: str, uniform: float) -> None:
    call = batch(name, copies=1)
    blocks, accepted = VERIFIERS[name](**call, uniforms=torch.full_like(uniforms_for(call), uniform))
    for row in range(len(blocks)):
        tokens, node = call["tokens"][row].tolist(), 0
        for token in blocks[row, : int(accepted[row]) + 1].tolist():
            assert call["target"][row, node, token] > 0
            below = [i for i in range(1, 8) if call["valid"][row, i] and call["parents"][row, i] == node and tokens[i] == token]
            node = below[0] if below else -1


@every_verifier
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.5, 0.0])
@pytest.mark.parametrize("field", ["target", "declared"])
def test_row_that_is_no_law_is_never_answered_with_a_token(name: str, field: str, bad: float) -> None:
    call = batch(name)
    uniforms = uniforms_for(call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    below = (call["parents"] == 0) & call["valid"]
    below[:, 0] = False
    last = below.shape[1] - 1 - below.flip(1).int().argmax(1)  # the youngest child of the root
    read = last if name != "k_seq" else below.int().argmax(1)  # k_seq reads the eldest's row
    rows = torch.arange(0, len(uniforms), 2)
    call[field][rows, 0 if field == "target" else read[rows]] = bad
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert (blocks[::2] == -1).all() and (accepted[::2] == -1).all()
    assert torch.equal(blocks[1::2], expected[0][1::2]) and torch.equal(accepted[1::2], expected[1][1::2])


@every_verifier
@pytest.mark.parametrize(("field", "value"), [("tokens", 4), ("tokens", -1), ("parents", 1), ("parents", 5), ("valid", False)])
def test_malformed_tree_is_never_answered_with_a_token(name: str, field: str, value: int) -> None:
    call = batch(name)
    uniforms = uniforms_for(call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    bad = torch.arange(len(uniforms)) % 2 == 0
    call[field][bad, 0 if field == "valid" else 1] = value
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert (blocks[bad] == -1).all() and (accepted[bad] == -1).all()
    assert torch.equal(blocks[~bad], expected[0][~bad]) and torch.equal(accepted[~bad], expected[1][~bad])


@pytest.mark.parametrize("name", ["univer", "greedy_transport"])
def test_sampled_elder_is_never_answered_with_a_token(name: str) -> None:
    """Siblings without replacement are not greedy drafts: the closed form would be wrong for them."""
    call = batch(name)
    uniforms = uniforms_for(call)
    elder = call["valid"].sum(1) > 2  # node 1 has a younger sibling
    call["declared"][elder, 1] = 0.25
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert elder.any() and (blocks[elder] == -1).all() and (accepted[elder] == -1).all()


@every_verifier
def test_fresh_uniforms(name: str) -> None:
    call = batch(name)
    expected = VERIFIERS[name](**call, uniforms=uniforms_for(call, seed=8))
    generator = torch.Generator().manual_seed(8)
    given = VERIFIERS[name](**call, generator=generator)
    following = VERIFIERS[name](**call, generator=generator)
    assert torch.equal(expected[0], given[0]) and not torch.equal(expected[0], following[0])
