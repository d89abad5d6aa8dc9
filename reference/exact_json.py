"""JSON that says numbers exactly, and errors that name the entry: what instance files and budget files share."""

import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

_NUMBER = re.compile(r"[+-]?([0-9]{1,200}(/[0-9]{1,200})?|([0-9]{1,50}\.?[0-9]{0,50}|\.[0-9]{1,50})([eE][+-]?[0-9]{1,3})?)")  # no bombs


class FormatError(ValueError):
    """A JSON value that is not of the form it should have, with what is wrong and where."""


def read(path: str | Path) -> Any:
    """The JSON value in a file, decimals and NaN as they are spelled: "0.1" stays 1/10, and an error can say where NaN is.

    Raises FormatError when there is no such file, it is not JSON, or a key appears twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        return json.loads(text, parse_constant=str, parse_float=str, object_pairs_hook=_no_repeats)
    except FormatError:
        raise
    except OSError as error:
        raise FormatError(error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None


def as_object(value: Any, what: str) -> Mapping[str, Any]:
    """``value`` as a JSON object.  Raises FormatError when it is missing or something else."""
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be a JSON object, not {shown(value)}" if value is not None else f"{what} is missing")
    return value


def known_keys(given: Mapping[str, Any], keys: Iterable[str], what: str) -> None:
    """Raises FormatError for a key that nobody reads: it is misspelt, or asks for what will not happen."""
    known = list(keys)
    if unknown := [key for key in given if key not in known]:
        raise FormatError(f"unknown key {', '.join(map(shown, unknown))} in {what}{among(unknown[0], known)}")


def among(wrong: Any, known: Iterable[str]) -> str:
    """"; did you mean 'target'? known: target, draft", or without a question where nothing is spelled like ``wrong``."""
    known = list(known)
    return f"{nearest(wrong, known) or ';'} known: {', '.join(known)}"


def nearest(wrong: Any, known: Iterable[str]) -> str:
    """"; did you mean 'target'?" with up to three names that are spelled like ``wrong``, the nearest first; empty where none is."""
    found = get_close_matches(str(wrong)[:80].lower(), list(known)) if isinstance(wrong, str) else []
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def number(value: Any, what: str) -> str:
    """The text of an integer, a decimal or a string such as "3/8".  Raises FormatError for anything else."""
    try:
        text = str(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    except ValueError:  # an integer of more digits than Python prints
        text = ""
    if not _NUMBER.fullmatch(text):
        raise FormatError(f"{what} is not a number: {shown(value)}")
    return text


def shown(value: Any) -> str:
    """What was given, short whatever it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a very long number"


def printable(line: str) -> str:
    """Line breaks, and control characters that a terminal would obey, as they are spelled: what a file or a subject says may hold anything."""
    return line if line.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise FormatError(f"key {shown(key)} appears twice")
    return dict(pairs)
