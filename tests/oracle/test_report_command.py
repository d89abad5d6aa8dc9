"""``draftproof report``, and the same options of ``draftproof check``: what is written, where, and what cannot be."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from draftproof.cli import main

from .reports import HOSTILE, hostile, ordinary
from .test_page import faults

WRONG = "draftproof.oracle.faults.chains:residual_is_target"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.json"
    file.write_text(ordinary().to_json(), encoding="utf-8")
    return file


def test_everything_from_files(report: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    league, budget, problem = tmp_path / "league.json", tmp_path / "budget.json", tmp_path / "problem.json"
    assert main(["league", "chain-one-draft", "--json", "--quiet"]) == 0
    league.write_text(capfd.readouterr().out)
    problem.write_text('{"marginals": [[3, 1]], "cost": {"draft": 1, "verify": [1, 1]}, "nodes": 1}')
    assert main(["budget", str(problem), "--json"]) == 0
    budget.write_text(capfd.readouterr().out)
    page, xml, summary = tmp_path / "page.html", tmp_path / "junit.xml", tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["report", *map(str, (report, league, budget)), "--html", str(page), "--junit", str(xml), "--github"]) == 0
    document = page.read_bytes().decode()
    assert faults(document) == [] and all(section in document for section in ('id="wrong"', 'id="league"', 'id="budget"', 'id="machine"'))
    assert ElementTree.parse(xml).getroot().get("failures") == "2"
    printed = capfd.readouterr().out
    assert printed.count("::error ") == 2 and printed.count("::warning ") == 1
    assert summary.read_text().startswith("before\n## draftproof: error\n")


def test_a_hostile_file(tmp_path: Path) -> None:
    file, page = tmp_path / "report.json", tmp_path / "page.html"
    file.write_bytes(hostile(HOSTILE[:9]).to_json().encode(errors="backslashreplace"))
    assert main(["report", str(file), "--html", str(page)]) == 0
    assert faults(page.read_bytes().decode()) == []


def test_check_writes_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    written = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "junit")}
    options = [word for kind, file in written.items() for word in (f"--{kind}", str(file))]
    code = main(["check", WRONG, "--instance", "chain-one-draft", "--shrink", "5", "--quiet", "--github", *options])
    assert code == 1
    read = json.loads(written["json"].read_text())
    (small,) = read["shrunk"]
    assert small["subject"] == WRONG and small["minimal"] and "print(check(" in small["python"] and small["verdict"]["details"]["prefix_laws"]
    assert read["subjects"][WRONG]["file"].endswith("chains.py") and "chain-one-draft" in read["instances"]
    assert read["environment"]["packages"]["numpy"]
    assert "Smallest instance that still fails" in written["html"].read_text() and b"<failure " in written["junit"].read_bytes()
    lines = capfd.readouterr().out.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) >= 32 and lines.index(f"::{token}::") == len(lines) - 2, "what is printed meanwhile is no command"
    assert lines[-1].startswith("::error ") and "chain-one-draft" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["{report}"], "say what to write"),
        (["{report}", "--html", "{folder}/none/page.html"], "no folder"),
        (["{report}", "--html", "{folder}"], "cannot write"),
        (["{folder}/none.json", "--html", "{folder}/page.html"], "No such file"),
        (["{folder}", "--html", "{folder}/page.html"], "Is a directory"),
        (["{broken}", "--html", "{folder}/page.html"], "not JSON"),
        (["{league}", "--junit", "{folder}/junit.xml"], "there is none"),
    ],
)
def test_what_cannot_be_done(arguments: list[str], complaint: str, report: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken, league = tmp_path / "broken.json", tmp_path / "league.json"
    broken.write_text('{"verdicts": ')
    league.write_text('{"instances": [], "means": []}')
    places = {"report": report, "folder": tmp_path, "broken": broken, "league": league}
    assert main(["report", *(one.format(**places) for one in arguments)]) == 2
    said = capfd.readouterr().err
    assert said.startswith("draftproof: ") and complaint in said and "Traceback" not in said
    assert not (tmp_path / "page.html").exists()


def test_bytes_that_are_no_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(b"\xff{}")
    assert main(["report", str(file), "--html", str(tmp_path / "page.html")]) == 2
    assert "utf-8" in capfd.readouterr().err


def test_check_finds_out_at_once_that_it_could_not_write(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for option in ("--html", "--junit", "--json"):
        assert main(["check", WRONG, option, str(tmp_path / "none" / "out")]) == 2
        assert "no folder" in capfd.readouterr().err
