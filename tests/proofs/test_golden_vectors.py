"""The references compute, to the last digit, the block laws that the definitions of the theorems compute."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from draftproof.proofs.golden import VECTORS, Vector, differences, read
from draftproof.reference.blocks import Block, block_law
from draftproof.reference.chance import Chance
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational, rational
from draftproof.reference.trees import DraftNode, Slot
from draftproof.reference.verifiers import FAMILIES, Accepted, Family, Stop, ascend, descend
from draftproof.reference.verifiers.k_seq import k_seq, k_seq_with
from draftproof.reference.verifiers.recursive_rejection import recursive_rejection
from draftproof.reference.verifiers.traversal import visit
from draftproof.reference.verifiers.two_phase import Masses, two_phase
from draftproof.reference.verifiers.univer import allocate
from draftproof.reference.verifiers.univer import visit as univer_visit
from draftproof.reference.verifiers.univer_transport import augmented, unguided, univer_transport_by

EVERY = {"chain", "with_replacement", "without_replacement", "top_k", "greedy", "fixed"}
SCHEMES = {
    "predraw_follow": EVERY,
    "tree_exit": EVERY,
    "recursive_rejection": EVERY,
    "traversal": EVERY,
    "univer": {"chain", "greedy", "top_k", "fixed"},
    "univer_lookahead": {"chain", "greedy", "top_k", "fixed"},
    "greedy_transport": {"chain", "greedy", "top_k", "fixed"},
    "univer_transport": EVERY - {"fixed"},
    "k_seq": {"chain", "with_replacement"},
}
"""What the vectors of each verifier are drafted by."""

ALL = list(read())


def of(verifier: str) -> list[Vector]:
    return [vector for vector in ALL if vector.verifier == verifier]


def test_every_verifier_has_vectors() -> None:
    assert {vector.verifier for vector in ALL} == set(FAMILIES) == set(SCHEMES)


@pytest.mark.parametrize("verifier", SCHEMES)
def test_reference_reproduces_every_vector(verifier: str) -> None:
    assert [str(difference) for difference in differences(of(verifier))] == []


@pytest.mark.parametrize("verifier", SCHEMES)
def test_there_are_enough_vectors_of_every_kind(verifier: str) -> None:
    """At least 30, chains to depth 3 at V = 2 to 4, trees of width 2 to depth 2 at V = 2 and 3, zeros in both models."""
    instances = [vector.instance for vector in of(verifier)]
    assert len(instances) >= 30
    assert {(i.vocabulary, i.depth) for i in instances if i.is_chain} >= {(2, 3), (3, 3), (4, 3)}
    assert {(i.vocabulary, i.depth) for i in instances if len(i.topology) == 2} >= {(2, 2), (3, 2)}
    assert {i.scheme_name for i in instances} == SCHEMES[verifier]
    assert any(0 in row for i in instances for row in i.source["target"].values())
    assert any(0 in row for i in instances for row in i.source.get("draft", {}).values())


def test_no_two_vectors_are_the_same() -> None:
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) == len(ALL)


# ---- planted faults


def narrower(slot: Slot) -> Slot:
    """Every child but the first has one child less."""
    return tuple(narrower(child if rank == 0 else child[:-1]) for rank, child in enumerate(slot))


@pytest.mark.parametrize("verifier", SCHEMES)
def test_second_sibling_drafted_narrower_is_caught(verifier: str) -> None:
    """Every verifier stays lossless when a subtree is drafted narrower: nothing but the whole law tells."""

    def planted(vector: Vector) -> Law[Block]:
        instance = vector.instance
        return block_law(FAMILIES[verifier], instance.target, narrower(instance.topology), instance.scheme)

    vectors = [vector for vector in of(verifier) if vector.instance.scheme_name != "fixed"]
    wide = [vector for vector in vectors if narrower(vector.instance.topology) != vector.instance.topology]
    caught = {difference.vector.line for difference in differences(wide, planted)}
    assert len(wide) >= 8 and len(caught) >= 4
    assert list(differences([vector for vector in vectors if vector not in wide], planted)) == []


def not_renormalised(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """(f - r)_+ goes into the next test as it is."""
    row = target(node.path)
    left = dict(row.items())
    for child in node.children():
        assert child.declared is not None
        if chance.flip(min(ONE, left.get(child.token, ZERO) / child.declared[child.token])):
            return child
        left = {token: weight - child.declared[token] for token, weight in left.items() if weight > child.declared[token]}
    return Stop(Law(left) if left else row)


def without_one_minus_a(
    target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], object]
) -> object:
    """Traversal with a <- m / m where it should be m / (m + 1 - a)."""
    residual = target(node.path)
    for child in node.children():
        assert child.declared is not None
        if (accepted := below(child, min(ONE, capacity * residual[child.token] / child.declared[child.token]))) is not None:
            return accepted
        mass, left = residual.excess(child.declared, capacity)
        if left is None:
            return None
        residual, capacity = left, mass / mass
    return Accepted(node, residual) if chance.flip(capacity) else None


@dataclass(frozen=True)
class Sorted:
    """A node whose children come in token order instead of draw order."""

    node: DraftNode

    @property
    def path(self) -> tuple[int, ...]:
        return self.node.path

    def children(self) -> Iterator[DraftNode]:
        return iter(sorted(self.node.children(), key=lambda child: child.token))


def level_of(level: Callable[..., DraftNode | Stop]) -> Family:
    return Family("planted", descend(level), level)


def visit_of(rule: Callable[..., object]) -> Family:
    return Family("planted", ascend(rule), visit=rule)


def resorted(rule: Callable[..., object]) -> Family:
    return visit_of(lambda p, node, a, chance, below: rule(p, Sorted(node), a, chance, below))


def stays_always(target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], object]) -> object:
    """UniVer whose nodes stay with s / s where it should be s / (s + 1 - a)."""
    children, left = tuple(node.children()), ONE
    masses, owed = allocate(target(node.path), children, capacity)
    for child, mass in zip(children, masses, strict=True):
        if mass and (accepted := below(child, mass / left)) is not None:
            return accepted
        left -= mass
    return Accepted(node, Law(owed)) if owed else None


def draw_order_backwards(target: Model, children: Sequence[DraftNode], masses: Masses) -> Sequence[int]:
    return range(len(children))[::-1]


def one_draft_forgotten(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """k_seq whose bonus is drawn from the target."""
    answer = k_seq(target, node, chance)
    return Stop(target(node.path)) if isinstance(answer, Stop) else answer


FAULTS = {
    "residual not renormalised": ("recursive_rejection", level_of(not_renormalised), 20),
    "+ 1 - a dropped": ("traversal", visit_of(without_one_minus_a), 20),
    "siblings re-sorted, root to leaf": ("recursive_rejection", level_of(lambda p, node, chance: recursive_rejection(p, Sorted(node), chance)), 10),
    "siblings re-sorted, leaf to root": ("traversal", resorted(visit), 10),
    "univer: + 1 - a dropped": ("univer", visit_of(stays_always), 30),
    "univer: siblings backwards": ("univer", visit_of(two_phase(allocate, draw_order_backwards)), 5),
    "univer_lookahead: draw order": ("univer_lookahead", visit_of(univer_visit), 4),
    "univer_transport: another optimal plan": ("univer_transport", visit_of(univer_transport_by(unguided)), 3),
    "univer_transport: siblings re-sorted": ("univer_transport", resorted(univer_transport_by(augmented)), 5),
    "greedy_transport: residual of the target": ("greedy_transport", level_of(recursive_rejection), 10),
    "k_seq: bonus from the target": ("k_seq", level_of(one_draft_forgotten), 30),
    "k_seq: a larger rho": ("k_seq", level_of(k_seq_with(rational(4))), 30),
}
"""fault: the verifier it is in, the faulty rule, how many vectors must catch it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_caught(fault: str) -> None:
    verifier, family, least = FAULTS[fault]

    def planted(vector: Vector) -> Law[Block]:
        return block_law(family, vector.instance.target, vector.instance.topology, vector.instance.scheme)

    caught = {difference.vector.line for difference in differences(of(verifier), planted)}
    assert len(caught) >= least


def test_an_exact_rule_of_another_law_is_caught() -> None:
    """Traversal and recursive rejection are both lossless: only the law of the block tells them apart."""
    swapped = [replace(vector, verifier="traversal") for vector in of("recursive_rejection")]
    found = list(differences(swapped))
    assert len(found) >= 10 and all(str(f).startswith("line ") for f in found)


NOT_LAWS = {"half": [([0], "1/2")], "twice": [([0], "0"), ([0], "1")]}


@pytest.mark.parametrize("law", NOT_LAWS)
def test_a_line_that_is_no_law_is_named(tmp_path: Path, law: str) -> None:
    good = json.loads(VECTORS.read_text(encoding="utf-8").splitlines()[0])
    bad = {**good, "law": [{"tokens": tokens, "probability": mass} for tokens, mass in NOT_LAWS[law]]}
    (tmp_path / "v.jsonl").write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    with pytest.raises(ValueError, match="line 2"):
        list(read(tmp_path / "v.jsonl"))
