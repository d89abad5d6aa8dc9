"""Plans with heads are the reference's best-first plans, ties included."""

import math
import random

import pytest
import torch

from draftproof.gpu_impl.beam import plan_by_acceptance, plan_with_head
from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.drafters import Draft, MarkovHead, RecurrentHead
from draftproof.reference.drafters import markov_head, recurrent_head
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix
from draftproof.reference.planning import plan


def paths(trees: DraftTrees, row: int) -> list[Prefix]:
    """The planned paths of one tree, in index order."""
    found: list[Prefix] = [()]
    for node in range(1, int(trees.valid[row].sum())):
        found.append((*found[int(trees.parents[row, node])], int(trees.tokens[row, node])))
    return found[1:]


def markov(rng: random.Random, vocabulary: int, depths: int) -> tuple[Draft, Model]:
    """The same Markov drafter twice; powers of two, so that equal scores are equal in floats too."""
    base = [[2 ** rng.randint(0, 2) for _ in range(vocabulary)] for _ in range(depths)]
    factors = [[2 ** rng.randint(0, 2) for _ in range(vocabulary)] for _ in range(vocabulary)]
    for row in base:
        if rng.random() < 0.3:
            row[rng.randrange(vocabulary)] = 0
    head = MarkovHead(torch.eye(vocabulary, dtype=torch.float64), torch.tensor(factors, dtype=torch.float64).log())
    model = markov_head([Law.row(row) for row in base], 0, lambda parent: dict(enumerate(factors[parent])))
    return Draft(torch.tensor([base], dtype=torch.float64).log(), torch.tensor([0]), head), model


def test_markov_plans_are_the_references() -> None:
    rng = random.Random(5)
    for _ in range(60):
        vocabulary, depths, nodes = rng.randint(2, 4), rng.randint(1, 4), rng.randint(0, 9)
        draft, model = markov(rng, vocabulary, depths)
        got, want = paths(plan_with_head(draft, nodes), 0), plan(model, nodes, depths)
        mass = {path: math.prod(float(model(path[:d])[path[d]]) for d in range(len(path))) for path in {*got, *want}}
        assert len(got) == len(want)
        assert [mass[path] for path in got] == pytest.approx([mass[path] for path in want])  # equal up to rounded ties


def test_ties_go_to_the_lexicographically_smallest_ranks() -> None:
    vocabulary, depths = 2, 3
    draft = Draft(torch.zeros(1, depths, vocabulary), torch.tensor([0]), MarkovHead(torch.zeros(2, 1), torch.zeros(1, 2)))
    uniform = [Law.row([1, 1])] * depths
    for nodes in range(1, 9):
        assert paths(plan_with_head(draft, nodes), 0) == plan(markov_head(uniform, 0, lambda parent: {}), nodes, depths)


def test_recurrent_plans_are_the_references() -> None:
    torch.manual_seed(2)
    vocabulary, depths = 4, 3
    head = RecurrentHead(torch.randn(vocabulary, 2).double(), torch.randn(2, 2).double(), torch.randn(2, vocabulary).double())
    draft = Draft(torch.randn(2, depths, vocabulary).double(), torch.tensor([1, 3]), head)

    def step(state: tuple[float, ...], token: int) -> tuple[float, ...]:
        return tuple(head.step(torch.tensor([state], dtype=torch.float64), torch.tensor([token]))[0].tolist())

    def factors(state: tuple[float, ...]) -> dict[int, float]:
        return dict(enumerate(head.bias(torch.tensor([state], dtype=torch.float64))[0].exp().tolist()))

    trees = plan_with_head(draft, 12)
    for row in range(2):
        base = [Law.row(weights) for weights in draft.base[row].exp().tolist()]
        start = tuple(head.start(draft.anchor)[row].tolist())
        assert paths(trees, row) == plan(recurrent_head(base, start, step, factors), 12, depths)


def test_temperature_changes_the_plan_as_it_does_for_marginals() -> None:
    base = torch.randn(3, 3, 5, generator=torch.Generator().manual_seed(1)).double()
    silent = MarkovHead(torch.zeros(5, 1).double(), torch.zeros(1, 5).double())
    for temperature in (0.5, 1.0, 3.0):
        headed = plan_with_head(Draft(base, torch.tensor([0, 0, 0]), silent), 10, temperature)
        plain = ddtree(base / temperature, 10)
        assert [paths(headed, row) for row in range(3)] == [paths(plain, row) for row in range(3)]
        assert torch.allclose(headed.scores, plain.scores)


def test_candidates_bound_the_tokens_looked_at() -> None:
    torch.manual_seed(0)
    draft = Draft(torch.randn(1, 3, 50), torch.tensor([0]), MarkovHead(torch.randn(50, 4), torch.randn(4, 50)))
    for depth in range(3):
        allowed = set(draft.base[0, depth].topk(8).indices.tolist())
        used = {path[depth] for path in paths(plan_with_head(draft, 20, candidates=8), 0) if len(path) > depth}
        assert used <= allowed


def test_plan_by_acceptance_of_a_sure_first_draw_is_a_chain() -> None:
    acceptance = torch.tensor([[[1.0, 0.0, 0.0]] * 5])
    assert plan_by_acceptance(acceptance, 4).parents[0].tolist() == [0, 0, 1, 2, 3]
    flat = torch.tensor([[[0.3, 0.25, 0.2]] * 5])
    assert plan_by_acceptance(flat, 3).parents[0].tolist() == [0, 0, 0, 0]


def test_plan_without_head_is_refused() -> None:
    with pytest.raises(ValueError, match="no head"):
        plan_with_head(Draft(torch.zeros(1, 1, 2), torch.tensor([0])), 3)


def test_chances_that_are_none() -> None:
    chances = torch.tensor([[[0.5, math.nan, 0.4]], [[0.5, -0.1, 0.4]], [[math.nan, 0.5, 0.4]]], dtype=torch.float64)
    assert plan_by_acceptance(chances, 2).valid.sum(1).tolist() == [2, 2, 1]
    with pytest.raises(ValueError, match="acceptance must be"):
        plan_by_acceptance(chances[0], 2)


@pytest.mark.parametrize("candidates", [0, -1])
def test_candidates_that_are_none(candidates: int) -> None:
    draft, _ = markov(random.Random(0), 3, 2)
    with pytest.raises(ValueError, match="at least one candidate"):
        plan_with_head(draft, 4, candidates=candidates)
