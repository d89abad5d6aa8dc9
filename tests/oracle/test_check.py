"""`check`: what a subject may do wrong without taking the judge down, and what is said about it."""

import json
import random
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.oracle import Subject, SubjectError, chain, check, reading
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import catalogue, find
from draftproof.oracle.faults import chains
from draftproof.oracle.faults.rows import arrays, on_chain, pick
from draftproof.oracle.readings.refused import Refused
from draftproof.oracle.report import Failure, Report
from draftproof.oracle.subjects import subject_of
from draftproof.oracle.verdicts import judge
from draftproof.reference.instances import InstanceError, parse

ONE = [find("chain-one-draft")]


def right(drafts: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One token a round, from the target's first row."""
    blocks = np.full((len(drafts), drafts.shape[1] + 1), -1)
    blocks[:, 0] = [pick(row) for row in target[:, 0].tolist()]
    return blocks, np.zeros(len(drafts), dtype=int)


def error(answer: Callable[..., Any], **declares: Any) -> str:
    """What is said about a chain subject that cannot be judged."""
    report = check(arrays("chain", **declares)(answer), ONE, time_limit=20)
    assert report.outcome == "error" and report.exit_code == 2 and not report.verdicts
    (failure,) = report.errors
    assert failure.instance == "chain-one-draft"
    return failure.message


def raises(drafts: Any, declared: Any, target: Any) -> Any:
    raise RuntimeError("no such kernel")


def raises_sometimes(drafts: Any, declared: Any, target: Any) -> Any:
    blocks, accepted = right(drafts, target)
    if blocks[0, 0] == 1:
        raise IndexError("index 3 is out of bounds")
    return blocks, accepted


def block(*tokens: float) -> np.ndarray:
    return np.array([tokens])


def count(*accepted: int) -> np.ndarray:
    return np.array(accepted)


PAIR = "not a pair (blocks, accepted)"
ANSWERS: dict[str, tuple[Any, str]] = {
    "nothing": (None, f"always returned None, {PAIR}"),
    "blocks only": (block(0, -1), f"always returned array([[ 0, -1]]), {PAIR}"),
    "three things": ((1, 2, 3), f"always returned (1, 2, 3), {PAIR}"),
    "text": (("ab", count(0)), "always returned blocks of type <U2, not integers"),
    "flat blocks": ((np.zeros(2, int), count(0)), "always returned blocks of shape [2], not [1, 2]"),
    "too many rows": ((np.zeros((3, 2), int), count(0)), "always returned blocks of shape [3, 2], not [1, 2]"),
    "no columns": ((np.zeros((1, 0), int), count(0)), "always returned blocks of shape [1, 0], not [1, 2]"),
    "too narrow": ((block(0), count(0)), "always returned blocks of shape [1, 1], not [1, 2]: a row for each tree"),
    "generator": ((part for part in (block(0, -1), count(0))), "always returned <generator object"),
    "ragged": (([[0, 1], [2]], [1, 0]), "always returned blocks = [[0, 1], [2]], not an array"),
    "accepted of another shape": ((block(0, -1), block(0)), "always returned accepted of shape [1, 1] for a batch of 1 rows, not [1]"),
    "token too large": ((block(3, -1), count(0)), "always emitted [3, -1]: tokens must be below the vocabulary's 3"),
    "token too small": ((block(-2, -1), count(0)), "always emitted [-2, -1]: tokens must be below the vocabulary's 3"),
    "empty block": ((block(-1, -1), count(0)), "always emitted [-1, -1]: a block is at least one token, then padding of -1 only"),
    "hole": ((block(-1, 0), count(0)), "always emitted [-1, 0]: a block is at least one token, then padding of -1 only"),
    "wrong count": ((block(0, -1), count(1)), "always emitted [0, -1] with accepted = 1: a block is the accepted drafts and one bonus token"),
    "too long": ((block(0, 1, 2), count(2)), "always emitted [0, 1, 2] with accepted = 2: a block is the accepted drafts and one bonus token"),
    "NaN": ((block(np.nan, 0), count(0)), "always returned NaN in blocks"),
    "numbers with a point": ((block(0.0, 1.0), count(1)), "always returned blocks of type float64, not integers"),
    "objects": ((np.array([[None, 1]]), count(1)), "always returned blocks of type object, not integers"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_nonsense_is_named(name: str) -> None:
    answer, said = ANSWERS[name]
    assert error(lambda drafts, declared, target: answer).startswith(said)


def test_the_report_says_which_instance() -> None:
    report = check(arrays("chain", name="engine")(lambda drafts, declared, target: None), ONE)
    assert str(report) == f"error        engine\n  error        instance chain-one-draft: always returned None, {PAIR}"


def test_raising() -> None:
    assert error(raises).startswith("always raised RuntimeError: no such kernel (test_check.py:")
    message = error(raises_sometimes)
    assert message.startswith("with probability 0.3 raised IndexError: index 3 is out of bounds (test_check.py:")
    assert message.endswith(", in raises_sometimes)")


def test_raising_while_integrated_or_sampled() -> None:
    for randomness in ("uniforms", "seeds"):
        message = error(lambda drafts, declared, target, **_: raises(drafts, declared, target), randomness=randomness)
        assert "raised RuntimeError: no such kernel (test_check.py:" in message
    report = check(arrays("chain")(raises), ONE, way="sample")
    assert report.errors[0].message.startswith("raised RuntimeError: no such kernel (test_check.py:")


def test_what_was_judged_before_stays() -> None:
    @on_chain()
    def verify(drafts: list[int], declared: Any, target: list[list[float]]) -> list[int]:
        if len(target[0]) == 4:
            raise ValueError("only 3 tokens, please")
        return [pick(target[0])]

    names = ["chain-one-draft", "chain-block", "chain-pairs"]
    report = check(verify, map(find, names))
    assert [failure.instance for failure in report.errors] == ["chain-block"]
    assert {verdict.instance for verdict in report.verdicts} == {"chain-one-draft", "chain-pairs"}
    assert report.exit_code == 2


def test_instances_by_name_and_by_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(find("chain-one-draft").source))
    report = check(on_chain()(lambda drafts, declared, target: [pick(target[0])]), ["chain-pairs", str(path)])
    assert {verdict.instance for verdict in report.verdicts} == {"chain-pairs", str(path)} and report.outcome == "conform"
    with pytest.raises(InstanceError, match="nothing.json"):
        check(raises, ["nothing.json"])


def test_one_row_at_a_time_with_uniforms_is_enumerated() -> None:
    """A million tapes one by one would take minutes; tensors that cannot be scripted are still integrated."""

    def verify(drafts: np.ndarray, declared: Any, target: np.ndarray, uniforms: Any) -> Any:
        first = int((np.cumsum(target[0, 0]) <= uniforms[0, 0]).sum())
        return [[min(first, target.shape[2] - 1), -1]], [0]

    def by_table(drafts: np.ndarray, declared: Any, target: np.ndarray, uniforms: Any) -> Any:
        return [[[0, 0, 0, 1, 1, 2, 2, 2, 2, 2][int(float(uniforms[0, 0]) * 10)], -1]], [0]

    for function, way in ((verify, "enumerate"), (by_table, "integrate")):
        report = check(chain(framework="numpy", dtype="float64", batched=False)(function), ONE)
        assert {verdict.way for verdict in report.verdicts if verdict.verdict != "invariance"} == {way}, str(report)


def test_wrong_only_when_nobody_scripts_it() -> None:
    """It sees who calls it, and behaves."""

    @on_chain()
    def verify(drafts: list[int], declared: Any, target: list[list[float]]) -> list[int]:
        uniform = random.random()
        if all(frame.name != "enumerate_law" for frame in traceback.extract_stack()):
            return [target[0].index(max(target[0]))]
        below = 0.0
        for token, weight in enumerate(target[0]):
            below += weight
            if uniform < below:
                return [token]
        return [len(target[0]) - 1]

    report = check(replace(verify, batched=False), ONE)
    assert report.outcome == "nonconform" and "right with scripted numbers, wrong with its own" in str(report)


def test_wrong_in_the_last_row_only() -> None:
    @arrays("chain")
    def verify(drafts: np.ndarray, declared: Any, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        blocks, accepted = right(drafts, target)
        if len(drafts) > 1:
            blocks[-1, 0] = target[-1, 0].argmax()
        return blocks, accepted

    report = check(verify, ONE)
    assert report.outcome == "nonconform" and "right in batches of one row, wrong in larger ones" in str(report)


def test_a_coarse_bracketing_gives_way_to_an_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    @chain(framework="numpy", dtype="float64", family="predraw_follow", layout="draftproof")
    def verify(drafts: np.ndarray, declared: Any, target: np.ndarray, uniforms: Any) -> Any:
        blocks = []
        for row in range(len(drafts)):
            block = list[Any]()
            for node, p in enumerate(target[row]):
                block.append(sum((np.cumsum(p)[:-1] <= uniforms[row, node]).tolist()))
                if node == len(drafts[row]) or block[-1] != drafts[row, node]:
                    break
            blocks.append(block + [-1] * (drafts.shape[1] + 1 - len(block)))
        return blocks, [sum(token >= 0 for token in block) - 1 for block in blocks]

    for fine, way in ((reading.FINE, "bracket"), (0, "enumerate")):
        monkeypatch.setattr(reading, "FINE", fine)
        report = check(verify, ONE)
        assert {verdict.way for verdict in report.verdicts if verdict.verdict != "invariance"} == {way}, str(report)


def test_gives_up_after_three_errors() -> None:
    report = check(arrays("chain")(raises))
    assert len(report.errors) == 3 and not report.verdicts


def spins(drafts: Any, declared: Any, target: Any) -> Any:
    while True:
        pass


def sleeps(drafts: Any, declared: Any, target: Any) -> Any:
    time.sleep(100)


def spins_whatever_happens(drafts: Any, declared: Any, target: Any) -> Any:
    while True:
        try:
            time.sleep(100)
        except Exception:  # noqa: S110
            pass


@pytest.mark.parametrize("hangs", [spins, sleeps, spins_whatever_happens])
def test_hanging(hangs: Callable[..., Any]) -> None:
    start = time.monotonic()
    report = check(arrays("chain")(hangs), [*ONE, find("chain-block")], time_limit=0.3)
    assert time.monotonic() - start < 5
    assert report.exit_code == 2 and len(report.errors) == 1  # nothing more is asked of it
    assert report.errors[0].message == "did not come back within the time limit of 0.3 s; nothing more is asked of it"


def test_no_time_limit_outside_the_main_thread() -> None:
    reports = []
    thread = threading.Thread(target=lambda: reports.append(check(chains.always_accepts, ONE, time_limit=20)))
    thread.start()
    thread.join()
    assert reports[0].outcome == "nonconform"


def test_overwritten_arguments() -> None:
    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Any:
        answer = right(drafts, target)
        target[:, 0] = declared[:, 0] = 0.25
        return answer

    assert error(verify) == "overwrote its argument declared, target without declaring that it does"
    assert check(arrays("chain", overwrites=("declared", "target"))(verify), ONE).outcome == "conform"


def test_missing_engine_device_and_reading() -> None:
    import torch

    if not torch.cuda.is_available():
        message = error(raises, framework="torch", device="cuda")
        assert message.endswith("needs the device 'cuda', and this machine has no CUDA device")
    report = check(chains.always_accepts, ONE, way="integrate")
    assert report.exit_code == 2
    assert "cannot be read by integrate" in report.errors[0].message
    assert "does not take its uniforms as an argument" in report.errors[0].message


def test_incomplete_instance() -> None:
    source = {"vocabulary": 2, "target": {"": [1, 1]}, "draft": {"": [1, 3]}, "drafting": {"scheme": "chain", "children": [1]}}
    report = check(chains.always_accepts, [parse(source)])
    assert report.errors[0].message == 'the instance is incomplete: target has no row for prefix "0"'


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": 0}, "alpha must be in"),
        ({"tolerance": 1.0}, "tolerance must be in"),
        ({"time_limit": 0}, "time limit must be positive"),
        ({"time_limit": nan}, "not nan"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check(chains.always_accepts, ONE, **settings)


def test_a_tree_for_a_chain_subject() -> None:
    report = check(chains.always_accepts, [find("tree-siblings")])
    assert "takes chains; tree-siblings is a tree" in report.errors[0].message


def test_default_instances_are_those_that_suit() -> None:
    seen: list[str] = []
    check(arrays("chain", name="engine")(raises), observe=lambda name, done, total: seen.append(f"{name} {done} {total}"))
    chains_only = sum(instance.is_chain for instance in catalogue())
    assert seen[:2] == [f"engine on chain-one-draft 0 {chains_only}", f"engine on chain-argmax-draft 1 {chains_only}"]


def test_callables_of_every_form() -> None:
    @chain(family="token", framework="numpy", dtype="float64")
    def decorated(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Any:
        return right(drafts, target)

    class Engine:
        def __call__(self, drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Any:
            return right(drafts, target)

    assert check(decorated, ONE).outcome == "nonconform"  # lossless, and accepts less than what it claims to be
    subject = Subject(Engine(), "engine", shape="chain", framework="numpy")
    assert check(subject, ONE).outcome == "conform"
    with pytest.raises(SubjectError, match="3 is not callable"):
        check(3)  # type: ignore[arg-type]


def test_none_judged_is_not_a_pass() -> None:
    report = check(chains.always_accepts, [])
    assert report.outcome == "error" and report.exit_code == 2


def test_tolerance_decides() -> None:
    assert check(chains.unlikely_drafts_cut, ONE).outcome == "nonconform"
    assert check(chains.unlikely_drafts_cut, ONE, tolerance=0.2).outcome == "conform"


def test_every_verdict_has_a_record() -> None:
    seen: list[Any] = []
    report = check(chains.always_accepts, [*ONE, find("tree-siblings")], record=seen.append)
    assert seen == [*report.verdicts, *report.errors]


def test_a_fault_in_later_rows_of_a_batch_is_seen() -> None:
    """Branches are replayed one row at a time; a larger batch is glanced at besides."""

    def verify(drafts: Any, declared: Any, target: Any) -> Any:
        first = np.array([int(np.random.choice(len(row), p=row / row.sum())) for row in target[:, 0].astype(float)])
        first[1:] = target.shape[2] - 1  # fault: only row 0 is drawn
        return np.pad(first[:, None], ((0, 0), (0, drafts.shape[1])), constant_values=-1), np.zeros(len(first), dtype=int)

    subject = Subject(verify, "rows", shape="chain", framework="numpy")
    assert check(subject, ["chain-one-draft"]).outcome == "nonconform"
    assert check(replace(subject, batched=False), ["chain-one-draft"]).outcome == "conform"


def test_the_subjects_own_seed_may_be_ours() -> None:
    """Drafts do not come from the stream of a subject that seeds its generator with the same number."""
    own = np.random.default_rng(0)

    def verify(drafts: Any, declared: Any, target: Any) -> Any:
        token, p, q = int(drafts[0, 0]), target[0].astype(float), declared[0, 0].astype(float)
        if own.random() * q[token] < p[0, token]:
            return [[token, int(own.choice(len(q), p=p[1] / p[1].sum()))]], [1]
        left = np.maximum(p[0] - q, 0)
        return [[int(own.choice(len(q), p=left / left.sum())), -1]], [0]

    report = check(Subject(verify, "own", shape="chain", framework="numpy", batched=False), ["chain-one-draft"], time_limit=6)
    assert report.outcome in ("conform", "inconclusive"), report


def test_a_report_of_the_smoke_tier_says_so() -> None:
    subject = arrays("chain")(lambda drafts, declared, target: right(drafts, target))
    report = check(subject, tier="smoke", way="sample", time_limit=20)
    judged = len({verdict.instance for verdict in report.verdicts})
    assert judged > 0 and report.settings["tier"] == "smoke" and f"{judged} instances, one for each kind of fault" in str(report)
    assert "smoke tier" not in str(Report([], [Failure("it", "chain-one-draft", "raised")], report.settings))  # nothing was judged
    assert "smoke tier" not in str(check(subject, ONE, tier="smoke", way="sample", time_limit=20))


@pytest.mark.parametrize("own", [False, True])
def test_a_generator_of_its_own_is_not_taken_for_no_randomness(own: bool) -> None:
    """Hashes of a seed and a counter, as kernels use them, cannot be scripted: with one seed in all replays each tree would have one block."""

    @chain(framework="numpy", dtype="float64", batched=False)
    def seeded(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, seeds: np.ndarray) -> Any:
        hashed = (int(seeds[0]) * odd % 2**64 / 2**64 for odd in (0xD1342543DE82EF95, 0xAF251AF3B0F025B5))
        test, bonus = hashed if own else np.random.default_rng(int(seeds[0])).random(2)
        token, p, q = int(drafts[0, 0]), target[0, 0], declared[0, 0]
        accepted = test * q[token] < p[token]
        below = (target[0, 1] if accepted else np.maximum(p - q, 0)).cumsum()
        last = int((below <= bonus * below[-1]).sum())
        return ([[token, last]], [1]) if accepted else ([[last, -1]], [0])

    case = Case(subject_of(seeded), find("chain-one-draft"))
    if own:
        with pytest.raises(Refused, match="not controlled: the same script gave"):
            reading.read(case)
    else:
        found = reading.read(case)
        assert found.way == "enumerate" and len(found.law) == 10 and judge(case, found)[1].outcome == "conform"


def by_rows(drafts: np.ndarray, declared: Any, target: np.ndarray, uniforms: Any) -> Any:
    """Deterministic drafts are dropped: the first token is drawn from the target, by column 0."""
    return (target[:, 0].cumsum(1) <= uniforms[:, :1]).sum(1)[:, None] * [[1, 0]] - [[0, 1]], [0] * len(drafts)


def test_an_undeclared_layout_is_asked_for_where_it_costs_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    declares: dict[str, Any] = {"framework": "numpy", "dtype": "float64", "family": "recursive_rejection"}
    wanted = 'if column v of its uniforms decides node v and column 0 draws the bonus token, declare layout="draftproof", and it is read in seconds'
    undeclared, other = (subject_of(chain(**declares, **more)(by_rows)) for more in ({}, {"columns": lambda nodes: nodes + 1}))
    with pytest.raises(Refused, match="when its share of the time limit was over; if column v") as refusal:
        reading.read(Case(undeclared, find("chain-ngram")), deadline=0.0)
    assert str(refusal.value).endswith(wanted)
    monkeypatch.setattr(reading, "FRESH", 1 << 14)
    lines = str(check(undeclared, ["chain-one-draft"])).splitlines()
    assert f"  {'':<12} 1 integrated, slowly: {wanted}" in lines
    assert sum(wanted in line for line in lines) == 1  # not again in what is nonconform
    assert "slowly" not in str(check(other, ["chain-one-draft"]))
    assert "slowly" not in str(check(replace(undeclared, layout="draftproof"), ["chain-one-draft"]))
    assert reading.layout_hint(replace(undeclared, layout="draftproof", family=None)) == "declare a family, and it is read in seconds"
    assert '"layout": "draftproof" in its hello' in reading.layout_hint(replace(undeclared, call=Outside()))


class Outside:
    out_of_process = True

    def __call__(self) -> None: ...
