"""Is a subject still what it was when its log began?  A hash of the files its code is in, as far as that is known."""

import functools
import inspect
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from .subjects import Subject


def fingerprint(subjects: Iterable[Subject]) -> str | None:
    """SHA-256 over the file of each subject's function, or the modules of its package's folder; of a command, over its program and files among its
    arguments.  None where there is no such file.  What these import from elsewhere is not looked at.
    """
    files = sorted({path for subject in subjects for path in _files(subject.call)})
    found = sha256()
    for path in files:
        found.update(f"{path.name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest() if files else None


def _files(call: Callable[..., Any]) -> Iterator[Path]:
    if (command := getattr(call, "command", None)) is not None and getattr(call, "out_of_process", False):
        program, *arguments = shlex.split(command)
        yield from (Path(word) for word in (shutil.which(program) or program, *arguments) if Path(word).is_file())
        return
    while isinstance(call, functools.partial):
        call = call.func
    call = inspect.unwrap(call)
    try:
        path = Path(inspect.getsourcefile(call if inspect.isroutine(call) or inspect.isclass(call) else type(call)) or "")
    except (TypeError, OSError):
        return
    if path.is_file():
        yield from path.parent.glob("*.py") if (path.parent / "__init__.py").is_file() else [path]
