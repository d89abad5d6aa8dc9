"""Progress where there is no terminal: a line now and then, none when quiet."""

import pytest

from draftproof.commands import common


def test_lines_in_a_log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 31.0, 32.0])
    monkeypatch.setattr(common.time, "monotonic", lambda: next(clock))
    with common.Progress(quiet=False) as progress:
        for done in range(3):
            progress.show(f"engine on case-{done}", done, 9)
    assert capsys.readouterr() == ("", "draftproof: 1 of 9 done, about 4 min left, now engine on case-1\n")


def test_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "EVERY", 0.0)
    with common.Progress(quiet=True) as progress:
        progress.show("engine", 0, 9)
    assert capsys.readouterr() == ("", "")


def test_long_lines_are_broken_on_a_terminal_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "  exactness    1 conform, " + "word " * 30 + "\n  see it again: draftproof law " + "x" * 90
    common.show(text)
    assert capsys.readouterr().out == text + "\n"
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(common.sys.stdout, "isatty", lambda: True, raising=False)
    common.show(text)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:-1])) <= 80 and lines[0].startswith("  exactness    1 conform, word") and lines[1].startswith("      ")
    assert lines[-1] == text.splitlines()[-1] and "".join(lines[:-1]).split() == text.splitlines()[0].split()
