"""Tree replay on a frozen topology is lossless for every legal combination, and the worked numbers come out exactly."""

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from draftproof.reference import drafting
from draftproof.reference.blocks import Block, block_law, block_law_on_tree, tree_law
from draftproof.reference.chance import Chance, law_of
from draftproof.reference.drafters import at_zero, markov_head, recurrent_head
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.instances import InstanceError, parse
from draftproof.reference.laws import ONE, Law, mixture
from draftproof.reference.models import Model, Prefix, marginal, random_law, random_model, spell
from draftproof.reference.planning import best_first, freeze, plan
from draftproof.reference.rational import Rational, fraction, rational
from draftproof.reference.replay import EXHAUSTION, SAMPLERS, deduplicated, replay
from draftproof.reference.trees import DraftNode, LazyNode, Node, Scheme, Slot, level_order, populate
from draftproof.reference.verifiers import FAMILIES, family
from draftproof.reference.verifiers.descent import Accepted
from draftproof.reference.verifiers.traversal import visit

from .instances import random_topology, sampled_slots

RULES = [("without_replacement", rule) for rule in EXHAUSTION] + [("with_replacement", "drop")]
ANY_DRAFT = ("recursive_rejection", "traversal", "predraw_follow", "tree_exit")
GREEDY = ("univer", "univer_lookahead", "greedy_transport")
"""Rules made for deterministic siblings with one sampled last: their drafting law is met by greedy slots, and by replay on chains."""


def drafter(rng: random.Random, vocabulary: int, zeros: float) -> Model:
    """Marginal, with a Markov head, with a recurrent head, or any law per prefix."""
    kind = rng.choice(["marginal", "markov", "recurrent", "prefix"])
    base = [random_law(rng, vocabulary, zeros) for _ in range(6)]
    factors = [{token: rng.randint(1, 5) for token in range(vocabulary)} for _ in range(5)]
    if kind == "marginal":
        return marginal(base)
    if kind == "markov":
        return markov_head(base, 0, factors.__getitem__)
    if kind == "recurrent":
        return recurrent_head(base, 1, lambda state, token: (3 * state + token + 1) % 5, factors.__getitem__)
    return random_model(rng.randrange(1 << 30), vocabulary, zeros)


def settings(count: int, largest: int) -> Iterator[tuple[int, Model, Model, Slot]]:
    """(vocabulary, target, draft, topology): half the topologies planned, half at random, so that rows are exhausted too."""
    rng = random.Random(2609)
    while count:
        vocabulary = rng.randint(2, 3)
        zeros = rng.choice([0.0, 0.3, 0.5])
        draft = drafter(rng, vocabulary, zeros)
        nodes = rng.randint(1, 5)
        topology = freeze(plan(draft, nodes, rng.randint(1, 3))) if count % 2 else random_topology(rng, nodes)
        if vocabulary ** sampled_slots("with_replacement", topology) <= largest:
            yield vocabulary, random_model(rng.randrange(1 << 30), vocabulary, rng.choice([0.0, 0.3])), draft, topology
            count -= 1


def legal(vocabulary: int, draft: Model, topology: Slot) -> Iterator[tuple[str, Slot, Scheme]]:
    """Every legal (verifier, topology, scheme) on one setting."""
    chain = topology
    while len(chain) == 1:
        chain = chain[0]
    for sampler, exhaust in RULES:
        scheme = replay(draft, vocabulary, sampler, exhaust)
        for verifier in (*ANY_DRAFT, *(GREEDY if not chain else ())):
            yield verifier, topology, scheme
    for verifier in (*ANY_DRAFT, *GREEDY):
        yield verifier, topology, replay(draft, vocabulary, "greedy")
    planned, fixed = best_first(draft, len(level_order(populate(topology, drafting.top_k(draft), Never()))) - 1, 2)
    for verifier in (*ANY_DRAFT, *GREEDY):
        yield verifier, planned, fixed


class Never:
    """A chance for deterministic schemes."""

    def flip(self, probability: Rational, at: Any = None) -> bool:
        raise AssertionError

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        (outcome,) = law
        return outcome


@pytest.mark.parametrize(("count", "largest"), [(40, 27), pytest.param(320, 81, marks=pytest.mark.slow)])
def test_every_legal_combination_is_lossless(count: int, largest: int) -> None:
    checked = 0
    for vocabulary, target, draft, topology in settings(count, largest):
        for verifier, shape, scheme in legal(vocabulary, draft, topology):
            if verifier in FAMILIES:
                assert total_variation(block_law(family(verifier), target, shape, scheme), target) == 0, (verifier, shape)
                checked += 1
    assert checked > 25 * count


def test_univer_refuses_draws_that_are_not_greedy() -> None:
    draft = marginal([Law.row([1, 2, 3])])
    with pytest.raises(ValueError, match="not greedy"):
        block_law(family("univer"), random_model(1, 3), ((), ()), replay(draft, 3))


def test_a_combination_that_is_not_legal_is_not_lossless() -> None:
    """The check above can fail: drawn without replacement, verified as drawn with it."""
    q, p = Law.row([1, 2, 3, 4]), marginal([Law.row([4, 3, 2, 1])] * 2)
    trees = law_of(lambda chance: populate(((), ()), drafting.without_replacement(marginal([q])), chance))
    wrong = trees.map(lambda tree: Node((), None, tuple(Node(child.path, q) for child in tree.below)))
    law = mixture((mass, block_law_on_tree(family("recursive_rejection"), p, tree)) for tree, mass in wrong.items())
    assert fraction(total_variation(law, p)) == Fraction(17, 392)


# --- lemmas -------------------------------------------------------------------------------------------------------------------------------------


def completed(blocks: Law[Block], target: Model, length: int) -> Law[Prefix]:
    """Law of the first ``length`` tokens of "block, then target"."""
    parts: dict[Prefix, Rational] = dict(blocks.items())
    while any(len(prefix) < length for prefix in parts):
        prefix = min(parts, key=len)
        mass = parts.pop(prefix)
        for token, weight in target(prefix).items():
            longer = (*prefix, token)
            parts[longer] = parts.get(longer, mass * 0) + mass * weight
    return Law(parts)


def random_tree(rng: random.Random, vocabulary: int, nodes: int) -> Node:
    """Any tokens and any declared laws that give them mass: the leaf lemma does not care how the rest was built."""
    below: dict[Prefix, list[tuple[int, Law[int]]]] = {(): []}
    for _ in range(nodes):
        path = rng.choice([path for path in below if len(path) < 2])
        free = [token for token in range(vocabulary) if token not in [token for token, _ in below[path]]]
        if free:
            token = rng.choice(free)
            law = random_law(rng, vocabulary)
            below[path].append((token, law))
            below[(*path, token)] = []

    def node(path: Prefix, declared: Law[int] | None) -> Node:
        return Node(path, declared, tuple(node((*path, token), law) for token, law in below[path]))

    return node((), None)


def with_child(tree: Node, path: Prefix, child: Node, first: bool = False) -> Node:
    below = tuple(with_child(node, path, child) for node in tree.below)
    if tree.path == path:
        below = (child, *below) if first else (*below, child)
    return Node(tree.path, tree.declared, below)


@pytest.mark.parametrize("verifier", ["recursive_rejection", "traversal"])
def test_leaf_lemma(verifier: str) -> None:
    """A fresh last child of any node never changes the completed law; as first child it often does."""
    rng, changed, rule = random.Random(3), 0, family(verifier)
    for _ in range(60):
        tree, target = random_tree(rng, 3, rng.randint(0, 4)), random_model(rng.randrange(1 << 30), 3, 0.2)
        node = rng.choice(level_order(tree))
        law = random_law(rng, 3, 0.3)
        before = completed(block_law_on_tree(rule, target, tree), target, 4)

        def after(first: bool, tree: Node = tree, node: Any = node, law: Law[int] = law, target: Model = target) -> Law[Prefix]:
            blocks = mixture(
                (mass, block_law_on_tree(rule, target, with_child(tree, node.path, Node((*node.path, token), law), first)))
                for token, mass in law.items()
            )
            return completed(blocks, target, 4)

        assert before == after(first=False)
        changed += before != after(first=True)
    assert changed > 5


def test_capacity_lemma() -> None:
    """Traversal rejects a predictable subtree visited with capacity a with probability 1 - a, averaged over its draws, whatever its shape."""
    rng, spread = random.Random(4), 0
    for _ in range(60):
        vocabulary = rng.randint(2, 3)
        topology = random_topology(rng, rng.randint(1, 4))
        if vocabulary ** sampled_slots("with_replacement", topology) > 27:
            continue
        target, draft = random_model(rng.randrange(1 << 30), vocabulary), drafter(rng, vocabulary, 0.2)
        capacity = rational(Fraction(rng.randint(1, 9), 10))
        scheme = replay(draft, vocabulary, rng.choice(SAMPLERS), rng.choice(EXHAUSTION))
        node = LazyNode(topology, (), scheme, Never())

        def accepts(root: LazyNode | Node | None, chance: Chance, target: Model = target, node: LazyNode = node) -> bool:
            def at(node: DraftNode, share: Rational) -> Accepted | None:
                return visit(target, node, share, chance, at)

            return at(node.redrawn(chance) if root is None else root, capacity) is not None  # noqa: B023

        assert law_of(lambda chance: accepts(None, chance))[True] == capacity  # noqa: B023
        spread += len({law_of(lambda chance: accepts(tree, chance))[True] for tree in tree_law(topology, scheme)}) > 1  # noqa: B023
    assert spread > 10  # realisation by realisation it varies


def test_first_chain_is_fully_accepted_when_draft_is_target() -> None:
    target = random_model(6, 3)
    for verifier in ("recursive_rejection", "traversal"):
        law = block_law(family(verifier), target, (((),), ()), replay(target, 3))
        assert expected_length(law) == 3


def test_one_hot_acceptance_is_the_mass_of_the_children() -> None:
    target, draft = random_model(8, 4), random_model(9, 4)
    topology, scheme = best_first(draft, 5, 2)
    tree = populate(topology, scheme, Never())
    coverage = sum((_probability(target, node.path) for node in level_order(tree)[1:]), rational(0))
    for verifier in ("recursive_rejection", "predraw_follow"):
        assert expected_length(block_law(family(verifier), target, topology, scheme)) == 1 + coverage


def _probability(target: Model, path: Prefix) -> Rational:
    mass = ONE
    for depth, token in enumerate(path):
        mass *= target(path[:depth])[token]
    return mass


# --- exhaustion, duplicates, temperature 0 ------------------------------------------------------------------------------------------------------

P6 = marginal([Law.row([4, 3, 2, 1])] * 2)
STAR = ((), (), ())


def accepted(verifier: str, target: Model, topology: Slot, scheme: Scheme) -> Fraction:
    """Mean accepted draft tokens; the law must be lossless."""
    law = block_law(family(verifier), target, topology, scheme)
    assert total_variation(law, target) == 0
    return fraction(expected_length(law)) - 1


@pytest.mark.parametrize(
    ("q", "drop", "replaced", "one_hot", "uniform"), [([1, 0, 0, 0], "2/5", "2/5", "9/10", "19/20"), ([2, 1, 0, 0], "7/10", "7/10", "9/10", "19/20")]
)
def test_more_slots_than_support(q: list[int], drop: str, replaced: str, one_hot: str, uniform: str) -> None:
    draft = marginal([Law.row(q)])
    got = [accepted("recursive_rejection", P6, STAR, replay(draft, 4, "without_replacement", rule)) for rule in EXHAUSTION]
    got.append(accepted("recursive_rejection", P6, STAR, replay(draft, 4, "with_replacement")))
    assert got == [Fraction(number) for number in (drop, one_hot, uniform, replaced)]
    assert accepted("recursive_rejection", P6, STAR, drafting.top_k(marginal([Law.row([8, 4, 2, 1])]))) == Fraction(9, 10)


def test_fill_by_raw_rows_at_temperature_zero_is_the_deterministic_tree() -> None:
    raw = marginal([Law.row([3, 9, 4, 1]), Law.row([2, 1, 8, 6])])
    cold: Model = lambda prefix: at_zero(raw(prefix))  # noqa: E731
    topology, scheme = best_first(raw, 5, 2)
    assert populate(topology, replay(cold, 4, exhaust="one_hot", raw=raw), Never()) == populate(topology, scheme, Never())
    chain = populate(topology, replay(cold, 4), Never())
    assert [node.path for node in level_order(chain)] == [(), (1,), (1, 2)]


def test_rows_without_enough_tokens_are_dropped_by_every_rule() -> None:
    for rule in EXHAUSTION:
        tree = populate(STAR, replay(marginal([Law.point(1)]), 2, exhaust=rule), Never())
        assert len(tree.below) == (1 if rule == "drop" else 2)


@pytest.mark.parametrize("unknown", [{"sampler": "sorted"}, {"exhaust": "stop"}])
def test_unknown_rules_are_errors(unknown: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="known"):
        replay(P6, 4, **unknown)


def test_expected_number_of_distinct_draws() -> None:
    draft = marginal([Law.row([2, 1, 1])])
    for slots, expected in ((2, "13/8"), (3, "65/32"), (4, "295/128")):
        trees = tree_law(((),) * slots, replay(draft, 3, "with_replacement"))
        assert fraction(trees.expectation(lambda tree: len({child.token for child in tree.below}))) == Fraction(expected)


def test_duplicates_kept_merged_and_wrongly_dropped() -> None:
    draft, target = marginal([Law.row([2, 1, 1])]), marginal([Law.row([1, 3, 6])] * 2)
    rule, trees = family("recursive_rejection"), tree_law(((), ()), replay(draft, 3, "with_replacement"))

    def law(change: Any) -> Law[Block]:
        return mixture((mass, block_law_on_tree(rule, target, change(tree))) for tree, mass in trees.items())

    kept, merged = law(lambda tree: tree), law(lambda tree: deduplicated(tree, draft))
    assert total_variation(kept, target) == total_variation(merged, target) == 0
    assert fraction(expected_length(kept)) - 1 == Fraction(3, 4)
    assert fraction(expected_length(merged)) - 1 == Fraction(29, 40)
    assert accepted("recursive_rejection", target, ((), ()), replay(draft, 3)) == Fraction(17, 20)

    def dropped(tree: Node) -> Node:
        first, second = tree.below
        return Node((), None, (first,) if first.token == second.token else tree.below)

    assert fraction(total_variation(law(dropped), target)) == Fraction(1, 40)


def test_merged_duplicates_are_lossless_below_too() -> None:
    rng = random.Random(9)
    for _ in range(12):
        target, draft, topology = random_model(rng.randrange(1 << 30), 3), drafter(rng, 3, 0.2), random_topology(rng, 3)
        for verifier in ("recursive_rejection", "traversal"):
            trees = tree_law(topology, replay(draft, 3, "with_replacement")).map(lambda tree: deduplicated(tree, draft))  # noqa: B023
            law = mixture((mass, block_law_on_tree(family(verifier), target, tree)) for tree, mass in trees.items())
            assert total_variation(law, target) == 0


# --- worked examples ----------------------------------------------------------------------------------------------------------------------------

P1 = marginal([Law.row([1, 3, 1]), Law.row([3, 6, 1]), Law.row([3, 1, 6]), Law.row([1, 1, 1])])
Q1 = marginal([Law.row([1, 3, 6]), Law.row([2, 3, 5]), Law.row([5, 3, 2])])
CHAIN = (((((),),)),)


def test_example_with_three_nodes_for_all_seven_methods() -> None:
    """V = 3, L = 3, B = 3: the plan is root{a{c}, b}."""
    topology = freeze(plan(Q1, 3, 3))
    assert topology == (((),), ())
    without, replaced = replay(Q1, 3), replay(Q1, 3, "with_replacement")
    got = {
        "deterministic tree": accepted("predraw_follow", P1, *best_first(Q1, 3, 3)),
        "chain, token level": accepted("recursive_rejection", P1, CHAIN, drafting.chain(Q1)),
        "chain, block": accepted("traversal", P1, CHAIN, drafting.chain(Q1)),
        "replay, recursive rejection": accepted("recursive_rejection", P1, topology, without),
        "replay, traversal": accepted("traversal", P1, topology, without),
        "replay with replacement, recursive rejection": accepted("recursive_rejection", P1, topology, replaced),
        "replay with replacement, traversal": accepted("traversal", P1, topology, replaced),
    }
    assert list(got.values()) == [Fraction(number) for number in ("41/50", "147/125", "169/125", "34/25", "36/25", "28/25", "6/5")]


def test_path_scores_over_branch_when_draft_is_target() -> None:
    both = marginal([Law.row([8, 7, 5])] * 4)
    topology = freeze(plan(both, 3, 3))
    assert topology == ((), (), ())
    assert accepted("predraw_follow", both, *best_first(both, 3, 3)) == 1
    assert accepted("recursive_rejection", both, topology, replay(both, 3)) == 1
    assert accepted("recursive_rejection", both, CHAIN, drafting.chain(both)) == 3


def test_replay_loses_to_the_deterministic_tree_where_the_draft_is_flatter() -> None:
    target, draft = marginal([Law.row([1, 0])] * 2), marginal([Law.row([3, 2])])
    assert accepted("predraw_follow", target, *best_first(draft, 1, 1)) == 1
    assert accepted("recursive_rejection", target, ((),), replay(draft, 2)) == Fraction(3, 5)


# --- instance files -----------------------------------------------------------------------------------------------------------------------------


def instance(**drafted: Any) -> dict[str, Any]:
    target = {spell(prefix): [1, 3, 1] for prefix in ((), (0,), (1,), (2,))}
    return {"vocabulary": 3, "target": target, "draft": {"": [1, 3, 6]}, "drafting": drafted}


def test_instance_files_know_planned_schemes() -> None:
    best = parse(instance(scheme="best_first", nodes=2, depth=1))
    assert best.topology == ((), ()) and best.deterministic
    drawn = parse(instance(scheme="replay", nodes=2, depth=1, sampler="without_replacement", exhaust="one_hot"))
    assert drawn.topology == ((), ()) and not drawn.deterministic
    assert drawn.scheme(drawn.topology, (), (2,)) == Law.row([1, 3])
    assert parse(instance(scheme="replay", nodes=0, depth=3, sampler="with_replacement", exhaust="drop")).topology == ()


@pytest.mark.parametrize(
    ("drafted", "message"),
    [
        ({"scheme": "best_first", "nodes": -1, "depth": 1}, '"nodes" must be an integer'),
        ({"scheme": "best_first", "nodes": 2}, '"depth" must be an integer'),
        ({"scheme": "best_first", "nodes": True, "depth": 1}, '"nodes" must be an integer'),
        ({"scheme": "best_first", "nodes": 4, "depth": 2}, 'no row for prefix "2"'),
        ({"scheme": "replay", "nodes": 2, "depth": 1, "exhaust": "drop"}, '"sampler" must be a string'),
        ({"scheme": "replay", "nodes": 2, "depth": 1, "sampler": "sorted", "exhaust": "drop"}, "unknown sampler"),
        ({"scheme": "replay", "nodes": 2, "depth": 1, "sampler": "with_replacement", "exhaust": "stop"}, "unknown exhaustion rule"),
        ({"scheme": "regrow", "nodes": 2, "depth": 1}, "known: .*best_first, replay"),
    ],
)
def test_instance_errors_name_the_entry(drafted: dict[str, Any], message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        parse(instance(**drafted))
