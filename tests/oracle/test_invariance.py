"""The invariance verdict: what depends on the batch, its buffers, earlier calls or hidden state is caught; what only looks like it is not."""

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from draftproof.oracle import Subject, check
from draftproof.oracle.catalogue import find, suits
from draftproof.oracle.controls import rules
from draftproof.oracle.faults import chains
from draftproof.oracle.faults.batches import BATCH_FAULTS, TAKES_UNIFORMS, bonus_of_last_column, padding_summed, single_row_shortcut, verified
from draftproof.oracle.faults.rows import arrays
from draftproof.oracle.subjects import load
from draftproof.oracle.verdicts import Verdict

SLOW = {bonus_of_last_column, padding_summed}


def judged(subject: Subject, name: str = "chain-rows-by-position", **settings: Any) -> Verdict:
    report = check(subject, [find(name)], **settings)
    assert not report.errors, report
    return next(verdict for verdict in report.verdicts if verdict.verdict == "invariance")


@pytest.mark.parametrize(("subject", "part"), BATCH_FAULTS, ids=[subject.name.rpartition(":")[2] for subject, _ in BATCH_FAULTS])
def test_planted_fault_is_caught_by_the_part_for_it(subject: Subject, part: str) -> None:
    # read by sample where integrating takes long: the law of each row is right in any case
    verdict = judged(subject, **({"way": "sample", "tolerance": 0.02, "time_limit": 30} if subject in SLOW else {}))
    assert verdict.outcome == "nonconform" and verdict.number and verdict.number >= 1
    assert part in verdict.details["broken"], verdict


def test_right_where_the_law_is_read_one_row_at_a_time() -> None:
    """No other verdict sees these: in a batch of one, and with new rows for every call, their law is the target's."""
    report = check(single_row_shortcut, [find("chain-one-draft"), find("chain-rows-by-position")])
    assert {verdict.outcome for verdict in report.verdicts if verdict.verdict != "invariance"} == {"conform"}
    assert report.outcome == "nonconform"


def test_a_failure_names_what_changed_the_row_and_both_blocks() -> None:
    report = check(single_row_shortcut, [find("chain-rows-by-position")])
    assert "row 1 of 24 emits [1, 0, 1]; in a batch of one it emits [1, 0, 0]" in str(report)
    command = "draftproof check draftproof.oracle.faults.batches:single_row_shortcut --instance chain-rows-by-position"
    assert f"see it again: {command}" in str(report)


def test_calls_of_one_row_that_share_noise_are_not_independent() -> None:
    """The noise of a call is used again in the three after it: every block is right, and its law is, however long it takes to say so."""
    own, kept, turns = np.random.default_rng(0), list[np.ndarray](), count()

    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Any:
        if next(turns) % 4 == 0:
            kept[:] = [own.random((len(drafts), drafts.shape[1] + 1))]
        return verified(drafts, declared, target, kept[0])

    verdict = judged(arrays("chain", family="recursive_rejection", batched=False)(verify), "chain-one-draft", way="sample", time_limit=10)
    assert verdict.details["broken"] == ["independent calls"] and "a call and the" in verdict.message


RIGHT: dict[str, Any] = {
    "uniforms": arrays("chain", **TAKES_UNIFORMS)(verified),
    "generator": arrays("chain", family="recursive_rejection", randomness="generator")(
        lambda drafts, declared, target, generator: verified(drafts, declared, target, generator.random((len(drafts), drafts.shape[1] + 1)))
    ),
    "seeds": arrays("chain", family="recursive_rejection", randomness="seeds")(
        lambda drafts, declared, target, seeds: verified(
            drafts, declared, target, np.array([np.random.default_rng(seed).random(drafts.shape[1] + 1) for seed in seeds])
        )
    ),
    "internal": arrays("chain", family="recursive_rejection")(
        lambda drafts, declared, target: verified(drafts, declared, target, np.random.random((len(drafts), drafts.shape[1] + 1)))
    ),
}


@pytest.mark.parametrize("name", ["chain-rows-by-position", "chain-argmax-draft", "chain-zero-target"])
@pytest.mark.parametrize("randomness", RIGHT)
def test_the_right_rule_conforms(randomness: str, name: str) -> None:
    verdict = judged(RIGHT[randomness], name)
    assert verdict.outcome == "conform", verdict
    assert set(verdict.details["not judged"]) <= {"padding", "NaN padding"}
    assert "new draws" in verdict.details["judged"]


def test_rows_that_share_a_draft_are_no_fault() -> None:
    verdict = judged(rules.many_rows_one_draft, "chain-opposed", way="sample", tolerance=0.1)
    assert verdict.outcome == "conform"
    assert verdict.details["not judged"]["independent rows"] == "its rows share their draft trees"
    assert "new draws" in verdict.details["judged"]


def test_nothing_to_draw_is_not_a_fault() -> None:
    """At temperature 0 seeds have no effect."""
    verdict = judged(RIGHT["seeds"], "chain-greedy-target")
    assert verdict.outcome == "conform"
    greedy = judged(replace(chains.drafts_compared_with_argmax, batched=False), "chain-greedy-target")
    assert greedy.outcome == "conform" and "new draws" not in greedy.details["judged"]


def test_a_generator_of_its_own_cannot_be_replayed_and_is_no_fault() -> None:
    own = np.random.default_rng(5)

    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Any:
        return verified(drafts, declared, target, own.random((len(drafts), drafts.shape[1] + 1)))

    verdict = judged(arrays("chain", family="recursive_rejection")(verify), way="sample", tolerance=0.1)
    assert verdict.outcome == "conform"
    assert verdict.details["not judged"]["replay"] == "it draws from elsewhere than the global generators"


def test_what_is_not_judged_is_said() -> None:
    report = check(replace(RIGHT["uniforms"], batched=False, layout=None), [find("chain-one-draft")])
    assert "not judged: batch size, neighbours, permutation, NaN neighbours: it takes one row at a time" in str(report)
    assert "not judged: padding, NaN padding: chains have no padding" in str(report)


def test_refusing_a_batch_with_nan_is_not_judged() -> None:
    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Any:
        if np.isnan(target).any():
            raise ValueError("a target row is NaN")
        return verified(drafts, declared, target, uniforms)

    verdict = judged(arrays("chain", **TAKES_UNIFORMS)(verify))
    assert verdict.outcome == "conform" and "a target row is NaN" in verdict.details["not judged"]["NaN neighbours"]


def test_padding_that_raises_is_a_fault() -> None:
    ours = next(subject for subject in load("gpu_impl.predraw_follow"))

    def verify(tokens: Any, parents: Any, valid: Any, target: Any, declared: Any, uniforms: Any) -> Any:
        if not valid.all():
            raise ValueError("padding")
        return ours.call(tokens, parents, valid, target, declared, uniforms=uniforms)

    verdict = judged(replace(ours, call=verify), "tree-fixed-kids")
    assert verdict.outcome == "nonconform" and {"padding", "NaN padding"} <= set(verdict.details["broken"])
    assert "it raised ValueError: padding" in verdict.message


def test_batched_verifiers_are_invariant() -> None:
    instances = find("chain-three-drafts"), find("tree-top-two")
    reports = [check(subject, [one]) for subject in load("gpu_impl") for one in instances if suits(subject, one)]
    found = [verdict for report in reports for verdict in report.verdicts if verdict.verdict == "invariance"]
    assert len(found) == 13 and {verdict.outcome for verdict in found} == {"conform"}
    assert {len(verdict.details["judged"]) for verdict in found} == {10} and not any(verdict.details["not judged"] for verdict in found)


def test_false_alarms_in_law() -> None:
    """The right rule is blamed with probability at most alpha: 40 runs at alpha = 1/20, whose number of alarms exceeds 7 once in 1,000."""
    from draftproof.oracle.cases import Case
    from draftproof.oracle.embeddings import Embedding, crowded
    from draftproof.oracle.independence import wrong_between_calls, wrong_in_batches

    case = Case(RIGHT["generator"], find("chain-rows-by-position"))
    alarms = sum(any(wrong_in_batches(case, Embedding((crowded(64),)), 0.05, seed)) for seed in range(40))
    assert alarms <= 7
    single = Case(replace(RIGHT["generator"], batched=False), find("chain-rows-by-position"))
    found = [wrong_between_calls(single, 0.05, seed) for seed in range(20)]
    assert sum(bool(said) for said, _ in found) <= 5 and sum(calls for _, calls in found) < 20 * 2048
