"""README, run: every file in it is written, every command in it is run, and prints what README says that it prints."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
MISTAKE = "residual = [max(a - b, 0) for a, b in zip(p, q)]", "residual = p"
"""What README does to its first example between the first and the second run."""


def blocks(text: str) -> list[tuple[str, str]]:
    """(language, content) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[tuple[str, str]]:
    """(command, what it prints) of every ``$ draftproof`` in the blocks without a language."""
    return [
        (command, printed.strip())
        for language, content in blocks(text)
        if not language
        for command, printed in re.findall(r"^\$ (draftproof .*)\n((?:(?!\$ ).*\n)*)", content, re.MULTILINE)
    ]


def run(command: str, folder: Path) -> str:
    words = [sys.executable, "-m", "draftproof.cli", *shlex.split(command)[1:]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300).stdout.strip()


def write_files(text: str, folder: Path) -> None:
    for language, content in blocks(text):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", content)):
            (folder / name[1]).write_text(content)
        if language == "json":
            (folder / ("budget.json" if "marginals" in content else "instance.json")).write_text(content)


def test_commands_print_what_readme_says(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    write_files(text, tmp_path)
    seen = set[str]()
    for command, printed in commands(text):
        if command in seen:  # the second time it is about the mistake
            mine = tmp_path / "mine.py"
            assert MISTAKE[0] in mine.read_text()
            mine.write_text(mine.read_text().replace(*MISTAKE))
        seen.add(command)
        assert run(command, tmp_path) == printed, command
    assert len(seen) >= 6
    assert run("draftproof law instance.json --verifier traversal", tmp_path).startswith("traversal: lossless")


def test_the_snippet_that_calls_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = README.read_text(encoding="utf-8")
    write_files(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    (snippet,) = [content for language, content in blocks(text) if language == "python" and "report =" in content]
    exec(compile(snippet, "README.md", "exec"), {})


def test_a_wrong_figure_is_seen() -> None:
    text = "```\n$ draftproof instances chain-block\n{}\n$ draftproof --version\ndraftproof 0\n```\n"
    assert commands(text) == [("draftproof instances chain-block", "{}"), ("draftproof --version", "draftproof 0")]
    assert all(run(command, Path.cwd()) != printed for command, printed in commands(text))
