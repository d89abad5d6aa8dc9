"""Replayed trees have the reference's law, by integrate and by sample; every slot has the law it declares."""

import math
from collections import Counter
from importlib import import_module
from typing import Any

import pytest
import torch

from draftproof.gpu_impl.beam import plan_with_head
from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.drafters import Draft, Head, MarkovHead, RecurrentHead, at_temperature, block_logits
from draftproof.gpu_impl.replay import replay
from draftproof.oracle.declared import Draw
from draftproof.oracle.drafters import DraftCaller, Drafter
from draftproof.oracle.eprocess import log_e_value
from draftproof.oracle.judge_drafter import check_drafter
from draftproof.oracle.read_drafter import integrated
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafters import recurrent_head
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, marginal
from draftproof.reference.replay import replay as reference_replay
from draftproof.reference.trees import Slot, populate

from .instances import DEVICES

RULES = [("without_replacement", rule) for rule in ("drop", "one_hot", "uniform")] + [("with_replacement", "drop"), ("greedy", "drop")]
ROWS = {"full": [[4, 1, 2], [1, 5, 2]], "zeros": [[3, 0, 2], [0, 0, 4]]}
PAIRS = [0, 0, 0, 1, 1]  # parents: two siblings, two children below the first
HEADS: dict[str, Head | None] = {
    "marginal": None,
    "markov": MarkovHead(torch.eye(3).double(), torch.tensor([[1.0, 2, 1], [3, 1, 1], [1, 1, 4]]).double().log()),
    "recurrent": RecurrentHead(
        torch.tensor([[0.3, -1], [1, 0.5], [-0.7, 0.2]]).double(),
        torch.tensor([[0.5, 1], [-1, 0.4]]).double(),
        torch.tensor([[1, -1, 0.5], [0.3, 0.8, -1.2]]).double(),
    ),
}


def topology_of(parents: list[int], batch: int = 1) -> DraftTrees:
    """Frozen topologies without planned tokens, nodes in the order given."""
    depth = [0]
    for parent in parents[1:]:
        depth.append(depth[parent] + 1)
    rows = torch.tensor([parents]).repeat(batch, 1)
    return DraftTrees(torch.zeros_like(rows), rows, torch.ones_like(rows).bool(), torch.tensor([depth]).repeat(batch, 1), torch.zeros(rows.shape))


def slot_of(parents: list[int], node: int = 0) -> Slot:
    return tuple(slot_of(parents, child) for child in range(1, len(parents)) if parents[child] == node)


def draft_of(rows: torch.Tensor, head: str) -> Draft:
    """Logits [B, L, V] as a draft; the anchor is token 1."""
    return Draft(rows, torch.ones(len(rows), dtype=torch.int64), HEADS[head])


def model_of(weights: list[list[int]], head: str) -> Model:
    """The same drafter for the reference, head and all; its factors are the floats that the head gives."""
    base, module = [Law.row(row) for row in weights], HEADS[head]
    if module is None:
        return marginal(base)
    known: dict[tuple[float, ...], dict[int, float]] = {}

    def as_state(state: torch.Tensor) -> tuple[float, ...]:
        return tuple(state[0].tolist())

    def step(state: tuple[float, ...], token: int) -> tuple[float, ...]:
        return as_state(module.step(torch.tensor([state], dtype=torch.float64), torch.tensor([token])))

    def factors(state: tuple[float, ...]) -> dict[int, float]:
        if state not in known:
            known[state] = dict(enumerate(module.bias(torch.tensor([state], dtype=torch.float64))[0].exp().tolist()))
        return known[state]

    return recurrent_head(base, as_state(module.start(torch.tensor([1]))), step, factors)


def subject(head: str, parents: list[int], **options: Any) -> Drafter:
    """gpu_impl's REPLAY as a drafter that takes its uniforms."""

    def call(rows: torch.Tensor, uniforms: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = replay(draft_of(rows, head), topology_of(parents, len(rows)), uniforms=uniforms, **options)
        assert found.declared is not None
        return found.tokens, found.parents, found.valid, found.declared.rows()

    shared = {"verifier": "recursive_rejection"} if options.get("shared_lists") else {"layout": "draftproof"}
    return Drafter(call, "replay", rows="logits", dtype="float64", randomness="uniforms", columns=len(parents), **shared)


def reference_law(weights: list[list[int]], head: str, parents: list[int], sampler: str, exhaust: str) -> dict[Any, float]:
    """Law of (place, token) of all slots."""
    scheme = reference_replay(model_of(weights, head), 3, sampler, exhaust)

    def program(chance: Chance) -> Any:
        tree = populate(slot_of(parents), scheme, chance)
        found: list[Any] = []

        def walk(node: Any, place: tuple[int, ...]) -> None:
            for rank, child in enumerate(node.below):
                found.append(((*place, rank), child.token))
                walk(child, (*place, rank))

        walk(tree, ())
        return tuple(sorted(found))

    return {outcome: float(mass) for outcome, mass in law_of(program).items()}


def tokens_of(draw: Draw) -> Any:
    return tuple(sorted((slot.place, slot.token) for slot in draw))


CASES = [(head, sampler, exhaust, name) for head in HEADS for sampler, exhaust in RULES for name in ROWS]
SOME = {
    ("marginal", "without_replacement", "one_hot", "zeros"),
    ("markov", "without_replacement", "drop", "full"),
    ("recurrent", "with_replacement", "drop", "full"),
    ("recurrent", "without_replacement", "uniform", "zeros"),
    ("marginal", "greedy", "drop", "zeros"),
    ("markov", "greedy", "drop", "full"),
}
ONE_EACH = [("marginal", *RULES[0]), ("markov", *RULES[1]), ("recurrent", *RULES[2]), ("markov", *RULES[3])]


@pytest.mark.parametrize(
    ("head", "sampler", "exhaust", "name"), [pytest.param(*case, marks=() if case in SOME else pytest.mark.slow) for case in CASES]
)
def test_integrated_law_is_the_references(head: str, sampler: str, exhaust: str, name: str) -> None:
    drafter = subject(head, PAIRS, sampler=sampler, exhaust=exhaust)
    caller = DraftCaller(drafter, [Law.row(row) for row in ROWS[name]], 3)
    found = integrated(caller, float("inf"), fresh=1 << 15)
    law: Counter[Any] = Counter()
    for draw, mass in found.law.items():
        law[tokens_of(draw)] += float(mass)
    want = reference_law(ROWS[name], head, PAIRS, sampler, exhaust)
    distance = sum(abs(law[outcome] - want.get(outcome, 0.0)) for outcome in {*law, *want}) / 2
    assert distance < 1e-6


@pytest.mark.parametrize(("head", "sampler", "exhaust"), ONE_EACH)
def test_every_slot_has_its_declared_law(head: str, sampler: str, exhaust: str) -> None:
    report = check_drafter(subject(head, [0, 0, 0, 1], sampler=sampler, exhaust=exhaust), ROWS, tolerance=1e-3)
    assert report.outcome == "conform", report
    assert {verdict.verdict for verdict in report.verdicts} == {"declared law", "slots"}


def test_shared_lists_hold_for_recursive_rejection_only() -> None:
    parents = [0, 0, 0, 1, 2]
    claimed = subject("marginal", parents, shared_lists=True)
    assert check_drafter(claimed, {"full": ROWS["full"]}, tolerance=1e-3).outcome == "conform"
    general = Drafter(claimed.call, "replay", rows="logits", dtype="float64", randomness="uniforms", columns=5)
    assert check_drafter(general, {"full": ROWS["full"]}).outcome == "nonconform"


@pytest.mark.parametrize("swap", [False, True], ids=["as it is", "siblings swapped"])
def test_gumbel_replay_has_the_references_law(swap: bool) -> None:
    """By sample, siblings jointly: the whole tree's law; a planted swap of the siblings is rejected."""
    count, parents = 1 << 15, [0, 0, 0, 1]
    base = torch.tensor([ROWS["full"]]).double().log().expand(count, -1, -1)
    found = replay(draft_of(base, "markov"), topology_of(parents, count), gumbel=True, generator=torch.Generator().manual_seed(1))
    want = reference_law(ROWS["full"], "markov", parents, "without_replacement", "drop")
    seen: Counter[Any] = Counter()
    for row in found.tokens.tolist():
        first, second, below = (row[2], row[1], row[3]) if swap else row[1:]
        seen[(((0,), first), ((0, 0), below), ((1,), second))] += 1
    outcomes = list(want)
    rejected = any(outcome not in want for outcome in seen) or log_e_value([seen[outcome] for outcome in outcomes], list(want.values())) > 13.8
    assert rejected == swap


@pytest.mark.parametrize("head", HEADS)
def test_declared_rows_are_the_references(head: str) -> None:
    for weights in ROWS.values():
        for sampler, exhaust in RULES:
            base = torch.tensor([weights]).double().log().expand(64, -1, -1)
            options: Any = {"sampler": sampler, "exhaust": exhaust, "generator": torch.Generator().manual_seed(4)}
            found = replay(draft_of(base, head), topology_of(PAIRS, 64), **options)
            assert found.declared is not None
            rows = found.declared.rows()
            model = model_of(weights, head)
            scheme = reference_replay(model, 3, sampler, exhaust)
            for row in range(64):
                tokens = found.tokens[row].tolist()
                for node in found.valid[row].nonzero().flatten().tolist()[1:]:
                    parent = PAIRS[node]
                    path = () if parent == 0 else (tokens[parent],)
                    elders = tuple(tokens[other] for other in range(1, node) if PAIRS[other] == parent)
                    law = scheme(slot_of(PAIRS, parent), path, elders)
                    assert law is not None
                    assert rows[row, node].tolist() == pytest.approx([float(law[token]) for token in range(3)], abs=1e-12)


def test_dropped_slots_take_their_subtrees_with_them() -> None:
    base = torch.tensor([[[0.0, -torch.inf, -torch.inf], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]])
    found = replay(Draft(base, torch.tensor([0])), topology_of([0, 0, 0, 1, 2, 4]), generator=torch.Generator().manual_seed(0))
    assert found.valid.tolist() == [[True, True, False, True, False, False]]
    assert found.tokens[0, 1] == 0


def test_more_slots_than_tokens_are_dropped_by_every_rule() -> None:
    base = torch.zeros(1, 1, 2)
    for sampler, exhaust in RULES[:3]:
        found = replay(Draft(base, torch.tensor([0])), topology_of([0, 0, 0, 0]), sampler=sampler, exhaust=exhaust)
        assert found.valid.tolist() == [[True, True, True, False]]


def test_one_hot_fill_takes_the_largest_logit() -> None:
    base = torch.tensor([[[9.0, 1.0, 5.0, 5.0]]])
    found = replay(Draft(base, torch.tensor([0])), topology_of([0, 0, 0, 0, 0]), temperature=1e-3, exhaust="one_hot")
    assert found.tokens[0].tolist() == [0, 0, 2, 3, 1]
    assert found.declared is not None and found.declared.rows()[0, 2].tolist() == [0, 0, 1, 0]


def test_temperature_zero_keeps_the_planned_tree() -> None:
    base = torch.randn(4, 3, 6, generator=torch.Generator().manual_seed(0))
    topology = ddtree(base, 7)
    found = replay(Draft(base, torch.zeros(4).long()), topology, temperature=0)
    assert found.declared is None
    assert torch.equal(found.tokens, topology.tokens) and torch.equal(found.valid, topology.valid)


def test_topology_does_not_depend_on_the_replay() -> None:
    """Frozen: the same for every seed, and live slots never exceed the plan."""
    rng = torch.Generator().manual_seed(0)
    base = torch.randn(4, 3, 6, generator=rng).masked_fill(torch.rand(4, 3, 6, generator=rng) < 0.5, -torch.inf)
    base[:, :, 0] = 0
    draft = Draft(base, torch.zeros(4).long())
    topology = ddtree(base, 9)
    for seed in range(20):
        found = replay(draft, topology, generator=torch.Generator().manual_seed(seed))
        assert torch.equal(found.parents, topology.parents)
        assert not (found.valid & ~topology.valid).any()
        assert found.valid.gather(1, found.parents)[found.valid].all()  # prefix closed


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("sampler", ["without_replacement", "with_replacement"])
def test_rows_do_not_see_their_neighbours(head: str, sampler: str) -> None:
    rng = torch.Generator().manual_seed(8)
    base = torch.randn(5, 2, 3, generator=rng).double()
    draft = draft_of(base, head)
    topology = plan_with_head(draft, 5) if draft.head is not None else ddtree(base, 5)
    uniforms = torch.rand(topology.tokens.shape, generator=rng, dtype=torch.float64)
    together = replay(draft, topology, sampler=sampler, uniforms=uniforms)
    order = torch.tensor([3, 0, 4, 1])
    some = Draft(base[order], draft.anchor[order], draft.head)
    apart = replay(some, DraftTrees(*(part[order] for part in topology)), sampler=sampler, uniforms=uniforms[order])
    assert torch.equal(together.tokens[order], apart.tokens)
    assert together.declared is not None and apart.declared is not None
    assert torch.equal(together.declared.rows()[order], apart.declared.rows())


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = torch.Generator().manual_seed(8)
    base = torch.randn(5, 3, 6, generator=rng).double()
    results = []
    for chunk in (1 << 23, 7):
        monkeypatch.setattr(import_module("draftproof.gpu_impl.replay"), "CHUNK", chunk)
        for head in (None, MarkovHead(torch.ones(6, 1).double(), torch.arange(6).double()[None])):
            draft = Draft(base, torch.zeros(5).long(), head)
            uniforms = torch.rand(5, 10, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
            results.append(replay(draft, ddtree(base, 9), uniforms=uniforms).tokens)
    assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])


@pytest.mark.parametrize("nodes", [0, 1])
def test_smallest_trees(nodes: int) -> None:
    base = torch.zeros(2, 2, 3)
    found = replay(Draft(base, torch.zeros(2).long()), ddtree(base, nodes))
    assert found.tokens.shape == (2, 1 + nodes) and found.valid.all()


@pytest.mark.parametrize("device", DEVICES)
def test_half_precision_logits_and_devices(device: Any) -> None:
    base = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0)).bfloat16().to(device)
    found = replay(Draft(base, torch.zeros(2).long().to(device)), ddtree(base, 6))
    assert found.declared is not None
    rows = found.declared.rows()
    assert rows.dtype == torch.float64 and torch.allclose(rows.sum(-1), torch.ones(2, 7, device=device, dtype=torch.float64))
    assert (rows.gather(2, found.tokens.unsqueeze(2)).squeeze(2)[:, 1:] > 0).all()


def test_underflown_tokens_count_as_impossible() -> None:
    """A finite logit whose probability is 0 in floats is never drawn with a declared probability of 0."""
    base = torch.tensor([[[0.0, -2000.0, -3000.0]]])
    for options in ({}, {"gumbel": True}):
        found = replay(Draft(base, torch.tensor([0])), topology_of([0, 0, 0]), **options)
        assert found.valid.tolist() == [[True, True, False]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "sorted"}, "unknown sampler"),
        ({"exhaust": "stop"}, "unknown exhaustion rule"),
        ({"gumbel": True, "sampler": "with_replacement"}, "Gumbel"),
        ({"gumbel": True, "uniforms": torch.zeros(1, 3)}, "Gumbel"),
        ({"shared_lists": True, "sampler": "with_replacement"}, "shared lists"),
        ({"shared_lists": True, "exhaust": "uniform"}, "shared lists"),
        ({"uniforms": torch.zeros(1, 4)}, "uniforms must be"),
    ],
)
def test_choices_that_do_not_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay(Draft(torch.zeros(1, 1, 3), torch.tensor([0])), topology_of([0, 0, 0]), **options)


def test_topology_deeper_than_the_block_is_refused() -> None:
    with pytest.raises(ValueError, match="2 deep"):
        replay(Draft(torch.zeros(1, 1, 3), torch.tensor([0])), topology_of([0, 0, 1]))


def test_shared_lists_need_a_marginal_draft() -> None:
    with pytest.raises(ValueError, match="marginal"):
        replay(draft_of(torch.zeros(1, 1, 3), "markov"), topology_of([0, 0]), shared_lists=True)


NO_LAWS = {"nan": [0.0, math.nan, 1.0], "inf": [0.0, math.inf, 1.0], "impossible": [-math.inf] * 3}


@pytest.mark.parametrize("row", NO_LAWS)
@pytest.mark.parametrize("options", [{"sampler": "greedy"}, {"sampler": "with_replacement"}, {}, {"gumbel": True}])
@pytest.mark.parametrize("exhaust", ["drop", "one_hot", "uniform"])
def test_a_row_that_is_no_law_has_nothing_to_draw(row: str, options: dict[str, Any], exhaust: str) -> None:
    """On a topology planned without it; its neighbours in the batch do not notice."""
    base = torch.tensor([[[0.0, 1.0, 2.0], NO_LAWS[row]], [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]])
    found = replay(Draft(base, torch.zeros(2, dtype=torch.int64)), topology_of([0, 0, 1, 1], 2), exhaust=exhaust, **options)
    assert found.valid.tolist() == [[True, True, exhaust != "drop", exhaust != "drop"], [True] * 4]
    assert found.declared is not None
    declared = found.declared.rows()
    assert torch.allclose(declared.sum(-1), torch.ones(2, 4, dtype=torch.float64))
    if exhaust == "uniform":
        assert (declared[0, 2] - 1 / 3).abs().max() < 1e-15 and declared[0, 3].count_nonzero() == 2


def test_temperatures() -> None:
    base = torch.tensor([[[1e38, 0.0, -1e38, -math.inf]]])
    assert at_temperature(base, 1) is base
    assert at_temperature(base, 1e-30).softmax(-1).tolist() == [[[1, 0, 0, 0]]], "nothing overflows"
    assert at_temperature(base, 0).tolist() == [[[0, -math.inf, -math.inf, -math.inf]]]
    for row in NO_LAWS.values():
        for temperature in (0, 0.5, 1):
            assert at_temperature(torch.tensor(row), temperature).softmax(-1).isnan().all()
    for temperature in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="a temperature must be a number from 0 up"):
            replay(Draft(torch.zeros(1, 1, 3), torch.tensor([0])), topology_of([0, 0]), temperature=temperature)


def test_planned_tokens_are_not_looked_at() -> None:
    topology = topology_of([0, 0, 0])
    strange = topology._replace(tokens=torch.tensor([[0, 99, -5]]))
    draft, uniforms = Draft(torch.zeros(1, 1, 3), torch.tensor([0])), torch.tensor([[0.0, 0.5, 0.9]])
    assert replay(draft, strange, uniforms=uniforms).tokens.tolist() == replay(draft, topology, uniforms=uniforms).tokens.tolist()


def test_topologies_of_other_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="the topologies are of 2 requests, the draft of 1"):
        replay(Draft(torch.zeros(1, 1, 3), torch.tensor([0])), topology_of([0, 0], 2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Draft([[[0.0]]], torch.tensor([0])), TypeError, "base must be a tensor, got list"),  # type: ignore[arg-type]
        (lambda: Draft(torch.zeros(1, 3), torch.tensor([0])), ValueError, r"base must be \[B, L, V\]"),
        (lambda: Draft(torch.zeros(1, 2, 0), torch.tensor([0])), ValueError, r"base must be \[B, L, V\] with V >= 1"),
        (lambda: Draft(torch.zeros(1, 2, 3).long(), torch.tensor([0])), TypeError, "base must be float64"),
        (lambda: Draft(torch.zeros(1, 2, 3), torch.tensor([0, 1])), ValueError, r"anchor must be \[1\] on cpu, got \[2\]"),
        (lambda: Draft(torch.zeros(1, 2, 3), torch.tensor([0.0])), TypeError, "anchor must be int64"),
        (lambda: Draft(torch.zeros(1, 2, 4), torch.tensor([0]), HEADS["markov"]), ValueError, "the head is for 3 tokens, the base logits have 4"),
        (lambda: block_logits(torch.zeros(2, 3)), ValueError, r"output must be \[B, L, V\]"),
    ],
)
def test_drafts_that_cannot_be(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
