"""``check_objective``: the verdict *training signal*, the gradient of a loss in the draft's logits against the exact one.

Exact is the gradient of what the subject says it minimises, for the laws that the bits handed over mean.  Finite differences of the loss are the
second witness: they say whether a wrong gradient comes from a wrong loss or from the way it is differentiated.  Nothing may flow into the target.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from draftproof.reference.models import spell
from draftproof.reference.trees import level_order

from .items import Item, Observe, Plan, Record
from .objectives import Objective, objective_of
from .report import Report
from .training_call import SLACK, Answer, Call, Witness
from .training_exact import Handed, gradient_of, mistakes
from .training_instances import TrainingInstance, training_instances
from .verdicts import Verdict

TOLERANCE = {"float64": 1e-6, "float32": 1e-4, "bfloat16": 2e-2, "float16": 5e-3}
"""Largest error that conforms, as a share of the largest exact entry; by dtype of the logits."""


def plan_objective(
    subject: "Objective | Callable[..., Any]",
    instances: Iterable[TrainingInstance] | None = None,
    *,
    way: str | None = None,
    alpha: float = 1e-6,
    tolerance: float | None = None,
    seed: int = 0,
    time_limit: float = 120.0,
) -> Plan:
    """The items of ``check_objective``."""
    one, chosen = objective_of(subject), list(training_instances() if instances is None else instances)
    settings = {"way": way, "tolerance": tolerance, "seed": seed, "time_limit": time_limit}

    def verdicts(instance: TrainingInstance) -> Iterable[Verdict]:
        yield training_signal(one, instance, tolerance, way, seed)

    return Plan([Item(one.name, instance.name, partial(verdicts, instance)) for instance in chosen], settings, time_limit)


def check_objective(
    subject: "Objective | Callable[..., Any]",
    instances: Iterable[TrainingInstance] | None = None,
    *,
    observe: Observe | None = None,
    record: Record | None = None,
    **settings: Any,
) -> Report:
    """Does this loss train the drafter on what it says?

    ``instances``: default ``training_instances()``.  ``settings`` are those of ``check``: way (autograd, returned or differences; default what the
    subject offers), tolerance, time_limit and seed, which chooses the directions of the finite differences.  Nothing is sampled: alpha is there for
    the signature of ``check``.
    """
    return plan_objective(subject, instances, **settings).run(observe, record)


def training_signal(
    subject: Objective, instance: TrainingInstance, tolerance: float | None = None, way: str | None = None, seed: int = 0
) -> Verdict:
    """The verdict on one batch.  Raises SubjectError, or whatever the subject raises."""
    handed = Handed(subject, instance)
    exact, credit = gradient_of(subject.objective, handed)
    scale = max(float(np.abs(exact).max(initial=0)), credit) or 1.0
    call = Call(handed)
    answer = call(way)
    limit = tolerance if tolerance is not None else SLACK[subject.dtype] if answer.way == "differences" else TOLERANCE[subject.dtype]
    error = np.abs(answer.gradient - exact) / scale
    worst = float(error.max(initial=0))

    def verdict(outcome: str, number: float, message: str, notes: tuple[str, ...] = (), **details: Any) -> Verdict:
        effort = f"{exact.size} logits, {call.calls} calls"
        return Verdict(
            subject.name, instance.name, "training signal", outcome, answer.way, number, limit, message, effort, notes=notes, details=details
        )

    if answer.fault:
        return verdict("nonconform", 1.0, answer.fault)
    if not np.isfinite(answer.gradient).all():
        place = tuple(int(part) for part in np.argwhere(~np.isfinite(answer.gradient))[0])
        return verdict("nonconform", 1.0, f"{_place(place)} the gradient is {answer.gradient[place]}")
    witness = call.witness(exact, answer, scale, seed)
    if worst > limit:
        place = tuple(int(part) for part in np.unravel_index(int(error.argmax()), error.shape))
        said = f"{_place(place)} the gradient should be {exact[place]:.6g}; it is {answer.gradient[place]:.6g}"
        said += _why(subject, handed, exact, answer.gradient, scale, limit) + _blame(answer, witness)
        return verdict("nonconform", worst, said, shown=_shown(instance, place))
    leak = call.leak()
    if leak:
        return verdict("nonconform", leak, "the gradient flows on into the target's rows: the weights are not detached")
    notes = () if witness.exact else ("finite differences of the loss do not agree with its gradient, which is right",)
    return verdict("conform", worst, f"the gradient is exact to {worst:.2g} of its largest entry", notes)


def _blame(answer: Answer, witness: Witness) -> str:
    """What the second witness says of a wrong gradient."""
    if answer.way == "differences":
        return ""
    if witness.exact:
        return "; finite differences of its loss agree with the exact gradient: the loss is right and is differentiated wrongly"
    if witness.own:
        return "; finite differences of its loss agree with its gradient: the loss is another one"
    return "; finite differences of its loss agree with neither: a part that moves with the logits is detached, or differentiated wrongly"


def _why(subject: Objective, handed: Handed, exact: np.ndarray, gradient: np.ndarray, scale: float, limit: float) -> str:
    """Which known mistake has this gradient, or which multiple of the right one it is."""
    for name, other in mistakes(subject.objective, handed):
        if np.abs(other - exact).max() > limit * scale and np.abs(other - gradient).max() <= limit * scale:
            return f"; consistent with: {name}"
    square = float((exact * exact).sum())
    factor = float((gradient * exact).sum()) / square if square else 0.0
    if factor and np.abs(gradient - factor * exact).max() <= limit * scale * abs(factor):
        return f"; {factor:.6g} ({Fraction(factor).limit_denominator(1000)}) times the right one everywhere"
    return ""


def _place(place: tuple[int, ...]) -> str:
    request, depth, token = place
    return f"at request {request}, depth {depth + 1}, token {token}"


def _shown(instance: TrainingInstance, place: tuple[int, ...]) -> str:
    nodes = [spell(node.path) for node in level_order(instance.contexts[place[0]].root)[1:]]
    return f"tree of request {place[0]}: {', '.join(nodes) or 'no nodes'}"

