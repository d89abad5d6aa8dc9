from pathlib import Path
from typing import Any

import pytest

from draftproof.reference.exact_json import FormatError, among, as_object, known_keys, nearest, number, read, shown


def test_decimals_and_names_of_no_number_stay_as_they_are_spelled(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": [0.10, 1e-3, NaN, -Infinity, 7]}')
    assert read(path) == {"a": ["0.10", "1e-3", "NaN", "-Infinity", 7]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON"),
        ('{"a": 1, "a": 1}', "key 'a' appears twice"),
        ('[{"b": {"c": 1, "c": 2}}]', "key 'c' appears twice"),
    ],
)
def test_what_cannot_be_read(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=said):
        read(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\x00")
    for path, said in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file"), (tmp_path / "bytes", "not JSON")):
        with pytest.raises(FormatError, match=said):
            read(path)


LONG = pytest.param(10**5000, id="long")


@pytest.mark.parametrize("value", [None, True, [], {}, "", "x", "1/", "/2", "1/2/3", "nan", "inf", " 1", "1_0", "1e1000", 10**300, LONG])
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(FormatError, match="this is not a number"):
        number(value, "this")


def test_objects_and_keys() -> None:
    assert number(0.5, "x") == "0.5" and number("-3/8", "x") == "-3/8" and number(".5e2", "x") == ".5e2"
    with pytest.raises(FormatError, match="it is missing"):
        as_object(None, "it")
    with pytest.raises(FormatError, match=r"it must be a JSON object, not \[1\]"):
        as_object([1], "it")
    known_keys({"a": 1}, "ab", "it")
    assert nearest("targte", ["draft", "target"]) == among("targte", ["draft", "target"]).partition("? known")[0] + "?" == "; did you mean 'target'?"
    assert nearest("zzz", ["draft"]) == nearest(3, ["3"]) == "" and among("zzz", ["draft"]) == "; known: draft"
    with pytest.raises(FormatError, match="unknown key 'c', 4 in it; known: a, b"):
        known_keys({"a": 1, "c": 1, 4: 1}, "ab", "it")  # type: ignore[dict-item]
    assert len(shown("x" * 10**6)) < 100 and shown(10**5000) == "a very long number"
