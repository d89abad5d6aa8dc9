"""Subjects in any language: a command that speaks JSON lines over its standard input and output (docs/protocol.md).

The command is started once, says hello with what it declares, and then answers one line for each line it is sent.  One that dies or does not
answer in time is started anew for the next question; standard error is its own, and its end is quoted when something goes wrong.
"""

import json
import shlex
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

import numpy as np

from draftproof.reference.exact_json import among

from .subjects import Subject, SubjectError
from .supervise import signal_name

VERSION = 1
ANSWER_LIMIT = 60.0
"""Seconds that a command may take for one answer."""

MOST_COLUMNS = 1 << 12
LONGEST_LINE = 1 << 28
KEPT_OF_STDERR = 1 << 12
DECLARES = (
    *("shape", "family", "rows", "dtype", "randomness", "columns", "layout", "uniforms_dtype"),
    *("rows_per_draft", "temperature", "top_k", "top_p"),
)
RANDOMNESS = ("uniforms", "seeds", "internal", "counts")

Arrays = tuple[np.ndarray, np.ndarray]


def command_subject(command: str, name: str, transcript: Path | None = None, **overrides: Any) -> Subject:
    """The verifier behind ``command`` (split as a shell would, run without one), with what its hello declares.

    ``transcript``: append every line exchanged to this file.  Raises SubjectError when the command cannot be started or says no proper hello.
    """
    conversation = Conversation(command, transcript)
    hello = conversation.hello()
    declares = {key: value for key, value in hello.items() if key in DECLARES}
    if unknown := [key for key in hello if key not in (*DECLARES, "claims")]:
        raise SubjectError(f"{command}: its hello has {unknown[0]!r}, which nobody reads{among(unknown[0], (*DECLARES, 'claims'))}")
    if declares.get("shape") not in ("tree", "chain"):
        raise SubjectError(f'{command}: its hello must say "shape": "tree" or "chain"')
    if (randomness := declares.get("randomness")) not in RANDOMNESS:
        raise SubjectError(f'{command}: its hello must say "randomness", one of {", ".join(RANDOMNESS)}')
    if "columns" in declares:
        columns = declares["columns"]
        if not isinstance(columns, int) or isinstance(columns, bool) or not 1 <= columns <= MOST_COLUMNS:
            raise SubjectError(f'{command}: "columns" in its hello must be an integer from 1 to {MOST_COLUMNS}')
        declares["columns"] = lambda nodes: columns
    claims = hello.get("claims", ["lossless"])
    if not isinstance(claims, list):
        raise SubjectError(f'{command}: "claims" in its hello must be a list')
    verifier = Command(conversation, declares["shape"], counts=randomness == "counts")
    declares |= {"randomness": "internal" if randomness == "counts" else randomness, "claims": tuple(claims), "framework": "numpy"}
    try:
        return Subject(verifier, name, **{**declares, **overrides})
    except TypeError as error:
        raise SubjectError(f"{command}: {error}") from None


class Command:
    """A subject's callable, of the native shape that it declared."""

    out_of_process = True

    def __init__(self, conversation: "Conversation", shape: str, counts: bool):
        self._conversation, self._shape, self._counts = conversation, shape, counts

    def __call__(self, *arrays: np.ndarray | None, **randomness: np.ndarray) -> Arrays:
        first, pick = _distinct([array for array in arrays if array is not None])
        given = [None if array is None else array[first] for array in arrays]
        trees = _chains(*given) if self._shape == "chain" else _trees(*given)
        return self._drawn(trees, pick) if self._counts else self._verified(trees, pick, randomness)

    def _verified(self, trees: list[Any], pick: list[int], randomness: Mapping[str, np.ndarray]) -> Arrays:
        given = {name: values.tolist() for name, values in randomness.items()}
        answer = self._conversation.ask({"verify": {"trees": trees, "pick": pick, **given}}, ("blocks", "accepted"))
        blocks = [_tokens(block, f"blocks[{row}]") for row, block in enumerate(_list(answer["blocks"], "blocks", len(pick)))]
        accepted = _tokens(_list(answer["accepted"], "accepted", len(pick)), "accepted")
        return _padded(blocks, self._width(trees)), np.array(accepted, dtype=np.int64)

    def _drawn(self, trees: list[Any], pick: list[int]) -> Arrays:
        """For each tree as many blocks as there are rows with it, in random order: counted independent draws are independent again."""
        blocks: list[Sequence[int]] = [()] * len(pick)
        for number, tree in enumerate(trees):
            rows = [row for row, picked in enumerate(pick) if picked == number]
            seed = int(np.random.randint(1 << 53, dtype=np.int64))
            counts = self._conversation.ask({"sample": {"tree": tree, "count": len(rows), "seed": seed}}, ("counts",))["counts"]
            drawn = list[Sequence[int]]()
            for place, pair in enumerate(_list(counts, "counts")):
                block, times = _list(pair, f"counts[{place}]", 2)
                (times,) = _tokens([times], f"counts[{place}]")
                if not 0 < times <= len(rows) - len(drawn):
                    raise SubjectError(f"answered with {times} blocks at counts[{place}], of {len(rows) - len(drawn)} still asked for")
                drawn += [_tokens(block, f"counts[{place}]")] * times
            if len(drawn) != len(rows):
                raise SubjectError(f"answered with counts of {len(drawn)} blocks in all, not the {len(rows)} asked for")
            for row, nth in zip(rows, np.random.permutation(len(rows)), strict=True):  # in any other order neighbours are alike
                blocks[row] = drawn[nth]
        return _padded(blocks, self._width(trees)), np.array([len(block) - 1 for block in blocks], dtype=np.int64)

    def _width(self, trees: Sequence[Mapping[str, Any]]) -> int:
        """D + 1 of the deepest tree, to which shorter blocks are padded."""
        return 1 + max(len(tree["drafts"]) if self._shape == "chain" else _depth(tree["parents"]) for tree in trees)


class Conversation:
    """One line out, one line in, with a process that is started when it is needed."""

    def __init__(self, command: str, transcript: Path | None = None):
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise SubjectError(f"{command}: {error}") from None
        if not self._words:
            raise SubjectError("the command is empty")
        self.command, self._transcript = command, transcript
        self._process: subprocess.Popen[bytes] | None = None
        self._hello: dict[str, Any] | None = None

    def hello(self) -> dict[str, Any]:
        """What the command declares.  Raises SubjectError, also when a second start declares something else."""
        self._start()
        try:
            found = self._exchange({"draftproof": VERSION}, ("hello",))["hello"]
        except SubjectError as error:
            raise SubjectError(str(error) if self.command in str(error) else f"{self.command}: {error}") from None
        if not isinstance(found, dict):
            raise SubjectError(f'{self.command}: answered "hello" with {_brief(found)}, not an object')
        if self._hello not in (None, found):
            raise SubjectError(f"{self.command}: said another hello when it was started again")
        self._hello = found
        return found

    def ask(self, message: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        """The answer, an object with ``keys``.  Raises SubjectError, and starts the command anew the next time when it did not answer."""
        if self._process is None:
            self.hello()
        return self._exchange(message, keys)

    def _start(self) -> None:
        pipe = subprocess.PIPE
        try:
            self._process = process = subprocess.Popen(self._words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the command
            raise SubjectError(f"cannot start {self.command}: {getattr(error, 'strerror', None) or error}") from None
        assert process.stdout is not None and process.stderr is not None
        self._answers, self._said = SimpleQueue[bytes](), bytearray()
        self._listener = threading.Thread(target=_keep_end, args=(process.stderr, self._said), daemon=True)
        for thread in (self._listener, threading.Thread(target=_queue_lines, args=(process.stdout, self._answers), daemon=True)):
            thread.start()
        weakref.finalize(self, process.kill)

    def _exchange(self, message: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        """The command may neither read nor write, and what it has forked may hold its pipes open: only the clock is waited for."""
        line, process, deadline = json.dumps(message, allow_nan=False), self._process, time.monotonic() + ANSWER_LIMIT
        assert process is not None and process.stdin is not None
        with suppress(Empty):
            extra = self._answers.get_nowait()
            if extra.endswith(b"\n"):
                self._lost()
                raise SubjectError(f"answered more than it was asked: {_brief(extra.decode(errors='replace'))}, before the next question")
            self._answers.put(extra)  # it has ended
        self._note(">", line)
        threading.Thread(target=_write, args=(process.stdin, line.encode() + b"\n"), daemon=True).start()
        try:
            reply = self._answers.get(timeout=deadline - time.monotonic()).decode(errors="replace")
        except Empty:
            how = self._lost(f"did not answer within {ANSWER_LIMIT:g} s and was ended")
            raise SubjectError(how) from None
        except BaseException:
            self._lost()
            raise
        if not reply.endswith("\n"):
            how = self._lost(f"answered a line of more than {LONGEST_LINE} bytes and was ended" if reply else None)
            raise SubjectError(how)
        self._note("<", reply.rstrip("\r\n"))
        return self._object(reply, keys)

    def _object(self, reply: str, keys: tuple[str, ...]) -> dict[str, Any]:
        try:
            answer = json.loads(reply, object_pairs_hook=_once)
            why = "" if isinstance(answer, dict) else ", not an object with"
        except _Twice as error:
            answer, why = None, f", with {error} twice: there should be"
        except (ValueError, RecursionError):
            answer, why = None, ", which is not JSON: there should be an object with"
        if isinstance(answer, dict) and "error" in answer:
            raise SubjectError(f"said that it failed: {_brief(answer['error'])}")
        if not isinstance(answer, dict) or set(answer) != set(keys):
            self._lost("is out of step")  # start anew, at once
            wanted = " and ".join(f'"{key}"' for key in keys)
            if isinstance(answer, dict):
                odd = [f'"{_brief(key)}"' for key in answer if key not in keys]
                why = f", with {odd[0]}, which nobody reads: there should be" if odd else ", not an object with"
            raise SubjectError(f"answered {_brief(reply.strip()) or 'an empty line'}{why} {wanted}")
        return answer

    def _lost(self, how: str | None = None) -> str:
        """End the process and say how it ended, unless ``how`` says it, with the last line of its standard error."""
        process, self._process = self._process, None
        assert process is not None
        try:
            code = process.wait(0 if how else 0.5)
            ended = f"ended with exit status {code}" if code >= 0 else f"died of {signal_name(-code)}"
        except subprocess.TimeoutExpired:
            ended = "closed its standard output and was ended"
            process.kill()
            process.wait()
        self._listener.join(1.0)
        said = bytes(self._said).decode(errors="replace")
        last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
        return f"the command {how or ended}" + (f"; the end of its standard error: {_brief(last)}" if last else "")

    def _note(self, arrow: str, line: str) -> None:
        if self._transcript:
            with self._transcript.open("a", encoding="utf-8") as out:
                out.write(f"{arrow} {line}\n")


class _Twice(Exception):
    """A key that an object has twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice(next(f'"{_brief(key)}"' for nth, (key, _) in enumerate(pairs) if key in dict(pairs[:nth])))
    return found


def _write(stdin: IO[bytes], line: bytes) -> None:
    left = memoryview(line)
    with suppress(OSError, ValueError):  # whoever ended does not answer either
        while left:
            left = left[stdin.write(left) :]


def _queue_lines(stdout: IO[bytes], answers: SimpleQueue[bytes]) -> None:
    """Every line with its newline, then what has none: the rest of the output, or a line that is too long."""
    parts, size = list[bytes](), 0
    with suppress(OSError):
        while chunk := stdout.read(1 << 20):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                answers.put(b"".join([*parts, line, b"\n"]))
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                break
    answers.put(b"".join(parts) if size > LONGEST_LINE else b"")


def _keep_end(stderr: IO[bytes], said: bytearray) -> None:
    """However much is said, in however long lines, its end is kept."""
    with suppress(OSError):
        while chunk := stderr.read(1 << 16):
            said[:] = (said + chunk)[-KEPT_OF_STDERR:]


def _trees(tokens: Any, parents: Any, valid: Any, target: Any, declared: Any) -> list[dict[str, Any]]:
    """Trees without their padding, which ends every row."""
    return [
        {
            "tokens": tokens[row, :size].tolist(),
            "parents": parents[row, :size].tolist(),
            "target": _numbers(target[row, :size]),
            "declared": None if declared is None else _numbers(declared[row, :size]),
        }
        for row, size in enumerate(valid.sum(1).tolist())
    ]


def _chains(drafts: Any, declared: Any, target: Any) -> list[dict[str, Any]]:
    laws = [None] * len(drafts) if declared is None else _numbers(declared)
    rows = zip(drafts.tolist(), laws, _numbers(target), strict=True)
    return [{"drafts": ids, "declared": law, "target": after} for ids, law, after in rows]


def _numbers(rows: np.ndarray) -> Any:
    """As lists; the logarithm of nothing is null, since JSON has no infinity."""
    if np.isfinite(rows).all():
        return rows.tolist()
    spelled = rows.astype(object)
    spelled[~np.isfinite(rows)] = None
    return spelled.tolist()


def _distinct(arrays: Sequence[np.ndarray]) -> tuple[list[int], list[int]]:
    """A row for each different one, and which of them each row is: most rows of a reading share one tree."""
    rows = np.concatenate([np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8) for array in arrays], axis=1)
    known: dict[bytes, int] = {}
    first, pick = list[int](), list[int]()
    for row, content in enumerate(map(np.ndarray.tobytes, rows)):
        if content not in known:
            known[content] = len(first)
            first.append(row)
        pick.append(known[content])
    return first, pick


def _depth(parents: Sequence[int]) -> int:
    depth = [0] * len(parents)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    return max(depth)


def _list(value: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        wanted = "a list" if length is None else f"a list of {length}"
        raise SubjectError(f"answered with {where} = {_brief(value)}, not {wanted}")
    return value


def _tokens(value: Any, where: str) -> list[int]:
    tokens = _list(value, where)
    for token in tokens:
        if not isinstance(token, int) or isinstance(token, bool) or abs(token) >= 1 << 53:
            raise SubjectError(f"answered with {_brief(token)} in {where}, not an integer")
    return tokens


def _padded(blocks: Sequence[Sequence[int]], width: int) -> np.ndarray:
    out = np.full((len(blocks), max(width, *map(len, blocks))), -1, dtype=np.int64)
    for row, block in enumerate(blocks):
        out[row, : len(block)] = block
    return out


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."
