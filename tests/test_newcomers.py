"""What somebody meets first: `init`, `instances` drawn, `explain` of a name, the glossary."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from draftproof.cli import main
from draftproof.oracle import check
from draftproof.oracle.catalogue import catalogue, find
from draftproof.oracle.tree_drawing import drawn
from draftproof.reference.verifiers import FAMILIES

MISTAKE = "[max(a - b, 0) for a, b in zip(p, q)]", "p"


def test_init_writes_a_verifier_that_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mine"]) == 0
    said = capsys.readouterr().out
    assert "cd mine\n" in said and "draftproof check verifier.py:verify" in said and "pytest" in said
    report = check("mine/verifier.py:verify", tier="smoke")
    assert report.outcome == "conform", str(report)
    verifier = Path("mine/verifier.py")
    assert MISTAKE[0] in verifier.read_text()
    verifier.write_text(verifier.read_text().replace(*MISTAKE))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "chain-one-draft", "mine"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 1 and "1 failed, 3 passed" in done.stdout, done.stdout
    assert "at the root the next token should be 0 with probability 0.5; it is 0.35" in done.stdout


@pytest.mark.parametrize("there", ["verifier.py", "test_verifier.py"])
def test_init_overwrites_nothing(there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / there).write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"draftproof: {tmp_path / there} is there already; nothing was written\n"
    assert [path.name for path in tmp_path.iterdir()] == [there] and (tmp_path / there).read_text() == "mine"
    assert main(["init", str(tmp_path / there)]) == 2
    assert capsys.readouterr().err.startswith(f"draftproof: {tmp_path / there}: ")


def test_a_drawing() -> None:
    assert "\n".join(drawn(find("tree-siblings"))).splitlines()[5:] == [
        "",
        "  draft   its declared law    target after it",
        "  root                        2/5 3/10 1/5 1/10",
        "  ├─ 3    1/10 1/5 3/10 2/5   2/5 3/10 1/5 1/10",
        "  └─ 2    1/6 1/3 1/2 0       2/5 3/10 1/5 1/10",
    ]


def test_every_instance_is_drawn_within_a_page() -> None:
    for instance in catalogue():
        lines = list(drawn(instance, unicode=False))
        assert max(map(len, lines)) <= 120 and "\n".join(lines).isascii() and len(lines) >= 8


def test_a_terminal_without_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    assert main(["instances", "tree-ragged"]) == 0
    ascii_only.flush()
    assert b"|- 2" in ascii_only.buffer.getvalue()  # type: ignore[attr-defined]


def test_instances_as_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "chain-block", "--json"]) == 0
    path = tmp_path / "mine.json"
    path.write_text(capsys.readouterr().out)
    assert json.loads(path.read_text()) == find("chain-block").source
    assert main(["instances", str(path)]) == 0
    assert "kinds A C L" in capsys.readouterr().out
    assert main(["instances", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(catalogue())
    path.write_text('{"vocabulary": 2, "target": {"0": [1, 1]}, "drafting": {"scheme": "fixed", "tree": ["0"]}}')
    assert main(["instances", str(path)]) == 0  # a row that is missing is said in its place
    assert 'target has no row for prefix ""' in capsys.readouterr().out
    assert main(["instances", "nowhere"]) == 2
    assert capsys.readouterr().err == "draftproof: nowhere: no such file, nor is it in the catalogue; draftproof instances lists the catalogue\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("chain-argmax-draft", "kind K: declared law is not the law drafted from (draftproof explain K)"),
        ("always_accepts", "Compares the ratio with zero where it should draw a uniform."),
        ("draftproof.oracle.faults.chains:always_accepts", "planted fault always_accepts"),
        ("", "lossless"),
    ],
)
def test_explain_a_name(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    from draftproof.oracle.controls import CONTROLS

    name = name or CONTROLS[0].name
    assert main(["explain", name]) == 0
    assert said in capsys.readouterr().out
    assert main(["explain", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kinds"]


def test_the_glossary_names_every_family() -> None:
    text = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.]+)`", text))
    assert set(FAMILIES) <= named
    systems = "SpecInfer SpecTr Medusa EAGLE DDTree CaDDTree UniVer Tsubame ExitTrain DFlash TEV".split()
    assert all(system in text for system in [*systems, "block verification", "traversal verification"])
