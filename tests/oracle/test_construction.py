from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof.oracle.builders import Builder, build, builder, named, taker_of
from draftproof.oracle.construction import construction, judge_builder
from draftproof.oracle.faults.builders import Trees, chain_first, depth_of, grow, mask_of, sorted_prefixes
from draftproof.oracle.marginal_instances import MarginalInstance, marginal_instances, named_instance, variants
from draftproof.oracle.subjects import SubjectError
from draftproof.oracle.tree_subjects import ours, tree_subjects


def subject(call: Callable[..., Any], **more: Any) -> Builder:
    return Builder(call, "planted", framework="numpy", dtype="float32", batched=False, **more)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_plain_builder_conforms(dtype: str) -> None:
    report = judge_builder(Builder(grow, "plain", framework="numpy", dtype=dtype, batched=False))
    assert report.outcome == "conform", [verdict.message for verdict in report.verdicts]
    assert len(report.verdicts) == len(marginal_instances()) >= 16


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "float16"])
def test_ours_conforms(dtype: str) -> None:
    pytest.importorskip("torch")
    report = judge_builder(ours(dtype)[0], marginal_instances() if dtype == "float32" else marginal_instances()[::2])
    assert report.outcome == "conform", report.as_dict()


FAULTS = {
    "logits not normalised": "left out",
    "normaliser over the top K": "left out",
    "log-softmax in bfloat16": "left out",
    "prefers low token ids": "left out",
    "four tokens a depth only": "4 tokens of each depth are looked at",
    "scores accumulated in bfloat16": "left out",
    "masses multiplied in float16": "besides the root",
    "row of the depth below": "left out",
    "lightest first": "left out",
    "sibling keeps the old token's score": "left out",
    "sibling below the node itself": "left out",
    "children start at the second token": "besides the root",
    "offers every child and every sibling": "repeats the prefix",
    "counts the root in the budget": "besides the root",
    "one node too many": "besides the root",
    "fills up with impossible nodes": "impossible prefix",
    "NaN goes on": "no law to draft from",
    "breadth first": "not listed best first",
    "children before parents": "not an earlier valid node",
    "ids of a shard": "repeats the prefix",
    "padding is valid": "repeats the prefix",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault: str) -> None:
    report = judge_builder(subject(partial(grow, fault=fault)))
    bad = [verdict for verdict in report.verdicts if verdict.outcome == "nonconform"]
    assert bad and not report.errors, report.errors
    assert any(FAULTS[fault] in verdict.message for verdict in bad), [verdict.message for verdict in bad]
    assert report.exit_code == 1


@pytest.mark.parametrize(("rule", "said"), [(sorted_prefixes, "not an earlier valid node"), (chain_first, "left out")])
def test_other_constructions_are_caught(rule: Callable[..., Trees], said: str) -> None:
    bad = [verdict.message for verdict in judge_builder(subject(rule)).verdicts if verdict.outcome == "nonconform"]
    assert any(said in message for message in bad), bad


def test_a_builder_that_raises_is_an_error() -> None:
    report = judge_builder(subject(partial(grow, fault="raises at K = V")))
    assert report.outcome == "error" and "kth(=3) out of bounds" in report.errors[0].message


MASK_FAULTS = {"sees its elder sibling": "sees", "does not see the root": "does not see", "columns of the last round": "sees", "": ""}


@pytest.mark.parametrize(("fault", "said"), MASK_FAULTS.items())
def test_masks(fault: str, said: str) -> None:
    def masked(logits: np.ndarray, nodes: int) -> Any:
        tokens, parents, valid = grow(logits, nodes)
        return tokens, parents, valid, mask_of(parents, valid, fault)

    report = judge_builder(subject(masked), [named_instance("impossible"), named_instance("two-depths")])
    assert report.outcome == ("nonconform" if fault else "conform")
    assert not said or any(said in verdict.message for verdict in report.verdicts)


def test_positions_are_depths() -> None:
    def placed(logits: np.ndarray, nodes: int, by_index: bool) -> Any:
        tokens, parents, valid = grow(logits, nodes)
        return tokens, parents, valid, None, np.arange(len(tokens)) if by_index else depth_of(parents, valid)

    assert judge_builder(subject(partial(placed, by_index=False))).outcome == "conform"
    bad = judge_builder(subject(partial(placed, by_index=True)))
    assert bad.outcome == "nonconform" and any("is at depth 1 and says 2" in verdict.message for verdict in bad.verdicts)


def test_rows_of_a_batch_do_not_matter() -> None:
    def first_row_for_all(logits: np.ndarray, nodes: int) -> Trees:
        trees = [grow(logits[0], nodes) for _ in logits]
        return tuple(np.stack(parts) for parts in zip(*trees, strict=True))  # type: ignore[return-value]

    def each_its_own(logits: np.ndarray, nodes: int) -> Trees:
        trees = [grow(row, nodes) for row in logits]
        return tuple(np.stack(parts) for parts in zip(*trees, strict=True))  # type: ignore[return-value]

    assert judge_builder(Builder(each_its_own, "batched", framework="numpy")).outcome == "conform"
    report = judge_builder(Builder(first_row_for_all, "batched", framework="numpy"))
    assert report.outcome == "nonconform"
    assert any("with the vocabulary permuted" in verdict.message for verdict in report.verdicts)


def test_overwriting_the_input_is_caught() -> None:
    def in_place(logits: np.ndarray, nodes: int) -> Trees:
        trees = grow(logits, nodes)
        logits -= logits.max(axis=1, keepdims=True)
        return trees

    report = judge_builder(subject(in_place), [named_instance("two-depths")])
    assert "overwrites the logits" in report.verdicts[0].message


def test_trees_must_be_nested() -> None:
    """A node of the small tree is missing in the larger one, although both are good enough for a loose tolerance."""

    def other_first(logits: np.ndarray, nodes: int) -> Trees:
        tokens, parents, valid = grow(logits, nodes)
        if nodes == 1:
            tokens[1] = int(np.argsort(-logits[0])[2])
        return tokens, parents, valid

    instance = MarginalInstance("close", "", [[40, 30, 29, 1]], (1, 2))
    verdict = construction(subject(other_first), instance, tolerance=0.2)
    assert verdict.outcome == "nonconform" and "not nested" in verdict.message
    tied = MarginalInstance("tied", "", [[30, 30, 30, 10]], (1, 2))
    assert construction(subject(other_first), tied).outcome == "conform", "another of equal mass is fine"


def test_controls_that_look_wrong_and_are_right() -> None:
    """Ties broken the other way; a tree without the chain, which a small budget may demand; more room than nodes."""

    def other_ties(logits: np.ndarray, nodes: int) -> Trees:
        tokens, parents, valid = grow(logits[:, ::-1], nodes)
        return np.where(np.arange(len(tokens)) > 0, logits.shape[1] - 1 - tokens, 0) * valid, parents, valid

    def roomy(logits: np.ndarray, nodes: int) -> Trees:
        tokens, parents, valid = grow(logits, nodes)
        return np.append(tokens, [-5, 99]), np.append(parents, [0, 0]), np.append(valid, [False, False])

    for control in (other_ties, roomy):
        report = judge_builder(subject(control))
        assert report.outcome == "conform", [verdict.message for verdict in report.verdicts if verdict.outcome != "conform"]
    wide = MarginalInstance("no chain", "flat: a budget of two holds no chain", [[3, 4, 5], [1, 1, 1], [1, 1, 1]], (2, 3))
    assert construction(subject(grow), wide).outcome == "conform"


def test_rows_as_probabilities() -> None:
    def from_probabilities(rows: np.ndarray, nodes: int) -> Trees:
        with np.errstate(divide="ignore"):
            return grow(np.log(rows.astype(np.float64)), nodes)

    for form in ("probs", "log_probs"):
        call = from_probabilities if form == "probs" else grow
        report = judge_builder(subject(call, rows=form))
        assert report.outcome == "conform", [verdict.message for verdict in report.verdicts if verdict.outcome != "conform"]


def test_a_declared_width_is_named() -> None:
    verdict = construction(subject(partial(grow, fault="four tokens a depth only"), width=4), named_instance("wide"))
    assert "4 tokens of each depth are looked at, and prefixes of mass up to" in verdict.message and verdict.number and verdict.number > 0.01


def test_variants_hand_over_what_they_say() -> None:
    shown = variants(subject(grow), named_instance("two-depths"))
    assert [one.name for one in shown] == ["", "with the vocabulary permuted, ", "with a constant added to each row, "]
    assert all(len(one.laws) == 2 for one in shown)
    assert len(variants(subject(grow, rows="probs"), named_instance("two-depths"))) == 2
    assert [len(one.laws) for one in variants(subject(grow), named_instance("broken-later"))] == [1, 1, 1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (3, "returned int, not"),
        ((1, 2), "returned tuple, not"),
        ((np.zeros((1, 2)), np.zeros((1, 2), int), np.ones((1, 2), bool)), "tokens of type float64"),
        ((np.zeros((1, 2), int), np.zeros((1, 3), int), np.ones((1, 2), bool)), "parents of shape"),
        ((np.zeros((1, 2), int), np.zeros((1, 2), int), np.ones((1, 2), int)), "valid of type"),
        ((np.zeros((2, 2), int),) * 3, r"shape \[2, 2\], not \[1, 1 \+ nodes\]"),
        ((None, None, None), "returned None for tokens"),
    ],
)
def test_nonsense_is_an_error(answer: Any, said: str) -> None:
    with pytest.raises(SubjectError, match=said):
        build(Builder(lambda logits, nodes: answer, "nonsense", framework="numpy"), np.zeros((1, 1, 2)), 1)


def test_declaring_and_finding_subjects(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @builder(framework="numpy", batched=False)
    def declared(logits: np.ndarray, nodes: int) -> Trees:
        return grow(logits, nodes)

    found = taker_of(declared)
    assert isinstance(found, Builder) and not found.batched and found.name.endswith("declared")
    assert judge_builder(declared, [named_instance("two-depths")]).outcome == "conform"
    with pytest.raises(SubjectError, match="not declared"):
        taker_of(grow)
    with pytest.raises(SubjectError, match="not one of"):
        Builder(grow, "x", dtype="int8")
    with pytest.raises(SubjectError, match="numpy has no bfloat16"):
        Builder(grow, "x", framework="numpy", dtype="bfloat16")
    with pytest.raises(SubjectError, match="unexpected keyword"):
        builder(colour=1)(grow)
    (tmp_path / "mine.py").write_text("x = 3")
    assert named(f"{tmp_path}/mine.py:x") == 3
    for bad in ("nothing", "no_such_module:x", f"{tmp_path}/mine.py:y"):
        with pytest.raises(SubjectError):
            named(bad)
    with pytest.raises(SubjectError):
        tree_subjects(f"{tmp_path}/mine.py:x")
