"""Calling a subject: arrays in its framework and dtype, its answer checked before anything is concluded from it."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Batch, Block, Case
from .embeddings import Embedding, Handed
from .readings.refused import Refused
from .subjects import Subject, SubjectError, spelled

ONE_AT_A_TIME = "if it takes one request at a time, say so with batched=False (behind an engine's name ?batched=no)"
"""What to do about a subject that is right alone and wrong in company."""


class Caller:
    """Calls the subject of ``case`` on batches and returns its blocks.  ``touched`` names arguments it overwrote without saying so.

    A SubjectError says what was wrong with an answer; which subject and which instance it was is left to whoever knows.
    """

    def __init__(self, case: Case, embedding: Embedding | None = None, held: Batch | None = None):
        """``embedding`` in place of the case's.  ``held``: a large batch whose arrays are made once, and anew when the subject wrote in them."""
        self.case, self.subject = case, case.subject
        self.touched: set[str] = set()
        self._held = held
        self._arrays: tuple[dict[str, Any], dict[str, Any]] | tuple[()] = ()
        self._embedding, self._rng = embedding or case.embedding, np.random.default_rng(0)
        if self.subject.framework == "torch":
            _require_torch(self.subject)

    def __call__(self, batch: Batch, randomness: Mapping[str, Any]) -> np.ndarray:
        """Blocks [B, W] int64, padded with -1.  Raises SubjectError when the subject raises, or its answer is not of the promised form."""
        if self._embedding is None:
            return self._answer(batch, randomness, slice(None))
        one = self._embedding(self.subject, batch.take([0]), self._rng)  # tells how many rows fit into one call
        step = max(1, self._embedding.most_numbers // one.batch.target[0].size) if self.subject.batched else 1
        blocks = list[np.ndarray]()
        for start in range(0, len(batch), step):
            part = slice(start, start + step)
            given = {name: value[part] if len(batch) > step and hasattr(value, "shape") else value for name, value in randomness.items()}
            handed = self._embedding(self.subject, batch.take(np.arange(len(batch))[part]), self._rng)
            blocks.append(handed.read_back(self._answer(handed.batch, self._handed(given, handed), handed.rows)))
        width = max(part.shape[1] for part in blocks)
        return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1) for part in blocks])

    def _handed(self, randomness: Mapping[str, Any], handed: Handed) -> dict[str, Any]:
        """The randomness of the small rows in its places, fresh numbers in the others."""
        size, given = len(handed.batch), dict(randomness)
        if "uniforms" in given:
            columns, shape = handed.columns(), (size, self.subject.uniform_columns(handed.batch.tokens.shape[1]))
            if shape != given["uniforms"].shape or not np.array_equal(handed.rows, np.arange(size)):  # else as they are: they may be scripted
                large = self._rng.integers(1, 1 << 24, size=shape) * 2.0**-24
                large[np.ix_(handed.rows, columns)] = _array(given["uniforms"])
                given["uniforms"] = self.uniforms(large)
        if "seeds" in given:
            seeds = self._rng.integers(0, 1 << 62, size=size)
            seeds[handed.rows] = _array(given["seeds"])
            given["seeds"] = self.integers(seeds)
        return given

    def _answer(self, batch: Batch, randomness: Mapping[str, Any], mine: np.ndarray | slice) -> np.ndarray:
        """The blocks of all rows of ``batch``; what is not of the promised form is only looked for in rows ``mine``."""
        try:
            return self._called(batch, randomness, mine)
        except SubjectError as error:
            outside = getattr(self.subject.call, "out_of_process", False)  # its protocol has no such declaration
            if self.subject.batched and len(batch) > 1 and not outside and self._takes_one(batch, randomness):
                raise SubjectError(f"{error}; a single request is answered: {ONE_AT_A_TIME}") from error.__cause__
            raise

    def _takes_one(self, batch: Batch, randomness: Mapping[str, Any]) -> bool:
        """Whether it answers the first request, and fails on a batch of twice the same."""
        for rows in ([0], [0, 0]):
            part = {name: value[rows] if hasattr(value, "shape") else value for name, value in randomness.items()}
            try:
                self._called(batch.take(rows), part, slice(None))
            except (SubjectError, Refused, MemoryError):
                return len(rows) > 1
        return False

    def _called(self, batch: Batch, randomness: Mapping[str, Any], mine: np.ndarray | slice) -> np.ndarray:
        held = batch is self._held
        if not (held and self._arrays):
            before = self._arguments(batch)
            self._arrays = {name: self._copy(value) for name, value in before.items()}, before
        arguments, before = self._arrays
        try:
            answer = self.subject.call(*arguments.values(), **randomness)
        except (Refused, SubjectError, MemoryError):
            raise
        except (Exception, GeneratorExit, SystemExit) as error:
            raise SubjectError(f"raised {type(error).__name__}: {told(error)}") from error
        for name, value in arguments.items():
            if (held or name not in self.subject.overwrites) and not self._same(value, before[name]):
                self.touched |= {name} - set(self.subject.overwrites)
                held = False
        if not held:
            self._arrays = ()
        return self._checked(answer, batch, mine)

    def one(self, batch: Batch, randomness: Mapping[str, Any]) -> Block:
        """The block of a batch of one."""
        return block_of(self(batch, randomness)[0])

    def _arguments(self, batch: Batch) -> dict[str, Any]:
        """In the subject's framework; may share memory with the batch."""
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
            return values.astype(self.subject.dtype, copy=False)
        import torch

        return self._tensor(np.ascontiguousarray(values)).to(getattr(torch, self.subject.dtype))

    def _tensor(self, values: np.ndarray) -> Any:
        """May share memory with ``values``."""
        if self.subject.framework == "numpy":
            return values
        import torch

        return torch.from_numpy(values).to(self.subject.device)

    def uniforms(self, values: np.ndarray) -> Any:
        """Uniforms [B, M] float64 in the subject's framework and uniforms' dtype."""
        if self.subject.framework == "numpy":
            return values.astype(self.subject.uniforms_dtype)
        import torch

        return self._tensor(values.copy()).to(getattr(torch, self.subject.uniforms_dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Integers (seeds [B]) in the subject's framework."""
        return self._tensor(values.copy())

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

            if value.device.type == "cpu" and value.dtype != torch.bfloat16:
                return Caller._same(value.detach().numpy(), before.numpy())  # five times as fast
            return bool(torch.equal(value, before)) or bool(((value == before) | ((value != value) & (before != before))).all())  # NaN is NaN
        return bool(np.array_equal(value, before)) or bool(((value == before) | ((value != value) & (before != before))).all())

    def _checked(self, answer: Any, batch: Batch, mine: np.ndarray | slice) -> np.ndarray:
        size, vocabulary = len(batch), batch.target.shape[2]
        deepest = batch.tokens.shape[1] - 1 if self.subject.shape == "chain" else batch.deepest
        most = self.case.depth if self._embedding is None else deepest
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise SubjectError(f"returned {_brief(answer)}, not a pair (blocks, accepted)")
        blocks, accepted = answer
        blocks, accepted = self._integers(blocks, "blocks"), self._integers(accepted, "accepted")
        if blocks.ndim != 2 or len(blocks) != size or blocks.shape[1] < deepest + 1:
            wanted = f"[{size}, {deepest + 1}]: a row for each tree, a column for each level of drafts and one for the bonus token"
            raise SubjectError(f"returned blocks of shape {list(blocks.shape)}, not {wanted}")
        if accepted.shape != (size,):
            raise SubjectError(f"returned accepted of shape {list(accepted.shape)} for a batch of {size} rows, not [{size}]")
        every, blocks, accepted = blocks, blocks[mine], accepted[mine]
        # sums along rows as short as these take longer than all else here: they are for blocks that are found to be wrong
        emitted, before = blocks >= 0, np.arange(blocks.shape[1]) <= accepted[:, None]
        wrong = (blocks >= vocabulary) | (blocks < -1)
        if wrong.any():
            row = int(wrong.any(1).argmax())
            raise SubjectError(f"emitted {_brief(blocks[row].tolist())}: tokens must be below the vocabulary's {vocabulary}")
        if not emitted[:, 0].all() or (emitted[:, 1:] > emitted[:, :-1]).any():
            row = int((~emitted[:, 0] | (emitted[:, 1:] > emitted[:, :-1]).any(1)).argmax())
            raise SubjectError(f"emitted {_brief(blocks[row].tolist())}: a block is at least one token, then padding of -1 only")
        if (emitted != before).any() or (accepted > min(most, blocks.shape[1] - 1)).any():
            length = emitted.sum(1)
            row = int(((accepted != length - 1) | (length > most + 1)).argmax())
            raise SubjectError(
                f"emitted {_brief(blocks[row].tolist())} with accepted = {accepted[row]}: a block is the accepted drafts and one bonus token, "
                f"at most {most} drafts here"
            )
        return every

    def _integers(self, values: Any, what: str) -> np.ndarray:
        try:
            array = _array(values)
        except (TypeError, ValueError, RuntimeError):
            raise SubjectError(f"returned {what} = {_brief(values)}, not an array") from None
        if array.dtype.kind == "f" and array.size and np.isnan(array).any():
            raise SubjectError(f"returned NaN in {what}")
        if array.dtype.kind not in "iu":
            raise SubjectError(f"returned {what} of type {array.dtype}, not integers")
        return array.astype(np.int64)


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def block_of(row: np.ndarray) -> Block:
    """A padded row as a tuple of tokens."""
    return tuple(int(token) for token in row if token >= 0)


def told(error: BaseException) -> str:
    """Message of an exception that was caught, and the line that raised it."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{_brief(error, str)} ({Path(last.filename).name}:{last.lineno}, in {last.name})"


def _brief(value: Any, how: Callable[[Any], str] = repr) -> str:
    text = " ".join(spelled(value, how).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _require_torch(subject: Subject) -> None:
    try:
        import torch
    except ImportError:
        raise SubjectError(f"{subject.name} needs torch, which is not installed (pip install 'draftproof[gpu]')") from None
    if subject.device.startswith("cuda") and not torch.cuda.is_available():
        raise SubjectError(f"{subject.name} needs the device {subject.device!r}, and this machine has no CUDA device")
