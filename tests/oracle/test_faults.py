"""Planted faults must be rejected: by the strongest reading that applies, and by sampling where they are large enough to be seen."""

import random
from fractions import Fraction

import pytest
import torch

from draftproof.oracle import Report, check
from draftproof.oracle.catalogue import find
from draftproof.oracle.detection import implied
from draftproof.oracle.faults import FAULTS, Fault, chains, family_of, siblings, tensors
from draftproof.oracle.selftest import MOST_BLOCKS, judge_fault, strongest
from draftproof.oracle.subjects import Subject, load
from draftproof.oracle.verdicts import Verdict
from draftproof.reference.blocks import block_law
from draftproof.reference.chance import Chance
from draftproof.reference.growth import total_variation, violations
from draftproof.reference.laws import ONE, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode
from draftproof.reference.verifiers import FAMILIES, Family, Stop
from draftproof.reference.verifiers.descent import Level, descend

torch.set_num_threads(1)

QUICK = {
    (fault.kind, family_of(fault.subject)): fault for fault in reversed(FAULTS) if fault.name != "residual_of_first_row" and fault.only != "lift"
}
"""One fault of each kind and family; the others, as slow, by ``make test-all``, and those of lifts by ``test_lifts``."""


def marked(fault: Fault, way: str, slow: bool) -> object:
    return pytest.param(fault, way, id=f"{fault.name}-{way}", marks=[pytest.mark.slow] if slow else [])


BY_STRONGEST = [marked(fault, strongest(fault), fault not in QUICK.values()) for fault in FAULTS]

VECTORISED = ("tapes", "blocks", "exits", "tensors")

BY_OTHERS = [
    marked(fault, way, way != "sample" or not any(part in fault.subject.name for part in VECTORISED))
    for fault in FAULTS
    for way in fault.ways
    if way != strongest(fault)
]


def verdicts(report: Report) -> dict[str, Verdict]:
    assert not report.errors, report.errors
    return {verdict.verdict: verdict for verdict in report.verdicts}


def assert_as_said(fault: Fault, way: str) -> None:
    finding = judge_fault(fault, way, seed=1)
    assert finding.found == fault.said(way), finding
    if way != "sample" and fault.distance is not None and finding.total_variation is not None:
        assert isinstance(fault.subject, Subject)
        precise = fault.subject.dtype == "float64" and way == "enumerate"
        assert finding.total_variation == pytest.approx(float(fault.distance), abs=1e-9 if precise else 1e-6)


@pytest.mark.parametrize(("fault", "way"), BY_STRONGEST)
def test_as_said_by_the_strongest_way(fault: Fault, way: str) -> None:
    assert_as_said(fault, way)


@pytest.mark.parametrize(("fault", "way"), BY_OTHERS)
def test_as_said_by_other_ways(fault: Fault, way: str) -> None:
    assert_as_said(fault, way)


def test_list() -> None:
    assert len(FAULTS) >= 80
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.kind for fault in FAULTS} == set("ABCDEFGHIJKLMN")
    families = {family_of(fault.subject) for fault in FAULTS}
    assert families >= {*FAMILIES, "drafter", "generator", "builder"}
    for fault in FAULTS:
        assert fault.what.endswith("."), fault.name
        assert any(fault.said(way) == "caught" for way in fault.ways)
        if isinstance(fault.subject, Subject):
            assert load(fault.subject.name) == [fault.subject]


def test_sampling_sees_what_is_large_enough() -> None:
    """By sample wherever the total variation is at least 0.01; at most a tenth is below resolution."""
    below = [fault for fault in FAULTS if fault.sample == "below resolution"]
    assert 10 * len(below) <= len(FAULTS)
    for fault in below:
        assert fault.distance is not None and fault.distance < Fraction(1, 100)
        assert implied(fault.distance, 3) > MOST_BLOCKS
    assert all(fault.sample in ("caught", "below resolution") for fault in FAULTS if not fault.only)


CANONICAL = {
    "residual_is_target": 0.15,
    "residual_off_draft_only": 0.1125,
    "residual_is_draft": 0.24,
    "residual_sign_flipped": 0.30,
    "always_accepts": 0.30,
    "ratio_inverted": 0.30,
    "second_chance": 0.06,
    "zeroed_before_test": 0.6,
    "drafts_compared_with_argmax": 0.5,
    "uniform_of_test_reused": 0.15,
    "block_with_token_residual": 0.0125,
    "block_without_owed_mass": 0.125,
    "draft_not_conditioned": 0.043,
    "siblings_reversed": 0.184,
    "siblings_sorted": 0.081,
    "token_zero_is_padding": 0.076,
}
"""Total variations of toy models of faults in engines, computed apart from this project, to the digits given."""


def test_total_variations_of_canonical_cases() -> None:
    stated = {fault.name: fault.distance for fault in FAULTS}
    for name, number in CANONICAL.items():
        distance = stated[name]
        assert distance is not None and float(distance) == pytest.approx(number, abs=0.00051)


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
