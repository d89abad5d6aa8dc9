"""Rows from logits: the processors keep what their definitions say, and the verifiers read them as they read probabilities."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from draftproof.gpu_impl import LogitRows, greedy_transport, k_seq, predraw_follow, recursive_rejection, traversal, tree_exit, univer
from draftproof.gpu_impl.rowwise import run, trees
from draftproof.gpu_impl.rowwise.rows import alone


def kept_by_definition(probabilities: list[float], top_k: int, top_p: float, min_p: float) -> set[int]:
    """One processor after the other, each on what the one before it left; equal probabilities share their fate."""
    kept = set(range(len(probabilities)))
    threshold = sorted((probabilities[t] for t in kept), reverse=True)[min(top_k, len(kept)) - 1]
    kept = {t for t in kept if probabilities[t] >= threshold}
    total, held = sum(probabilities[t] for t in kept), 0.0
    for threshold in sorted((probabilities[t] for t in kept), reverse=True):
        held += threshold
        if held >= top_p * total:
            break
    kept = {t for t in kept if probabilities[t] >= threshold}
    return {t for t in kept if probabilities[t] >= min_p * max(probabilities)}


def test_processors_by_definition() -> None:
    rng = random.Random(0)
    for _ in range(300):
        vocabulary = rng.randint(1, 9)
        logits = torch.tensor([rng.choice([0.0, 0.5, 1.0, 2.0, -3.0, 4.25]) + rng.choice([0, rng.random()]) for _ in range(vocabulary)])
        top_k, top_p, min_p = rng.randint(1, 9), rng.choice([1.0, 0.9, 0.503]), rng.choice([0.0, 0.1, 0.317])
        temperature = rng.choice([1.0, 0.5, 2.0])
        law = LogitRows(logits.view(1, 1, -1), temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p).rows()[0, 0]
        plain = (logits.double() / temperature).softmax(-1).tolist()
        kept = kept_by_definition(plain, top_k, top_p, min_p)
        assert {t for t, mass in enumerate(law.tolist()) if mass > 0} == kept
        held = math.fsum(plain[t] for t in kept)
        assert all(abs(law[t].item() - plain[t] / held) < 1e-15 for t in kept)


def test_long_rows_are_float32_and_close() -> None:
    """Half a vocabulary in bfloat16: the float32 row that the walk reads and the float64 law are the same to 1e-7."""
    logits = torch.randn(1, 1, 75_000, generator=torch.Generator().manual_seed(0)).mul(4).bfloat16()
    for settings in ({}, {"temperature": 0.7}, {"top_k": 5000}, {"top_p": 0.95}, {"min_p": 1e-3}, {"top_k": 20, "top_p": 0.5}):
        rows = LogitRows(logits, **settings)
        weights = rows.weights(logits[0, 0].unsqueeze(0))
        assert weights.dtype == torch.float32
        assert (weights.double() / weights.double().sum() - rows.rows()[0]).abs().sum() / 2 < 1e-7, settings


def test_an_offset_of_all_logits_changes_nothing() -> None:
    logits = torch.tensor([[[1.0, 2.0, 4.0, -1.0]]])
    for temperature in (1.0, 0.25):
        plain, moved = (LogitRows(logits + offset, temperature=temperature).weights((logits + offset)[0]) for offset in (0.0, 2.0**15))
        assert torch.equal(plain, moved)


def test_greedy() -> None:
    rows = LogitRows(torch.tensor([[[1.0, 3.0, 3.0], [float("nan"), 0.0, 0.0], [-torch.inf] * 3]]), temperature=0)
    assert rows.rows()[0, 0].tolist() == [0, 1, 0]
    assert not torch.isfinite(rows.rows()[0, 1:].sum(-1)).any()


@pytest.mark.parametrize("long", [False, True], ids=["in a batch", "row by row"])
@pytest.mark.parametrize("verifier", [predraw_follow, tree_exit, recursive_rejection, traversal])
def test_verifiers_read_them_as_probabilities(verifier: object, long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LONG", 1 if long else 1 << 30)
    generator = torch.Generator().manual_seed(4)
    target, draft = (2 * torch.randn(60, 4, 6, generator=generator, dtype=torch.float64) for _ in range(2))
    target[::10, 0, 0] = float("nan")
    tokens = torch.randint(6, (60, 4), generator=generator)
    parents, valid = torch.tensor([0, 0, 0, 1]).expand(60, 4), torch.ones(60, 4, dtype=torch.bool)
    uniforms = torch.rand(60, 2 if verifier is tree_exit else 4, generator=generator, dtype=torch.float64)
    p, q = LogitRows(target, temperature=0.5, top_k=4), LogitRows(draft)
    blocks, accepted = verifier(tokens, parents, valid, p, q, uniforms=uniforms)  # type: ignore[operator]
    expected = verifier(tokens, parents, valid, p.rows(), q.rows(), uniforms=uniforms)  # type: ignore[operator]
    assert torch.equal(blocks, expected[0]) and torch.equal(accepted, expected[1])
    assert (accepted[::10] == -1).all() and len(set(accepted.tolist())) > 2


def chain_of(trees: int, temperature: float) -> dict[str, Tensor]:
    """A chain of three drafts each, with target and draft logits that are not far apart, and the drafts' logsumexp."""
    generator = torch.Generator().manual_seed(5)
    target = 2 * torch.randn(trees, 4, 6, generator=generator)
    draft = (target.roll(1, 1) + 0.5 * torch.randn(target.shape, generator=generator)).contiguous()  # row i of what token i is drawn from
    tokens = torch.multinomial((draft / temperature).softmax(-1).view(-1, 6), 1, generator=generator).view(trees, 4)
    return {"tokens": tokens, "parents": torch.tensor([0, 0, 1, 2]).expand(trees, 4), "valid": torch.ones(trees, 4, dtype=torch.bool),
            "target": target, "draft": draft, "logsumexp": (draft.double() / temperature).logsumexp(-1),
            "uniforms": torch.rand(trees, 4, generator=generator, dtype=torch.float64)}


@pytest.mark.parametrize("verifier", [recursive_rejection, traversal, k_seq, greedy_transport, univer])
def test_a_row_whose_logsumexp_is_given_is_not_read_for_one_token(verifier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LONG", 1)
    call = chain_of(120, 0.7)

    def answers(**given: Tensor) -> tuple[Tensor, Tensor, int]:
        drafts = LogitRows(call["draft"], temperature=0.7, **given)
        reads: list[int] = []
        for name, old in (("read", trees.read), ("mass", trees.mass)):
            monkeypatch.setattr(trees, name, lambda rows, *where, old=old: (reads.append(1) if rows is drafts else None, old(rows, *where))[1])
        tree = call["tokens"], call["parents"], call["valid"]
        return *verifier(*tree, LogitRows(call["target"], temperature=0.7), drafts, uniforms=call["uniforms"]), len(reads)

    blocks, accepted, reads = answers()
    again, accepted_again, fewer = answers(logsumexp=call["logsumexp"])
    assert torch.equal(blocks, again) and torch.equal(accepted, accepted_again) and len(set(accepted.tolist())) == 4
    assert fewer < reads / 2 or verifier in (recursive_rejection, k_seq)  # these read a row for what is left of it, too
    *_, wrong, _ = answers(logsumexp=call["logsumexp"] - 0.01)  # planted: of other logits
    assert (wrong != accepted).any()
    assert (wrong[wrong != accepted] == -1).float().mean() > 0.9  # seen wherever the row is read
    *_, wrong, _ = answers(logsumexp=torch.full_like(call["logsumexp"], math.nan))
    assert (wrong == -1).all()


@pytest.mark.parametrize(
    ("row", "token", "expected"),
    [([0.0, -math.inf, -math.inf], 0, True), ([-math.inf, -math.inf, 3.0], 2, True), ([-math.inf, 1.0, -200.0], 1, False),
     ([-math.inf] * 3, 1, False), ([-math.inf, math.inf, -math.inf], 1, False), ([-math.inf, 1.0, math.nan], 1, False),
     ([0.0, -math.inf, -math.inf], 1, False), ([5.0], 0, True)],
)
def test_alone(row: list[float], token: int, expected: bool) -> None:
    assert alone(LogitRows(torch.tensor(row).view(1, 1, -1)), 0, 0, token) is expected


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.0}, {"top_k": 1}, {"top_p": 0.5}, {"min_p": 0.1}])
def test_a_logsumexp_that_makes_no_sense(settings: dict[str, Any]) -> None:
    given = torch.zeros(2, 1) if not settings else torch.zeros(1, 1)
    with pytest.raises(ValueError, match=r"logsumexp (must be \[1, 1\] on cpu, got \[2, 1\]|is of whole rows)"):
        LogitRows(torch.zeros(1, 1, 2), logsumexp=given, **settings)
    for wrong, got in ((torch.zeros(1, 1, dtype=torch.int64), "torch.int64"), (torch.zeros(1, 1).bfloat16(), "torch.bfloat16"), ([[0.0]], "list")):
        with pytest.raises(TypeError, match=f"logsumexp must be a tensor of float64 or float32, got {got}"):
            LogitRows(torch.zeros(1, 1, 2), logsumexp=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [({"temperature": -1.0}, "temperature"), ({"temperature": math.nan}, "temperature"), ({"top_k": 0}, "top_k"), ({"top_p": 0.0}, "top_p"),
     ({"top_p": 1.5}, "top_p"), ({"min_p": -0.1}, "min_p"), ({"min_p": math.nan}, "min_p")],
)
def test_settings_that_make_no_sense(settings: dict[str, float], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        LogitRows(torch.zeros(1, 1, 2), **settings)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="floating|float64"):
        LogitRows(torch.zeros(1, 1, 2, dtype=torch.int64))


def test_definition_check_sees_a_wrong_cut() -> None:
    """The planted fault: top-p of the whole row instead of what top-k left keeps another set."""
    plain = [Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), Fraction(1, 10)]
    masses = [float(x) for x in plain]
    right = kept_by_definition(masses, 2, 0.5, 0.0)
    rows = LogitRows(torch.tensor(masses, dtype=torch.float64).log().view(1, 1, -1), top_k=2, top_p=0.5).rows()[0, 0]
    wrong: Tensor = LogitRows(torch.tensor(masses, dtype=torch.float64).log().view(1, 1, -1), top_p=0.5).rows()[0, 0]
    assert {t for t, x in enumerate(rows.tolist()) if x > 0} == right != {t for t, x in enumerate(wrong.tolist()) if x > 0}
