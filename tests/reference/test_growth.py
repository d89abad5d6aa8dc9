"""The growth identity decides losslessness: against plain loops on any block law, and on verifiers with one fault planted at a known place."""

import random
from fractions import Fraction

import pytest

from draftproof.reference.blocks import Block, block_law, tree_law
from draftproof.reference.chance import Chance
from draftproof.reference.drafting import chain, fixed, with_replacement, without_replacement
from draftproof.reference.growth import expected_length, extensions, stopped_outside, total_variation, violations
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, marginal, random_model
from draftproof.reference.rational import fraction, rational
from draftproof.reference.trees import DraftNode, uniform_topology
from draftproof.reference.verifiers import Family, Stop, family, recursive_rejection
from draftproof.reference.verifiers.descent import Level

from . import brute, faults
from .instances import ANY_SCHEME, SCHEMES, plain, random_cases, rows

P1 = marginal([Law.row(["1/2", "3/10", "1/5"])] * 2), marginal([Law.row(["1/5", "3/10", "1/2"])] * 2)
P10 = marginal([Law.row([4, 3, 2, 1])] * 4), marginal([Law.row([1, 2, 3, 4])] * 4)


def random_block_law(rng: random.Random, vocabulary: int, depth: int) -> dict[Block, Fraction]:
    """Any law on strings of length 1 to ``depth``, exact for hardly any target."""
    blocks = {tuple(rng.randrange(vocabulary) for _ in range(rng.randint(1, depth))) for _ in range(rng.randint(1, 9))}
    weights = {block: rng.randint(1, 9) for block in blocks}
    return {block: Fraction(weight, sum(weights.values())) for block, weight in weights.items()}


def broken(p: brute.Rows, blocks: dict[Block, Fraction], vocabulary: int) -> list[tuple[Prefix, int, Fraction, Fraction]]:
    """Broken equalities R(sa) = n(s) p(a|s), from the definitions, conditional on the block extending s."""

    def having(s: Prefix, strictly: bool = False) -> Fraction:
        return sum((m for b, m in blocks.items() if b[: len(s)] == s and (b != s or not strictly)), Fraction(0))

    prefixes = sorted({b[:end] for b in blocks for end in range(len(b))}, key=lambda s: (len(s), s))
    found = []
    for s in prefixes:
        n = having(s, strictly=True) if s else Fraction(1)
        for a in range(vocabulary):
            if having((*s, a)) != n * p(s).get(a, 0):
                found.append((s, a, having((*s, a)) / n, p(s).get(a, Fraction(0))))
    return found


def test_against_all_strings_on_random_block_laws() -> None:
    rng = random.Random(7)
    exact = 0
    for seed in range(300):
        vocabulary, depth = rng.randint(1, 3), rng.randint(1, 4)
        target = random_model(seed, vocabulary, zeros=0.3)
        blocks = random_block_law(rng, vocabulary, depth)
        if seed % 3 == 0:  # missing mass
            blocks[max(blocks)] /= 2
        law = {block: rational(mass) for block, mass in blocks.items()}
        expected = brute.total_variation(rows(target), blocks, vocabulary)
        assert fraction(total_variation(law, target)) == expected
        found = [(v.prefix, v.token, fraction(v.emitted), fraction(v.should_be)) for v in violations(law, target)]
        assert found == broken(rows(target), blocks, vocabulary)
        assert (not found) == (expected == 0)
        assert fraction(expected_length(law)) == sum(len(block) * mass for block, mass in blocks.items())
        exact += expected == 0
    assert 0 < exact < 100  # both kinds were met


@pytest.mark.parametrize("scheme", SCHEMES)
def test_against_all_strings_on_verifiers(scheme: str) -> None:
    for case in random_cases(scheme, 5, 27):
        for name in ANY_SCHEME:
            law = case.law(name)
            if case.vocabulary ** max(map(len, law)) > 260:
                continue
            assert brute.total_variation(rows(case.target), plain(law), case.vocabulary) == 0
            assert total_variation(law, case.target) == 0
            assert broken(rows(case.target), plain(law), case.vocabulary) == list(violations(law, case.target)) == []


def test_violations_come_shortest_prefix_first_then_in_order() -> None:
    uniform = marginal([Law.row([1, 1])] * 4)
    law = Law({(1, 1): 3, (1, 0): 1, (0, 0): 3, (0, 1): 1})
    found = list(violations(law, uniform))
    assert [(v.prefix, v.token) for v in found] == [((0,), 0), ((0,), 1), ((1,), 0), ((1,), 1)]
    assert (found[0].emitted, found[0].should_be, found[0].mass) == (rational("3/4"), rational("1/2"), rational("1/8"))
    assert [v.prefix for v in violations(law.map(lambda block: (0, 1, *block)), uniform)][:2] == [(), ()]
    assert list(violations(law, uniform, tolerance=rational("1/8"))) == []
    assert len(list(violations(law, uniform, tolerance=rational("1/9")))) == 4


def test_extensions_are_sorted() -> None:
    law = {(1, 0): rational("1/4"), (1,): rational("1/4"), (0,): rational("1/2")}
    assert extensions(law) == {(): {0: rational("1/2"), 1: rational("1/2")}, (1,): {0: rational("1/4")}}
    assert list(extensions(law)) == [(), (1,)] and list(extensions(law)[()]) == [0, 1]


def test_missing_mass_is_a_violation_and_counts() -> None:
    target = marginal([Law.row([1, 1])])
    law = {(0,): rational("1/2"), (1,): rational("1/4")}
    assert total_variation(law, target) == rational("1/4")
    assert [(v.prefix, v.token, str(v.emitted)) for v in violations(law, target)] == [((), 1, "1/4")]


def test_impossible_blocks_are_listed_by_their_shortest_impossible_prefix() -> None:
    target = marginal([Law.row([1, 0, 1]), Law.row([0, 1, 1])])
    law = Law({(0, 1): 1, (1, 1): 2, (1, 2): 2, (2, 0): 3})
    assert stopped_outside(law, target) == {(1,): rational("1/2"), (2, 0): rational("3/8")}
    assert stopped_outside(Law({(0, 1): 1, (2,): 1}), target) == {}


# Planted faults: total variations as published in the catalogue of faults, and the place.


def sampled(rule: Family, instance: tuple[Model, Model], children: tuple[int, ...], scheme: str = "without") -> Law[Block]:
    target, draft = instance
    make = {"chain": chain, "with": with_replacement, "without": without_replacement}[scheme]
    return block_law(rule, target, uniform_topology(children), make(draft))


def first(law: Law[Block], target: Model) -> tuple[Prefix, int, str, str]:
    found = next(violations(law, target))
    return found.prefix, found.token, str(found.emitted), str(found.should_be)


@pytest.mark.parametrize(
    ("rule", "instance", "children", "variation", "violation"),
    [
        (faults.root_to_leaf(faults.bonus_from_target), P1, (1,), "3/20", ((), 0, "7/20", "1/2")),
        (faults.root_to_leaf(faults.always_accept), P1, (1,), "3/10", ((), 0, "1/5", "1/2")),
        (faults.root_to_leaf(faults.residual_not_updated), P10, (2,), "7/50", ((), 0, "13/50", "2/5")),
        (faults.root_to_leaf(faults.residual_not_normalised), P10, (2,), "3/50", ((), 0, "23/50", "2/5")),
        (faults.traversal_without("residual"), P10, (1, 1), "1/80", ((2,), 0, "27/80", "2/5")),
        (faults.traversal_without("update"), P10, (1, 1), "1/8", ((), 0, "49/160", "2/5")),
        (faults.traversal_without("capacity"), P10, (1, 1), "689/5060", ((), 0, "6029/20240", "2/5")),
    ],
    ids=lambda value: value.name if isinstance(value, Family) else "",
)
def test_faulty_rule(
    rule: Family, instance: tuple[Model, Model], children: tuple[int, ...], variation: str, violation: tuple[Prefix, int, str, str]
) -> None:
    law = sampled(rule, instance, children)
    assert str(total_variation(law, instance[0])) == variation
    assert first(law, instance[0]) == violation


@pytest.mark.parametrize(
    ("fault", "variation", "violation"),
    [
        ("declared q, drawn off the elders", "17/392", ((), 0, "699/1960", "2/5")),
        ("reversed", "2323/12600", ((), 0, "2717/12600", "2/5")),
        ("sorted by token", "113/1400", ((), 0, "13/40", "2/5")),
    ],
)
def test_faulty_tree(fault: str, variation: str, violation: tuple[Prefix, int, str, str]) -> None:
    """Case T2 of the catalogue, without replacement: p = (4,3,2,1)/10, q = (1,2,3,4)/10, two siblings."""
    target, draft = P10
    trees = tree_law(uniform_topology((2,)), without_replacement(draft))
    plant = {
        "declared q, drawn off the elders": lambda tree: faults.redeclared(tree, lambda prefix, elders: draft(prefix)),
        "reversed": lambda tree: faults.reordered(tree, lambda node: -tree.below.index(node)),
        "sorted by token": lambda tree: faults.reordered(tree, lambda node: node.token),
    }[fault]
    law = faults.averaged(family("recursive_rejection"), target, trees.map(plant))
    assert str(total_variation(law, target)) == variation
    assert first(law, target) == violation


@pytest.mark.parametrize("fault", [faults.bonus_from_target, faults.residual_not_updated, faults.residual_not_normalised, faults.always_accept])
def test_a_fault_at_one_node_is_found_at_that_node(fault: Level) -> None:
    """What is emitted there is what the faulty level alone emits at a root with the same rows."""
    found = 0
    for seed in range(24):
        vocabulary = 3
        target, draft = random_model(seed, vocabulary), random_model(-1 - seed, vocabulary)
        place = ((), (seed % vocabulary,), (seed % 2, seed % vocabulary))[seed % 3]
        law = sampled(faults.root_to_leaf(faults.only_at(place, fault, recursive_rejection)), (target, draft), (2, 2, 2))
        alone = sampled(faults.root_to_leaf(fault), (marginal([target(place)] * 2), marginal([draft(place)])), (2,))
        emitted = {token: alone.mass(block for block in alone if block[0] == token) for token in range(vocabulary)}
        wrong = [token for token in range(vocabulary) if emitted[token] != target(place)[token]]
        if not wrong or not any(block[: len(place)] == place and len(block) > len(place) for block in law):
            assert total_variation(law, target) == 0
            continue
        found += 1
        assert {v.prefix for v in violations(law, target)} == {place}
        violation = next(violations(law, target))
        assert (violation.token, violation.emitted, violation.should_be) == (wrong[0], emitted[wrong[0]], target(place)[wrong[0]])
    assert found > 12


def test_dense_law_declared_for_fixed_siblings() -> None:
    """Case T1: fixed tokens 1, 2, 3; one-hot laws are lossless, a dense q is off by .557 and accepts 6/7 instead of 1/2."""
    target = marginal([Law.row([0, 30, 15, 5, 50])] * 2)
    topology, scheme = fixed([(1,), (2,), (3,)])
    sound = block_law(family("token"), target, topology, scheme)
    assert total_variation(sound, target) == 0 and expected_length(sound) - 1 == rational("1/2")
    trees = tree_law(topology, scheme).map(lambda tree: faults.redeclared(tree, lambda prefix, elders: Law.row([0, 35, 35, 30, 0])))
    law = faults.averaged(family("token"), target, trees)
    assert str(total_variation(law, target)) == "39/70"
    assert str(expected_length(law) - 1) == "6/7"
    assert first(law, target) == ((), 1, "6/7", "3/10")


def test_processed_draft_declared_unprocessed() -> None:
    """Case P5: drafted from the two most likely tokens, declared with the full row."""
    target = marginal([Law.row([3, 5, 0, 0])] * 2)
    trees = tree_law(uniform_topology((1,)), chain(marginal([Law.row([4, 3, 0, 0])])))
    sound = faults.averaged(family("token"), target, trees)
    assert total_variation(sound, target) == 0 and str(expected_length(sound)) == str(rational("101/56"))
    law = faults.averaged(family("token"), target, trees.map(lambda tree: faults.redeclared(tree, lambda s, elders: Law.row([4, 3, 2, 1]))))
    assert str(total_variation(law, target)) == "9/56" and str(expected_length(law)) == "55/28"


def test_row_of_the_wrong_position() -> None:
    """Case P4: residual and bonus read at row 0; with equal rows nothing could show it."""
    rows_p = [Law.row([5, 3, 2]), Law.row([2, 2, 6]), Law.row([1, 8, 1])]
    target, draft = marginal(rows_p), marginal([Law.row([2, 3, 5]), Law.row([6, 2, 2])])

    def row_zero(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
        answer = recursive_rejection(target, node, chance)
        if not isinstance(answer, Stop):
            return answer
        row = target(())
        return Stop(row.excess(draft(()))[1] or row if node.slot else row)

    law = sampled(faults.root_to_leaf(row_zero), (target, draft), (1, 1), "chain")
    assert first(law, target)[0] == (0,)
    same = marginal([rows_p[0]] * 3), marginal([Law.row([2, 3, 5])] * 2)
    assert total_variation(sampled(faults.root_to_leaf(row_zero), same, (1, 1), "chain"), same[0]) == 0
