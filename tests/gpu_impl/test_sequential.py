"""Sequential draws from one row are those of exact inverse CDFs, also where the elders hold nearly all of the row."""

import random
from fractions import Fraction

import pytest
import torch

from draftproof.gpu_impl.sequential import draw_sequence, gumbel_top
from draftproof.oracle.eprocess import log_e_value


def exact_sequence(law: list[Fraction], uniforms: list[Fraction], replace: bool) -> list[int]:
    """By the definition: the inverse CDF of the row off the elders, tokens in id order; -1 when nothing is left."""
    drawn: list[int] = []
    for uniform in uniforms:
        rest = [Fraction(0) if token in drawn and not replace else mass for token, mass in enumerate(law)]
        left, total = uniform * sum(rest), Fraction(0)
        token = -1
        for candidate, mass in enumerate(rest):
            total += mass
            if mass and total > left:
                token = candidate
                break
        drawn.append(token)
    return drawn


@pytest.mark.parametrize("block", [2, 1024])
@pytest.mark.parametrize("replace", [False, True])
def test_draws_are_exact_inverse_cdfs(replace: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftproof.gpu_impl.sequential.BLOCK", block)
    rng = random.Random(7)
    for _ in range(200):
        groups, places, ranks, vocabulary = rng.randint(1, 3), rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 6)
        weights = [[rng.choice([0, 1, 2, 5, 9]) for _ in range(vocabulary)] for _ in range(groups)]
        for row in weights:
            row[rng.randrange(vocabulary)] = 3
        law = torch.tensor([[Fraction(weight, sum(row)) for weight in row] for row in weights], dtype=torch.float64)
        uniforms = torch.rand(places, ranks, dtype=torch.float64, generator=torch.Generator().manual_seed(rng.randrange(1 << 30)))
        rows, counts = [rng.randrange(groups) for _ in range(places)], [rng.randint(0, ranks) for _ in range(places)]
        tokens, exhausted = draw_sequence(law, torch.tensor(rows), uniforms, torch.tensor(counts), replace)
        for place, (row, wanted) in enumerate(zip(rows, counts, strict=True)):
            exact = [Fraction(mass) for mass in law[row].tolist()]
            want = exact_sequence(exact, [Fraction(u) for u in uniforms[place, :wanted].tolist()], replace)
            assert tokens[place].tolist() == want + [-1] * (ranks - wanted)
            assert exhausted[place].tolist() == [token < 0 for token in want] + [False] * (ranks - wanted)


def drawn(law: list[float], uniforms: list[float]) -> tuple[list[int], list[bool]]:
    tokens, exhausted = draw_sequence(
        torch.tensor([law], dtype=torch.float64), torch.tensor([0]), torch.tensor([uniforms]).double(), torch.tensor([len(uniforms)]), False
    )
    return tokens[0].tolist(), exhausted[0].tolist()


def test_elders_that_hold_nearly_everything_do_not_spoil_the_rest() -> None:
    tiny = 2.0**-60
    for uniform, token in ((0.0, 0), (0.2499, 0), (0.2501, 2), (0.9999999, 2)):
        assert drawn([tiny, 1 - 4 * tiny, 3 * tiny, 0.0], [0.5, uniform])[0] == [1, token]


def test_boundary_uniforms_never_draw_an_impossible_token() -> None:
    for uniform in (0.0, 1 - 2.0**-53, 0.1, 0.1 + 0.2):
        tokens, exhausted = drawn([0.0, 0.1, 0.0, 0.2, 0.7, 0.0], [uniform] * 5)
        assert sorted(tokens[:3]) == [1, 3, 4]
        assert exhausted == [False] * 3 + [True] * 2


def test_large_rows_by_blocks() -> None:
    """At full vocabulary: the token of the inverse CDF summed token by token in float64, but for uniforms within rounding of a boundary."""
    law = torch.randn(2, 151_936, generator=torch.Generator().manual_seed(1)).mul(3).softmax(-1)
    uniforms = torch.rand(500, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    row = torch.arange(500) % 2
    tokens, _ = draw_sequence(law, row, uniforms, torch.ones(500, dtype=torch.int64), False)
    cdf = law.double().cumsum(-1)
    place = uniforms[:, 0] * cdf[row, -1]
    off = (place - cdf[row, tokens[:, 0]]).clamp(min=0) + (cdf[row, tokens[:, 0]] - law[row, tokens[:, 0]] - place).clamp(min=0)
    assert off.max() < 1e-6


@pytest.mark.parametrize("reverse", [False, True], ids=["as drawn", "reversed"])
def test_gumbel_order_is_the_order_of_draws_without_replacement(reverse: bool) -> None:
    """Against the sequential law, jointly; the same draws in reverse order are rejected."""
    q, count = [Fraction(6, 10), Fraction(3, 10), Fraction(1, 10)], 40_000
    rows = torch.tensor([[float(mass) for mass in q]], dtype=torch.float64)
    draws = gumbel_top(rows.expand(count, -1), 2, torch.Generator().manual_seed(3))
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    law = [float(q[a] * q[b] / (1 - q[a])) for a, b in pairs]
    seen = [tuple(pair[::-1] if reverse else pair) for pair in draws.tolist()]
    rejected = log_e_value([seen.count(pair) for pair in pairs], law) > 13.8
    assert rejected == reverse


def test_gumbel_stops_at_the_support() -> None:
    assert gumbel_top(torch.tensor([[0.25, 0.0, 0.75]]), 5)[0].tolist()[2:] == [-1, -1, -1]
