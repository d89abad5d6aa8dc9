"""Every call shape: a sampler of ours in it conforms, one with a planted fault does not, and what is not there is an error."""

from pathlib import Path

import pytest

from draftproof.oracle import check
from draftproof.oracle.adapters import ADAPTERS, named
from draftproof.oracle.calling import ONE_AT_A_TIME
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.reading import read
from draftproof.oracle.subjects import SubjectError, load, loadable
from draftproof.oracle.verdicts import Verdict, judge

pytest.importorskip("torch")

SHAPES = Path(__file__).parents[2] / "examples" / "adapters"

STAND_INS = {
    "vllm": ("vllm", "vllm_shape.py:rejection_sample", ""),
    "vllm class": ("vllm", "vllm_shape.py:RejectionSampler", ""),
    "sglang": ("sglang", "sglang_shape.py:tree_speculative_sampling_target_only", "?batched=no"),
    "sglang.chain": ("sglang.chain", "sglang_shape.py:chain_speculative_sampling", "?batched=no"),
    "flashinfer uniforms": ("flashinfer", "flashinfer_shape.py:by_uniforms", "?batched=no"),
    "flashinfer generator": ("flashinfer", "flashinfer_shape.py:by_generator", ""),
    "eagle": ("eagle", "eagle_shape.py:evaluate_posterior", ""),
}
CHAIN, TREE = "chain-rows-by-position", "tree-ragged"


def spec(shape: str, folder: Path = SHAPES, more: str = "") -> str:
    engine, place, options = STAND_INS[shape]
    return f"{engine}:{folder}/{place}{options}" + (("," if options else "?") + more if more else "")


def outcomes(subject: str, instance: str) -> dict[str, Verdict]:
    """The verdicts of the law, read exactly."""
    case = Case(load(subject)[0], find(instance))
    return {verdict.verdict: verdict for verdict in judge(case, read(case, "enumerate"))}


@pytest.mark.parametrize("shape", STAND_INS)
def test_a_sampler_of_ours_in_the_call_shape_conforms(shape: str) -> None:
    found = outcomes(spec(shape), "tree-top-two" if shape in ("sglang", "eagle") else CHAIN)
    assert {verdict.outcome for verdict in found.values()} == {"conform"}, found
    assert (found["exactness"].number or 0.0) < 1e-6


def test_in_batches_too() -> None:
    report = check(spec("vllm"), ["chain-two-residual-tokens"])
    assert report.outcome == "conform", report


def test_a_sampler_of_single_requests_is_told_what_to_set(tmp_path: Path) -> None:
    """SGLang's call shape, with an answer for the first request of a batch only."""
    source = (SHAPES / "sglang_shape.py").read_text(encoding="utf-8")
    (tmp_path / "sglang_shape.py").write_text(source.replace("for row in range(len(candidates))", "for row in [0]"), encoding="utf-8")
    whole = f"sglang:{tmp_path}/sglang_shape.py:tree_speculative_sampling_target_only"
    (changed,) = [verdict for verdict in check(whole, ["tree-top-two"], time_limit=10).verdicts if verdict.verdict == "invariance"]
    assert changed.outcome == "nonconform" and changed.message.endswith(ONE_AT_A_TIME) and "?batched=no" in ONE_AT_A_TIME
    assert outcomes(f"{whole}?batched=no", "tree-top-two")["exactness"].outcome == "conform"


@pytest.mark.slow
@pytest.mark.parametrize("shape", STAND_INS)
def test_the_same_on_the_whole_catalogue(shape: str) -> None:
    report = check(spec(shape))
    assert report.outcome == "conform", report


FAULTS = {
    "vllm: residual of the first position": ("vllm", CHAIN, "(p - q).clamp(min=0)", "(target[start] - q).clamp(min=0)", "exactness"),
    "vllm: number of drafts of the request before": ("vllm", CHAIN, "num_draft_tokens[request]", "num_draft_tokens[request - 1]", ""),
    "vllm: bonus of the request before": ("vllm", CHAIN, "bonus_token_ids[request, 0]", "bonus_token_ids[request - 1, 0]", ""),
    "vllm: deterministic drafts always accepted": (
        "vllm",
        "chain-argmax-draft",
        "if uniform * q[token]",
        "if draft_probs is not None and uniform * q[token]",
        "exactness",
    ),
    "vllm: one generator for all requests": ("vllm", "chain-one-draft", "generators.get(request)", "generators.get(1)", "invariance"),
    "vllm class: bonus drawn before the last draft": ("vllm class", CHAIN, "bonus_logits_indices]", "bonus_logits_indices - 1]", ""),
    "sglang: the last coin again": (
        "sglang",
        TREE,
        "drawn(law, uniform_samples_for_final_sampling[row])",
        "drawn(law, uniform_samples[row, node])",
        "exactness",
    ),
    "sglang: rejected siblings stay": ("sglang", TREE, "law[token] = 0", "pass", "exactness"),
    "sglang: only first children": ("sglang", TREE, "child = int(retrive_next_sibling[row, child])", "child = -1", "acceptance"),
    "sglang.chain: residual of the first position": ("sglang.chain", CHAIN, "law = (p - q)", "law = (target_probs[row, 0] - q)", "exactness"),
    "sglang.chain: bonus of the first position": ("sglang.chain", CHAIN, "law = target_probs[row, -1]", "law = target_probs[row, 0]", "exactness"),
    "flashinfer: the same uniform twice": (
        "flashinfer uniforms",
        "chain-two-residual-tokens",
        "uniform_samples[row, min(place + 1, length)]",
        "uniform_samples[row, place]",
        "exactness",
    ),
    "flashinfer: residual of the first position": (
        "flashinfer generator",
        CHAIN,
        "law, place = (p - q)",
        "law, place = (target_probs[row, 0] - draft_probs[row, 0])",
        "exactness",
    ),
    "flashinfer: counts the last token": ("flashinfer uniforms", CHAIN, "emitted[row] = place", "emitted[row] = place + 1", ""),
    "eagle: law not renormalised": ("eagle", TREE, "law = law / law.sum()", "pass", "exactness"),
    "eagle: token 0 taken for padding": ("eagle", "tree-top-two", "if token < 0", "if token <= 0", "acceptance"),
    "eagle: rejected sibling stays": ("eagle", TREE, "law[token] = 0", "pass", "exactness"),
}
"""What is wrong: shape, instance, what of the sampler is replaced, by what, and the verdict that says so ("" for an error)."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name: str, tmp_path: Path) -> None:
    shape, instance, right, wrong, verdict = FAULTS[name]
    file = STAND_INS[shape][1].partition(":")[0]
    source = (SHAPES / file).read_text(encoding="utf-8")
    assert right in source
    (tmp_path / file).write_text(source.replace(right, wrong), encoding="utf-8")
    if verdict in ("exactness", "acceptance"):
        assert outcomes(spec(shape, tmp_path), instance)[verdict].outcome == "nonconform"
        return
    report = check(spec(shape, tmp_path), [instance])
    assert (verdict in {one.verdict for one in report.verdicts if one.outcome == "nonconform"}) if verdict else report.errors, report


def test_thresholds_below_one_are_lossy_and_not_an_error_unless_claimed_otherwise() -> None:
    lossy = outcomes(spec("sglang", more="threshold_single=0.3"), TREE)["exactness"]
    assert lossy.outcome == "conform" and (lossy.number or 0.0) > 0.01 and "lossy, as its author says" in lossy.message
    assert outcomes(spec("sglang", more="threshold_acc=0.8,claims=lossless"), TREE)["exactness"].outcome == "nonconform"


def test_a_boundary_event_counts_when_asked(tmp_path: Path) -> None:
    """At a coin of exactly 0, <= accepts what the target cannot emit (sgl-project/sglang#35771)."""
    source = (SHAPES / "sglang_shape.py").read_text(encoding="utf-8")
    (tmp_path / "sglang_shape.py").write_text(source.replace("if coin < below", "if coin <= below"), encoding="utf-8")
    case = Case(load(spec("sglang", tmp_path))[0], find("chain-zero-target"))
    reading = read(case, "enumerate")
    assert [judge(case, reading, strict=strict)[0].outcome for strict in (False, True)] == ["conform", "nonconform"]


def test_what_a_shape_must_take_is_said() -> None:
    with pytest.raises(SubjectError, match="no call shape of this adapter: .*draft_token_ids"):
        load(f"vllm:{SHAPES}/sglang_shape.py:drawn")
    with pytest.raises(SubjectError, match="no setting 'heat'; known: device, dtype"):
        load(f"eagle:{SHAPES}/eagle_shape.py:evaluate_posterior?heat=3")
    with pytest.raises(SubjectError, match="'maybe' is no value for batched"):
        load(f"eagle:{SHAPES}/eagle_shape.py:evaluate_posterior?batched=maybe")
    with pytest.raises(SubjectError, match="stands for itself"):
        load("transformers.generate:a:b")


@pytest.mark.parametrize("engine", [name for name in ADAPTERS if not name.startswith("transformers")])
def test_an_engine_that_is_not_installed_is_an_error_that_says_what_is_missing(engine: str) -> None:
    with pytest.raises(SubjectError, match=f"^{engine} is not installed here: .*ModuleNotFoundError.* give {engine}:module:callable"):
        load(engine)


def test_a_device_that_is_not_there_is_an_error_on_every_instance() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    report = check(f"vllm:{SHAPES}/vllm_shape.py:RejectionSampler?device=cuda", [CHAIN])
    assert report.exit_code == 2 and "no CUDA device" in str(report)


def test_names() -> None:
    assert named("vllm") and named("sglang.chain?device=cuda") and named("eagle:a.b:c") and loadable("eagle:a.b:c@token")
    assert not named("eagle:verify")  # a module of that name
    assert not named("gpu_impl") and not named("a:b:c")
