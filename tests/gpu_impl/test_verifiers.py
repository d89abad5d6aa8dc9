"""What all four verifiers promise: their law to float resolution, and the same answer however the batch is laid out."""
import importlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from draftproof import gpu_impl
from draftproof.gpu_impl.trees import Tree

from . import exact
from .bracketing import Verifier, disagreements
from .instances import DEVICES, pad, random_tree, random_trees, repeat

NAMES = ["predraw_follow", "tree_exit", "recursive_rejection", "traversal"]
VERIFIERS: dict[str, Verifier] = {name: getattr(gpu_impl, name) for name in NAMES}
DTYPES = [torch.float32, torch.float64]
every_verifier = pytest.mark.parametrize("name", NAMES)


def uniforms_for(name: str, call: dict[str, Any], seed: int = 0) -> Tensor:
    batch, nodes = call["tokens"].shape
    width = 2 if name == "tree_exit" else nodes
    return torch.rand(batch, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def mixed_batch(deterministic: bool, dtype: torch.dtype = torch.float32, copies: int = 20) -> dict[str, Any]:
    """Ragged trees of 1 to 6 nodes side by side, each several times."""
    rng = random.Random(5)
    calls = [pad(random_tree(rng, dtype, n, 4, deterministic), 6) for n in range(1, 7) for _ in range(5)]
    names = ["tokens", "parents", "valid", "target"] + ["declared"] * (not deterministic)
    return {"declared": None} | {k: torch.cat([c[k] for c in calls]).repeat_interleave(copies, 0) for k in names}


@every_verifier
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_law_is_exact(name: str, dtype: torch.dtype, device: str) -> None:
    for call in random_trees(seed=1, count=80, dtype=dtype):
        assert disagreements(VERIFIERS[name], getattr(exact, name), call, device) == []


@every_verifier
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_law_of_half_precision_rows_is_the_law_of_their_bits(name: str, dtype: torch.dtype) -> None:
    for call in random_trees(seed=2, count=20, dtype=dtype):
        assert disagreements(VERIFIERS[name], getattr(exact, name), call, dtype=torch.float32) == []


def uniform_reused(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    return lambda uniforms, **call: verifier(uniforms=uniforms[:, :1].expand_as(uniforms), **call)


def rows_of_the_wrong_node(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    return lambda target, **call: verifier(target=target.roll(1, dims=1), **call)


def bonus_row_not_masked(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    module = importlib.import_module("draftproof.gpu_impl.tree_exit")
    original: Callable[[Tensor, Tensor], Tensor] = module.inverse_cdf

    def draw(weights: Tensor, uniform: Tensor) -> Tensor:
        bonus = weights.shape[1] == 4  # the other draw is over 6 nodes
        return original(weights + (weights == 0) * 0.1 if bonus else weights, uniform)

    patch.setattr(module, "inverse_cdf", draw)
    return verifier


def residual_not_updated(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    module = importlib.import_module(f"draftproof.gpu_impl.{verifier.__name__}")
    patch.setattr(module, "excess", lambda law, declared, mass=1.0: (law, law.sum(-1)))
    return verifier


def residual_without_the_mass(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    module = importlib.import_module("draftproof.gpu_impl.traversal")
    original = module.excess
    patch.setattr(module, "excess", lambda law, declared, mass: original(law, declared))
    return verifier


def parents_before_children(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    module = importlib.import_module("draftproof.gpu_impl.traversal")
    patch.setattr(module, "postorder", lambda tree: tree.depth)
    return verifier


def youngest_sibling_first(verifier: Verifier, patch: pytest.MonkeyPatch) -> Verifier:
    module = importlib.import_module(f"draftproof.gpu_impl.{verifier.__name__}")
    original = module.build_tree

    def build(*args: Any) -> Any:
        tree = original(*args)
        return type(tree)(**{**vars(tree), "children": tree.children.flip(2)})

    patch.setattr(module, "build_tree", build)
    return verifier


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *[(name, fault) for name in NAMES for fault in (uniform_reused, rows_of_the_wrong_node)],
        ("tree_exit", bonus_row_not_masked),
        *[(name, residual_not_updated) for name in ("recursive_rejection", "traversal")],
        *[(name, youngest_sibling_first) for name in ("recursive_rejection", "traversal")],
        ("traversal", residual_without_the_mass),
        ("traversal", parents_before_children),
    ],
)
def test_planted_fault_is_found(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = fault(VERIFIERS[name], monkeypatch)
    rng = random.Random(3)
    calls = [random_tree(rng, torch.float64, 6, 4) for _ in range(10)]
    assert any(disagreements(faulty, getattr(exact, name), call) for call in calls)


@every_verifier
@pytest.mark.parametrize("deterministic", [False, True])
def test_permuted_batch(name: str, deterministic: bool) -> None:
    call = mixed_batch(deterministic)
    uniforms = uniforms_for(name, call)
    order = torch.randperm(len(uniforms), generator=torch.Generator().manual_seed(1))
    permuted = {k: None if x is None else x[order] for k, x in call.items()}
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    again = VERIFIERS[name](**permuted, uniforms=uniforms[order])
    assert torch.equal(blocks[order], again[0]) and torch.equal(accepted[order], again[1])
    assert len(set(accepted.tolist())) > 2


@every_verifier
def test_each_row_alone(name: str) -> None:
    call = mixed_batch(deterministic=False, copies=4)
    uniforms = uniforms_for(name, call)
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    for b in range(len(uniforms)):
        alone = {k: None if x is None else x[b : b + 1] for k, x in call.items()}
        block, count = VERIFIERS[name](**alone, uniforms=uniforms[b : b + 1])
        width = block.shape[1]
        assert torch.equal(block[0], blocks[b, :width]) and (blocks[b, width:] == -1).all() and count == accepted[b]


def one_topology(vocabulary: int, deterministic: bool = False, count: int = 300) -> dict[str, Any]:
    """Trees of one topology, each with its own tokens and rows."""
    made = torch.Generator().manual_seed(vocabulary)
    call = repeat(random_tree(random.Random(2), torch.float32, 7, vocabulary), count)
    call["tokens"] = torch.randint(vocabulary, (count, 7), generator=made)
    call["target"], call["declared"] = torch.rand(2, count, 7, vocabulary, generator=made)
    return call | {"declared": None} if deterministic else call


def beside_another(verifier: Verifier, call: dict[str, Any], uniforms: Tensor) -> bool:
    """Whether the answers are to the bit what they are beside a tree of another topology, which makes every tree derive its own."""
    other = {key: value[:1] for key, value in call.items() if value is not None}
    other["parents"] = torch.zeros_like(other["parents"])
    mixed = {key: None if value is None else torch.cat([value, other[key]]) for key, value in call.items()}
    blocks, accepted = verifier(**call, uniforms=uniforms)
    again = verifier(**mixed, uniforms=torch.cat([uniforms, uniforms[:1]]))
    width = blocks.shape[1]
    assert (accepted >= 0).all()
    return torch.equal(blocks, again[0][:-1, :width]) and torch.equal(accepted, again[1][:-1])


@every_verifier
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("vocabulary", [3, 7, 12])
def test_trees_of_one_topology(name: str, vocabulary: int, deterministic: bool) -> None:
    call = one_topology(vocabulary, deterministic)
    assert beside_another(VERIFIERS[name], call, uniforms_for(name, call))


def test_a_child_forgotten_where_all_have_one_topology_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Tree.family
    monkeypatch.setattr(Tree, "family", lambda *where: original(*where)[: 1 if isinstance(where[2], int) else None])
    call = one_topology(3)
    assert not beside_another(VERIFIERS["traversal"], call, uniforms_for("traversal", call))


@every_verifier
@pytest.mark.parametrize("junk", [0.0, float("nan"), -1.0])
def test_padding_changes_nothing(name: str, junk: float) -> None:
    call = mixed_batch(deterministic=False)
    uniforms = uniforms_for(name, call)
    wider = uniforms if name == "tree_exit" else torch.cat([uniforms, torch.rand(len(uniforms), 3)], 1)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    padded = VERIFIERS[name](**pad(call, 9, junk), uniforms=wider)
    assert torch.equal(expected[0], padded[0]) and torch.equal(expected[1], padded[1])


@every_verifier
def test_junk_at_the_root_changes_nothing(name: str) -> None:
    call = mixed_batch(deterministic=False)
    uniforms = uniforms_for(name, call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    call["tokens"][:, 0], call["declared"][:, 0] = 10**12, float("nan")
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert torch.equal(expected[0], blocks) and torch.equal(expected[1], accepted)


@every_verifier
def test_inputs_are_left_alone(name: str) -> None:
    call = mixed_batch(deterministic=False, dtype=torch.float64)
    uniforms = uniforms_for(name, call)
    before = {k: x.clone() for k, x in call.items()} | {"uniforms": uniforms.clone()}
    VERIFIERS[name](**call, uniforms=uniforms)
    assert all(torch.equal(before[k], x) for k, x in (call | {"uniforms": uniforms}).items())


@every_verifier
def test_root_alone(name: str) -> None:
    call = repeat(random_tree(random.Random(0), torch.float32, 1, 5), 50)
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms_for(name, call))
    assert blocks.shape == (50, 1) and blocks.dtype == accepted.dtype == torch.int64
    assert (accepted == 0).all() and (call["target"][0, 0][blocks[:, 0]] > 0).all()


@every_verifier
def test_empty_batch(name: str) -> None:
    call = {k: None if x is None else x[:0] for k, x in mixed_batch(deterministic=False).items()}
    blocks, accepted = VERIFIERS[name](**call)
    assert blocks.shape == (0, 1) and accepted.shape == (0,)


@every_verifier
@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-24, 1 - 2.0**-53])
def test_nothing_impossible_at_the_ends_of_the_unit_interval(name: str, uniform: float) -> None:
    for call in random_trees(seed=4, count=100, dtype=torch.float32):
        uniforms = torch.full_like(uniforms_for(name, call), uniform)
        blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
        tree, node = call["tokens"][0].tolist(), 0
        for token in blocks[0, : int(accepted) + 1].tolist():
            assert call["target"][0, node, token] > 0
            same = [i for i in range(1, len(tree)) if call["parents"][0, i] == node and tree[i] == token]
            node = same[0] if same else -1


@every_verifier
def test_fresh_uniforms(name: str) -> None:
    call = mixed_batch(deterministic=False)
    expected = VERIFIERS[name](**call, uniforms=uniforms_for(name, call, seed=8))
    generator = torch.Generator().manual_seed(8)
    given = VERIFIERS[name](**call, generator=generator)
    following = VERIFIERS[name](**call, generator=generator)
    torch.manual_seed(8)
    ambient = VERIFIERS[name](**call)
    assert torch.equal(expected[0], given[0]) and torch.equal(expected[0], ambient[0])
    assert not torch.equal(expected[0], following[0])


@every_verifier
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.5, 0.0])
def test_row_that_is_no_law_is_never_answered_with_a_token(name: str, bad: float) -> None:
    call = mixed_batch(deterministic=False)
    uniforms = uniforms_for(name, call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    call["target"][::2, 0, :] = bad
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert (blocks[::2] == -1).all() and (accepted[::2] == -1).all()
    assert torch.equal(blocks[1::2], expected[0][1::2]) and torch.equal(accepted[1::2], expected[1][1::2])


@every_verifier
@pytest.mark.parametrize("bad", [float("nan"), -0.5])
def test_bad_row_further_down(name: str, bad: float) -> None:
    call = mixed_batch(deterministic=False)
    uniforms = uniforms_for(name, call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    call["target"][:, 1] = bad
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    silent = accepted == -1
    assert (blocks[silent] == -1).all() and torch.equal(blocks[~silent], expected[0][~silent])
    walked = (expected[1] > 0) & (expected[0][:, 0] == call["tokens"][:, 1])
    assert silent[walked].all() and walked.any()
    if name in ("predraw_follow", "recursive_rejection"):  # they read no other rows
        assert torch.equal(silent, walked)


@every_verifier
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.5, 0.0])
def test_declared_row_that_is_no_law(name: str, bad: float) -> None:
    call = mixed_batch(deterministic=False)
    uniforms = uniforms_for(name, call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    reads = call["valid"][:, 1] & (name in ("recursive_rejection", "traversal"))
    call["declared"][:, 1] = bad
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert (blocks[reads] == -1).all() and (accepted[reads] == -1).all()
    assert torch.equal(blocks[~reads], expected[0][~reads]) and torch.equal(accepted[~reads], expected[1][~reads])


@every_verifier
@pytest.mark.parametrize(
    ("field", "value"),
    [("tokens", 4), ("tokens", -1), ("parents", 1), ("parents", -1), ("parents", 5), ("valid", False)],
)
def test_malformed_tree_is_never_answered_with_a_token(name: str, field: str, value: int) -> None:
    call = mixed_batch(deterministic=False)
    uniforms = uniforms_for(name, call)
    expected = VERIFIERS[name](**call, uniforms=uniforms)
    bad = call["valid"][:, 1] & (torch.arange(len(uniforms)) % 2 == 0)
    call[field][bad, 0 if field == "valid" else 1] = value
    blocks, accepted = VERIFIERS[name](**call, uniforms=uniforms)
    assert (blocks[bad] == -1).all() and (accepted[bad] == -1).all()
    assert torch.equal(blocks[~bad], expected[0][~bad]) and torch.equal(accepted[~bad], expected[1][~bad])
