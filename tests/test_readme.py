"""README and the site, run: every file in them is written, every command is run, and prints what they say that it prints."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
PAGES = sorted((README.parent / "docs").glob("*.md"))
LANGUAGES = ("", "python", "json", "yaml", "text")
"""Labels of blocks: commands, programs, files that are parsed, and what is only to be read."""
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


def check_page(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what a page shows, from its first block to its last."""
    monkeypatch.chdir(folder)
    for language, content in blocks(text):
        assert language in LANGUAGES, f"a block labelled {language!r}: {content[:60]}"
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", content)):
            (folder / name[1]).write_text(content)
        elif language == "python":
            exec(compile(content, "page", "exec"), {"__name__": "page"})
        elif language == "json":
            json.loads(content)
        elif language == "yaml":
            pytest.importorskip("yaml").safe_load(content)
        elif not language:
            found = commands(f"```\n{content}```\n")
            assert found and content.startswith("$ draftproof "), f"a block without a label that is no command: {content[:60]}"
            for command, printed in found:
                said = run(command, folder)
                assert said.startswith(printed[:-3].rstrip()) if printed.endswith("...") else said == printed, (command, said)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_of_the_site(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_page(page.read_text(encoding="utf-8"), tmp_path, monkeypatch)


RIGHT = "```python\n# a.py\nx = 1\n```\n```python\nimport a\nassert a.x == 1\n```\n```\n$ draftproof --version\ndraftproof ...\n```\n"


@pytest.mark.parametrize(
    ("right", "wrong"), [("a.x == 1", "a.x == 2"), ("draftproof ...", "draftproof 0"), ("$ draftproof", "$ ls"), ("```python\n#", "```sh\n#")]
)
def test_what_is_wrong_on_a_page_is_seen(right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a", raising=False)
    check_page(RIGHT, tmp_path, monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        check_page(RIGHT.replace(right, wrong), tmp_path, monkeypatch)
