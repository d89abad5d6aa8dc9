"""Calling a subject: arrays in its framework and dtype, its answer checked before anything is concluded from it."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Batch, Block, Case
from .readings.refused import Refused
from .subjects import Subject, SubjectError


class Caller:
    """Calls the subject of ``case`` on batches and returns its blocks.  ``touched`` names arguments it overwrote without saying so.

    A SubjectError says what was wrong with an answer; which subject and which instance it was is left to whoever knows.
    """

    def __init__(self, case: Case):
        self.case, self.subject = case, case.subject
        self.touched: set[str] = set()
        if self.subject.framework == "torch":
            _require_torch(self.subject)

    def __call__(self, batch: Batch, randomness: Mapping[str, Any]) -> np.ndarray:
        """Blocks [B, W] int64, padded with -1.  Raises SubjectError when the subject raises, or its answer is not of the promised form."""
        arguments = self._arguments(batch)
        before = {name: self._copy(value) for name, value in arguments.items()}
        try:
            answer = self.subject.call(*arguments.values(), **randomness)
        except (Refused, SubjectError, MemoryError):
            raise
        except (Exception, GeneratorExit) as error:
            raise SubjectError(f"raised {_told(error)}") from error
        for name, value in arguments.items():
            if name not in self.subject.overwrites and not self._same(value, before[name]):
                self.touched.add(name)
        return self._checked(answer, len(batch), batch.tokens.shape[1] - 1 if self.subject.shape == "chain" else batch.deepest)

    def one(self, batch: Batch, randomness: Mapping[str, Any]) -> Block:
        """The block of a batch of one."""
        return block_of(self(batch, randomness)[0])

    def _arguments(self, batch: Batch) -> dict[str, Any]:
        ids, rows = self._ids, self._rows
        declared = None if batch.declared is None else batch.declared
        if self.subject.shape == "chain":
            drafts = None if declared is None else rows(declared[:, 1:])
            return {"drafts": ids(batch.tokens[:, 1:]), "declared": drafts, "target": rows(batch.target)}
        return {
            "tokens": ids(batch.tokens),
            "parents": ids(batch.parents),
            "valid": ids(batch.valid),
            "target": rows(batch.target),
            "declared": None if declared is None else rows(declared),
        }

    def _ids(self, values: np.ndarray) -> Any:
        return self._tensor(np.ascontiguousarray(values))

    def _rows(self, values: np.ndarray) -> Any:
        if self.subject.framework == "numpy":
            return values.astype(self.subject.dtype)
        import torch

        return self._tensor(np.ascontiguousarray(values)).to(getattr(torch, self.subject.dtype))

    def _tensor(self, values: np.ndarray) -> Any:
        if self.subject.framework == "numpy":
            return values.copy()
        import torch

        return torch.from_numpy(values.copy()).to(self.subject.device)

    def uniforms(self, values: np.ndarray) -> Any:
        """Uniforms [B, M] float64 in the subject's framework and uniforms' dtype."""
        if self.subject.framework == "numpy":
            return values.astype(self.subject.uniforms_dtype)
        import torch

        return self._tensor(values).to(getattr(torch, self.subject.uniforms_dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Integers (seeds [B]) in the subject's framework."""
        return self._tensor(values)

    def generator(self, seed: int) -> Any:
        """A seeded generator of the subject's framework."""
        if self.subject.framework == "numpy":
            return np.random.default_rng(seed)
        import torch

        return torch.Generator(device=self.subject.device).manual_seed(seed)

    @staticmethod
    def _copy(value: Any) -> Any:
        return None if value is None else value.clone() if hasattr(value, "clone") else value.copy()

    @staticmethod
    def _same(value: Any, before: Any) -> bool:
        if value is None:
            return True
        if hasattr(value, "clone"):
            import torch

            return bool(torch.equal(value, before))
        return bool(np.array_equal(value, before))

    def _checked(self, answer: Any, size: int, deepest: int) -> np.ndarray:
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise SubjectError(f"returned {_brief(answer)}, not a pair (blocks, accepted)")
        blocks, accepted = answer
        blocks, accepted = self._integers(blocks, "blocks"), self._integers(accepted, "accepted")
        if blocks.ndim != 2 or len(blocks) != size or blocks.shape[1] < deepest + 1:
            wanted = f"[{size}, {deepest + 1}]: a row for each tree, a column for each level of drafts and one for the bonus token"
            raise SubjectError(f"returned blocks of shape {list(blocks.shape)}, not {wanted}")
        if accepted.shape != (size,):
            raise SubjectError(f"returned accepted of shape {list(accepted.shape)} for a batch of {size} rows, not [{size}]")
        emitted = blocks >= 0
        length = emitted.sum(1)
        wrong = (blocks >= self.case.instance.vocabulary).any(1) | (blocks < -1).any(1)
        if wrong.any():
            row = int(wrong.argmax())
            raise SubjectError(f"emitted {blocks[row].tolist()}: tokens must be below the vocabulary's {self.case.instance.vocabulary}")
        wrong = (length == 0) | (emitted != (np.arange(blocks.shape[1]) < length[:, None])).any(1)
        if wrong.any():
            row = int(wrong.argmax())
            raise SubjectError(f"emitted {blocks[row].tolist()}: a block is at least one token, then padding of -1 only")
        wrong = (accepted != length - 1) | (length > self.case.depth + 1)
        if wrong.any():
            row = int(wrong.argmax())
            raise SubjectError(
                f"emitted {blocks[row].tolist()} with accepted = {accepted[row]}: a block is the accepted drafts and one bonus token, "
                f"at most {self.case.depth} drafts here"
            )
        return blocks

    def _integers(self, values: Any, what: str) -> np.ndarray:
        try:
            array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
        except (TypeError, ValueError, RuntimeError):
            raise SubjectError(f"returned {what} = {_brief(values)}, not an array") from None
        if array.dtype.kind == "f" and array.size and np.isnan(array).any():
            raise SubjectError(f"returned NaN in {what}")
        if array.dtype.kind not in "iu":
            raise SubjectError(f"returned {what} of type {array.dtype}, not integers")
        return array.astype(np.int64)


def block_of(row: np.ndarray) -> Block:
    """A padded row as a tuple of tokens."""
    return tuple(int(token) for token in row if token >= 0)


def _told(error: BaseException) -> str:
    """Type and message of an exception, and the line that raised it."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {_brief(error, str)} ({Path(last.filename).name}:{last.lineno}, in {last.name})"


def _brief(value: Any, spelled: Callable[[Any], str] = repr) -> str:
    text = " ".join(spelled(value).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _require_torch(subject: Subject) -> None:
    try:
        import torch
    except ImportError:
        raise SubjectError(f"{subject.name} needs torch, which is not installed (pip install 'draftproof[gpu]')") from None
    if subject.device.startswith("cuda") and not torch.cuda.is_available():
        raise SubjectError(f"{subject.name} needs the device {subject.device!r}, and this machine has no CUDA device")
