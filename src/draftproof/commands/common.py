"""What the commands share: exit codes, argument types, readable complaints, files written whole or not at all, progress."""

import argparse
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

USAGE_ERROR = 2

EPILOG = "exit codes: 0 conform, 1 nonconform, 2 usage or subject error (a missing device, engine or reading included), 3 inconclusive"

SUBJECT_HELP = (
    "module:callable, path/file.py:callable, gpu_impl, or an engine (transformers, vllm, sglang, flashinfer, eagle; vllm:module:callable for a "
    "function of its call shape: docs/adapters.md); add @family to name the reference it claims to be"
)


class Command(argparse.ArgumentParser):
    """Parser of one command: options may stand before, between and after what is positional; what it does not know is refused under its own usage."""

    _within = False

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """As argparse's, which calls this one for a command, and again for each half of an intermixed line."""
        if self._within:
            return super().parse_known_args(args, namespace)
        self._within = True
        found, unknown = self.parse_known_intermixed_args(args, namespace)
        self._within = False
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def complain(message: str) -> int:
    """Say what is wrong and return the exit code for it."""
    from draftproof.reference.exact_json import printable

    print(f"draftproof: {printable(message)}", file=sys.stderr)
    return USAGE_ERROR


def show(text: str) -> None:
    """Print; on a terminal long lines are broken between words and go on indented, but for commands, which are there to be copied."""
    width = shutil.get_terminal_size().columns
    for line in text.split("\n"):
        if not sys.stdout.isatty() or len(line) <= width or "see it again: " in line or "$ " in line:
            print(line)
        else:
            indent = len(line) - len(line.lstrip()) + 4
            print(textwrap.fill(line, width, subsequent_indent=" " * indent, drop_whitespace=False, break_on_hyphens=False, break_long_words=False))


def write(path: Path, content: str | bytes) -> None:
    """Whole or not at all: a reader never sees half a file.  Lone surrogates, as in the message of an exception, stand as JSON escapes them.

    Through a link its target is written; a device or a pipe is written to, and never replaced.
    """
    data = content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
    draft: Path | None = None
    try:
        if (path.exists() and not path.is_file()) or path.absolute().parts[1:2] in (("dev",), ("proc",)):
            with path.open("wb") as stream:
                stream.write(data)
            return
        whole = path.resolve()
        draft = whole.with_name(whole.name + ".part")
        draft.write_bytes(data)
        draft.replace(whole)
    except OSError as error:
        if draft is not None:
            draft.unlink(missing_ok=True)
        error.filename = error.filename or str(path)  # a disk that is full says no name
        raise


def short(number: str) -> str:
    """An exact fraction as text, or nine digits of it when it is long."""
    return number if len(number) <= 12 else decimal(number)


def decimal(number: str) -> str:
    """Nine digits of an exact fraction."""
    from fractions import Fraction

    from draftproof.reference import rational

    return rational.decimal(Fraction(number))


EVERY = 30.0
"""Seconds between lines of progress where there is no terminal."""


class Progress:
    """One line on a terminal; elsewhere, as in the log of a build, a line now and then."""

    def __init__(self, quiet: bool):
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._bar: Any = None
        self._began = self._said = time.monotonic()
        self._before: int | None = None

    def __enter__(self) -> "Progress":
        return self

    def show(self, name: str, done: int, total: int) -> None:
        if self._quiet:
            return
        self._before = done if self._before is None else self._before  # what a log knew took no time
        if not self._terminal:
            now = time.monotonic()
            if now - self._said >= EVERY:
                self._said = now
                left = self._left(now - self._began, done - self._before, total - done)
                print(f"draftproof: {done} of {total} done{left}, now {name}", file=sys.stderr, flush=True)
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(name, total=total)
            self._bar.start()
        self._bar.update(self._task, description=name, completed=done)

    def say(self, line: str) -> None:
        """A line of its own, above the progress."""
        if self._quiet:
            return
        from draftproof.reference.exact_json import printable

        line = printable(line)
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(f"draftproof: {line}", file=sys.stderr, flush=True)

    @staticmethod
    def _left(seconds: float, done: int, left: int) -> str:
        """The remaining time, if the others take as long as those that were done."""
        if not done:
            return ""
        estimate = seconds / done * left
        return f", about {f'{estimate:.0f} s' if estimate < 120 else f'{estimate / 60:.0f} min'} left"

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is not a number of processes")
    return value


def probability(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1)")
    return value


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 62:
        raise argparse.ArgumentTypeError(f"{text} is not a seed (0 or above)")
    return value
