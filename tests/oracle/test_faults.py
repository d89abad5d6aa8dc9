"""Planted faults must be rejected: by the strongest reading that applies, and by sampling where they are large enough to be seen."""

import random
from fractions import Fraction

import pytest
import torch

from draftproof.oracle import Report, check
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import FAULTS, Fault, chains, siblings, tensors
from draftproof.oracle.subjects import load
from draftproof.oracle.verdicts import Verdict
from draftproof.reference.blocks import block_law
from draftproof.reference.chance import Chance
from draftproof.reference.growth import total_variation, violations
from draftproof.reference.laws import ONE, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode
from draftproof.reference.verifiers import Family, Stop
from draftproof.reference.verifiers.descent import Level, descend

torch.set_num_threads(1)

BY_ROW = ("residual_is_target", "always_accepts", "only_bonus_truncated", "siblings_sorted", "draft_not_conditioned", "capacity_not_updated")
"""Faults written for one request at a time that are sampled here; the others of their kind, as slow, by `make test-all`."""

SAMPLED = [
    pytest.param(fault, id=fault.name, marks=[pytest.mark.slow] if by_row and fault.name not in BY_ROW else [])
    for fault in FAULTS
    if fault.verdict == "exactness"
    for by_row in [fault.subject.name.split(".")[-1].partition(":")[0] in ("chains", "siblings", "visits")]
]


def verdicts(report: Report) -> dict[str, Verdict]:
    assert not report.errors, report.errors
    return {verdict.verdict: verdict for verdict in report.verdicts}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_rejected(fault: Fault) -> None:
    found = verdicts(check(fault.subject, [find(fault.instance)]))
    verdict = found[fault.verdict]
    assert verdict.outcome == "nonconform", verdict
    assert verdict.way == {"uniforms": "integrate", "seeds": "sample"}.get(fault.subject.randomness, "enumerate")
    if fault.total_variation is not None:
        measured = found["exactness"].number
        assert measured is not None
        precise = fault.subject.dtype == "float64" and verdict.way == "enumerate"
        assert measured == pytest.approx(float(Fraction(fault.total_variation)), abs=1e-12 if precise else 1e-6)


@pytest.mark.parametrize("fault", SAMPLED)
def test_rejected_by_sampling(fault: Fault) -> None:
    assert fault.total_variation is None or Fraction(fault.total_variation) >= Fraction(1, 100)
    found = verdicts(check(fault.subject, [find(fault.instance)], way="sample", seed=1))
    assert found["exactness"].outcome == "nonconform", found["exactness"]


def test_list() -> None:
    assert len(FAULTS) >= 16
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.kind for fault in FAULTS} <= set("ABCDEFGHIJKLMN")
    for fault in FAULTS:
        assert fault.what.endswith(".") and load(fault.subject.name) == [fault.subject]


def passes(residual: Law[int], node: DraftNode, chance: Chance) -> bool:
    assert node.declared is not None
    return chance.flip(min(ONE, residual[node.token] / node.declared[node.token]))


def updated(residual: Law[int], node: DraftNode) -> Law[int]:
    assert node.declared is not None
    left = residual.excess(node.declared)[1]
    return residual if left is None else left


def bonus_is_target(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    residual = target(node.path)
    for child in node.children():
        if passes(residual, child, chance):
            return child
        residual = updated(residual, child)
    return Stop(target(node.path))


def residual_not_updated(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    residual = target(node.path)
    for child in node.children():
        if passes(target(node.path), child, chance):
            return child
        residual = updated(residual, child)
    return Stop(residual)


def siblings_reversed(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    residual = target(node.path)
    for child in reversed(list(node.children())):
        if passes(residual, child, chance):
            return child
        residual = updated(residual, child)
    return Stop(residual)


def token_zero_is_padding(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    residual = target(node.path)
    for child in [child for child in node.children() if child.token]:
        if passes(residual, child, chance):
            return child
        residual = updated(residual, child)
    return Stop(residual)


def second_chance(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    residual = target(node.path)
    for child in node.children():
        if passes(residual, child, chance) or chance.flip(residual[child.token]):
            return child
        residual = updated(residual, child)
    return Stop(residual)


def drawn_again_after_miss(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    drawn = chance.draw(target(node.path))
    return next((child for child in node.children() if child.token == drawn), None) or Stop(target(node.path))


EXACTLY: list[tuple[str, Level]] = [
    ("residual_is_target", bonus_is_target),
    ("second_chance", second_chance),
    ("bonus_is_target", bonus_is_target),
    ("residual_not_updated", residual_not_updated),
    ("siblings_reversed", siblings_reversed),
    ("token_zero_is_padding", token_zero_is_padding),
    ("drawn_again_after_miss", drawn_again_after_miss),
]


@pytest.mark.parametrize(("name", "level"), EXACTLY, ids=[name for name, _ in EXACTLY])
def test_message_has_the_numbers_of_the_exact_law(name: str, level: Level) -> None:
    """The same fault as an exact program says where the law goes wrong first, and by how much."""
    fault = next(fault for fault in FAULTS if fault.name == name)
    instance = find(fault.instance)
    reads_declared = name != "drawn_again_after_miss"
    law = block_law(Family(name, descend(level), level, reads_declared=reads_declared), instance.target, instance.topology, instance.scheme)
    assert fault.total_variation is not None and str(total_variation(law, instance.target)) == fault.total_variation
    first = next(violations(law, instance.target))

    verdict = verdicts(check(fault.subject, [instance]))["exactness"]
    assert verdict.violation is not None
    assert (verdict.violation["prefix"], verdict.violation["token"]) == (" ".join(map(str, first.prefix)), first.token)
    assert close(verdict.violation["emitted"], first.emitted) and close(verdict.violation["should_be"], first.should_be)
    where = f'after "{verdict.violation["prefix"]}"' if first.prefix else "at the root"
    should, emitted = f"{float(Fraction(str(first.should_be))):.6g}", f"{float(Fraction(str(first.emitted))):.6g}"
    assert verdict.message.startswith(f"{where} the next token should be {first.token} with probability {should}; it is {emitted}; total variation")


def close(read: str, exact: Rational) -> bool:
    return abs(Fraction(read) - Fraction(str(exact))) < Fraction(1, 10**6)


def test_sampling_names_a_place_that_is_really_wrong() -> None:
    """Chance moves every cell a little; the first token is right here, and only the second is not."""
    found = verdicts(check(chains.residual_of_first_row, [find("chain-rows-by-position")], way="sample"))["exactness"]
    assert found.violation is not None and found.violation["prefix"] != ""
    assert "it is about" in found.message


def test_support_fault_too_small_for_sampling() -> None:
    instance = [find("chain-zero-target")]
    exact = verdicts(check(tensors.residual_with_floor, instance))
    assert exact["support"].outcome == exact["exactness"].outcome == "nonconform"
    assert exact["support"].message.startswith("at the root it emits 0, which the target cannot, with probability 9.99")
    assert exact["exactness"].number == pytest.approx(2.6e-5, rel=0.01)


def test_seen_by_no_marginal() -> None:
    """E[L] and the law of every first token are right: one rejection in the joint law gives it away."""
    fault = next(fault for fault in FAULTS if fault.name == "block_with_token_residual")
    found = verdicts(check(fault.subject, [find(fault.instance)]))
    assert found["acceptance"].outcome == "conform" and found["exactness"].outcome == "nonconform"
    assert found["exactness"].violation is not None and found["exactness"].violation["prefix"] == "2"


def test_faults_leave_the_global_generators_alone() -> None:
    random.seed(7)
    before = random.getstate(), torch.get_rng_state()
    check(siblings.siblings_sorted, [find("tree-siblings")])
    check(siblings.siblings_sorted, [find("tree-siblings")], way="sample")
    assert random.getstate() == before[0] and torch.equal(torch.get_rng_state(), before[1])
