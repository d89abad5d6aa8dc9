"""Calls an objective and reads its gradient: by autograd, as it returns it, or by differences of its value."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .readings.refused import Refused
from .subjects import SubjectError
from .toy_target import law_of_seen, views
from .training_exact import Handed

STEP = {"float64": 1e-4, "float32": 1e-2, "bfloat16": 0.25, "float16": 0.1}
SLACK = {"float64": 1e-6, "float32": 2e-3, "bfloat16": 0.2, "float16": 0.1}
"""Central differences: the step, and the error they have from step and rounding, as a share of the largest entry."""

DIRECTIONS = 3


@dataclass(frozen=True)
class Answer:
    """A gradient [B, L, V] and how it was read; ``fault``: what is wrong with the call whatever the gradient."""

    gradient: np.ndarray
    way: str
    fault: str = ""


@dataclass(frozen=True)
class Witness:
    """Whether finite differences agree with the exact gradient, and with the subject's own."""

    exact: bool
    own: bool


@dataclass
class Call:
    """The subject on one handed batch."""

    handed: Handed
    calls: int = field(default=0, init=False)

    def __call__(self, way: str | None) -> Answer:
        """Raises SubjectError for an answer that is no loss, Refused when the subject does not offer ``way``."""
        subject = self.handed.subject
        if way not in (None, "autograd", "returned", "differences"):
            raise Refused(f"{subject.name} is an objective, which is read by autograd, returned or differences, not by {way}")
        arguments = self._arguments(self.handed.logits)
        if subject.framework == "torch":
            arguments["logits"].requires_grad_()
        before = {name: self._numpy(value).copy() for name, value in arguments.items() if not callable(value)}
        answer = self._ask(arguments)
        changed = ", ".join(name for name, value in before.items() if not np.array_equal(self._numpy(arguments[name]), value, equal_nan=True))
        fault = f"overwrites {changed}" if changed else ""
        offered, loss = ("returned", answer[0]) if isinstance(answer, tuple) else ("differences", answer)
        value = self._value(loss)
        if offered == "differences" and hasattr(loss, "backward"):
            if not loss.requires_grad:
                raise SubjectError("returns a loss that does not depend on the logits: it cannot be differentiated")
            offered = "autograd"
        if not np.isfinite(value):
            return Answer(np.full_like(self.handed.logits, np.nan), offered, f"returns a loss of {value}")
        if way not in (None, offered, "differences"):
            raise Refused(f"{subject.name} is read by {offered}, not by {way}")
        if (way or offered) == "differences":
            return Answer(self._differences(), "differences", fault)
        gradient = answer[1] if offered == "returned" else self._slope(loss, arguments["logits"])
        array = np.zeros_like(self.handed.logits) if gradient is None else self._numpy(gradient)
        if array.shape != self.handed.logits.shape:
            raise SubjectError(f"returns a gradient of shape {list(array.shape)}, not {list(self.handed.logits.shape)}")
        return Answer(array, offered, fault)

    def witness(self, exact: np.ndarray, answer: Answer, scale: float, seed: int) -> Witness:
        """Differences of the loss along random directions, against both gradients."""
        rng, slack = np.random.default_rng([seed, 7]), SLACK[self.handed.subject.dtype] * scale
        held = [True, True]
        for _ in range(DIRECTIONS):
            direction = np.where(np.isfinite(self.handed.logits), rng.standard_normal(exact.shape), 0.0)
            slope, room = self._along(direction), slack * max(1.0, float(np.abs(direction).sum()))
            for place, gradient in enumerate((exact, answer.gradient)):
                held[place] &= bool(abs(slope - float((gradient * direction).sum())) <= room)
        return Witness(*held)

    def leak(self) -> float:
        """The largest entry of the gradient in the target's rows: 0 where they are left alone."""
        subject = self.handed.subject
        if subject.framework != "torch":
            return 0.0
        rows: list[Any] = []
        arguments = self._arguments(self.handed.logits, rows)
        arguments["logits"].requires_grad_()
        try:
            answer = self._ask(arguments)
        except (RuntimeError, TypeError):  # it takes no rows that record a graph, so there is none to follow
            return 0.0
        loss = answer[0] if isinstance(answer, tuple) else answer
        if not getattr(loss, "requires_grad", False):
            return 0.0
        import torch

        slopes = torch.autograd.grad(loss, rows, allow_unused=True) if rows else ()
        return max((float(slope.double().nan_to_num(1.0).abs().max()) for slope in slopes if slope is not None), default=0.0)

    def _ask(self, arguments: dict[str, Any]) -> Any:
        self.calls += 1
        answer = self.handed.subject.call(*arguments.values())
        if isinstance(answer, list | tuple):
            if len(answer) != 2:
                raise SubjectError(f"returns {len(answer)} things, not a loss or (loss, gradient)")
            return tuple(answer)
        return answer

    def _arguments(self, logits: np.ndarray, rows: list[Any] | None = None) -> dict[str, Any]:
        """``rows``: collects what holds target rows, which then record a graph."""
        handed, dtype = self.handed, self.handed.subject.dtype
        arguments = {"logits": self._tensor(logits, dtype)}
        arguments |= {name: self._tensor(getattr(handed, name), None) for name in ("tokens", "parents", "valid")}
        if not handed.subject.scores:
            arguments["target"] = self._recorded(self._tensor(handed.target, dtype), rows)
            return arguments
        arguments["context"] = self._tensor(np.array(handed.instance.histories, dtype=np.int64), None)
        arguments["score"] = lambda tokens, positions, mask: self._recorded(self._scored(tokens, positions, mask), rows)
        return arguments

    def _scored(self, tokens: Any, positions: Any, mask: Any) -> Any:
        seen, vocabulary = views(tokens, positions, mask), self.handed.instance.vocabulary
        values = np.array([[self.handed.row(law_of_seen(one, vocabulary)) for one in row] for row in seen])
        return self._tensor(values, self.handed.subject.dtype)

    @staticmethod
    def _recorded(tensor: Any, rows: list[Any] | None) -> Any:
        if rows is not None:
            rows.append(tensor.requires_grad_())
        return tensor

    def _slope(self, loss: Any, logits: Any) -> Any:
        import torch

        return torch.autograd.grad(loss, logits, allow_unused=True)[0]

    def _differences(self) -> np.ndarray:
        """Every coordinate of the gradient; -inf logits have none."""
        gradient = np.zeros_like(self.handed.logits)
        for place in np.argwhere(np.isfinite(gradient + np.where(np.isfinite(self.handed.logits), 0, np.nan))):
            direction = np.zeros_like(gradient)
            direction[tuple(place)] = 1.0
            gradient[tuple(place)] = self._along(direction)
        return gradient

    def _along(self, direction: np.ndarray) -> float:
        step = STEP[self.handed.subject.dtype]
        ends = []
        for sign in (1, -1):
            arguments = self._arguments(self.handed.logits + sign * step * direction)
            if self.handed.subject.framework == "torch":
                arguments["logits"].requires_grad_()
            answer = self._ask(arguments)
            ends.append(self._value(answer[0] if isinstance(answer, tuple) else answer))
        return (ends[0] - ends[1]) / (2 * step)

    @staticmethod
    def _value(loss: Any) -> float:
        array = np.asarray(loss.detach().cpu().double() if hasattr(loss, "detach") else loss)
        if array.dtype.kind not in "fiu":
            raise SubjectError(f"returns {type(loss).__name__}, not a loss")
        if array.size != 1:
            raise SubjectError(f"returns a loss of shape {list(array.shape)}, not one number")
        return float(array.reshape(()))

    def _tensor(self, values: np.ndarray, dtype: str | None) -> Any:
        subject = self.handed.subject
        if subject.framework == "numpy":
            return values.astype(dtype) if dtype else values.copy()
        try:
            import torch
        except ImportError:
            raise SubjectError(f"{subject.name} needs torch, which is not installed (pip install 'draftproof[gpu]')") from None
        if subject.device.startswith("cuda") and not torch.cuda.is_available():
            raise SubjectError(f"{subject.name} needs the device {subject.device!r}, and this machine has no CUDA device")
        tensor = torch.from_numpy(np.ascontiguousarray(values)).clone().to(subject.device)
        return tensor.to(getattr(torch, dtype)) if dtype else tensor

    @staticmethod
    def _numpy(value: Any) -> np.ndarray:
        held = value.detach().cpu() if hasattr(value, "detach") else value
        return np.asarray(held.double() if hasattr(held, "is_floating_point") and held.is_floating_point() else held)
