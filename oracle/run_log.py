"""The run log: what a run has judged, a line as soon as it is known, so that it can be stopped at any moment and go on (docs/runs.md).

A file of JSON lines, only ever appended to.  The first is the header: what is judged, and how.  Every other holds what one work item found.  Each
line ends with a sum over itself and the line before: a last line that was cut off by a crash is seen and dropped, any other damage is an error.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from .report import Report

VERSION = 1
START = b'{"draftproof_run":'
SUM = b',"sum":"'


class RunLogError(ValueError):
    """A log that cannot be gone on with, with what is wrong and where."""


class RunLog:
    """A log that is open for appending.  ``found``: number of an item -> what it found, as read."""

    def __init__(self, path: Path, file: IO[bytes], header: Mapping[str, Any], lines: list[dict[str, Any]], last: str):
        self.path, self._file, self._last = path, file, last
        self.header = header
        self.found = {number: found for number, found in (_parsed(path, header, line) for line in lines)}

    def add(self, number: int, found: Report) -> None:
        """What an item found.  On the disk when this returns."""
        subject, instance = self.header["items"][number]
        parts = {"verdicts": [one.as_dict() for one in found.verdicts], "errors": [vars(one) for one in found.errors]}
        parts["not_judged"] = [vars(one) for one in found.not_judged]
        seconds = {verdict: seconds for (*_, verdict), seconds in found.seconds.items()}
        self._write({"item": number, "subject": subject, "instance": instance, **parts, "seconds": seconds})

    def _write(self, line: Mapping[str, Any]) -> None:
        text, self._last = summed(line, self._last)
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            error.filename = self._file.name  # a disk that is full says no name
            raise
        os.fsync(self._file.fileno())


@contextmanager
def run_log(path: Path, header: Mapping[str, Any]) -> Iterator[RunLog]:
    """The log at ``path`` of the run that ``header`` describes: a new one, or one to go on with.

    Raises RunLogError when it is that of another run, damaged, no log, or in use; OSError when it cannot be written.
    """
    header = json.loads(json.dumps({"draftproof_run": VERSION, **header}))
    with path.open("ab") as file:
        _lock(file, path)
        lines, good, last = _read(path)
        if lines:
            _same(path, lines[0], header)
        file.truncate(good)
        log = RunLog(path, file, header, lines[1:], last)
        if not lines:
            log._write(header)
        yield log


def header_of(path: Path) -> dict[str, Any]:
    """The header of a log.  Raises RunLogError, OSError."""
    lines, _, _ = _read(path)
    if not lines:
        raise RunLogError(f"{path}: no run was begun in this log")
    return lines[0]


def summed(line: Mapping[str, Any], last: str) -> tuple[bytes, str]:
    """A line with its sum, which is over the sum of the line before and everything up to its own key; and that sum."""
    body = json.dumps(line, separators=(",", ":")).encode()[:-1]
    found = sha256(last.encode() + body).hexdigest()
    return body + SUM + found.encode() + b'"}\n', found


def _read(path: Path) -> tuple[list[dict[str, Any]], int, str]:
    """The lines, their length in bytes, and the sum of the last.  A last line that is not whole is left out."""
    content = path.read_bytes()
    if not (content.startswith(START) or START.startswith(content)):
        raise RunLogError(f"{path} is not a run log of draftproof")
    lines, good, last = list[dict[str, Any]](), 0, ""
    for number, text in enumerate(BytesIO(content), 1):
        body, _, tail = text.rpartition(SUM)
        found = sha256(last.encode() + body).hexdigest()
        if tail != f'{found}"}}\n'.encode():
            if good + len(text) < len(content):
                raise RunLogError(f"{path}: line {number} is damaged")
            break
        lines.append(json.loads(body + b"}"))
        good, last = good + len(text), found
    if lines and lines[0].get("draftproof_run") != VERSION:
        raise RunLogError(f"{path} is a run log of format {lines[0].get('draftproof_run')}; this is {VERSION}")
    return lines, good, last


def _same(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raises RunLogError that names the first difference."""
    if old == new:
        return
    settings = {"settings": (old["settings"], new["settings"])}
    for kind, (was, is_) in {"": (old, new), **settings}.items():
        for key in dict.fromkeys([*was, *is_]):
            if was.get(key) != is_.get(key) and key != "settings":
                raise RunLogError(f"{path} is the log of another run: {_told(kind, key, was.get(key), is_.get(key))}")


def _told(kind: str, key: str, was: Any, is_: Any) -> str:
    if key == "source":
        return "the subject's source has changed since"
    if key in ("items", "instances"):
        return f"it judges other {key}"
    return f"its {key.replace('_', ' ')} is {json.dumps(was)}, not {json.dumps(is_)}"


def _lock(file: IO[bytes], path: Path) -> None:
    """Two runs must not write one log."""
    try:
        import fcntl
    except ImportError:  # nothing of the kind here
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RunLogError(f"{path} is being written by another run") from None


def _parsed(path: Path, header: Mapping[str, Any], line: Mapping[str, Any]) -> tuple[int, Report]:
    try:
        if [line["subject"], line["instance"]] != header["items"][line["item"]]:
            raise ValueError
        found = Report.from_dict(line)
        found.seconds = {(line["subject"], line["instance"], verdict): float(took) for verdict, took in line.get("seconds", {}).items()}
        return line["item"], found
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise RunLogError(f"{path}: {json.dumps(line)[:80]}... is not what a work item of this run found") from None
