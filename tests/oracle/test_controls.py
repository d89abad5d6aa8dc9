"""Lossless rules that look wrong must not be rejected, nor the references themselves."""

from dataclasses import replace

import numpy as np
import pytest

from draftproof.oracle import Subject, check
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.controls import CONTROLS, Control, rules
from draftproof.oracle.eprocess import rejects, stream_log_e_value
from draftproof.oracle.faults import chains
from draftproof.oracle.faults.programs import program
from draftproof.oracle.sampling import Budget, sample
from draftproof.oracle.selftest import judge_control
from draftproof.reference.verifiers import FAMILIES

LONG = ("tree-two-levels-with-replacement", "tree-two-levels-greedy", "draft-full")

READ = [
    pytest.param(control, name, id=f"{control.name}-{name}", marks=[pytest.mark.slow] if name in LONG else [])
    for control in CONTROLS
    if control.way is None
    for name in control.instances
]


@pytest.mark.parametrize(("control", "name"), READ)
def test_not_rejected(control: Control, name: str) -> None:
    finding = judge_control(control, name, "any")
    assert finding.as_said, finding


VERIFIERS = [control for control in CONTROLS if isinstance(control.subject, Subject) or control.way == "sample"]


@pytest.mark.parametrize("control", VERIFIERS, ids=lambda control: control.name)
def test_not_rejected_by_sampling(control: Control) -> None:
    """A pass needs many blocks; here it is enough that a few thousand raise no alarm."""
    finding = judge_control(control, control.instances[0], "sample", seed=3)
    assert finding.as_said, finding


def test_many_rows_one_draft() -> None:
    """64 rows of a batch verify one sampled draft: counted as independent, this lossless rule would be rejected."""
    case = Case(rules.many_rows_one_draft, find("chain-opposed"))
    seen, verdicts = sample(case, Budget(1e-6, np.inf, blocks=1 << 12), 0.1, seed=3)
    assert [verdict.outcome for verdict in verdicts] == ["conform"] * 3
    assert rejects(stream_log_e_value(seen.blocks, seen.target), 1e-6)
    assert not rejects(seen.log_capital(), 0.5)


def test_boundary_events_are_notes_unless_judged_strictly() -> None:
    instance = [find("chain-zero-target")]
    (support,) = (verdict for verdict in check(chains.accepts_at_equality, instance).verdicts if verdict.verdict == "support")
    assert support.outcome == "conform" and "at the root it emits 0, which the target cannot" in support.notes[0]
    assert check(chains.accepts_at_equality, instance, strict=True).outcome == "nonconform"


def test_lossy_rule_is_reported_with_its_total_variation() -> None:
    found = check(rules.typical_acceptance, [find("chain-one-draft")]).verdicts
    (exactness,) = (verdict for verdict in found if verdict.verdict == "exactness")
    assert exactness.message == "lossy, as its author says: total variation 0.15"
    assert check(replace(rules.typical_acceptance, claims=("lossless",)), [find("chain-one-draft")]).outcome == "nonconform"


def test_list() -> None:
    assert len(CONTROLS) >= 25 and len({control.name for control in CONTROLS}) == len(CONTROLS)
    assert all(control.what.endswith(".") and control.why for control in CONTROLS)


@pytest.mark.parametrize("name", ["predraw_follow", "tree_exit", "recursive_rejection", "traversal"])
@pytest.mark.parametrize("instance", ["chain-pairs", "tree-greedy", "tree-worked-example", pytest.param("tree-siblings", marks=pytest.mark.slow)])
def test_references_are_not_rejected(name: str, instance: str) -> None:
    report = check(program(family=name)(FAMILIES[name].verify), [find(instance)])
    assert report.outcome == "conform", str(report)
