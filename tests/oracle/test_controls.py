"""Lossless rules that look wrong must not be rejected, nor the references themselves."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from draftproof.oracle import Subject, check
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.controls import CONTROLS, Control, rules
from draftproof.oracle.eprocess import rejects, stream_log_e_value
from draftproof.oracle.faults.rows import Sibling, on_tree
from draftproof.oracle.sampling import Budget, sample
from draftproof.reference.laws import Law
from draftproof.reference.models import table
from draftproof.reference.rational import rational
from draftproof.reference.trees import Node
from draftproof.reference.verifiers import FAMILIES

READ = [
    pytest.param(control, name, id=f"{control.name}-{name}", marks=[pytest.mark.slow] if name == "tree-two-levels-with-replacement" else [])
    for control in CONTROLS
    if control.way is None
    for name in control.instances
]


@pytest.mark.parametrize(("control", "name"), READ)
def test_not_rejected(control: Control, name: str) -> None:
    report = check(control.subject, [find(name)])
    assert report.outcome == "conform", str(report)


@pytest.mark.parametrize("control", [control for control in CONTROLS if control.way is None], ids=lambda control: control.name)
def test_not_rejected_by_sampling(control: Control) -> None:
    """A pass needs many blocks; here it is enough that a few thousand raise no alarm."""
    for name in control.instances[:1]:
        verdicts = sample(Case(control.subject, find(name)), Budget(1e-2, np.inf, blocks=1 << 12), None, seed=3)[1]
        assert all(verdict.outcome != "nonconform" for verdict in verdicts), verdicts


def test_many_rows_one_draft() -> None:
    """64 rows of a batch verify one sampled draft: counted as independent, this lossless rule would be rejected."""
    case = Case(rules.many_rows_one_draft, find("chain-opposed"))
    seen, verdicts = sample(case, Budget(1e-6, np.inf, blocks=1 << 12), 0.1, seed=3)
    assert [verdict.outcome for verdict in verdicts] == ["conform"] * 3
    assert rejects(stream_log_e_value(seen.blocks, seen.target), 1e-6)
    assert not rejects(seen.log_capital(), 0.5)


def test_boundary_events_are_notes_unless_judged_strictly() -> None:
    instance = [find("chain-zero-target")]
    (support,) = (verdict for verdict in check(rules.accepts_at_equality, instance).verdicts if verdict.verdict == "support")
    assert support.outcome == "conform" and "at the root it emits 0, which the target cannot" in support.notes[0]
    assert check(rules.accepts_at_equality, instance, strict=True).outcome == "nonconform"


def test_lossy_rule_is_reported_with_its_total_variation() -> None:
    found = check(rules.typical_acceptance, [find("chain-one-draft")]).verdicts
    (exactness,) = (verdict for verdict in found if verdict.verdict == "exactness")
    assert exactness.message == "lossy, as its author says: total variation 0.15"
    assert check(replace(rules.typical_acceptance, claims=("lossless",)), [find("chain-one-draft")]).outcome == "nonconform"


def test_list() -> None:
    assert len(CONTROLS) >= 8 and len({control.name for control in CONTROLS}) == len(CONTROLS)
    assert all(control.what.endswith(".") and control.why for control in CONTROLS)


class Draws:
    """A Chance on Python's random numbers."""

    def flip(self, probability: Any, at: Any = None) -> bool:
        return random.random() < float(probability)

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        outcomes = list(law)
        return outcomes[random.choices(range(len(outcomes)), [float(law[outcome]) for outcome in outcomes])[0]]


def reference(name: str) -> Subject:
    """A reference verifier as a subject: the rows it is given are its target and its declared laws."""

    @on_tree(family=name)
    def verify(root: Sibling) -> list[int]:
        rows: dict[tuple[int, ...], Law[int]] = {}

        def node(sibling: Sibling, path: tuple[int, ...], declared: Law[int] | None) -> Node:
            rows[path] = Law.row(map(rational, sibling.target))
            children = (node(child, (*path, child.token), Law.row(map(rational, child.declared))) for child in sibling.children)
            return Node(path, declared, tuple(children))

        tree, model = node(root, (), None), table(rows)
        answer = FAMILIES[name].verify(model, tree, Draws())
        return [*answer.node.path, Draws().draw(answer.bonus)]

    return verify


@pytest.mark.parametrize("name", ["predraw_follow", "tree_exit", "recursive_rejection", "traversal"])
@pytest.mark.parametrize("instance", ["chain-pairs", "tree-greedy", "tree-worked-example", pytest.param("tree-siblings", marks=pytest.mark.slow)])
def test_references_are_not_rejected(name: str, instance: str) -> None:
    report = check(reference(name), [find(instance)])
    assert report.outcome == "conform", str(report)
