"""Lifts: a lifted instance keeps its exact answer, and what is wrong at real sizes only is caught there."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from draftproof.cli import main
from draftproof.oracle import Subject, SubjectError, check, generator, lifts
from draftproof.oracle.calling import Caller
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find, suits
from draftproof.oracle.faults import sizes
from draftproof.oracle.faults.batches import BATCH_FAULTS, TAKES_UNIFORMS, verified
from draftproof.oracle.faults.rows import arrays
from draftproof.oracle.lifts import ALL, LIFTS, NotSuited, hosts_of, lifted, refusal
from draftproof.oracle.reading import bracket
from draftproof.oracle.subjects import load
from draftproof.oracle.verdicts import judge

pytest.importorskip("torch")

RIGHT: Subject = arrays("chain", **TAKES_UNIFORMS)(verified)
OURS = load("gpu_impl")
PAIRS = [
    (subject, lift, host) for subject in OURS for lift in ALL if not refusal(subject, lift) for host in hosts_of(lift) if suits(subject, find(host))
]
QUICK = [
    pair
    for nth, pair in enumerate(PAIRS)
    if pair[2] in ("chain-one-draft", "chain-rows-by-position", "tree-top-two", "tree-fixed-kids") and nth % 4 == 0 and "257" not in pair[1]
]


def shown(pair: tuple[Subject, str, str]) -> str:
    return f"{pair[0].family}-{pair[1]}-{pair[2]}"


def assert_conforms(subject: Subject, lift: str, host: str) -> None:
    case = lifted(subject, find(host), lift)
    reading = bracket(case)
    assert reading is not None, "it disagrees with the reference"
    assert [verdict.outcome for verdict in judge(case, reading)] == ["conform"] * 3


@pytest.mark.parametrize("pair", QUICK, ids=shown)
def test_batched_verifiers_keep_their_law_when_lifted(pair: tuple[Subject, str, str]) -> None:
    assert_conforms(*pair)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair not in QUICK], ids=shown)
def test_batched_verifiers_keep_their_law_under_every_lift(pair: tuple[Subject, str, str]) -> None:
    assert_conforms(*pair)


def test_every_lift_that_suits_is_among_the_quick_ones_or_the_slow() -> None:
    assert {lift for _, lift, _ in QUICK} >= {"scattered", "split", "batch", "padded", "deep", "strided", "bfloat16"}
    assert {lift for _, lift, _ in PAIRS} == set(ALL) - {
        "logits-plus-80",
        "logits-minus-80",
        "logits-plus-3e4",
        "logits-minus-3e4",
        "dirty",
        "captured",
    }


LONG = {"split", "scattered", "deep", "nodes-65"}
FAULTS = [pytest.param(*fault, id=f"{fault[0].name.rpartition(':')[2]}-{fault[1]}") for fault in sizes.SIZE_FAULTS]


@pytest.mark.parametrize(("subject", "lift", "name"), FAULTS)
def test_planted_fault_agrees_with_its_reference_until_it_is_lifted(subject: Subject, lift: str, name: str) -> None:
    case = Case(subject, find(name))
    small = bracket(case)
    assert small is not None and [verdict.outcome for verdict in judge(case, small)] == ["conform"] * 3
    if lift == "dirty":  # what it leaves in the buffer contradicts its count
        with pytest.raises(SubjectError, match=r"emitted \[0, 0\] with accepted = 0"):
            bracket(lifted(subject, find(name), lift))
    else:
        assert bracket(lifted(subject, find(name), lift)) is None


@pytest.mark.parametrize(
    ("subject", "lift", "name"),
    [pytest.param(*fault.values, id=fault.id, marks=[pytest.mark.slow] if fault.values[1] in LONG else []) for fault in FAULTS],
)
def test_planted_fault_is_rejected(subject: Subject, lift: str, name: str) -> None:
    report = check(subject, [find(name)], lifts=[lift])
    if lift == "dirty":
        assert report.outcome == "error" and "emitted [0, 0] with accepted = 0" in str(report)
        return
    assert report.outcome == "nonconform", report
    assert f"--instance {name} --lift {lift}" in str(report)


def test_full_vocabulary_is_judged_quickly_enough_for_a_test() -> None:
    """Sampling a few hundred blocks is enough for a fault of this size; a million tapes at 151,936 tokens would not come back."""
    report = check(sizes.ids_of_16_bits, [find("chain-one-draft")], lifts=["scattered"])
    assert report.outcome == "nonconform" and "which the target cannot" in str(report)


@pytest.mark.parametrize(
    "lift", ["vocabulary-33", "batch", "strided", "float32", "cold", "top-2-draft", "deep", "nodes-33", "vocabulary-33+float32+batch"]
)
def test_the_right_chain_keeps_its_law(lift: str) -> None:
    assert_conforms(RIGHT, lift, "chain-rows-by-position")


@pytest.mark.parametrize("lift", ["logits-plus-80", "logits-minus-80", "logits-plus-3e4", "logits-minus-3e4", "bfloat16"])
def test_offsets_are_part_of_the_bits_handed_over(lift: str) -> None:
    """An offset of 3e4 rounds float32 logits to multiples of 2^-9: the law of the rounded logits is what is judged."""
    import torch

    def verify(drafts: torch.Tensor, declared: torch.Tensor, target: torch.Tensor, uniforms: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        laws = None if declared is None else declared.double().softmax(2).numpy()
        return verified(drafts.numpy(), laws, target.double().softmax(2).numpy(), uniforms.numpy())

    subject = arrays("chain", framework="torch", **{**TAKES_UNIFORMS, "rows": "logits", "dtype": "float32"})(verify)
    assert_conforms(subject, lift, "chain-rows-by-position")
    moved = abs(float(lifted(subject, find("chain-one-draft"), lift).target(())[0]) - 0.5)
    assert (moved > 1e-4) == (lift in ("logits-plus-3e4", "logits-minus-3e4", "bfloat16"))


def test_an_output_buffer_that_is_filled_conforms() -> None:
    assert check(sizes.buffer_filled, [find("chain-one-draft")], lifts=["dirty"]).outcome == "conform"


def test_offsets_beyond_31_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory allows: here 2^31 is played by 2^24, for the lift and for the fault."""
    monkeypatch.setattr(lifts, "BEYOND", 1 << 24)
    monkeypatch.setattr(sizes, "WRAPS", 1 << 24)
    instance = find("chain-three-drafts")
    case = lifted(RIGHT, instance, "huge")
    randomness = {"uniforms": np.random.default_rng(0).random((len(case.batch), 4))}
    right = Caller(case)(case.batch, randomness)
    assert np.array_equal(right, Caller(Case(RIGHT, instance))(case.batch, randomness))
    wrong = lifted(sizes.offsets_of_31_bits, instance, "huge")
    assert not np.array_equal(Caller(wrong)(case.batch, randomness), right)


def test_no_memory_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifts, "_memory", lambda rows: 10**9)
    report = check(RIGHT, [find("chain-one-draft")], lifts=["huge"])
    assert report.outcome == "error" and "GB are free" in str(report) and not report.verdicts


@pytest.mark.parametrize(
    ("lift", "said"),
    [
        ("captured", "captured: its device is 'cpu', and only CUDA has graphs"),
        ("dirty", "dirty: it has no parameter out=(blocks [B, D+1], accepted [B]) for its answer"),
        ("padded", "padded: it takes chains, which have no padding"),
        ("logits-plus-80", "logits-plus-80: its rows are probs, which an offset would make wrong"),
        ("bfloat16", "bfloat16: numpy has no bfloat16"),
    ],
)
def test_what_does_not_suit_is_an_error_and_never_a_pass(lift: str, said: str) -> None:
    with pytest.raises(NotSuited, match=said.partition("(")[0]):
        lifted(RIGHT, find("chain-one-draft"), lift)
    report = check(RIGHT, [find("chain-one-draft")], lifts=[lift, "vocabulary-33"])
    assert report.outcome == "error" and said in str(report) and len(report.verdicts) == 3


def test_all_leaves_out_what_does_not_suit_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["draftproof.oracle.plan"], "ALL", ("vocabulary-33", "padded", "captured"))
    report = check(RIGHT, [find("chain-one-draft")], lifts=["all"])
    assert report.outcome == "conform" and "not judged   padded: it takes chains, which have no padding" in str(report)
    assert len(report.as_dict()["not_judged"]) == 2
    nothing = replace(report, verdicts=[])
    assert nothing.outcome == "error"


def test_a_split_of_logits_whose_drafts_are_not_sampled_is_refused() -> None:
    report = check(arrays("chain", **{**TAKES_UNIFORMS, "rows": "logits"})(verified), [find("chain-ngram")], lifts=["split"])
    assert report.outcome == "error" and "cannot be gathered without rounding" in str(report)


def test_batches_of_others_show_what_batches_of_the_same_do_not() -> None:
    fault = next(subject for subject, _ in BATCH_FAULTS if subject.name.endswith("scaled_by_batch"))
    assert check(fault, [find("chain-one-draft")], lifts=["batch"]).outcome == "conform"  # scaling is harmless until a NaN comes
    rolled = next(subject for subject, _ in BATCH_FAULTS if subject.name.endswith("order_not_restored"))
    assert check(rolled, [find("chain-rows-by-position")], lifts=["batch"], time_limit=20).outcome != "conform"


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="no lift 'larger'; known: scattered, split"):
        check(RIGHT, lifts=["larger"])
    with pytest.raises(ValueError, match="for verifiers"):
        check(generator(lambda engine: []), lifts=["batch"])


def test_the_command_lists_and_lifts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--lift", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(LIFTS) and listed[0].startswith("scattered        tokens scattered over")
    assert main(["check", "gpu_impl.tree_exit", "--lift", "nodes-33", "--instance", "tree-fixed-kids", "--quiet"]) == 0
    assert "conform      gpu_impl.tree_exit" in capsys.readouterr().out
    assert main(["check", "gpu_impl.tree_exit", "--lift", "dirty", "--quiet"]) == 2
