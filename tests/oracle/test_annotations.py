"""GitHub annotations and step summaries: one line each whatever is in it, and nothing forged."""

import re
from pathlib import Path

import pytest

from draftproof.oracle import Report, annotations
from draftproof.oracle.report import Failure
from draftproof.oracle.verdicts import Verdict

from .reports import HOSTILE, hostile, large, ordinary

LINE = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
PROPERTIES = {"file", "line", "title"}


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it (actions/runner, ActionCommand.cs): level, properties, message."""
    found = LINE.fullmatch(line)
    assert found is not None, f"no command: {line[:200]!r}"

    def undone(text: str, *more: tuple[str, str]) -> str:
        for escaped, letter in (*more, ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(escaped, letter)
        return text

    pairs = [pair.partition("=") for pair in found[2].split(",")]
    return found[1], {key: undone(value, ("%3A", ":"), ("%2C", ",")) for key, _, value in pairs}, undone(found[3])


def faults(lines: list[str]) -> list[str]:
    found = list[str]()
    for line in lines:
        try:
            _, properties, _ = parsed(line)
        except AssertionError as error:
            found.append(str(error))
            continue
        found += [f"properties {sorted(properties)}"] * (not set(properties) <= PROPERTIES or "title" not in properties)
        found += ["more than one line"] * (len(line.splitlines()) != 1)
    return found


@pytest.fixture(autouse=True)
def no_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


def test_every_finding_at_the_line_of_its_subject() -> None:
    report = Report([Verdict("mine.py:verify", "chain-block", "exactness", "nonconform", "enumerate", 0.1, 1e-6, "100% wrong: a, b\nmore", "12")])
    report.about["mine.py:verify"] = {"file": "src/a,b:c.py", "line": 7}
    (line,) = annotations.annotations(report)
    assert line.startswith("::error file=src/a%2Cb%3Ac.py,line=7,title=draftproof%3A exactness of mine.py%3Averify is nonconform::")
    level, properties, message = parsed(line)
    assert level == "error" and properties["file"] == "src/a,b:c.py" and properties["line"] == "7"
    assert message == "on chain-block: 100% wrong: a, b\nmore\nsee it again: draftproof law chain-block --subject mine.py:verify"
    report.about["mine.py:verify"]["file"] = "/elsewhere/mine.py"
    assert "file" not in parsed(annotations.annotations(report)[0])[1], "only files of the checkout can be annotated"


def test_files_are_named_from_the_root_of_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    monkeypatch.chdir(tmp_path / "engine")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    report = Report([Verdict("mine.py:verify", "chain-block", "exactness", "nonconform", "enumerate")])
    for given, wanted in (("mine.py", "engine/mine.py"), (str(tmp_path / "other.py"), "other.py"), ("../../out.py", None)):
        report.about["mine.py:verify"] = {"file": given, "line": 3}
        assert parsed(annotations.annotations(report)[0])[1].get("file") == wanted


def test_worst_first_and_nothing_for_what_conforms() -> None:
    levels = [parsed(line)[0] for line in annotations.annotations(ordinary())]
    assert levels == ["error", "error", "warning"]
    assert not any("engine:right" in line for line in annotations.annotations(ordinary()))
    assert [parsed(line)[2] for line in annotations.annotations(Report())] == ["nothing was judged"]


def test_nothing_can_be_forged() -> None:
    lines = annotations.annotations(hostile())
    assert faults(lines) == [] and len(lines) > len(HOSTILE)
    assert max(map(len, lines)) < 15_000


@pytest.mark.parametrize("part", ["_escaped", "plain"])
def test_planted_faults_are_found(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "_escaped", lambda text: text)
    if part == "plain":
        monkeypatch.setattr(annotations, "plain", lambda text, most=2000, keep="": str(text)[:most])
    assert faults(annotations.annotations(hostile())) != []


def test_a_property_that_is_not_escaped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = annotations.command("error", {"title": "a:b,line=9"}, "m")
    assert faults([right]) == [] and parsed(right)[1] == {"title": "a:b,line=9"}
    assert faults(["::error title=a:b,line=9,sha=3::m"]) != []


def test_summary() -> None:
    said = annotations.summary(ordinary())
    assert said.startswith("## draftproof: error\n\n| subject | outcome | support | exactness | acceptance | invariance |\n")
    assert "| 2 nonconform |" in said and "- **error** engine\\:crash, not judged on chain\\-block: crashed\\: the process died of SIGSEGV" in said
    rows = [line for line in annotations.summary(hostile()).splitlines() if line.startswith("|")]
    cells = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert len(cells) == 1, "no subject ends its cell"
    assert not re.search(r"(?<!\\)<|(?<!\\)`|@someone", annotations.summary(hostile()))
    assert len(annotations.summary(large(400, 3)).encode()) <= annotations.LARGEST + 100
    assert annotations.markdown("[x](javascript:y) `a` <b> &amp; @c") == r"\[x\]\(javascript\:y\) \`a\` &lt;b&gt; &amp;amp; &#64;c"


def test_errors_of_a_subject_that_was_never_loaded() -> None:
    (line,) = annotations.annotations(Report(errors=[Failure("engine:verify", "", "cannot be imported")]))
    assert parsed(line)[2] == "cannot be imported"
