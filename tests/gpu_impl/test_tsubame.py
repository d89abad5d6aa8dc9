"""Whole rounds on the device: lossless with every verifier, accepted as the reference says, and carried on by a generator."""

import math
from collections import Counter

import pytest
import torch

from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.drafters import Draft, MarkovHead, block_logits
from draftproof.gpu_impl.predraw_follow import predraw_follow
from draftproof.gpu_impl.recursive_rejection import recursive_rejection
from draftproof.gpu_impl.replay import Replayed, replay
from draftproof.gpu_impl.traversal import traversal
from draftproof.gpu_impl.tree_exit import tree_exit
from draftproof.gpu_impl.tsubame import Verifier, kept_nodes, plan, tsubame, verify
from draftproof.gpu_impl.univer import univer
from draftproof.oracle.confidence import MeanLength
from draftproof.oracle.engine import Engine, Toy
from draftproof.oracle.eprocess import stream_log_e_value
from draftproof.reference.blocks import block_law
from draftproof.reference.drafters import markov_head
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, random_model
from draftproof.reference.planning import freeze
from draftproof.reference.planning import plan as reference_plan
from draftproof.reference.replay import replay as reference_replay
from draftproof.reference.rounds import toy_model
from draftproof.reference.verifiers import family

COUNT = 1 << 13
BASE = [[4, 1, 2], [1, 5, 2]]
FACTORS = [[1, 2, 1], [3, 1, 1], [1, 1, 4]]
TARGET = random_model(5, 3)
HEAD = MarkovHead(torch.eye(3).double(), torch.tensor(FACTORS).double().log())


def batch_of(count: int, headed: bool = True) -> Draft:
    base = torch.tensor([BASE]).double().log().repeat(count, 1, 1)
    return Draft(base, torch.zeros(count, dtype=torch.int64), HEAD if headed else None)


def score(tokens: torch.Tensor, mask: torch.Tensor, depth: torch.Tensor) -> torch.Tensor:
    """Target logits [B, N, V]: each row is looked up by the path that the mask shows, in the order of depth; the anchor is the root."""
    table: dict[Prefix, list[float]] = {}
    rows = []
    distinct, inverse = torch.unique(torch.cat([tokens, mask.flatten(1).long(), depth], 1), dim=0, return_inverse=True)
    nodes = tokens.shape[1]
    for row in distinct.tolist():
        ids, seen, deep = row[:nodes], row[nodes : nodes + nodes * nodes], row[nodes + nodes * nodes :]
        for node in range(nodes):
            visible = sorted((deep[other], ids[other]) for other in range(nodes) if seen[node * nodes + other] and other)
            path = tuple(token for _, token in visible)
            law = TARGET(path)
            rows.append(table.setdefault(path, [float(law[token]) for token in range(3)]))
    return torch.tensor(rows, dtype=torch.float64).log().view(len(distinct), nodes, 3)[inverse]


def floats(prefix: Prefix) -> list[float]:
    return [float(TARGET(prefix)[token]) for token in range(3)]


def blocks_of(blocks: torch.Tensor) -> Counter[Prefix]:
    return Counter(tuple(token for token in row if token >= 0) for row in blocks.tolist())


ANY_DRAFT: list[Verifier] = [recursive_rejection, traversal, predraw_follow, tree_exit]
MADE_FOR = [(verifier, sampler) for verifier in ANY_DRAFT for sampler in ("without_replacement", "with_replacement")] + [(univer, "greedy")]


@pytest.mark.parametrize(("verifier", "sampler"), MADE_FOR)
def test_rounds_are_lossless_and_accept_what_the_reference_does(verifier: Verifier, sampler: str) -> None:
    found = tsubame(batch_of(COUNT), score, 4, verifier=verifier, sampler=sampler, generator=torch.Generator().manual_seed(11))
    counts = blocks_of(found.blocks)
    assert stream_log_e_value(counts, floats) < 13.8
    if sampler == "with_replacement" and verifier in (predraw_follow, tree_exit):
        return  # the reference merges duplicates first, which accepts more
    model = markov_head([Law.row(row) for row in BASE], 0, lambda parent: dict(enumerate(FACTORS[parent])))
    topology = freeze(reference_plan(model, 4, 2))
    law = block_law(family(verifier.__name__), TARGET, topology, reference_replay(model, 3, sampler))  # type: ignore[attr-defined]
    lengths = MeanLength(1, 3)
    lengths.update(Counter(len(block) for block in counts.elements()))
    low, high = lengths.interval(1e-6)
    assert low <= float(expected_length(law)) <= high
    assert high - low < 0.15


def test_planned_ids_fed_to_the_target_are_noticed() -> None:
    """The same round with the target scoring the planned tokens: the check above must be able to fail."""
    draft, rng = batch_of(COUNT), torch.Generator().manual_seed(11)
    topology = plan(draft, 4)
    replayed = replay(draft, topology, generator=rng)
    from draftproof.gpu_impl.tree_mask import tree_mask

    planned = score(topology.tokens, tree_mask(topology.parents, topology.depth), topology.depth)
    blocks, _ = verify(replayed, planned, generator=rng)
    assert stream_log_e_value(blocks_of(blocks), floats) > 13.8


def test_shared_lists_refuse_other_verifiers() -> None:
    draft = batch_of(2, headed=False)
    replayed = replay(draft, plan(draft, 4), shared_lists=True)
    target = torch.zeros(2, 5, 3)
    verify(replayed, target)
    for verifier in (traversal, predraw_follow, tree_exit):
        with pytest.raises(ValueError, match="recursive_rejection only"):
            verify(replayed, target, verifier)


def test_univer_does_not_verify_draws_it_is_not_made_for() -> None:
    found = tsubame(batch_of(8), score, 4, verifier=univer, generator=torch.Generator().manual_seed(0))
    assert (found.accepted == -1).all()


def test_shared_lists_are_lossless_and_as_long() -> None:
    lengths = {}
    for shared in (False, True):
        found = tsubame(batch_of(COUNT, headed=False), score, 4, shared_lists=shared, generator=torch.Generator().manual_seed(5))
        counts = blocks_of(found.blocks)
        assert stream_log_e_value(counts, floats) < 13.8
        mean = MeanLength(1, 3)
        mean.update(Counter(len(block) for block in counts.elements()))
        lengths[shared] = mean.interval(1e-6)
    assert max(low for low, _ in lengths.values()) <= min(high for _, high in lengths.values())


def test_temperature_zero_is_greedy() -> None:
    def path(length: int) -> list[int]:
        tokens: Prefix = ()
        for _ in range(length):
            row = floats(tokens)
            tokens = (*tokens, row.index(max(row)))
        return list(tokens)

    for verifier in (recursive_rejection, traversal, predraw_follow):
        found = tsubame(batch_of(3), score, 4, verifier=verifier, draft_temperature=0, target_temperature=0)
        for row, accepted in zip(found.blocks.tolist(), found.accepted.tolist(), strict=True):
            assert row[: accepted + 1] == path(accepted + 1)


def test_rows_that_are_read_are_the_targets() -> None:
    """Lazy rows: the same blocks as from all rows written out."""
    rng = torch.Generator().manual_seed(0)
    draft = batch_of(64)
    topology = plan(draft, 4)
    replayed = replay(draft, topology, generator=rng)
    logits = torch.randn(64, 5, 3, generator=rng).double()
    uniforms = torch.rand(64, 5, generator=rng).double()
    assert replayed.declared is not None
    for verifier in (recursive_rejection, traversal):
        lazy = verify(replayed, logits, verifier, temperature=0.7, uniforms=uniforms)
        rows = (logits / 0.7).softmax(-1)
        whole = verifier(replayed.tokens, replayed.parents, replayed.valid, rows, replayed.declared.rows(), uniforms=uniforms)
        assert torch.equal(lazy[0], whole[0]) and torch.equal(lazy[1], whole[1])


def test_kept_nodes_follow_the_accepted_path() -> None:
    tokens = torch.tensor([[0, 5, 6, 5, 7, 8]])
    parents = torch.tensor([[0, 0, 0, 1, 2, 4]])
    replayed = Replayed(tokens, parents, torch.ones(1, 6).bool(), None)
    cases = {(9,): [0], (6, 9): [0, 2], (6, 7, 9): [0, 2, 4], (6, 7, 8, 9): [0, 2, 4, 5], (5, 5, 9): [0, 1, 3]}
    for block, nodes in cases.items():
        width = 4
        row = torch.tensor([[*block, *[-1] * (width - len(block))]])
        kept = kept_nodes(replayed, row, torch.tensor([len(block) - 1]))
        assert kept.tolist() == [[*nodes, *[-1] * (width - len(nodes))]]


def test_kept_nodes_where_siblings_repeat_a_token() -> None:
    """Only the second twin has the child that was accepted."""
    replayed = Replayed(torch.tensor([[0, 5, 5, 7]]), torch.tensor([[0, 0, 0, 2]]), torch.ones(1, 4).bool(), None)
    assert kept_nodes(replayed, torch.tensor([[5, 7, 1]]), torch.tensor([2])).tolist() == [[0, 2, 3]]
    assert kept_nodes(replayed, torch.tensor([[5, 1, -1]]), torch.tensor([1])).tolist() == [[0, 1, -1]]


def test_block_logits_leave_the_anchor_out() -> None:
    output = torch.arange(8).float().view(1, 4, 2)
    assert torch.equal(block_logits(output), output[:, 1:])
    assert torch.equal(block_logits(output, predicts_next=True), output)


TOY = Toy("toy", 3, toy_model(31, 3), toy_model(9, 3), (2, 0), 4)


def generated(count: int, keep_root: bool, seed: int) -> Counter[Prefix]:
    """What ``count`` requests emit, all rounds of all of them in one batch; every request has a engine of its own."""
    engines, rng = [Engine(TOY) for _ in range(count)], torch.Generator().manual_seed(seed)
    emitted: list[list[int]] = [[] for _ in engines]
    roots = [TOY.prompt[-1]] * count
    while min(map(len, emitted)) < TOY.length:
        base = torch.tensor([[one.draft((root,)), one.draft((root, 0))] for one, root in zip(engines, roots, strict=True)]).double().log()

        def target(tokens: torch.Tensor, mask: torch.Tensor, depth: torch.Tensor, base: torch.Tensor = base) -> torch.Tensor:
            parents = ddtree(base, 4).parents.tolist()
            rows = [one.target(ids, above) for one, ids, above in zip(engines, tokens.tolist(), parents, strict=True)]
            return torch.tensor(rows).double().log()

        found = tsubame(Draft(base, torch.tensor(roots)), target, 4, generator=rng)
        kept, blocks = found.kept.tolist(), found.blocks.tolist()
        for row, one in enumerate(engines):
            one.keep([node for node in kept[row] if node >= 0][0 if keep_root else 1 :])
            emitted[row] += [token for token in blocks[row] if token >= 0]
            roots[row] = emitted[row][-1]
    return Counter(tuple(tokens[: TOY.length]) for tokens in emitted)


@pytest.mark.parametrize("keep_root", [True, False], ids=["sound", "bonus state not committed"])
def test_generation_over_many_rounds(keep_root: bool) -> None:
    def row(prefix: Prefix) -> list[float]:
        law = TOY.target(TOY.prompt + prefix)
        return [float(law[token]) for token in range(3)]

    assert (stream_log_e_value(generated(2048, keep_root, 7), row) > 13.8) != keep_root


def test_trees_are_a_namedtuple_of_the_plan() -> None:
    topology = plan(batch_of(2, headed=False), 3)
    assert isinstance(topology, DraftTrees) and topology.valid.all()


def test_requests_without_a_draft_law_still_emit_a_token() -> None:
    """A NaN in one request's draft costs its drafts, not its token, and its neighbours nothing; whether it is seen in planning or in replay."""
    base = torch.zeros(3, 2, 4)
    base[0, 0], base[1, 1, 2] = math.nan, math.nan
    draft = Draft(base, torch.zeros(3, dtype=torch.int64))
    for verifier in (recursive_rejection, traversal):
        found = tsubame(draft, lambda tokens, mask, depth: torch.zeros(*tokens.shape, 4), 4, verifier=verifier)
        assert found.accepted[0] == 0 and 0 <= found.accepted[1] <= 1 and found.accepted[2] >= 0
        frozen = replay(draft, ddtree(torch.zeros(3, 2, 4), 6))
        blocks, accepted = verify(frozen, torch.zeros(3, 7, 4), verifier)
        assert accepted[0] == 0 and (accepted >= 0).all() and (blocks[:, 0] >= 0).all()


def test_a_head_that_breaks_on_one_branch_leaves_the_others() -> None:
    inner = torch.zeros(3, 1)
    inner[2] = math.nan
    draft = Draft(torch.zeros(1, 3, 3), torch.tensor([0]), MarkovHead(inner, torch.ones(1, 3)))
    trees = plan(draft, 100)
    assert int(trees.valid.sum()) - 1 == 3 + 2 * 3 + 4 * 3, "no children of token 2"
    assert int(plan(draft, 5).valid.sum()) == 6, "and they do not take the place of others"


def test_any_plan_temperature() -> None:
    base = torch.tensor([[[3.0, 0.0, 1.0], [0.0, 2.0, 1.0]]])
    cold = plan(Draft(base, torch.tensor([0])), 5, temperature=0)
    assert cold.tokens[0, cold.valid[0]].tolist() == [0, 0, 1], "the chain of most probable tokens"
    headed = plan(Draft(base, torch.tensor([0]), MarkovHead(torch.zeros(3, 1), torch.zeros(1, 3))), 5, temperature=0)
    assert headed.tokens[0, headed.valid[0]].tolist() == [0, 0, 1]
    assert plan(Draft(base, torch.tensor([0])), 5, temperature=1e-30).tokens[0, :3].tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="a temperature must be"):
        plan(Draft(base, torch.tensor([0])), 5, temperature=-1)


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        (None, TypeError, "target must be a tensor, got NoneType"),
        (torch.zeros(1, 3), ValueError, r"target must be \[1, 4, 3\], got \[1, 3\]"),
        (torch.zeros(1, 4, 7), ValueError, r"target must be \[1, 4, 3\], got \[1, 4, 7\]"),
    ],
)
def test_targets_that_do_not_fit(target: torch.Tensor, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tsubame(Draft(torch.zeros(1, 2, 3), torch.tensor([0])), lambda *_: target, 3)


def test_weights_in_training() -> None:
    head = MarkovHead(torch.randn(3, 2, requires_grad=True), torch.randn(2, 3, requires_grad=True))
    draft = Draft(torch.randn(2, 3, 3, requires_grad=True), torch.zeros(2, dtype=torch.int64), head)
    for verifier in (recursive_rejection, traversal):
        assert (tsubame(draft, lambda tokens, *_: torch.randn(*tokens.shape, 3, requires_grad=True), 5, verifier=verifier).accepted >= 0).all()
