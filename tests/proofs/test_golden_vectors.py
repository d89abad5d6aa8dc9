"""The references compute, to the last digit, the block laws that the definitions of the theorems compute."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from draftproof.proofs.golden import VECTORS, Vector, differences, read
from draftproof.reference.blocks import Block, block_law
from draftproof.reference.chance import Chance
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode, Slot
from draftproof.reference.verifiers import Accepted, Family, Stop, ascend, descend
from draftproof.reference.verifiers.recursive_rejection import recursive_rejection
from draftproof.reference.verifiers.traversal import visit

VERIFIERS = ("predraw_follow", "tree_exit", "recursive_rejection", "traversal")
ALL = list(read())


def of(verifier: str) -> list[Vector]:
    return [vector for vector in ALL if vector.verifier == verifier]


@pytest.mark.parametrize("verifier", sorted({vector.verifier for vector in ALL}))
def test_reference_reproduces_every_vector(verifier: str) -> None:
    assert [str(difference) for difference in differences(of(verifier))] == []


def test_there_are_enough_vectors_of_every_kind() -> None:
    assert set(VERIFIERS) <= {vector.verifier for vector in ALL}
    assert {"univer", "greedy_transport"} <= {vector.verifier for vector in ALL}
    for verifier, count in Counter(vector.verifier for vector in ALL).items():
        assert count >= 30, verifier
    for verifier in VERIFIERS:
        instances = [vector.instance for vector in of(verifier)]
        assert {(i.vocabulary, i.depth) for i in instances if i.is_chain} >= {(2, 3), (3, 3), (4, 3)}
        assert {(i.vocabulary, i.depth) for i in instances if len(i.topology) == 2} >= {(2, 2), (3, 2)}
        assert {i.scheme_name for i in instances} == {"chain", "with_replacement", "without_replacement", "top_k", "greedy", "fixed"}
        assert any(0 in row for i in instances for row in i.source["target"].values())
        assert any(0 in row for i in instances for row in i.source.get("draft", {}).values())


def test_no_two_vectors_are_the_same() -> None:
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) == len(ALL)


# ---- planted faults


def narrower(slot: Slot) -> Slot:
    """Every child but the first has one child less."""
    return tuple(narrower(child if rank == 0 else child[:-1]) for rank, child in enumerate(slot))


def test_second_sibling_drafted_narrower_is_caught() -> None:
    def planted(vector: Vector) -> Law[Block]:
        instance = vector.instance
        family = Family("recursive_rejection", descend(recursive_rejection), recursive_rejection)
        return block_law(family, instance.target, narrower(instance.topology), instance.scheme)

    vectors = [v for v in of("recursive_rejection") if v.instance.scheme_name in ("with_replacement", "without_replacement")]
    wide = [v for v in vectors if narrower(v.instance.topology) != v.instance.topology]
    caught = {difference.vector.line for difference in differences(wide, planted)}
    assert len(wide) >= 8 and len(caught) >= 4
    assert list(differences([v for v in vectors if v not in wide], planted)) == []


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


FAULTS = {
    "residual not renormalised": ("recursive_rejection", level_of(not_renormalised)),
    "+ 1 - a dropped": ("traversal", visit_of(without_one_minus_a)),
    "siblings re-sorted, root to leaf": ("recursive_rejection", level_of(lambda p, node, chance: recursive_rejection(p, Sorted(node), chance))),
    "siblings re-sorted, leaf to root": ("traversal", visit_of(lambda p, node, a, chance, below: visit(p, Sorted(node), a, chance, below))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_caught(fault: str) -> None:
    verifier, family = FAULTS[fault]

    def planted(vector: Vector) -> Law[Block]:
        return block_law(family, vector.instance.target, vector.instance.topology, vector.instance.scheme)

    caught = {difference.vector.line for difference in differences(of(verifier), planted)}
    assert len(caught) >= 5


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
