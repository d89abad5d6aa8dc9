"""Drafters: subjects that draft a tree from the rows of one parallel pass, and declare the law of every token.

``f(rows[B, L, V], **randomness) -> (tokens[B, N], parents[B, N], valid[B, N], declared[B, N, V] | None)``

``rows[b, i]`` is the draft row of position i + 1 of the block (the anchor's own slot is not among them); correcting it by a head is the drafter's own
business.  What comes back is what a tree verifier takes (see ``subjects``): node 0 is the root, parents come before children, nodes are listed in the
order in which they were drawn, ``declared`` holds probabilities, and None means one-hot.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from draftproof.reference.laws import Law

from .declared import Draw, Drawn, Place
from .rounding import round_to
from .subjects import Rows, SubjectError, made


@dataclass(frozen=True)
class Drafter:
    """A callable and what its author declares about it.

    ``rows``, ``dtype``, ``framework``, ``device``: the form of the rows it takes.  ``randomness``: ``internal`` (nothing passed), ``generator``, or
    ``uniforms`` ([B, columns] in [0, 1)).  ``layout``: "draftproof" when column v draws node v and nothing else (column 0 is free); allows paired
    runs.  ``verifier``: "recursive_rejection" when the trees are for that rule alone, which looks at one node per depth only; None: for any rule.
    """

    call: Callable[..., Any]
    name: str
    rows: Rows = "probs"
    dtype: str = "float32"
    framework: Literal["numpy", "torch"] = "torch"
    device: str = "cpu"
    randomness: Literal["internal", "generator", "uniforms"] = "internal"
    columns: int = 0
    uniforms_dtype: Literal["float32", "float64"] = "float64"
    layout: Literal["draftproof"] | None = None
    verifier: Literal["recursive_rejection"] | None = None

    def __post_init__(self) -> None:
        if self.randomness == "uniforms" and self.columns < 1:
            raise SubjectError(f"{self.name}: a drafter that takes uniforms must say how many columns")
        if self.verifier not in (None, "recursive_rejection"):
            raise SubjectError(f"{self.name}: verifier={self.verifier!r} is neither recursive_rejection nor None (any)")


def drafter(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare a drafter, e.g. ``@drafter(rows="logits", randomness="generator")``; ``draftproof.check`` then judges it as one."""
    if function is None:
        return lambda later: drafter(later, **declares)
    from .judge_drafter import plan_drafter

    subject = drafter_of(function, **declares)
    function.__draftproof_plan__ = lambda **settings: plan_drafter(subject, **settings)  # type: ignore[attr-defined]
    return function


def drafter_of(function: "Drafter | Callable[..., Any]", **declares: Any) -> Drafter:
    """A Drafter from a callable."""
    if isinstance(function, Drafter):
        return function
    name = declares.pop("name", None) or f"{function.__module__}:{getattr(function, '__qualname__', repr(function))}"
    return made(Drafter, function, name, declares)


class DraftCaller:
    """Calls a drafter on the rows of one instance, and reads its trees as draws."""

    def __init__(self, subject: Drafter, rows: list[Law[int]], vocabulary: int):
        self.subject, self.vocabulary = subject, vocabulary
        exact = np.array([[float(law[token]) for token in range(vocabulary)] for law in rows])
        with np.errstate(divide="ignore"):
            self._rows = round_to(exact if subject.rows == "probs" else np.log(exact), subject.dtype)
        self._laws: dict[bytes, Law[int]] = {}

    def __call__(self, size: int, randomness: dict[str, Any]) -> list[Draw]:
        """The draws of ``size`` rows of a batch.  Raises SubjectError for an answer that is not of the promised form."""
        return self.draws(self.arrays(size, randomness))

    def draws(self, arrays: tuple[np.ndarray, ...]) -> list[Draw]:
        """Arrays, a row each, as draws."""
        return [tuple(self._slots(*row)) for row in zip(*arrays, strict=True)]

    def arrays(self, size: int, randomness: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(tokens, parents, valid, declared) as numpy arrays, declared filled in where the subject says None."""
        rows = self._tensor(np.repeat(self._rows[None], size, axis=0), self.subject.dtype)
        answer = self.subject.call(rows, **randomness)
        if not np.array_equal(self._array(rows), np.broadcast_to(self._rows, (size, *self._rows.shape))):
            raise self._nonsense("overwrites the rows it is given")
        if not isinstance(answer, tuple | list) or len(answer) != 4:
            raise self._nonsense("does not return (tokens, parents, valid, declared)")
        tokens, parents, valid = (self._array(value) for value in answer[:3])
        if tokens.ndim != 2 or len(tokens) != size or not tokens.shape[1] or not tokens.shape == parents.shape == valid.shape:
            raise self._nonsense(f"returns tokens, parents, valid of shapes {tokens.shape}, {parents.shape}, {valid.shape}, not [{size}, N], N >= 1")
        if tokens.dtype.kind not in "iu" or parents.dtype.kind not in "iu" or valid.dtype.kind != "b":
            raise self._nonsense(f"returns tokens, parents, valid of types {tokens.dtype}, {parents.dtype}, {valid.dtype}, not integers and bool")
        tokens, parents, valid = (part.astype(np.int64) for part in (tokens, parents, valid))
        declared = (tokens[..., None] == np.arange(self.vocabulary)) if answer[3] is None else self._array(answer[3])
        if declared.shape != (*tokens.shape, self.vocabulary) or declared.dtype.kind not in "fiub":
            raise self._nonsense(f"returns declared laws of shape {declared.shape}, {declared.dtype}, not {(*tokens.shape, self.vocabulary)}, floats")
        return tokens, parents, valid, declared.astype(np.float64)

    def _slots(self, tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, declared: np.ndarray) -> Iterator[Drawn]:
        places: dict[int, Place] = {0: ()}
        children: dict[int, int] = {}
        if not valid[0]:
            raise self._nonsense("returns a tree whose root is not valid")
        for node in np.flatnonzero(valid[1:]) + 1:
            parent, token = int(parents[node]), int(tokens[node])
            if parent not in places or not 0 <= token < self.vocabulary:
                raise self._nonsense(f"returns node {node} with parent {parent} and token {token}")
            places[int(node)] = (*places[parent], children.setdefault(parent, 0))
            children[parent] += 1
            yield Drawn(places[int(node)], token, self._law(declared[node]))

    def _law(self, row: np.ndarray) -> Law[int]:
        key = row.tobytes()
        if key not in self._laws:
            if not np.isfinite(row).all() or (row < 0).any() or abs(row.sum() - 1) > 1e-2:
                raise self._nonsense(f"declares {row.tolist()}, which is not a probability law")
            self._laws[key] = Law.row(row.tolist())
        return self._laws[key]

    def uniforms(self, values: np.ndarray) -> Any:
        """Uniforms [B, columns] in the subject's framework."""
        return self._tensor(values, self.subject.uniforms_dtype)

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        if self.subject.framework == "numpy":
            return values.astype(dtype)
        import torch

        return torch.from_numpy(np.ascontiguousarray(values)).to(self.subject.device, getattr(torch, dtype))

    def _array(self, value: Any) -> np.ndarray:
        try:
            held = value.detach().cpu() if hasattr(value, "detach") else value
            return np.asarray(held.double() if hasattr(held, "is_floating_point") and held.is_floating_point() else held)
        except (TypeError, ValueError, RuntimeError) as error:
            raise self._nonsense(f"returns what is not an array: {error}") from None

    def _nonsense(self, what: str) -> SubjectError:
        return SubjectError(f"{self.subject.name} {what}")
