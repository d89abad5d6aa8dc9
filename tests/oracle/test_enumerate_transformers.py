"""Enumerate: the sampler that transformers ships, unmodified."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
import torch

from draftproof.oracle.readings.enumerate import Enumeration, enumerate_law

utils = pytest.importorskip("transformers.generation.utils")
Block = tuple[int, ...]
TICK = Fraction(1, 2**24)


def read(drafts: list[int], draft_logits: torch.Tensor, target_logits: torch.Tensor) -> Enumeration[Block]:
    """Blocks of one chain; logits [K, V] and [K + 1, V]."""

    def program() -> Block:
        ids = torch.tensor([[7, *drafts]])
        tokens, matches = utils._speculative_sampling(ids, draft_logits[None], len(drafts), target_logits[None])
        assert int(matches) == tokens.shape[1] - 1
        return tuple(tokens[0].tolist())

    return enumerate_law(program)


def rows(logits: torch.Tensor) -> list[list[Fraction]]:
    return [[Fraction(p) for p in row] for row in logits.softmax(-1).tolist()]


def distance(found: dict[Block, Fraction], other: dict[Block, Fraction]) -> Fraction:
    differences = [abs(found.get(b, Fraction(0)) - other.get(b, Fraction(0))) for b in found.keys() | other]
    return sum(differences, Fraction(0)) / 2


def chain_law(drafts: list[int], q: list[list[Fraction]], p: list[list[Fraction]]) -> dict[Block, Fraction]:
    """Token-level speculative sampling in rationals."""
    law: dict[Block, Fraction] = {}
    mass = Fraction(1)
    for i in range(len(drafts) + 1):
        accept = min(Fraction(1), p[i][drafts[i]] / q[i][drafts[i]]) if i < len(drafts) else Fraction(0)
        left = [max(Fraction(0), a - b) for a, b in zip(p[i], q[i], strict=True)] if i < len(drafts) else p[i]
        for token, weight in enumerate(left):
            if mass * (1 - accept) * weight:
                law[(*drafts[:i], token)] = mass * (1 - accept) * weight / sum(left)
        mass *= accept
    return law


def instances() -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
    random = torch.Generator().manual_seed(3)
    for k, v in ((1, 3), (1, 5), (2, 3), (2, 4), (3, 3), (3, 5)):
        draft, target = torch.randn(k, v, generator=random), 1.5 * torch.randn(k + 1, v, generator=random)
        drafts = (draft.softmax(-1) - target[:k].softmax(-1)).argmax(-1)  # each may be rejected
        yield drafts.tolist(), draft, target


@pytest.mark.parametrize("instance", list(instances()))
def test_chains(instance: tuple[list[int], torch.Tensor, torch.Tensor]) -> None:
    drafts, draft, target = instance
    found = read(*instance)
    exact = chain_law(drafts, rows(draft), rows(target))
    assert sum(found.law.values()) == 1 and not found.failures
    assert distance(found.law, exact) < 2e-7
    assert (
        distance(found.law, chain_law(drafts, rows(draft), rows(target.flip(-1)))) > 1e-2
    )  # another law is told apart


def test_an_impossible_draft_is_accepted_at_zero() -> None:
    target = torch.tensor([[0.0, 1.0, -torch.inf], [0.0, 0.0, 0.0]])
    found = read([2], torch.zeros(1, 3), target)
    assert sum(mass for block, mass in found.law.items() if block[0] == 2) == TICK
    assert all(len(block) == 2 for block in found.law if block[0] == 2)


def test_equal_rows_fail_at_the_last_uniform() -> None:
    """Equal up to rounding: the draft is rejected at u = 1 - 2^-24 and nothing is left to draw from."""
    random = torch.Generator().manual_seed(0)
    while True:
        draft, shift = torch.randn(1, 4, generator=random), torch.randn((), generator=random)
        q, p = draft.softmax(-1), (draft + shift).softmax(-1)
        ratio = (p / q)[0]
        if (p <= q).all() and ratio.min() == 1 - 2**-23:
            break
    found = read([int(ratio.argmin())], draft, torch.cat([draft + shift, torch.zeros(1, 4)]))
    assert sum(found.failures.values()) == TICK and len(found.failures) == 1
    assert "inf" in next(iter(found.failures)) and len(found.law) == 4
