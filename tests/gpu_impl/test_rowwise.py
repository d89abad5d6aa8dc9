"""The rules that take one row at a time answer as the exact programs do, at any length of row, and as the batched rules do."""

import importlib
import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from draftproof import gpu_impl
from draftproof.gpu_impl.rowwise import run
from draftproof.gpu_impl.rowwise.rows import NoLaw, Row, read
from draftproof.oracle.cases import Case
from draftproof.oracle.reading import bracket

from . import exact
from .bracketing import disagreements
from .instances import random_trees
from .test_verifiers import NAMES as FIXED
from .test_verifiers import mixed_batch, uniforms_for
from .transport import NAMES as TRANSPORT
from .transport import batch, instances, subject

every_verifier = pytest.mark.parametrize("name", [*FIXED, *TRANSPORT])


@pytest.fixture(autouse=True)
def short_blocks_of_short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small instances, whose law is known, go the way of long rows: through several blocks, the last one short."""
    monkeypatch.setattr(run, "LONG", 1)
    monkeypatch.setattr("draftproof.gpu_impl.rowwise.rows.BLOCK", 2)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_law_is_exact(name: str, dtype: torch.dtype) -> None:
    for call in random_trees(seed=1, count=40, dtype=dtype):
        assert disagreements(getattr(gpu_impl, name), getattr(exact, name), call) == []


@pytest.mark.parametrize("name", TRANSPORT)
def test_law_is_that_of_the_reference(name: str) -> None:
    for instance in instances(name, 3):
        assert bracket(Case(subject(name), instance)) is not None


def broken(module: str, name: str, change: Any) -> Any:
    def plant(patch: pytest.MonkeyPatch) -> None:
        where = importlib.import_module(f"draftproof.gpu_impl.rowwise.{module}")
        owner, attribute = (getattr(where, name.split(".")[0]), name.split(".")[1]) if "." in name else (where, name)
        patch.setattr(owner, attribute, change(getattr(owner, attribute)))

    return plant


FAULTS = {
    "a token taken out stays in the sum": (
        "tree_exit", broken("rows", "Row.without", lambda old: lambda row, t: replace(old(row, t), total=row.total))),
    "a token taken out is drawn": ("recursive_rejection", broken("rows", "_block", lambda old: lambda w, b, taken: old(w, b, []))),
    "residual of the target, not of what is left": (
        "recursive_rejection", broken("rows", "Row.excess", lambda _: lambda row, r, scale, off=(): (row, 1.0))),
    "the wrong end of a block": ("predraw_follow", broken("rows", "_beyond", lambda old: lambda w, cdf, place: old(w, cdf - w, place))),
    "a residual taken to hold less than it may": ("traversal", broken("traversal", "most_kept", lambda old: lambda mass, left: old(mass, left / 2))),
    "a mass of its own for nobody": ("traversal", broken("traversal", "reject", lambda old: lambda f, r, x, mass: old(f, r, x, 1.0))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = FAULTS[fault]
    plant(monkeypatch)
    calls = random_trees(seed=3, count=30, dtype=torch.float64)
    assert any(disagreements(getattr(gpu_impl, name), getattr(exact, name), call) for call in calls)


@every_verifier
@pytest.mark.parametrize("deterministic", [False, True])
def test_same_answers_as_in_a_batch(name: str, deterministic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    call = mixed_batch(deterministic) if name in FIXED else batch(name, deterministic=deterministic and name != "k_seq")
    call["target"][::7, 0] = float("nan")
    call["parents"][::11, 1] = 1
    uniforms = uniforms_for(name, call)
    blocks, accepted = getattr(gpu_impl, name)(**call, uniforms=uniforms)
    monkeypatch.setattr(run, "LONG", 1 << 30)
    expected = getattr(gpu_impl, name)(**call, uniforms=uniforms)
    assert torch.equal(accepted, expected[1]) and torch.equal(blocks, expected[0])
    assert len(set(accepted.tolist())) > 2


def test_rows_that_are_no_law() -> None:
    for bad in (float("nan"), float("inf"), -0.25, 0.0):
        with pytest.raises(NoLaw):
            read(torch.tensor([[[0.0, 0.0, bad]]]), 0, 0)


@pytest.mark.parametrize("name", ["traversal", "univer"])
def test_a_node_that_is_visited_with_nothing_is_not_read(name: str) -> None:
    """Not even by a uniform of 0: its row may hold anything."""
    target = torch.tensor([[[0.0, 1.0], [float("nan"), 0.0], [0.5, 0.5]]])
    tree = torch.tensor([[0, 0, 1]]), torch.tensor([[0, 0, 1]]), torch.ones(1, 3, dtype=torch.bool)
    blocks, accepted = getattr(gpu_impl, name)(*tree, target, None, uniforms=torch.zeros(1, 3, dtype=torch.float64))
    assert accepted.tolist() == [0] and blocks[0, 0] == 1


def test_nothing_is_drawn_that_has_no_mass() -> None:
    rng = random.Random(1)
    for _ in range(300):
        weights = torch.tensor([rng.choice([0.0, 0.0, 0.1, 0.2, 0.7]) for _ in range(rng.randint(1, 7))] + [0.1], dtype=torch.float64)
        row = Row(weights, float(weights.sum()))
        for uniform in (0.0, rng.random(), 1 - 2.0**-53):
            assert weights[row.draw(uniform)] > 0
