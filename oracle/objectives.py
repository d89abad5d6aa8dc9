"""Objectives: losses that train a drafter on its own draft trees, judged by their gradient in the draft's logits.

* ``f(logits[B,L,V], tokens[B,N], parents[B,N], valid[B,N], target[B,N,V]) -> loss``: row d of the logits is the draft's marginal at depth d + 1, the
  tree is as for verifiers (see ``subjects``), the root not counted among its nodes, and ``target`` holds the target's row after every node.  In torch
  the loss is a scalar to differentiate; anywhere it may be a pair (loss, gradient[B,L,V]), or a number alone, which is then differentiated by
  differences.
* with ``scores=True``, ``f(logits, tokens, parents, valid, context[B,T], score) -> loss`` runs the target itself: the context's last token is the
  root, and ``score(tokens[B,M], positions[B,M], mask[B,M,M] bool) -> rows[B,M,V]`` is one pass over any sequence, ``mask[b, i, j]``: i sees j.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, overload

from .subjects import Rows, SubjectError, made

Kind = Literal["exit", "prefix", "depth", "distillation", "swaps", "coverage"]


@dataclass(frozen=True)
class Objective:
    """A callable and what its author declares about it.

    ``objective``: what it says it minimises, of ``draftproof.reference.training``: - sum weight(v) log q(v_last) over the number of nodes, with
    weights ``exit`` (w, the paper's), ``prefix`` (P) or ``depth`` (w d); or a mean over requests of ``distillation`` (A), ``swaps`` (B) or minus
    smoothed ``coverage`` (C), the last two at temperature ``tau`` of the scores, 1 / tau an integer.
    ``rows``: the form of the target's rows; the draft's are always logits.  ``temperature``, ``top_k``, ``top_p``: how the target is served, which it
    applies itself to those rows.
    ``dtype``, ``framework``, ``device``: of logits and rows.
    """

    call: Callable[..., Any]
    name: str
    objective: Kind = "exit"
    rows: Rows = "logits"
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    tau: float = 1.0
    scores: bool = False
    dtype: str = "float64"
    framework: Literal["numpy", "torch"] = "torch"
    device: str = "cpu"

    def __post_init__(self) -> None:
        choices = {
            "objective": get_args(Kind),
            "rows": get_args(Rows),
            "framework": ("numpy", "torch"),
            "dtype": ("float16", "bfloat16", "float32", "float64"),
        }
        for key, known in choices.items():
            if getattr(self, key) not in known:
                raise SubjectError(f"{self.name}: {key}={getattr(self, key)!r} is not one of {', '.join(known)}")
        if self.dtype == "bfloat16" and self.framework == "numpy":
            raise SubjectError(f"{self.name}: numpy has no bfloat16")
        if self.temperature is not None and (self.rows == "probs" or not self.temperature > 0):
            raise SubjectError(f"{self.name}: a temperature is positive and applies to logits or log_probs")
        if not self.tau > 0 or abs(1 / self.tau - round(1 / self.tau)) > 1e-12:
            raise SubjectError(f"{self.name}: tau must be 1, 1/2, 1/3, ... to be judged exactly, not {self.tau}")


F = TypeVar("F", bound=Callable[..., Any])


@overload
def objective(function: F, /) -> F: ...
@overload
def objective(function: None = None, /, **declares: Any) -> Callable[[F], F]: ...
def objective(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare an objective, e.g. ``@objective(objective="prefix", dtype="float32")``; ``draftproof.check`` then judges it as one."""
    if function is None:
        return lambda later: objective(later, **declares)
    from .judge_objective import plan_objective

    subject = objective_of(function, **declares)
    function.__draftproof_plan__ = lambda **settings: plan_objective(subject, **settings)  # type: ignore[attr-defined]
    function.__draftproof_objective__ = subject  # type: ignore[attr-defined]
    return function


def objective_of(function: "Objective | Callable[..., Any]", **declares: Any) -> Objective:
    """An Objective from one, from a decorated callable, or from any callable and what it declares."""
    if isinstance(function, Objective):
        return function
    declared: Objective | None = getattr(function, "__draftproof_objective__", None)
    if declared is not None and not declares:
        return declared
    name = declares.pop("name", None) or f"{function.__module__}:{getattr(function, '__qualname__', repr(function))}"
    return made(Objective, function, name, declares)
