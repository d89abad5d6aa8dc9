"""Where subjects come from, and the machine."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import draftproof
from draftproof.oracle.origins import about, environment
from draftproof.oracle.subjects import Subject, load

SUBJECT = """import functools

import draftproof


def passed_on(function):
    @functools.wraps(function)
    def outer(*arguments):
        return function(*arguments)

    return outer


@draftproof.chain(framework="numpy", family="token", claims=("lossless",))
@passed_on
def verify(drafts, declared, target):
    return [[0]], [0]
"""


def test_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "mine.py").write_text(SUBJECT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (subject,) = load("engine/mine.py:verify")
    said = about(subject)
    assert (said["file"], said["line"]) == (str(Path("engine", "mine.py")), 14), "behind the wrapper, at its first decorator"
    assert said["family"] == "recursive_rejection" and said["device"] == "cpu" and said["claims"] == ("lossless",)
    monkeypatch.chdir(Path(draftproof.__file__).parent)
    assert about(subject)["file"] == str(tmp_path.resolve() / "engine" / "mine.py")
    sys.modules.pop("mine", None)


def test_no_code_no_place() -> None:
    assert "file" not in about(Subject(len, "len"))
    assert "file" not in about(Subject(eval("lambda drafts, declared, target: None"), "made on the spot"))


def test_the_card_behind_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(get_device_name={"cuda:0": "a card"}.__getitem__)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert about(Subject(len, "len", device="cuda:0"))["card"] == "a card"
    assert "card" not in about(Subject(len, "len", device="cuda:1")) and "card" not in about(Subject(len, "len"))
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "card" not in about(Subject(len, "len", device="cuda:0")), "no torch here"


def test_environment() -> None:
    said = environment()
    assert said["python"].endswith(".".join(map(str, sys.version_info[:3]))) and said["packages"]["numpy"] and said["cores"] >= 1
