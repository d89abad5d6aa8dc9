import random
from decimal import Decimal, localcontext
from fractions import Fraction
from heapq import heappop, heappush
from importlib import import_module
from itertools import product
from math import inf, nan, prod
from typing import Any

import pytest
import torch
from torch import Tensor

from draftproof.gpu_impl.cost_limit import guess_limits
from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.listing import list_prefixes
from draftproof.gpu_impl.marginals import read_marginals
from draftproof.gpu_impl.predraw_follow import predraw_follow
from draftproof.gpu_impl.tree_mask import tree_mask
from draftproof.reference.budgets import ddtree as reference_tree
from draftproof.reference.budgets import gains
from draftproof.reference.budgets.optimum import optimum
from draftproof.reference.laws import Law
from draftproof.reference.models import marginal

Path = tuple[int, ...]


def paths(trees: DraftTrees, row: int) -> list[Path]:
    """Prefixes of the valid nodes besides the root; checks the array convention on the way."""
    tokens, parents, valid, depth, scores = (part[row].tolist() for part in trees)
    count = sum(valid)
    assert valid == [True] * count + [False] * (len(valid) - count)
    assert tokens[count:] == [0] * (len(valid) - count) and parents[count:] == list(range(count, len(valid)))
    found: list[Path] = [()]
    for node in range(1, count):
        assert parents[node] < node
        found.append((*found[parents[node]], tokens[node]))
        assert depth[node] == len(found[node]) and scores[node] <= scores[node - 1]
    assert len(set(found)) == count
    return found[1:]


def heap_tree(scores: list[list[float]], nodes: int) -> list[tuple[int, ...]]:
    """Rank tuples in the order of a plain best-first heap; scores [L][K] are log probabilities, most probable first."""
    frontier, found = [(-scores[0][0], (0,))] if scores and scores[0] else [], list[tuple[int, ...]]()
    while frontier and len(found) < nodes:
        cost, ranks = heappop(frontier)
        if cost == inf:
            break
        found.append(ranks)
        row, last = scores[len(ranks) - 1], ranks[-1]
        if last + 1 < len(row):
            heappush(frontier, (cost + row[last] - row[last + 1], (*ranks[:-1], last + 1)))
        if len(ranks) < len(scores):
            heappush(frontier, (cost - scores[len(ranks)][0], (*ranks, 0)))
    return found


def wanted(logits: Tensor, nodes: int) -> tuple[list[list[Path]], Tensor]:
    """Paths by the heap on float64 log-softmax over the full vocabulary, and those log probabilities."""
    scores = torch.log_softmax(logits.double(), -1)
    top = scores.topk(min(nodes, logits.shape[2]), -1)
    trees = []
    for row, order in zip(top.values.tolist(), top.indices.tolist(), strict=True):
        trees.append([tuple(order[depth][rank] for depth, rank in enumerate(ranks)) for ranks in heap_tree(row, nodes)])
    return trees, scores


def covered(scores: Tensor, found: Any) -> float:
    """Mass of a set of paths under log probabilities [L, V]."""
    return sum(float(torch.stack([scores[depth, token] for depth, token in enumerate(path)]).sum().exp()) for path in found)


def test_2000_random_rows_reach_the_exact_optimum() -> None:
    """Mass in rationals against dynamic programming over all valid trees; ties, probabilities 0 and 1 included."""
    rng = random.Random(0)
    for _ in range(50):
        depths, vocabulary, nodes = rng.randint(1, 4), rng.randint(1, 4), rng.randint(0, 9)
        largest, zeros = rng.choice([1, 2, 9]), rng.choice([0, 0.3])
        weights = [[_weights(rng, vocabulary, largest, zeros) for _ in range(depths)] for _ in range(40)]
        trees = ddtree(torch.tensor(weights, dtype=torch.float64).log(), nodes)
        for row, rows in enumerate(weights):
            laws = [Law.row(entry) for entry in rows]
            found = paths(trees, row)
            masses = [prod((laws[depth][token] for depth, token in enumerate(path)), start=Law.row([1])[0]) for path in found]
            assert sum(masses, 0 * Law.row([1])[0]) == optimum(laws, nodes)
            assert masses == gains(marginal(laws), depths, nodes)
            assert torch.allclose(trees.scores[row, 1 : 1 + len(found)].exp(), torch.tensor([float(mass) for mass in masses], dtype=torch.float64))


def _weights(rng: random.Random, vocabulary: int, largest: int, zeros: float) -> list[int]:
    weights = [0 if rng.random() < zeros else rng.randint(1, largest) for _ in range(vocabulary)]
    return weights if any(weights) else [1] * vocabulary


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_node_list_is_exact_on_representable_logits(dtype: torch.dtype) -> None:
    """Logits with few bits: sums are exact, prefixes of one depth tie often, and order and ties are those of exact arithmetic."""
    rng, ties = random.Random(1), 0
    for _ in range(40):
        depths, vocabulary, nodes = rng.randint(1, 4), rng.randint(1, 5), rng.randint(1, 40)
        rows = [[Fraction(value, 4) for value in rng.sample(range(-30, 30), vocabulary)] for _ in range(depths)]
        logits = torch.tensor([[[float(value) for value in row] for row in rows]], dtype=dtype)
        exact = exact_order(rows)
        ties += len({cost for cost, _, _ in exact}) < len(exact)
        assert paths(ddtree(logits, nodes), 0) == [path for _, _, path in exact[:nodes]]
    assert ties > 20


def exact_order(rows: list[list[Fraction]]) -> list[tuple[Fraction, tuple[int, ...], Path]]:
    """(cost, ranks, path) of every prefix, sorted: differences of logits exact, normalisers to 60 digits."""
    order = [sorted(range(len(row)), key=lambda token, row=row: -row[token]) for row in rows]  # type: ignore[misc]
    chain, found = Fraction(0), list[tuple[Fraction, tuple[int, ...], Path]]()
    for depth in range(1, len(rows) + 1):
        row, top = rows[depth - 1], max(rows[depth - 1])
        with localcontext() as context:
            context.prec = 60
            differences = [Decimal(float(value - top)) for value in row]
            chain += Fraction(sum((difference.exp() for difference in differences), Decimal(0)).ln())
        for ranks in product(*(range(len(tokens)) for tokens in order[:depth])):
            path = tuple(tokens[rank] for tokens, rank in zip(order, ranks, strict=False))
            cost = chain + sum((max(rows[at]) - rows[at][token] for at, token in enumerate(path)), Fraction(0))
            found.append((cost, ranks, path))
    return sorted(found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", ["random", "peaked"])
def test_real_shape(shape: str, dtype: torch.dtype) -> None:
    """15 depths of 151,936 tokens: the node set of float64, or a differing mass below 1e-6."""
    logits = real_logits(shape).to(dtype)
    for nodes in (64, 1024):
        trees, (exact, scores) = ddtree(logits, nodes), wanted(logits, nodes)
        for row, path_list in enumerate(exact):
            mine, theirs = set(paths(trees, row)), set(path_list)
            assert len(mine) == len(theirs) == nodes
            assert abs(covered(scores[row], mine - theirs) - covered(scores[row], theirs - mine)) < 1e-6


def real_logits(shape: str, batch: int = 2, vocabulary: int = 151_936) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, 15, vocabulary, generator=generator) * 2
    if shape == "peaked":  # a few likely tokens, as a trained drafter has, less sure with depth
        likely = torch.randint(vocabulary, (batch, 15, 20), generator=generator)
        bonus = 14 - 0.3 * torch.arange(15).view(1, 15, 1) - 4 * torch.rand(batch, 15, 20, generator=generator).cumsum(2)
        logits.scatter_add_(2, likely, bonus)
    return logits


def test_more_tokens_are_looked_at_where_the_tree_might_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []

    def watched(logits: Tensor, width: int, *more: Any) -> Any:
        widths.append(width)
        return read_marginals(logits, width, *more)

    monkeypatch.setattr(import_module("draftproof.gpu_impl.ddtree"), "read_marginals", watched)
    flat = torch.randn(2, 3, 2000, generator=torch.Generator().manual_seed(0)) / 100
    exact, _ = wanted(flat, 600)
    trees = ddtree(flat, 600)
    assert [paths(trees, row) for row in range(2)] == exact and widths == [128, 600]
    widths.clear()
    peaked = flat * 800
    exact, _ = wanted(peaked, 600)
    trees = ddtree(peaked, 600)
    assert [paths(trees, row) for row in range(2)] == exact and widths == [128]


def test_rows_that_are_no_law_end_the_tree() -> None:
    logits = torch.zeros(6, 3, 2)
    for row, (depth, bad) in enumerate([(0, nan), (1, nan), (2, nan), (1, inf), (1, -inf)]):
        logits[row, depth] = torch.tensor([bad, -1.0 if bad != -inf else bad])
    trees = ddtree(logits, 20)
    assert [max(map(len, paths(trees, row)), default=0) for row in range(6)] == [0, 1, 2, 1, 1, 3]
    assert trees.valid.sum(1).tolist() == [1, 3, 7, 3, 3, 15]
    assert not trees.scores.isnan().any()


def test_impossible_tokens_are_no_nodes() -> None:
    logits = torch.tensor([[[0.0, -inf, 1.0], [-inf, -inf, 5.0]], [[-inf, 0.0, -inf], [0.0, -inf, -inf]]])
    trees = ddtree(logits, 9)
    assert paths(trees, 0) == [(2,), (2, 2), (0,), (0, 2)] and paths(trees, 1) == [(1,), (1, 0)]
    assert trees.scores[1, :3].tolist() == [0, 0, 0], "certain: ties with the parent"


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 2, 3), (2, 2, 1), (2, 1, 3), (1, 40, 2)])
@pytest.mark.parametrize("nodes", [-1, 0, 1, 7])
def test_degenerate_shapes(shape: tuple[int, int, int], nodes: int) -> None:
    batch, depths, vocabulary = shape
    trees = ddtree(torch.zeros(shape), nodes)
    assert trees.tokens.shape == (batch, 1 + max(nodes, 0))
    possible = sum(vocabulary**depth for depth in range(1, depths + 1))
    for row in range(batch):
        assert len(paths(trees, row)) == min(max(nodes, 0), possible)


def test_budgets_per_row_cut_the_same_tree() -> None:
    logits = torch.randn(4, 3, 6, generator=torch.Generator().manual_seed(1))
    full = ddtree(logits, 12)
    cut = ddtree(logits, 12, torch.tensor([0, 5, 12, 99]))
    for row, budget in enumerate([0, 5, 12, 12]):
        assert paths(cut, row) == paths(full, row)[:budget]
    for nodes in range(12):
        assert [paths(ddtree(logits, nodes), row) for row in range(4)] == [paths(full, row)[:nodes] for row in range(4)], "nested"


def test_invariances() -> None:
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(3, 4, 50, generator=generator)
    before = logits.clone()
    base = ddtree(logits, 30)
    assert torch.equal(logits, before), "inputs are left alone"
    order = torch.randperm(50, generator=generator)
    renamed = ddtree(logits[:, :, order], 30)
    assert torch.equal(order[renamed.tokens[:, 1:]], base.tokens[:, 1:]) and torch.equal(renamed.parents, base.parents)
    lifted = ddtree((logits * 256).round() / 256 + torch.tensor([64.0, -64, 0, 1024]).view(1, 4, 1), 30)
    assert torch.equal(lifted.tokens, ddtree((logits * 256).round() / 256, 30).tokens)
    assert torch.equal(ddtree(logits[1:2], 30).tokens[0], base.tokens[1]), "other rows do not matter"
    spread = torch.randn(3, 50, 4, generator=generator).transpose(1, 2)
    assert torch.equal(ddtree(spread, 30).tokens, ddtree(spread.contiguous(), 30).tokens), "any strides"


def test_known_shapes() -> None:
    uniform = ddtree(torch.zeros(1, 3, 9), 9)
    assert sorted(paths(uniform, 0)) == [(token,) for token in range(9)], "uniform: a star"
    certain = torch.full((1, 4, 9), -20.0)
    certain[0, range(4), [3, 1, 4, 1]] = 20.0
    assert paths(ddtree(certain, 4), 0) == [(3,), (3, 1), (3, 1, 4), (3, 1, 4, 1)], "near certainty: the chain"


def test_ties_by_the_thousand() -> None:
    """One sure token a depth and all others alike: every single deviation ties."""
    logits = torch.zeros(2, 8, 300)
    logits[:, :, 7] = 14.0
    trees = ddtree(logits, 200)
    found = paths(trees, 0)
    assert found[:8] == [(7,) * depth for depth in range(1, 9)]
    assert all(sum(token != 7 for token in path) == 1 for path in found[8:])


def all_costs(logits: Tensor) -> Tensor:
    """[B, everything] costs of all prefixes of logits [B, L, V]."""
    scores = torch.log_softmax(logits.double(), -1)
    costs = [-scores[:, 0]]
    for depth in range(1, logits.shape[1]):
        costs.append((costs[-1].unsqueeze(2) - scores[:, depth].unsqueeze(1)).flatten(1))
    return torch.cat(costs, 1)


def test_limits() -> None:
    """The bound always holds; the guess is a few percent of the count off, where the count is large."""
    generator = torch.Generator().manual_seed(3)
    for scale in (0.1, 1.0, 4.0, 9.0):
        logits = torch.randn(3, 4, 12, generator=generator, dtype=torch.float64) * scale
        costs = all_costs(logits)
        for nodes in (1, 10, 100, 1000, 30_000):
            guess, _, bound = guess_limits(read_marginals(logits, 12), nodes)
            within = (costs <= bound.unsqueeze(1)).sum(1)
            assert (within >= min(nodes, costs.shape[1])).all() and (guess <= bound).all()
            if nodes in (100, 1000):
                about = (costs <= guess.unsqueeze(1) + 1e-9).sum(1) / nodes
                assert (about > 0.8).all() and (about < 1.3).all()


def test_the_listing_is_complete_and_little_more() -> None:
    generator = torch.Generator().manual_seed(4)
    for scale in (0.1, 1.0, 4.0, 9.0):
        logits = torch.randn(3, 4, 12, generator=generator, dtype=torch.float64) * scale
        costs = all_costs(logits)
        for share in (0.001, 0.01, 0.2, 1.0):
            limit = costs.quantile(share, dim=1)
            listing = list_prefixes(read_marginals(logits, 12), limit)
            for row in range(3):
                mine = listing.cost[listing.row == row]
                assert int((mine <= limit[row] + 1e-12).sum()) == int((costs[row] <= limit[row] + 1e-12).sum())
                assert len(mine) <= 1.25 * int((costs[row] <= limit[row] + 1e-12).sum()) + 5
            below = listing.parent >= 0
            assert (listing.parent < torch.arange(len(below))).all()
            assert (listing.depth[listing.parent[below]] == listing.depth[below] - 1).all()
            assert (listing.depth[~below] == 1).all() and (listing.row[listing.parent[below]] == listing.row[below]).all()


def test_a_low_guess_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    from draftproof.gpu_impl import selection

    logits = torch.randn(4, 6, 40, generator=torch.Generator().manual_seed(5)) * 3
    exact = ddtree(logits, 200)

    def low(marginals: Any, nodes: int) -> tuple[Tensor, Tensor, Tensor]:
        guess, step, bound = guess_limits(marginals, nodes)
        return guess - 2.0, step, bound

    monkeypatch.setattr(selection, "guess_limits", low)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(ddtree(logits, 200), exact, strict=True))


@pytest.mark.parametrize(("width", "nodes"), [(128, 1024), (128, 129), (20, 1000), (1024, 1024), (64, 64)])
def test_little_is_listed_in_vain(width: int, nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound far too high, as few tokens a depth give, must not make the listing explode."""
    from draftproof.gpu_impl import selection

    listed: list[int] = []

    def watched(marginals: Any, limit: Tensor) -> Any:
        listing = list_prefixes(marginals, limit)
        listed.append(len(listing.row) // len(limit))
        return listing

    monkeypatch.setattr(selection, "list_prefixes", watched)
    for logits in (real_logits("peaked", 2, 9000), real_logits("random", 2, 9000), 6 * real_logits("random", 2, 9000)):
        listed.clear()
        selection.select(read_marginals(logits, width), nodes)
        assert max(listed) < 1.5 * nodes + 50 and len(listed) <= 3, listed


def test_one_wild_row_does_not_cost_the_others() -> None:
    """Rows with logits in the thousands, with few possible tokens, and ordinary ones in one batch."""
    logits = torch.randn(4, 5, 60, generator=torch.Generator().manual_seed(6)) * 2
    alone = ddtree(logits[:1], 100)
    logits[1] *= 3000
    logits[2, :, 2:] = -inf
    logits[3] = nan
    together = ddtree(logits, 100)
    assert torch.equal(together.tokens[0], alone.tokens[0]) and torch.equal(together.parents[0], alone.parents[0])
    assert [len(paths(together, row)) for row in range(4)] == [100, 100, 62, 0]


def test_ties_between_depths_come_by_rank_tuple() -> None:
    """Certain tokens tie a prefix with its extensions: the node list is the reference's, ties and all."""
    rng, tied = random.Random(7), 0
    for _ in range(60):
        depths, vocabulary = rng.randint(1, 4), rng.randint(1, 3)
        rows = [[rng.choice([0, 1]) for _ in range(vocabulary)] for _ in range(depths)]
        laws = [Law.row(row if any(row) else [1] * vocabulary) for row in rows]
        logits = torch.tensor([[[0.0 if law[token] else -inf for token in range(vocabulary)] for law in laws]])
        order = [[token for token in range(vocabulary) if law[token]] for law in laws]
        marginals = read_marginals(logits, vocabulary)
        if [marginals.tokens[0, depth, : len(row)].tolist() for depth, row in enumerate(order)] != order:
            continue  # torch.topk takes equal tokens in another order
        tied += any(len(row) == 1 for row in order)
        assert paths(ddtree(logits, 9), 0) == reference_tree(marginal(laws), depths, 9)
    assert tied > 20


def test_mask_is_the_ancestors() -> None:
    logits = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(4))
    trees = ddtree(logits, 20, torch.tensor([20, 3, 0]))
    mask = tree_mask(trees.parents, trees.depth)
    for row in range(3):
        found = [(), *paths(trees, row)]
        for node, path in enumerate(found):
            seen = {found[other] for other in mask[row, node].nonzero().flatten().tolist()}
            assert seen == {path[:length] for length in range(len(path) + 1)}
        for node in range(len(found), 21):
            assert mask[row, node].nonzero().flatten().tolist() == [node], "padding sees itself"
    assert tree_mask(torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, 3, dtype=torch.int64)).shape == (0, 3, 3)


def test_verifiers_take_the_trees_as_they_are() -> None:
    """E[accepted] of predraw-and-follow on a tree is the target mass of its nodes."""
    generator = torch.Generator().manual_seed(5)
    trees = ddtree(torch.randn(1, 3, 5, generator=generator), 10)
    target = torch.softmax(torch.randn(1, 11, 5, generator=generator, dtype=torch.float64), -1)
    mass = [1.0]
    for node in range(1, 11):
        parent = int(trees.parents[0, node])
        mass.append(mass[parent] * float(target[0, parent, trees.tokens[0, node]]))
    many = 20_000
    batch = (part.expand(many, *part.shape[1:]) for part in (trees.tokens, trees.parents, trees.valid, target))
    _, accepted = predraw_follow(*batch, generator=torch.Generator().manual_seed(6))
    assert abs(float(accepted.double().mean()) - sum(mass[1:])) < 0.04


def test_calls_that_cannot_be() -> None:
    logits = torch.zeros(2, 3, 4)
    for call, error in (
        (lambda: ddtree(logits[0], 3), ValueError),
        (lambda: ddtree(logits[:, :, :0], 3), ValueError),
        (lambda: ddtree(logits.long(), 3), TypeError),
        (lambda: ddtree(logits, 3, torch.zeros(3, dtype=torch.int64)), ValueError),
        (lambda: ddtree(logits, 3, torch.zeros(2)), TypeError),
        (lambda: ddtree(logits.tolist(), 3), TypeError),  # type: ignore[arg-type]
        (lambda: ddtree(logits, 2.5), TypeError),  # type: ignore[arg-type]
        (lambda: ddtree(logits, None), TypeError),  # type: ignore[arg-type]
    ):
        with pytest.raises(error):
            call()


def test_logits_of_a_drafter_in_training() -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    trees = ddtree(logits, 7)
    assert not trees.scores.requires_grad and torch.equal(trees.tokens, ddtree(logits.detach(), 7).tokens)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_agrees_with_the_cpu() -> None:
    logits = real_logits("peaked")
    ours, theirs = ddtree(logits.cuda(), 256), ddtree(logits, 256)
    assert torch.equal(ours.tokens.cpu(), theirs.tokens) and torch.equal(ours.parents.cpu(), theirs.parents)
