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


@pytest.mark.parametrize("replace", [False, True])
def test_draws_are_exact_inverse_cdfs(replace: bool) -> None:
    rng = random.Random(7)
    for _ in range(200):
        groups, places, ranks, vocabulary = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 5), rng.randint(1, 6)
        weights = [[rng.choice([0, 1, 2, 5, 9]) for _ in range(vocabulary)] for _ in range(groups)]
        for row in weights:
            row[rng.randrange(vocabulary)] = 3
        law = torch.tensor([[Fraction(weight, sum(row)) for weight in row] for row in weights], dtype=torch.float64)
        uniforms = torch.rand(groups, places, ranks, dtype=torch.float64, generator=torch.Generator().manual_seed(rng.randrange(1 << 30)))
        counts = torch.tensor([[rng.randint(0, ranks) for _ in range(places)] for _ in range(groups)])
        tokens, exhausted = draw_sequence(law, uniforms, counts, replace)
        for group in range(groups):
            exact = [Fraction(mass) for mass in law[group].tolist()]
            for place in range(places):
                wanted = int(counts[group, place])
                want = exact_sequence(exact, [Fraction(u) for u in uniforms[group, place, :wanted].tolist()], replace)
                assert tokens[group, place].tolist() == want + [-1] * (ranks - wanted)
                assert exhausted[group, place].tolist() == [token < 0 for token in want] + [False] * (ranks - wanted)


def test_elders_that_hold_nearly_everything_do_not_spoil_the_rest() -> None:
    tiny = 2.0**-60
    law = torch.tensor([[tiny, 1 - 4 * tiny, 3 * tiny, 0.0]], dtype=torch.float64)
    for uniform, token in ((0.0, 0), (0.2499, 0), (0.2501, 2), (0.9999999, 2)):
        tokens, _ = draw_sequence(law, torch.tensor([[[0.5, uniform]]], dtype=torch.float64), torch.tensor([[2]]), replace=False)
        assert tokens.tolist() == [[[1, token]]]


def test_boundary_uniforms_never_draw_an_impossible_token() -> None:
    law = torch.tensor([[0.0, 0.1, 0.0, 0.2, 0.7, 0.0]], dtype=torch.float64)
    for uniform in (0.0, 1 - 2.0**-53, 0.1, 0.1 + 0.2):
        tokens, exhausted = draw_sequence(law, torch.full((1, 1, 5), uniform, dtype=torch.float64), torch.tensor([[5]]), replace=False)
        assert sorted(tokens[0, 0, :3].tolist()) == [1, 3, 4]
        assert exhausted.tolist() == [[[False] * 3 + [True] * 2]]


@pytest.mark.parametrize("reverse", [False, True], ids=["as drawn", "reversed"])
def test_gumbel_order_is_the_order_of_draws_without_replacement(reverse: bool) -> None:
    """Against the sequential law, jointly; the same draws in reverse order are rejected."""
    q, count = [Fraction(6, 10), Fraction(3, 10), Fraction(1, 10)], 40_000
    logits = torch.tensor([[float(mass) for mass in q]], dtype=torch.float64).log()
    draws = gumbel_top(logits.expand(count, -1), 2, torch.Generator().manual_seed(3))
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    law = [float(q[a] * q[b] / (1 - q[a])) for a, b in pairs]
    seen = [tuple(pair[::-1] if reverse else pair) for pair in draws.tolist()]
    rejected = log_e_value([seen.count(pair) for pair in pairs], law) > 13.8
    assert rejected == reverse


def test_gumbel_stops_at_the_support() -> None:
    logits = torch.tensor([[0.0, -torch.inf, 1.0]])
    assert gumbel_top(logits, 5)[0].tolist()[2:] == [-1, -1, -1]
