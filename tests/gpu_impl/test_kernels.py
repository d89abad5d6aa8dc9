"""The Triton kernels under Triton's interpreter: the exact law by bracketing, and the answers of the plain rules.

The interpreter runs some tens of programs a second, so the trees are few and small, and mostly the tiles too: every row has several,
the last one short, in buffers wider than the vocabulary.
"""

import importlib
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from draftproof import gpu_impl
from draftproof.gpu_impl import LogitRows, kernels
from draftproof.gpu_impl.kernels import use
from draftproof.gpu_impl.marginals import read_marginals, surprise
from draftproof.gpu_impl.selection import select

from . import exact
from .instances import exact_tree, random_tree, repeat
from .interpreter import patch_once_a_launch

GREEDY = ["univer", "greedy_transport"]
DRAFTED = ["recursive_rejection", "traversal", "k_seq", *GREEDY]  # the rules that read declared rows
NAMES = ["predraw_follow", "tree_exit", *DRAFTED]
MODULES = ["launch", "rows", "trees", "residual", "greedy_plan", "rho", "exits", "sibling_masses", "select", "top_tokens", *NAMES]


@pytest.fixture(scope="module", autouse=True)
def interpreted() -> None:
    """Under the interpreter, as tests/conftest.py asks before Triton is imported."""
    for module in MODULES:
        importlib.import_module(f"draftproof.gpu_impl.kernels.{module}")


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(use, "BLOCK", 2)
    monkeypatch.setattr(use, "INTERPRETED", True)
    patch_once_a_launch(monkeypatch)


def wide(rows: Tensor | None, junk: float = 7.0) -> Tensor | None:
    """The same rows in a buffer with more columns than tokens."""
    if rows is None:
        return None
    buffer = torch.full((*rows.shape[:2], rows.shape[2] + 3), junk, dtype=rows.dtype)
    buffer[..., : rows.shape[2]] = rows
    return buffer[..., : rows.shape[2]]


def in_wide_buffers(name: str) -> Any:
    def verify(target: Tensor, declared: Tensor | None, **call: Any) -> Any:
        return getattr(gpu_impl, name)(target=wide(target), declared=wide(declared), **call)

    return verify


def small_tree(name: str, deterministic: bool) -> dict[str, Any]:
    """One child and five tokens, or for the rules that test siblings two and three tokens, the last tile being short; for a walk that comes
    back up a node below the elder."""
    if name in GREEDY and not deterministic:
        target = [[0.35, 0.25, 0.2, 0.2], [0.15, 0.25, 0.1, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
        declared, tokens = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.2, 0.1, 0.0, 0.7], [0.02, 0.9, 0.03, 0.05]], [0, 2, 3, 1]
    elif name in DRAFTED:
        target = [[0.5, 0.3, 0.2], [0.15, 0.25, 0.6], [0.7, 0.0, 0.3], [0.0, 0.0, 1.0]]
        declared, tokens = [[1.0, 0.0, 0.0], [0.3, 0.25, 0.45], [0.3, 0.6, 0.1], [0.3, 0.5, 0.2]], [0, 2, 2 if name == "k_seq" else 1, 1]
    else:
        target, declared, tokens = [[0.3, 0.1, 0.25, 0.2, 0.15], [0.15, 0.0, 0.25, 0.5, 0.1]], [[0.2] * 5] * 2, [0, 2]
    nodes = 4 if name in ("traversal", "univer") else 3 if name in DRAFTED else 2
    return {
        "tokens": torch.tensor([tokens[:nodes]]), "parents": torch.tensor([[0, 0, 0, 1][:nodes]]),
        "valid": torch.ones(1, nodes, dtype=torch.bool), "target": torch.tensor([target[:nodes]], dtype=torch.float64),
        "declared": None if deterministic else torch.tensor([declared[:nodes]], dtype=torch.float64),
    }


def disagreements(name: str, call: dict[str, Any]) -> Iterator[str]:
    """As in ``bracketing``, at the low and the high corner of every box of tapes, 2^-36 inside; a few programs at a time."""
    program, width = getattr(exact, name), 2 if name == "tree_exit" else call["tokens"].shape[1]
    blocks, tapes = [], []
    for block, box in exact.branches(program, exact_tree(call)):
        for end in (0, 1) if all(b - a > Fraction(1, 2**35) for a, b in box.values()) else ():
            tapes.append([float(box[c][end] + (1 - 2 * end) * Fraction(1, 2**36)) if c in box else 0.5 for c in range(width)])
            blocks.append(block)
    for start in range(0, len(tapes), 4):
        some = tapes[start : start + 4]
        emitted, _ = in_wide_buffers(name)(**repeat(call, len(some)), uniforms=torch.tensor(some, dtype=torch.float64))
        found = [tuple(token for token in row if token != -1) for row in emitted.tolist()]
        for tape, got, block in zip(some, found, blocks[start:], strict=False):
            if got != block:
                yield f"{tape}: {got} instead of {block}"


@pytest.mark.parametrize(("name", "deterministic"), [*((name, True) for name in NAMES), *((name, False) for name in DRAFTED)])
def test_law_is_exact(name: str, deterministic: bool) -> None:
    assert list(disagreements(name, small_tree(name, deterministic))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_law_is_exact_on_random_trees(name: str) -> None:
    rng = random.Random(NAMES.index(name))
    for _ in range(6):
        call = random_tree(rng, torch.float64, rng.choice([3, 4]), rng.randint(3, 4))
        if name in GREEDY:
            for node, parent in enumerate(call["parents"][0].tolist()):
                if node and (call["parents"][0, node + 1 :] == parent).any():
                    call["declared"][0, node] = torch.eye(call["declared"].shape[2])[call["tokens"][0, node]]
        assert list(disagreements(name, call)) == []
        assert list(disagreements(name, call | {"declared": None})) == []


def batch(seed: int, size: int) -> tuple[list[Tensor], Tensor, Tensor]:
    """(tokens, parents, valid), target and declared weights: ragged and malformed trees, rows that are no law, zeros."""
    generator, nodes, vocabulary = torch.Generator().manual_seed(seed), 5, 7
    target, declared = (
        torch.rand(size, nodes, vocabulary, generator=generator, dtype=torch.float64)
        * (torch.rand(size, nodes, vocabulary, generator=generator) > 0.4) for _ in range(2)
    )
    target[..., 5] += 0.2
    declared[..., 3] += 0.2
    tokens = torch.multinomial(declared.view(-1, vocabulary), 1, generator=generator).view(size, nodes)
    parents = torch.tensor([[0, 0, 0, 1, 2], [0, 0, 1, 1, 1], [0, 0, 1, 2, 3]])[torch.arange(size) % 3]
    target.view(-1, vocabulary)[torch.arange(size).repeat_interleave(4) * nodes + parents[:, 1:].flatten(), tokens[:, 1:].flatten()] += 2
    valid = torch.ones(size, nodes, dtype=torch.bool)
    valid[0, 4], parents[1, 2] = False, 4
    target[2, 0, 1], target[3, 0, 1], declared[4, 1, 0] = float("nan"), -1, float("inf")
    return [tokens, parents, valid], target, declared


@pytest.mark.parametrize("name", [name for name in NAMES if name not in GREEDY])
@pytest.mark.parametrize("kind", ["bfloat16", "logits"])
def test_same_answers_as_the_plain_rule(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, target, declared = batch(1, 6)
    uniforms = torch.rand(6, 2 if name == "tree_exit" else 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    rows: Any = LogitRows(target.log().float(), temperature=0.5) if kind == "logits" else target.to(getattr(torch, kind))
    drafts: Any = LogitRows(declared.log().float()) if kind == "logits" else declared.to(getattr(torch, kind))
    for given in [None] if name not in DRAFTED else [drafts, None] if kind == "logits" else [drafts]:
        blocks, accepted = getattr(gpu_impl, name)(*tree, rows, given, uniforms=uniforms)
        monkeypatch.setattr(use, "INTERPRETED", False)
        expected, expected_accepted = getattr(gpu_impl, name)(*tree, rows, given, uniforms=uniforms)
        monkeypatch.setattr(use, "INTERPRETED", True)
        assert torch.equal(accepted, expected_accepted) and torch.equal(blocks[:, : expected.shape[1]], expected)
        assert (blocks[:, expected.shape[1] :] == -1).all() and (accepted[1:4] == -1).all() and accepted.max() > 0


@pytest.mark.parametrize("name", GREEDY)
@pytest.mark.parametrize("kind", ["bfloat16", "logits"])
def test_same_answers_on_greedy_drafts(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elder siblings certain, the youngest drawn; row 4's elder is not certain, row 2 holds a NaN."""
    generator = torch.Generator().manual_seed(5)
    target, declared = (torch.rand(5, 4, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    target[:, 0, 3], target[2, 0, 1] = 1.5, float("nan")
    declared[:4, 1], declared[:, 2, 3] = torch.eye(5, dtype=torch.float64)[3], 0
    tree = [torch.tensor([[0, 3, 1, 2]]).expand(5, 4), torch.tensor([[0, 0, 0, 2]]).expand(5, 4), torch.ones(5, 4, dtype=torch.bool)]
    uniforms = torch.rand(5, 4, dtype=torch.float64, generator=generator)
    rows: Any = LogitRows(target.log().float()) if kind == "logits" else target.bfloat16()
    drafts: Any = LogitRows(declared.log().float()) if kind == "logits" else declared.bfloat16()
    blocks, accepted = getattr(gpu_impl, name)(*tree, rows, drafts, uniforms=uniforms)
    monkeypatch.setattr(use, "INTERPRETED", False)
    expected, expected_accepted = getattr(gpu_impl, name)(*tree, rows, drafts, uniforms=uniforms)
    monkeypatch.setattr(use, "INTERPRETED", True)
    assert torch.equal(accepted, expected_accepted) and torch.equal(blocks[:, : expected.shape[1]], expected)
    assert accepted[2] == -1 and accepted[4] == -1 and accepted.max() > 0


@pytest.mark.parametrize("vocabulary", [4099, pytest.param(151_936, marks=pytest.mark.slow)])
def test_same_answers_with_tiles_as_on_a_gpu(vocabulary: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the rules that take long rows one at a time; drafts of decent quality, so that some are accepted."""
    monkeypatch.setattr(use, "BLOCK", 2048)
    generator = torch.Generator().manual_seed(vocabulary)
    parents = torch.tensor([[0, 0, 0, 1, 1, 3]]).expand(2, 6)
    rows = 3 * torch.randn(2, 6, vocabulary, generator=generator)
    rows[..., :3] += 20 - 2 * torch.rand(2, 6, 3, generator=generator)
    target, below = rows + torch.randn(rows.shape, generator=generator) / 2, torch.arange(2).unsqueeze(1)
    for name in DRAFTED:
        declared = rows[below, parents].clone()
        if name in GREEDY:
            declared[:, [1, 3]] = torch.zeros(vocabulary).index_fill_(0, torch.tensor(0), 1.0).log()
            declared[:, [2, 4], 0] = -torch.inf
        tokens = torch.multinomial(declared.softmax(2).view(12, -1), 1, generator=generator).view(2, 6)
        call: Any = (tokens, parents, torch.ones_like(tokens, dtype=torch.bool), LogitRows(target), LogitRows(declared))
        uniforms = torch.rand(2, 6, dtype=torch.float64, generator=generator)
        blocks, accepted = getattr(gpu_impl, name)(*call, uniforms=uniforms)
        with monkeypatch.context() as patch:
            patch.setattr(use, "INTERPRETED", False)
            expected, _ = getattr(gpu_impl, name)(*call, uniforms=uniforms)
        assert torch.equal(blocks[:, : expected.shape[1]], expected) and accepted.max() > 0, name


@pytest.mark.parametrize("name", NAMES)
def test_smallest_trees(name: str) -> None:
    """A root alone; and rows of one token, of which all are accepted."""
    for nodes, vocabulary in ((1, 3), (2, 1)):
        row, zeros = torch.full((1, nodes, vocabulary), 0.5), torch.zeros(1, nodes, dtype=torch.int64)
        uniforms = torch.full((1, 2 if name == "tree_exit" else nodes), 0.5)
        blocks, accepted = getattr(gpu_impl, name)(zeros, zeros, zeros == 0, row, row.double(), uniforms=uniforms)
        assert blocks.tolist() == ([[1]] if vocabulary == 3 else [[0, 0]]) and accepted.tolist() == [nodes - 1]


def test_selection_is_that_of_the_plain_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(3, 4, 9, generator=torch.Generator().manual_seed(0)) * 2
    logits[1, 2], logits[2, 0, 2:], logits[2, 1, 3:] = float("nan"), -torch.inf, -torch.inf
    marginals = read_marginals(logits, 6)
    found = select(marginals, 8)
    monkeypatch.setattr(use, "INTERPRETED", False)
    for mine, plain in zip(vars(found).values(), vars(select(marginals, 8)).values(), strict=True):
        assert torch.equal(mine, plain)


def tops(kept: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Of the kernels, and of a sort: rows that are no law, minus infinities, ties, large numbers beyond the vocabulary."""
    logits = torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(7)).mul_(4).round_()
    logits[0, 0, 4], logits[0, 1, 2], logits[1, 0], logits[1, 1, 3:] = float("nan"), torch.inf, -torch.inf, -torch.inf
    logits[1, 2, 5], logits[1, 2, 6] = -0.0, 0.0
    buffer = torch.full((3, 4, 16), 99.0)
    buffer[..., :11] = logits
    kernel = importlib.import_module("draftproof.gpu_impl.kernels.top_tokens")
    order = logits.argsort(dim=2, descending=True, stable=True)[..., :kept]
    return kernel.top_tokens(buffer[..., :11].bfloat16(), kept), (logits.gather(2, order), order, surprise(logits, logits.amax(2)))


@pytest.mark.parametrize("kept", [1, 3, 11])
def test_top_tokens_are_those_of_a_sort(kept: int) -> None:
    """Ties come in the order of tokens, which torch.topk leaves open; a NaN may stand anywhere, its row is no law."""
    (values, tokens, surprises), (expected, order, expected_surprises) = tops(kept)
    lawful = ~expected_surprises.isnan()
    assert torch.equal(lawful, ~surprises.isnan()) and lawful.sum() == 9
    assert torch.equal(values[lawful], expected[lawful]) and torch.equal(tokens[lawful], order[lawful])
    assert (surprises - expected_surprises)[lawful].abs().max() < 1e-6


def test_ddtree_from_top_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(2, 3, 13, generator=torch.Generator().manual_seed(8)) * 2
    found = gpu_impl.ddtree(logits, 6)
    monkeypatch.setattr(use, "INTERPRETED", False)
    for mine, plain in zip(found, gpu_impl.ddtree(logits, 6), strict=True):
        assert torch.allclose(mine.double(), plain.double(), atol=1e-6)


def fault(module: str, old: str, new: str) -> Any:
    """All kernels from copies of their files, one of them changed."""

    def plant(patch: pytest.MonkeyPatch, folder: Path) -> None:
        for file in Path(kernels.__path__[0]).glob("*.py"):
            source = file.read_text(encoding="utf-8")
            assert file.stem != module or old in source
            (folder / file.name).write_text(source.replace(old, new) if file.stem == module else source, encoding="utf-8")
        patch.setattr(kernels, "__path__", [str(folder)])
        for name in MODULES:
            patch.delitem(sys.modules, f"draftproof.gpu_impl.kernels.{name}")

    return plant


FAULTS = {  # the rule, whether drafts are deterministic, and the change
    "last tile not masked": ("predraw_follow", True, fault("rows", "inside = tokens < vocabulary", "inside = tokens < vocabulary + 1")),
    "sums in float32": ("tree_exit", True, fault("rows", "tl.sum(without(found, tokens, taken, count))",
                                                 "tl.sum(without(found, tokens, taken, count).to(tl.float32)).to(tl.float64)")),
    "children not taken out of the bonus": ("tree_exit", True, fault("rows", "0.0, found", "found, found")),
    "place not moved to the block": ("predraw_follow", True, fault("rows", "place - below", "place")),
    "residual not subtracted": ("recursive_rejection", False, fault("residual", " - offered, 0.0", ", 0.0")),
    "residual not normalised": ("recursive_rejection", False, fault("residual", "found * tl.load(gone_scales + place) - ", "found - ")),
    "mass not carried on": ("traversal", False, fault("traversal", "mass = rest / whole", "mass = rest")),
    "not over what it was drawn from": ("traversal", False, fault("traversal", "wanted / offered, (", "wanted, (")),
    "a child's test forgotten": ("traversal", False, fault("traversal", "< mass))", "< 1.0))")),
    "siblings' lists mixed up": ("traversal", False, fault("traversal", "(parent >= 0) & (parent < node)", "parent < 0")),
    "rejected unread too often": ("traversal", False, fault("traversal", "tl.load(lefts + node) + SLACK", "tl.load(lefts + node) * 0.1")),
    "all mass at every node": ("traversal", True, fault("exits", "mass * left + off", "mass * left")),
    "kept as if it were a leaf": ("univer", True, fault("exits", "mass * rest / (mass * rest + off)", "mass")),
    "elders not conditioned on": ("univer", False, fault("univer", "share / (1.0 - gone)", "share")),
    "kept with what is left": ("univer", False, fault("univer", "left / (left + (1.0 - mass))", "left")),
    "elders get all they are owed": ("greedy_transport", False, fault("greedy_plan", "owed * ((1.0 - accepts) / missing)", "owed")),
    "bonus from what was owed": ("greedy_transport", False, fault("greedy_plan", "tl.maximum(owed - offered, 0.0), place", "owed, place")),
    "rho is the number of drafts": ("k_seq", False, fault("rho", "low = tl.minimum(low, high)", "low = high")),
    "a tangent of the wrong tokens": ("k_seq", False, fault("rho", "tl.where(smaller, 0.0, q)", "tl.where(smaller, q, 0.0)")),
    "rho in float32": ("k_seq", False, fault("rho", "rho.to(tl.float64) * GRID", "rho * GRID")),
    "a test turned round": ("k_seq", False, fault("k_seq", "slack(both, place, count) >= 0", "slack(both, place, count) < 0")),
    "bonus without the gain": ("k_seq", False, fault("k_seq", "gain * (1.0 - both / rho) + 1.0", "gain * 0.0 + 1.0")),
}


TOP_FAULTS = {
    "keys beyond the vocabulary": fault("top_tokens", "inside = tokens < vocabulary", "inside = tokens < vocabulary + 1"),
    "negative logits not turned round": fault("top_tokens", "bits ^ ((bits >> 31) & 0x7FFFFFFF)\n    key", "bits\n    key"),
    "a tile too many skipped": fault("top_tokens", "> tl.min(best)", "> tl.max(best)"),
    "larger tokens first": fault("top_tokens", "| (0x7FFFFFFF - tokens)", "| tokens"),
}


@pytest.mark.parametrize("kind", TOP_FAULTS)
def test_planted_fault_in_top_tokens_is_found(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    TOP_FAULTS[kind](monkeypatch, tmp_path)
    with pytest.raises(AssertionError):
        test_top_tokens_are_those_of_a_sort(3)
        test_top_tokens_are_those_of_a_sort(11)


LONGER = ("a child's test forgotten", "not over what it was drawn from", "kept as if it were a leaf", "kept with what is left",
          "elders get all they are owed", "a test turned round", "rho is the number of drafts")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in LONGER else kind for kind in FAULTS])
def test_planted_fault_is_found(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name, deterministic, plant = FAULTS[kind]
    plant(monkeypatch, tmp_path)
    assert any(disagreements(name, small_tree(name, deterministic)))


def test_uncertain_elder_let_through_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fault("greedy_plan", "offered == whole", "offered > 0")(monkeypatch, tmp_path)
    with pytest.raises(AssertionError):
        test_same_answers_on_greedy_drafts("greedy_transport", "bfloat16", monkeypatch)
