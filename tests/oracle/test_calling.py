"""Calling: what a subject is handed, in its own framework and dtype."""

from typing import Any

import numpy as np
import pytest
import torch

from draftproof.oracle import Subject, SubjectError
from draftproof.oracle.calling import ONE_AT_A_TIME, Caller, block_of
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find


class Recorder:
    """A subject that keeps what it was called with and emits one token a row."""

    def __init__(self) -> None:
        self.arguments: tuple[Any, ...] = ()
        self.randomness: dict[str, Any] = {}

    def __call__(self, *arguments: Any, **randomness: Any) -> Any:
        self.arguments, self.randomness = arguments, randomness
        size = len(arguments[0])
        return [[0, -1, -1, -1]] * size, [0] * size


def called(instance: str, **declares: Any) -> tuple[Recorder, Case]:
    recorder = Recorder()
    case = Case(Subject(recorder, "recorder", **declares), find(instance))
    assert Caller(case)(case.batch, {}).tolist() == [[0, -1, -1, -1]] * len(case.batch)
    return recorder, case


def test_tree_shape() -> None:
    recorder, case = called("tree-two-levels", dtype="float32")
    tokens, parents, valid, target, declared = recorder.arguments
    assert all(isinstance(argument, torch.Tensor) for argument in recorder.arguments)
    assert (tokens.dtype, parents.dtype, valid.dtype) == (torch.int64, torch.int64, torch.bool)
    assert target.dtype == declared.dtype == torch.float32
    size, nodes = tokens.shape
    assert parents.shape == valid.shape == (size, nodes) and target.shape == declared.shape == (size, nodes, 3)
    assert (size, nodes) == (len(case.trees), 5)
    places = torch.arange(nodes)
    assert (parents[:, 0] == 0).all() and (parents[:, 1:] < places[1:]).all() and valid.all()
    np.testing.assert_array_equal(target.double().numpy(), case.batch.target)
    torch.testing.assert_close(target.sum(2), torch.ones(size, nodes))


def test_chain_shape() -> None:
    recorder, case = called("chain-rows-by-position", shape="chain", framework="numpy", dtype="float64")
    drafts, declared, target = recorder.arguments
    assert drafts.shape == (9, 2) and declared.shape == (9, 2, 3) and target.shape == (9, 3, 3)
    assert {tuple(row) for row in drafts.tolist()} == {(x, y) for x in range(3) for y in range(3)}
    np.testing.assert_allclose(declared, np.broadcast_to([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], declared.shape))
    np.testing.assert_allclose(target[:, 0], np.broadcast_to([0.5, 0.3, 0.2], (9, 3)))


def test_deterministic_drafts_are_declared_none() -> None:
    assert called("chain-ngram", shape="chain")[0].arguments[1] is None
    assert called("tree-top-two")[0].arguments[4] is None


def test_padding_is_its_own_parent() -> None:
    recorder, case = called("tree-duplicates", family="predraw_follow")  # twins are merged, so trees differ in size
    tokens, parents, valid, target, _ = (np.asarray(argument) for argument in recorder.arguments)
    assert not valid.all() and valid[:, 0].all()
    own = np.broadcast_to(np.arange(tokens.shape[1]), parents.shape)
    assert (parents[~valid] == own[~valid]).all()
    np.testing.assert_allclose(target[~valid], 1 / 3)


@pytest.mark.parametrize("rows", ["log_probs", "logits"])
def test_logs_of_zero_probabilities_are_minus_infinity(rows: str) -> None:
    recorder, case = called("chain-zero-target", shape="chain", rows=rows)
    target = recorder.arguments[2]
    torch.testing.assert_close(target[:, 0], torch.tensor([0.0, 0.4, 0.6, 0.0]).log().expand(16, 4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_numbers_handed_over_are_those_that_are_judged(dtype: str) -> None:
    recorder, case = called("chain-one-draft", shape="chain", dtype=dtype)
    row = recorder.arguments[2][0, 0]
    assert row.dtype == getattr(torch, dtype)
    total = sum(float(weight) for weight in row)
    for token, weight in enumerate(row):
        assert float(case.target(())[token]) == pytest.approx(float(weight) / total, rel=1e-12)


def test_uniforms_seeds_and_generators() -> None:
    values = np.array([[0.25, 1 - 2.0**-24]])
    for framework, dtype in (("numpy", "float32"), ("numpy", "float64"), ("torch", "float32"), ("torch", "float64")):
        subject = Subject(Recorder(), "recorder", shape="chain", framework=framework, uniforms_dtype=dtype)  # type: ignore[arg-type]
        caller = Caller(Case(subject, find("chain-one-draft")))
        uniforms = caller.uniforms(values)
        assert str(uniforms.dtype).endswith(dtype) and (np.asarray(uniforms, dtype=float) == values).all()
        assert np.asarray(caller.integers(np.array([5]))).tolist() == [5]
        expected = np.random.Generator if framework == "numpy" else torch.Generator
        assert isinstance(caller.generator(3), expected)


def test_inputs_are_fresh_copies_and_touching_them_is_noticed() -> None:
    def verify(drafts: Any, declared: Any, target: Any) -> Any:
        target.zero_()
        return [[0, -1]] * len(drafts), [0] * len(drafts)

    case = Case(Subject(verify, "s", shape="chain"), find("chain-one-draft"))
    caller = Caller(case)
    caller(case.batch, {})
    assert caller.touched == {"target"} and case.batch.target.sum() > 0


def test_answers_may_be_arrays_tensors_or_lists() -> None:
    answers: list[Any] = [([[0, 1]], [1]), (np.array([[0, 1]], dtype=np.int32), np.array([1])), (torch.tensor([[0, 1]]), torch.tensor([1]))]
    for answer in answers:
        case = Case(Subject(lambda *_, answer=answer: answer, "s", shape="chain"), find("chain-one-draft"))
        found = Caller(case).one(case.batch.take([0]), {})
        assert found == (0, 1)
    assert block_of(np.array([2, 0, -1, -1])) == (2, 0)


def test_missing_device() -> None:
    if not torch.cuda.is_available():
        with pytest.raises(SubjectError, match="needs the device 'cuda:0', and this machine has no CUDA device"):
            Caller(Case(Subject(Recorder(), "s", device="cuda:0"), find("chain-one-draft")))


def test_missing_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SubjectError, match=r"engine needs torch, which is not installed \(pip install 'draftproof\[gpu\]'\)"):
        Caller(Case(Subject(Recorder(), "engine"), find("chain-one-draft")))


def complaint(call: Any, **declares: Any) -> str:
    case = Case(Subject(call, "one", shape="chain", framework="numpy", **declares), find("chain-one-draft"))
    with pytest.raises(SubjectError) as error:
        Caller(case)(case.batch, {})
    return str(error.value)


def test_what_answers_a_single_request_only_is_told_how_to_say_so() -> None:
    def squeezes(drafts: Any, declared: Any, target: Any) -> Any:
        return [[int(drafts.squeeze()), -1]], [0]

    def first_only(drafts: Any, declared: Any, target: Any) -> Any:
        return [[0, -1], *[[-1, -1]] * (len(drafts) - 1)], [0, *[-1] * (len(drafts) - 1)]

    assert "only" in complaint(squeezes) and complaint(squeezes).endswith(ONE_AT_A_TIME)
    assert complaint(first_only).endswith(ONE_AT_A_TIME) and "emitted [-1, -1]" in complaint(first_only)


def test_what_fails_for_another_reason_is_not() -> None:
    def always(drafts: Any, declared: Any, target: Any) -> Any:
        raise ValueError("no")

    def at_token_two(drafts: Any, declared: Any, target: Any) -> Any:
        return [[int([0, 1][token]), -1] for token in drafts[:, 0]], [0] * len(drafts)

    def from_two_tokens_on(drafts: Any, declared: Any, target: Any) -> Any:
        if len(set(drafts[:, 0].tolist())) > 1:
            raise ValueError("ragged")
        return [[0, -1]] * len(drafts), [0] * len(drafts)

    for call in (always, at_token_two, from_two_tokens_on):
        assert "batched" not in complaint(call)
    assert "batched" not in complaint(lambda *_: ([[0, -1]], [0, 0]), batched=False)


@pytest.mark.parametrize("overwrites", [(), ("target",)])
def test_arrays_that_are_held_are_made_once_and_anew_after_they_were_written_in(overwrites: tuple[str, ...]) -> None:
    seen = list[Any]()
    writes = False

    def verify(drafts: Any, declared: Any, target: Any) -> Any:
        seen.append((target, target.copy()))
        if writes:
            target[:] = 0
        return [[0, -1]] * len(drafts), [0] * len(drafts)

    case = Case(Subject(verify, "held", shape="chain", framework="numpy", overwrites=overwrites), find("chain-one-draft"))
    caller = Caller(case, held=case.batch)
    for turn in range(4):
        writes = turn == 1
        caller(case.batch, {})
    arrays, values = zip(*seen, strict=True)
    assert arrays[0] is arrays[1] and arrays[1] is not arrays[2] and arrays[2] is arrays[3]
    assert all(np.array_equal(value, values[0]) for value in values) and caller.touched == {"target"} - set(overwrites)
