"""Subjects that build draft trees or choose their size, and how they are called.

* tree builder: ``f(logits[B,L,V], nodes) -> (tokens[B,1+N], parents[B,1+N], valid[B,1+N][, mask[B,1+N,1+N]][, depth[B,1+N]])``, N >= nodes: row i
  of a batch entry is the draft's marginal at depth i + 1, trees have at most ``nodes`` nodes besides the root, node 0; padding anywhere, not valid.
  ``mask[b, i, j]``: node i may attend to node j.  Objects with attributes of these names will do.
* budget rule: ``f(logits[B,L,V], draft, verify[N+1]) -> nodes[B]``: ``draft`` is C_d, ``verify[n]`` the latency of n + 1 query tokens, N the cap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from .subjects import SubjectError, _import, made

MASK_AND_DEPTH = ("mask", "depth")


class Overwrote(Exception):
    """A subject that changed its input."""


@dataclass(frozen=True)
class Taker:
    """A callable that takes marginals, and the form it takes them in.

    ``rows``: logits, log_probs or probs; ``dtype``, ``framework``, ``device`` theirs.  ``batched``: False when it takes one row [L, V] at a time
    and answers without the batch dimension.
    """

    call: Callable[..., Any]
    name: str
    rows: Literal["logits", "log_probs", "probs"] = "logits"
    dtype: str = "float32"
    framework: Literal["numpy", "torch"] = "torch"
    device: str = "cpu"
    batched: bool = True

    def __post_init__(self) -> None:
        choices = {
            "rows": ("logits", "log_probs", "probs"),
            "framework": ("numpy", "torch"),
            "dtype": ("float16", "bfloat16", "float32", "float64"),
        }
        for key, known in choices.items():
            if getattr(self, key) not in known:
                raise SubjectError(f"{self.name}: {key}={getattr(self, key)!r} is not one of {', '.join(known)}")
        if self.dtype == "bfloat16" and self.framework == "numpy":
            raise SubjectError(f"{self.name}: numpy has no bfloat16")

    def handed(self, values: np.ndarray) -> Any:
        """float64 values, already representable in the subject's dtype, as it takes them; a fresh copy."""
        if self.framework == "numpy":
            return values.astype(self.dtype)
        torch = _torch(self)
        return torch.from_numpy(values.copy()).to(device=self.device, dtype=getattr(torch, self.dtype))


@dataclass(frozen=True)
class Builder(Taker):
    """A tree builder.  ``width``: it looks at the so many most probable tokens of each depth only."""

    width: int | None = None


@dataclass(frozen=True)
class BudgetRule(Taker):
    """A budget rule.

    ``any_cost``: it claims to be right for costs that are not convex too.  ``cost``: its own (draft, verify) table, used instead of ours.
    """

    any_cost: bool = False
    cost: tuple[Any, Sequence[Any]] | None = None


@dataclass(frozen=True)
class Answer:
    """What a builder returned for one row: vectors over nodes, mask a matrix; None where it says nothing about it."""

    tokens: np.ndarray
    parents: np.ndarray
    valid: np.ndarray
    mask: np.ndarray | None = None
    depth: np.ndarray | None = None


def builder(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare a tree builder, e.g. ``@builder(framework="numpy", rows="probs")``."""
    return _declared(Builder, function, declares)


def budget_rule(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare a budget rule, e.g. ``@budget_rule(any_cost=True)``."""
    return _declared(BudgetRule, function, declares)


def _declared(kind: type[Builder] | type[BudgetRule], function: Callable[..., Any] | None, declares: dict[str, Any]) -> Any:
    if function is None:
        return partial(_declared, kind, declares=declares)
    function.__draftproof_builder__ = taker_of(function, kind, **declares)  # type: ignore[attr-defined]
    return function


def taker_of(found: Any, kind: type[Builder] | type[BudgetRule] | None = None, **declares: Any) -> Builder | BudgetRule:
    """A Builder or BudgetRule from one, from a decorated callable, or from any callable and ``kind``.  Raises SubjectError for anything else."""
    if isinstance(found, Builder | BudgetRule):
        return replace(found, **declares)
    known: Builder | BudgetRule | None = getattr(found, "__draftproof_builder__", None)
    if known is not None and kind in (None, type(known)):
        return replace(known, **declares)
    if kind is None or not callable(found):
        raise SubjectError(f"{found!r} is not declared: decorate it with @builder or @budget_rule")
    name = declares.pop("name", None) or f"{getattr(found, '__module__', '?')}:{getattr(found, '__qualname__', repr(found))}"
    maker: Callable[..., Builder | BudgetRule] = kind
    return made(maker, found, name, declares)


def named(place: str) -> Any:
    """The object ``module:attribute`` or ``path/file.py:attribute``.  Raises SubjectError when it cannot be imported or found."""
    module_name, colon, attribute = place.rpartition(":")
    if not colon or not module_name or not attribute:
        raise SubjectError(f"{place!r} names nothing: give module:callable or path/file.py:callable")
    found: Any = _import(module_name)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise SubjectError(f"{module_name} has no {attribute!r}") from None
    return found


def build(subject: Builder, rows: np.ndarray, nodes: int) -> list[Answer]:
    """Call a builder on rows [B, L, V].  Raises SubjectError for an answer that is not of the promised form, Overwrote for a changed input."""
    if subject.batched:
        return _answers(subject, _called(subject, rows, nodes), len(rows))
    return [_answers(subject, _called(subject, row, nodes), 1)[0] for row in rows]


def choose(subject: BudgetRule, rows: np.ndarray, draft: float, verify: Sequence[float]) -> list[int]:
    """Call a budget rule on rows [B, L, V]: a number of nodes each.  Raises as ``build``."""
    costs: Any = np.array(verify, dtype=np.float64)  # whatever the logits are: rounding costs would be our fault, not the subject's
    if subject.framework == "torch":
        costs = _torch(subject).from_numpy(costs).to(subject.device)
    if subject.batched:
        chosen = _array(subject, _called(subject, rows, draft, costs), "the budgets")
    else:
        each = [_array(subject, _called(subject, row, draft, costs), "the budget") for row in rows]
        if wrong := [one for one in each if one.size != 1]:
            raise SubjectError(f"{subject.name} returned a budget of shape {list(wrong[0].shape)}, not one integer")
        chosen = np.array([one.reshape(()) for one in each])
    if not np.array_equal(_array(subject, costs, "its cost table"), np.array(verify, dtype=np.float64)):
        raise Overwrote("overwrites the cost table it is given")
    if chosen.shape != (len(rows),) or chosen.dtype.kind not in "iu":
        raise SubjectError(f"{subject.name} returned budgets of shape {list(chosen.shape)} and type {chosen.dtype}, not [{len(rows)}] integers")
    return [int(nodes) for nodes in chosen]


def _called(subject: Taker, rows: np.ndarray, *more: Any) -> Any:
    given = subject.handed(rows)
    answer = subject.call(given, *more)
    if not np.array_equal(_array(subject, given, "its input", as_float=True), rows, equal_nan=True):
        raise Overwrote("overwrites the logits it is given")
    return answer


def _parts(answer: Any) -> tuple[Any, ...]:
    if hasattr(answer, "tokens") and hasattr(answer, "parents") and hasattr(answer, "valid"):
        return (answer.tokens, answer.parents, answer.valid, *(getattr(answer, name, None) for name in MASK_AND_DEPTH))
    try:
        parts = tuple(answer)
    except TypeError:
        parts = ()
    return parts if 3 <= len(parts) <= 5 else ()


def _answers(subject: Builder, answer: Any, size: int) -> list[Answer]:
    parts = _parts(answer)
    if not parts:
        raise SubjectError(f"{subject.name} returned {type(answer).__name__}, not (tokens, parents, valid)")
    if any(part is None for part in parts[:3]):
        raise SubjectError(f"{subject.name} returned None for tokens, parents or valid")
    names = ("tokens", "parents", "valid", *MASK_AND_DEPTH)
    arrays = {name: _array(subject, part, name) for name, part in zip(names, parts, strict=False) if part is not None}
    if not subject.batched:
        arrays = {name: array[None] for name, array in arrays.items()}
    shape = arrays["tokens"].shape
    for name, array in arrays.items():
        wanted = (*shape, shape[-1]) if name == "mask" else shape
        if array.shape != wanted or len(shape) != 2 or shape[0] != size or shape[1] < 1:
            form = "1 + nodes" if not subject.batched else f"{size}, 1 + nodes"
            given = list(array.shape) if subject.batched else list(array.shape[1:])
            raise SubjectError(f"{subject.name} returned {name} of shape {given}, not [{form}{', 1 + nodes' if name == 'mask' else ''}]")
        kinds = "b" if name in ("valid", "mask") else "iu"
        if array.dtype.kind not in kinds:
            raise SubjectError(f"{subject.name} returned {name} of type {array.dtype}, not {'bool' if kinds == 'b' else 'integers'}")
    return [Answer(**{name: array[row] for name, array in arrays.items()}) for row in range(size)]


def _array(subject: Taker, values: Any, what: str, as_float: bool = False) -> np.ndarray:
    try:
        held = values.detach().cpu() if hasattr(values, "detach") else values
        return np.asarray(held.double() if as_float and hasattr(held, "double") else held)
    except (TypeError, ValueError, RuntimeError) as error:
        raise SubjectError(f"{subject.name}: {what} is not an array: {error}") from None


def _torch(subject: Taker) -> Any:
    try:
        import torch
    except ImportError:
        raise SubjectError(f"{subject.name} needs torch, which is not installed (pip install 'draftproof[gpu]')") from None
    if subject.device.startswith("cuda") and not torch.cuda.is_available():
        raise SubjectError(f"{subject.name} needs the device {subject.device!r}, and this machine has no CUDA device")
    return torch
