"""The verdict "declared law": every planted drafter is caught, every legal one that looks suspicious passes, in each way of reading."""

import time
from typing import Any

import numpy as np
import pytest

from draftproof.oracle.declared import Drawn, by_level, deviations
from draftproof.oracle.drafters import Drafter, drafter, drafter_of
from draftproof.oracle.faults.drafters import ROWS as PLANTED_ROWS
from draftproof.oracle.faults.drafters import drafter_from
from draftproof.oracle.faults.drafts import BUILDS, LEGAL, shared_list
from draftproof.oracle.faults.programs import Coins
from draftproof.oracle.judge_drafter import ROWS, check_drafter
from draftproof.oracle.report import Report
from draftproof.oracle.subjects import SubjectError
from draftproof.reference.laws import Law
from draftproof.reference.rational import fraction

LARGE = ("oversampled", "grown_on_own_tokens")


def judged(subject: Drafter, **settings: Any) -> Report:
    report = check_drafter(subject, PLANTED_ROWS, **settings)
    assert not report.errors, report.errors
    return report


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in BUILDS])
def test_planted_drafter_is_rejected(name: str) -> None:
    report = judged(drafter_from(BUILDS[name], name), way="enumerate")
    (verdict,) = report.verdicts
    assert verdict.outcome == "nonconform", report
    assert verdict.number is not None and verdict.number > 0.01
    assert "its declared law says" in verdict.message


@pytest.mark.parametrize("name", LEGAL)
def test_legal_drafter_is_not_flagged(name: str) -> None:
    report = judged(drafter_from(LEGAL[name], name), way="enumerate")
    assert report.outcome == "conform", report


def test_shared_lists_are_for_recursive_rejection_only() -> None:
    assert judged(drafter_from(shared_list, "shared", head=False)).outcome == "nonconform"
    assert judged(drafter_from(shared_list, "shared", head=False, verifier="recursive_rejection")).outcome == "conform"


def test_claim_for_recursive_rejection_excuses_nothing_else() -> None:
    excused = []
    for name, build in BUILDS.items():
        if name not in LARGE and judged(drafter_from(build, name, head=False, verifier="recursive_rejection"), way="enumerate").outcome == "conform":
            excused.append(name)
    assert excused == ["declared_of_planned_parent", "head_state_shared"]  # without a head there is nothing to get wrong


def test_exact_number_of_a_hand_checked_fault() -> None:
    """One slot, q = (1/2, 1/2), admitted only if it is 0 (specs: output 17/20 for p = 7/10): the token's law is off by 1/2 where the slot exists."""

    def draft(rows: np.ndarray) -> tuple[np.ndarray, ...]:
        token = Coins().draw(Law.row(rows[0, 0].tolist()))
        return np.array([[0, token]]), np.array([[0, 0]]), np.array([[True, token == 0]]), np.array([[[0.5, 0.5], [0.5, 0.5]]])

    report = check_drafter(Drafter(draft, "admitted", dtype="float64", framework="numpy"), {"one": [[1, 1]]})
    (verdict,) = report.verdicts
    assert verdict.number == 0.25  # mass 1/2 of the slot existing x total variation 1/2
    assert verdict.message == "slot 1, drawn first: token 0 comes with probability 1, its declared law says 1/2"


def star(rows: np.ndarray, uniforms: np.ndarray, *, own_token: bool = False, sort: bool = False, shared: bool = False) -> tuple[np.ndarray, ...]:
    """Two siblings without replacement by inverse CDF, column v drawing node v; a flag is a fault."""
    size, vocabulary = len(rows), rows.shape[2]
    q = rows[:, 0] / rows[:, 0].sum(-1, keepdims=True)
    first = (q.cumsum(-1) > uniforms[:, 1:2]).argmax(-1)
    rest = q.copy()
    rest[np.arange(size), first] = 0
    rest /= rest.sum(-1, keepdims=True)
    second = (rest.cumsum(-1) > uniforms[:, 1 if shared else 2][:, None]).argmax(-1)
    tokens = np.stack([np.zeros_like(first), first, second], 1)
    valid = np.ones((size, 3), dtype=bool)
    if own_token:
        valid[:, 2] = second != 0
    declared = np.stack([np.full((size, vocabulary), 1 / vocabulary), q, rest], 1)
    if sort:
        tokens[:, 1:].sort(1)
    return tokens, np.zeros((size, 3), dtype=np.int64), valid, declared


def seeded(**fault: bool) -> Drafter:
    """The same behind a generator: a black box for sampling."""
    call = lambda rows, generator: star(rows, generator.random((len(rows), 3)), **fault)  # noqa: E731
    return Drafter(call, "star", dtype="float64", framework="numpy", randomness="generator")


@pytest.mark.parametrize("fault", ["own_token", "sort", "shared"])
def test_sampling_rejects(fault: str) -> None:
    (verdict,) = judged(seeded(**{fault: True}), way="sample").verdicts
    assert verdict.outcome == "nonconform" and verdict.way == "sample", verdict


def test_sampling_passes_with_a_bound() -> None:
    (verdict,) = judged(seeded(), way="sample").verdicts
    assert verdict.outcome == "conform", verdict
    assert verdict.number is not None and 0 < verdict.number < 0.02


def taped(layout: Any = "draftproof", **fault: bool) -> Drafter:
    call = lambda rows, uniforms: star(rows, uniforms, **fault)  # noqa: E731
    return Drafter(call, "star", dtype="float64", framework="numpy", randomness="uniforms", columns=3, layout=layout)


def test_integrate_and_paired_runs_pass_a_sound_drafter() -> None:
    report = judged(taped())
    assert [(verdict.verdict, verdict.outcome, verdict.way) for verdict in report.verdicts] == [
        ("declared law", "conform", "integrate"),
        ("slots", "conform", "integrate"),
    ], report


def test_paired_runs_see_a_slot_that_depends_on_its_own_token() -> None:
    outcomes = {verdict.verdict: verdict for verdict in judged(taped(own_token=True)).verdicts}
    assert outcomes["declared law"].outcome == "nonconform"
    assert outcomes["slots"].outcome == "nonconform"
    assert outcomes["slots"].message.startswith("its existence depends on the token of slot 2")


@pytest.mark.parametrize("fault", ["sort", "shared"])
def test_integrate_rejects(fault: str) -> None:
    (verdict,) = judged(taped(layout=None, **{fault: True})).verdicts
    assert (verdict.outcome, verdict.way) == ("nonconform", "integrate")


def test_dependence_on_earlier_draws_is_legal_in_paired_runs() -> None:
    def call(rows: np.ndarray, uniforms: np.ndarray) -> tuple[np.ndarray, ...]:
        tokens, parents, valid, declared = star(rows, uniforms)
        valid[:, 2] = tokens[:, 1] != 0
        return tokens, parents, valid, declared

    subject = Drafter(call, "elder", dtype="float64", framework="numpy", randomness="uniforms", columns=3, layout="draftproof")
    assert judged(subject).outcome == "conform"


def test_order_by_level_is_accepted_where_the_order_listed_does_not_hold() -> None:
    """Siblings first, then their children; listed depth first, the elder's child comes before the younger sibling whose token decided it."""
    q = Law.row([1, 1])
    law = {}
    for first in (0, 1):
        for second in (0, 1):
            tree = [Drawn((0,), first, q), Drawn((1,), second, q)]
            if second == 0:
                law |= {(tree[0], Drawn((0, 0), third, q), tree[1]): fraction(1) / 8 for third in (0, 1)}
            else:
                law[tuple(tree)] = fraction(1) / 4
    assert deviations(law)[0].total_variation == 0
    (depth_first,) = [draw for draw in law if len(draw) == 3][:1]
    assert [slot.place for slot in by_level(depth_first)] == [(0,), (1,), (0, 0)]


def test_default_rows_have_zeros_and_every_position_its_own() -> None:
    assert all(len({tuple(row) for row in rows}) == len(rows) for rows in ROWS.values())
    assert any(0 in row for rows in ROWS.values() for row in rows)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        (np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 2)), np.ones((1, 2, 2)) / 2),
        (np.array([[0, 3]]), np.array([[0, 0]]), np.array([[True, True]]), None),
        (np.array([[0, 1]]), np.array([[0, 1]]), np.array([[True, True]]), None),
        (np.array([[0, 1]]), np.array([[0, 0]]), np.array([[False, True]]), None),
        (np.array([[0, 1]]), np.array([[0, 0]]), np.array([[True, True]]), np.array([[[1, 1, 1], [1, 1, 1]]])),
        (np.array([0, 1]), np.array([0, 0]), np.array([True, True]), None),
    ],
    ids=["nothing", "declared too narrow", "token", "own parent", "no root", "not a law", "no batch"],
)
def test_nonsense_is_an_error(answer: Any) -> None:
    report = check_drafter(Drafter(lambda rows: answer, "nonsense", framework="numpy"), PLANTED_ROWS)
    assert report.outcome == "error", report


@pytest.mark.parametrize("declares", [{"colour": "red"}, {"randomness": "uniforms"}, {"verifier": "traversal"}])
def test_wrong_declaration_is_an_error(declares: dict[str, Any]) -> None:
    with pytest.raises(SubjectError):
        drafter_of(lambda rows: None, **declares)


def test_decorated_drafter_goes_through_check() -> None:
    import draftproof

    @drafter(dtype="float64", framework="numpy", randomness="uniforms", columns=3)
    def mine(rows: np.ndarray, uniforms: np.ndarray) -> tuple[np.ndarray, ...]:
        return star(rows, uniforms, sort=True)

    report = draftproof.check(mine)
    assert report.outcome == "nonconform"
    assert "declared law" in str(report)
    with pytest.raises(ValueError, match="are for verifiers"):
        draftproof.check(mine, [])


def tree_of(tokens: Any, parents: Any = ((0, 0),), valid: Any = ((True, True),), declared: Any = None) -> Drafter:
    return Drafter(lambda rows: (np.array(tokens), np.array(parents), np.array(valid), declared), "nonsense", framework="numpy")


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (tree_of([[0, 1.5]]), "not integers and bool"),
        (tree_of([[0, 1]], valid=[[True, 0.4]]), "not integers and bool"),
        (tree_of([["a", "b"]]), "not integers and bool"),
        (tree_of(np.zeros((1, 0), int), np.zeros((1, 0), int), np.zeros((1, 0), bool)), "not [1, N], N >= 1"),
        (tree_of([[0, 1]], declared=np.full((1, 2, 3), np.nan)), "not a probability law"),
        (tree_of([[0, 1]], declared=np.full((1, 2, 3), "x")), "declared laws of shape"),
        (Drafter(lambda rows: (rows, rows, rows, None), "nonsense", framework="numpy"), "returns tokens, parents, valid of shapes"),
        (Drafter(lambda rows: ([[0, 1], [0]], [[0]], [[True]], None), "nonsense", framework="numpy"), "returns what is not an array"),
    ],
)
def test_nonsense_is_an_error_that_says_what(subject: Drafter, said: str) -> None:
    (failure,) = check_drafter(subject, PLANTED_ROWS).errors
    assert said in failure.message


def test_a_drafter_that_overwrites_its_rows_is_told_so() -> None:
    def call(rows: np.ndarray) -> tuple[Any, ...]:
        rows[:] = 0
        return np.array([[0, 1]]), np.array([[0, 0]]), np.array([[True, True]]), None

    (failure,) = check_drafter(Drafter(call, "overwrites", framework="numpy"), PLANTED_ROWS).errors
    assert "overwrites the rows it is given" in failure.message


def test_a_drafter_that_hangs_is_an_error() -> None:
    report = check_drafter(Drafter(lambda rows: time.sleep(60), "stuck"), time_limit=0.3)
    assert len(report.errors) == 1 and "did not come back" in report.errors[0].message


@pytest.mark.parametrize("way", ["enumerate", "sample"])
def test_a_drafter_that_drafts_nothing_does_not_pass(way: str) -> None:
    def call(rows: np.ndarray) -> tuple[Any, ...]:
        size = len(rows)
        return np.zeros((size, 1), int), np.zeros((size, 1), int), np.ones((size, 1), bool), None

    (verdict,) = judged(Drafter(call, "nothing", framework="numpy"), way=way).verdicts
    assert verdict.outcome == "inconclusive" and "never drafts a token" in verdict.message
