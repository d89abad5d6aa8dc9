"""Shrinking: a planted fault ends on an instance to look at by hand, which still fails, and which the right verifier passes."""

import contextlib
import io
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from draftproof.cli import main
from draftproof.oracle import check
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find as instance
from draftproof.oracle.faults import FAULTS, Fault, blocks, chains, tapes
from draftproof.oracle.reading import read
from draftproof.oracle.selftest import strongest
from draftproof.oracle.shrink import StillRight, shrink, shrink_task
from draftproof.oracle.strategies import instances
from draftproof.oracle.subjects import Subject, load
from draftproof.reference.growth import total_variation
from draftproof.reference.instances import Instance, parse
from draftproof.reference.instances import load as load_instance
from draftproof.reference.rational import fraction, rational

QUICK = (
    "residual_is_target bonus_of_last_draft_row always_accepts ratio_inverted second_chance zeroed_before_test drafts_compared_with_argmax "
    "draft_law_missing stops_at_once residual_sign_flipped residual_is_draft residual_is_distance ratio_rooted bonus_is_argmax bonus_off_draft "
    "uniform_law_for_argmax_draft close_enough_accepted temperature_applied_twice greedy_by_low_temperature last_of_tied_tokens"
).split()
"""Twenty that are read in a moment; the others by ``make test-all``."""

IN_BATCHES = ("draft_law_of_first_request", "rows_of_neighbour", "bonus_row_of_neighbour")
"""Right in batches of one row, so that they are sampled."""

OF_ORDER = ("order_by_draws_below", "offers_of_draw_order", "never_looks_ahead")
"""Wrong in the order of two siblings that both have a child: four drafts are the fewest that show it."""

SHRUNK = [fault for fault in FAULTS if isinstance(fault.subject, Subject) and not fault.only]
EACH = [pytest.param(fault, id=fault.name, marks=[] if fault.name in QUICK else [pytest.mark.slow]) for fault in SHRUNK]

ONLY_RIGHT = settings(max_examples=8, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


def residual_is_target() -> Subject:
    return load("draftproof.oracle.faults.chains:residual_is_target")[0]


def off(subject: Subject, one: Instance) -> Fraction:
    case = Case(subject, one)
    return fraction(total_variation({block: rational(mass) for block, mass in read(case, "enumerate").law.items()}, case.target))


@pytest.mark.parametrize("fault", EACH)
def test_ends_small(fault: Fault) -> None:
    assert isinstance(fault.subject, Subject)
    way = "sample" if fault.name in IN_BATCHES else strongest(fault)
    first = instance(fault.instance)
    found = shrink(fault.subject, first, fault.verdict, way=way, strict=fault.strict, seconds=120)
    assert found.verdict.outcome == "nonconform" and found.instance.vocabulary <= 3, found.as_json
    assert found.nodes <= (4 if fault.name in OF_ORDER else 3), found.as_json


def test_at_least_twenty_are_quick() -> None:
    assert len(QUICK) >= 20 and set(QUICK) <= {fault.name for fault in SHRUNK}


def test_the_same_every_time_and_fails_from_the_file(tmp_path: Path) -> None:
    found = shrink(residual_is_target(), instance("chain-one-draft"), "exactness")
    assert found.minimal and found.as_json == shrink(residual_is_target(), instance("chain-one-draft"), "exactness").as_json
    assert json.loads(found.as_json) == {
        "vocabulary": 2,
        "target": {"": [1, 1], "0": [1, 1], "1": [1, 1]},
        "drafting": {"scheme": "fixed", "tree": ["0"]},
    }
    file = tmp_path / "smallest.json"
    file.write_text(found.as_json)
    assert off(residual_is_target(), load_instance(file)) == Fraction(1, 4) == Fraction(found.verdict.number or 0)


def test_the_program_runs() -> None:
    found = shrink(residual_is_target(), instance("chain-one-draft"), "exactness")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(found.as_python, {})
    assert said.getvalue().startswith("nonconform   draftproof.oracle.faults.chains:residual_is_target")
    made_here = replace(found, subject=replace(found.subject, name="<here>"))
    assert "check(subject, [instance])" in made_here.as_python


def test_the_right_verifier_passes_what_is_left() -> None:
    """No row is missing that it asks for."""
    right = replace(residual_is_target(), call=_right.call, name="right")
    wrong = load("draftproof.oracle.faults.chains:bonus_of_last_draft_row")[0]
    report = check(right, [shrink(wrong, instance("chain-rows-by-position"), "exactness", seconds=30).instance], way="enumerate")
    assert report.outcome == "conform", str(report)


@pytest.mark.slow
def test_what_is_left_is_no_rounding() -> None:
    """A fault in half precision is still a fault, and not what float32 does to any verifier."""
    found = shrink(tapes.cdf_in_half_precision, instance("chain-two-residual-tokens"), "exactness", seconds=30)
    assert found.verdict.number is not None and found.verdict.number >= 1 / 64000 and found.instance.vocabulary <= 3


def test_nothing_to_shrink() -> None:
    with pytest.raises(StillRight, match="right does not fail the verdict exactness on chain-one-draft"):
        shrink(_right, instance("chain-one-draft"), "exactness")
    with pytest.raises(StillRight, match="takes chains; tree-siblings is a tree"):
        shrink(residual_is_target(), instance("tree-siblings"), "exactness")


def test_no_time_leaves_it_as_it_was() -> None:
    found = shrink(residual_is_target(), instance("chain-rows-by-position"), "exactness", seconds=1e-9)
    assert not found.minimal and found.instance.vocabulary == 3 and found.verdict.outcome == "nonconform"


def test_sampled_failures_spend_alpha_afresh() -> None:
    """Read as it failed; every instance is judged with blocks of its own at a small part of alpha."""
    first = instance("chain-block")
    failed = next(one for one in check(blocks.block_bonus_is_target, [first], way="sample").verdicts if one.verdict == "exactness")
    found = shrink(blocks.block_bonus_is_target, first, failed, seconds=15)
    assert found.verdict.way == "sample" and found.verdict.outcome == "nonconform" and found.tries <= 200
    assert found.instance.vocabulary <= 3 and off(blocks.block_bonus_is_target, found.instance) > 0.01


def test_command_line() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(["check", "draftproof.oracle.faults.chains:ratio_inverted", "--instance", "chain-one-draft", "--quiet", "--shrink", "5"])
    assert code == 1
    text = said.getvalue()
    assert "shrunk   draftproof.oracle.faults.chains:ratio_inverted   exactness: V = 2, 1 draft   (" in text
    assert '{"vocabulary": 2, "target": {"": [1, 1], "0": [1, 1], "1": [1, 1]}, "drafting": {"scheme": "fixed", "tree": ["0"]}}' in text


def test_task_says_why_not() -> None:
    sent = list[tuple[str, str]]()
    failed = next(one for one in check(chains.ratio_inverted, ["chain-one-draft"]).verdicts if one.verdict == "exactness")
    shrink_task(sent.append, "no.such:thing", None, failed)
    kind, text = sent[0]
    assert kind == "kept" and text.startswith("not shrunk: cannot import no.such")


def _call(drafts: list[int], declared: list[list[float]], target: list[list[float]]) -> list[int]:
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        if chains.random.random() * q[x] >= p[x]:
            return [*drafts[:i], chains.pick(chains.excess(p, q))]
    return [*drafts, chains.pick(target[-1])]


_right: Subject = replace(chains.on_chain(family="recursive_rejection")(_call), name="right")


@ONLY_RIGHT
@given(instances(vocabulary=3, depth=2, chains=True))
def test_right_on_generated_chains(one: Instance) -> None:
    assert off(_right, one) < 1e-9


def test_hypothesis_shrinks_a_generated_family() -> None:
    quick = settings(max_examples=20, deadline=None, database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    one = find(instances(vocabulary=3, depth=1, chains=True), lambda one: off(chains.residual_is_target, one) > 1e-6, settings=quick)
    assert one.vocabulary == 2 and one.depth == 1 and max(max(row) for row in one.source["target"].values()) <= 2, one.source


@settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(instances())
def test_generated_instances_are_instances(one: Instance) -> None:
    again = parse(dict(one.source))
    assert again.topology == one.topology and one.vocabulary <= 4 and one.depth <= 2
    assert math.isclose(sum(float(one.target(())[token]) for token in range(one.vocabulary)), 1)
