"""Objectives as subjects: declared, called, and judged; planted faults rejected, controls accepted."""

from typing import Any

import numpy as np
import pytest
import torch

from draftproof.oracle import Objective, SubjectError, check, objective
from draftproof.oracle.adapters import training as ours
from draftproof.oracle.controls.training import TRAINING_CONTROLS, by_hand, gathered
from draftproof.oracle.faults.training import TRAINING_FAULTS, TrainingFault
from draftproof.oracle.judge_objective import check_objective, training_signal
from draftproof.oracle.objectives import objective_of
from draftproof.oracle.training_exact import Handed, gradient_of, mistakes
from draftproof.oracle.training_instances import GENERATED, named, training_instances

torch.set_num_threads(1)
SOME = [named("training-lock-in"), named("training-ragged"), named("training-no-nodes"), named("training-covered"), *training_instances()[20::40]]
OURS = {
    "exit": ours.exit_loss,
    "exit in float32": ours.exit_loss_float32,
    "exit as served": ours.exit_loss_served,
    "prefix": ours.prefix_loss,
    "depth": ours.depth_loss,
    "A": ours.on_tree_distillation,
    "B": ours.swap_ranking,
    "C": ours.smoothed_coverage,
}


@pytest.mark.parametrize("name", OURS)
def test_our_losses(name: str) -> None:
    report = check_objective(OURS[name], SOME)
    assert report.outcome == "conform", report


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_our_losses_on_everything(name: str) -> None:
    """At least 200 batches each, 1e-6 in float64 and 1e-4 in float32."""
    report = check(OURS[name])
    assert report.outcome == "conform" and len(report.verdicts) >= 200, report


@pytest.mark.parametrize("fault", TRAINING_FAULTS, ids=lambda fault: fault.name)
def test_rejected(fault: TrainingFault) -> None:
    """Where it is planted to show, with the words that say why."""
    report = check_objective(fault.call, [named(fault.instance)])
    assert report.outcome == "nonconform", report
    assert fault.said in report.verdicts[0].message


@pytest.mark.parametrize("control", TRAINING_CONTROLS, ids=lambda control: control.__name__)
def test_accepted(control: Any) -> None:
    report = check_objective(control, SOME)
    assert report.outcome == "conform", report
    notes = [note for verdict in report.verdicts for note in verdict.notes]
    assert bool(notes) == (control.__name__ == "value_taken_off"), "differences of a value that is always 0 say so"


def test_every_weighting_is_told_from_the_others() -> None:
    """A loss of one kind declared as another is rejected, and named where the oracle knows it."""
    for declared in ("exit", "prefix", "depth", "distillation", "swaps", "coverage"):
        for name in ("exit", "prefix", "depth", "A"):
            true = {"A": "distillation"}.get(name, name)
            report = check_objective(Objective(OURS[name].__draftproof_objective__.call, "x:y", objective=declared), SOME[:2])  # type: ignore[arg-type]
            assert (report.outcome == "conform") == (declared == true), (declared, name, report)
            if declared != name and {declared, name} < {"exit", "prefix", "depth"}:
                assert f"weights in place of {declared} ones" in str(report)


def test_half_precision_rows_are_judged_by_their_bits() -> None:
    for dtype in ("bfloat16", "float16"):
        report = check_objective(Objective(OURS["exit"].__draftproof_objective__.call, f"x:{dtype}", dtype=dtype), SOME[:3])  # type: ignore[arg-type]
        assert report.outcome == "conform", report


def test_known_mistakes_differ_from_what_is_right() -> None:
    handed = Handed(objective_of(gathered), named("training-ragged"))
    exact, _ = gradient_of("exit", handed)
    names = [name for name, other in mistakes("exit", handed) if np.abs(other - exact).max() > 1e-4]
    assert {"prefix weights in place of exit ones", "requests averaged one by one", "padding counted among the nodes"} <= set(names)


def test_a_wrong_scale_is_told() -> None:
    @objective
    def scaled(*given: torch.Tensor) -> torch.Tensor:
        return 0.37 * gathered(*given)

    message = check_objective(scaled, [named("training-ragged")]).verdicts[0].message
    assert "0.37 (37/100) times the right one everywhere" in message


def test_ways_of_reading() -> None:
    @objective(framework="numpy", rows="probs")
    def wrong_gradient(*given: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = by_hand(*given)
        return loss, 2 * gradient

    instance = named("training-worked-example")
    assert training_signal(objective_of(gathered), instance).way == "autograd"
    assert training_signal(objective_of(gathered), instance, way="differences").outcome == "conform"
    returned = training_signal(objective_of(wrong_gradient), instance)
    assert returned.way == "returned" and returned.outcome == "nonconform" and "the loss is right and is differentiated wrongly" in returned.message
    assert training_signal(objective_of(wrong_gradient), instance, way="differences").outcome == "conform"
    refused = check_objective(gathered, [instance], way="sample")
    assert refused.outcome == "error" and "not by sample" in refused.errors[0].message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda logits: "loss", "returns str, not a loss"),
        (lambda logits: logits, "not one number"),
        (lambda logits: (1.0, 2.0, 3.0), "returns 3 things"),
        (lambda logits: (1.0, np.zeros(3)), "gradient of shape [3]"),
        (lambda logits: torch.zeros(()), "does not depend on the logits"),
        (lambda logits: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_nonsense_is_an_error(answer: Any, said: str) -> None:
    report = check_objective(Objective(lambda logits, *rest: answer(logits), "nonsense"), [named("training-worked-example")])
    assert report.outcome == "error" and said in report.errors[0].message, report


def test_numbers_in_float32_are_held_to_what_differences_can_tell() -> None:
    @objective(framework="numpy", rows="probs", dtype="float32")
    def single(*given: np.ndarray) -> np.float32:
        return np.float32(by_hand(*given)[0])

    report = check_objective(single, SOME[:4])
    assert report.outcome == "conform" and {verdict.way for verdict in report.verdicts} == {"differences"}, report


def test_three_errors_are_enough() -> None:
    assert len(check_objective(Objective(lambda *given: None, "nothing")).errors) == 3


def test_overwriting_is_caught() -> None:
    def in_place(logits: torch.Tensor, tokens: torch.Tensor, parents: torch.Tensor, valid: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        target.sub_(1.0)
        return gathered(logits, tokens, parents, valid, target)

    verdict = training_signal(Objective(in_place, "in place"), named("training-worked-example"))
    assert verdict.outcome == "nonconform" and verdict.message == "overwrites target"


def test_a_loss_that_hangs_is_given_up() -> None:
    def hangs(*given: torch.Tensor) -> torch.Tensor:
        while True:
            pass

    report = check_objective(Objective(hangs, "hangs"), [named("training-worked-example")], time_limit=0.3)
    assert report.outcome == "error" and "time limit" in report.errors[0].message


def test_declarations() -> None:
    @objective(objective="prefix", dtype="float32")
    def mine(*given: torch.Tensor) -> torch.Tensor:
        return given[0].sum()

    found = objective_of(mine)
    assert (found.objective, found.dtype, found.name) == ("prefix", "float32", f"{__name__}:test_declarations.<locals>.mine")
    for wrong, said in (
        ({"objective": "entropy"}, "not one of exit"),
        ({"dtype": "int8"}, "not one of float16"),
        ({"framework": "numpy", "dtype": "bfloat16"}, "no bfloat16"),
        ({"rows": "probs", "temperature": 0.5}, "applies to logits"),
        ({"tau": 0.3}, "tau must be"),
        ({"colour": 1}, "unexpected keyword"),
    ):
        with pytest.raises(SubjectError, match=said):
            objective(**wrong)(lambda *given: None)  # type: ignore[call-overload]


def test_instances() -> None:
    """Names are unique, 200 are generated, notes say why, and the catalogue's fixed trees are among them."""
    names = [one.name for one in training_instances()]
    assert len(set(names)) == len(names) >= GENERATED + 15 and all(one.note for one in training_instances())
    assert "training-tree-worked-example" in names
    with pytest.raises(StopIteration):
        named("no such batch")


def test_check_takes_a_file(tmp_path: Any) -> None:
    """As the command line does; instances are for verifiers."""
    (tmp_path / "my_loss.py").write_text(
        "import draftproof.oracle as oracle\n"
        "@oracle.objective(framework='numpy', rows='probs')\n"
        "def loss(logits, tokens, parents, valid, target):\n"
        "    raise RuntimeError('not today')\n"
    )
    report = check(f"{tmp_path}/my_loss.py:loss")
    assert report.outcome == "error" and report.exit_code == 2 and "not today" in str(report) and len(report.errors) == 3
    with pytest.raises(ValueError, match="for verifiers"):
        check(f"{tmp_path}/my_loss.py:loss", ["chain-one-draft"])
