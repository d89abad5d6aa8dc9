"""``draftproof explain``: every kind is explained, with links that look right, and lists what is made for it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from draftproof.cli import main
from draftproof.oracle.catalogue import catalogue
from draftproof.oracle.controls import CONTROLS
from draftproof.oracle.faults import FAULTS
from draftproof.oracle.kinds import KINDS
from draftproof.reference.verifiers import ALIASES, FAMILIES, Family


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_kinds_are_those_of_the_faults_and_the_catalogue() -> None:
    assert "".join(KINDS) == "ABCDEFGHIJKLMNO"
    assert {fault.kind for fault in FAULTS} == set(KINDS) - {"O"}
    assert {kind for instance in catalogue() for kind in instance.source["kinds"]} <= set(KINDS)


def test_verdicts_named_are_those_that_catch() -> None:
    for kind in KINDS.values():
        assert {fault.verdict for fault in FAULTS if fault.kind == kind.letter} <= set(kind.verdicts), kind.letter


@pytest.mark.parametrize("letter", KINDS)
def test_each_kind_lists_its_faults_and_reports(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    said: dict[str, Any] = json.loads(printed(capsys, letter.lower(), "--json"))
    text = printed(capsys, letter)
    planted = [control.name for control in CONTROLS] if letter == "O" else [fault.name for fault in FAULTS if fault.kind == letter]
    assert [entry["name"] for entry in said["controls" if letter == "O" else "faults"]] == planted
    assert all(f"{name} on " in text for name in planted)
    links = [link for report in said["reports"] for link in report["links"]]
    assert links or letter == "N"
    assert all(re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(issues/\d+|commit/[0-9a-f]+)", link) and link in text for link in links)


def test_without_a_kind_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line[0] for line in printed(capsys).splitlines()] == list(KINDS)
    assert [kind["kind"] for kind in json.loads(printed(capsys, "--json"))] == list(KINDS)


def test_unknown_kind_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Z"]) == 2
    assert "no kind 'Z'; known: A, B" in capsys.readouterr().err


def test_a_name_that_is_misspelt_or_of_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b.json").write_text("{}")
    for name, said in (
        ("tree-sibling", "did you mean 'tree-siblings' or"),
        ("residual_is_tarjet", "did you mean 'residual_is_target' or"),
        ("recursive-rejection", "did you mean 'recursive_rejection'?"),
        ("a b.json", "a b.json is a file: draftproof instances 'a b.json' draws an instance file"),
    ):
        assert main(["explain", name]) == 2
        assert said in capsys.readouterr().err, name


@pytest.mark.parametrize("rule", FAMILIES.values(), ids=lambda rule: rule.name)
def test_a_verifier_is_explained_and_its_commands_run(rule: Family, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, rule.name)
    lines = said.splitlines()
    assert lines[0].startswith(f"verifier {rule.name}") and len(lines[1]) > 20 and all(line == line.rstrip() for line in lines)
    law = next(line for line in lines if "its exact law: draftproof " in line).partition("draftproof ")[2].partition(" (")[0]
    assert main(shlex.split(law)) == 0 and capsys.readouterr().out.startswith(f"{rule.name}: lossless")
    assert {name for name in ALIASES if ALIASES[name] == rule.name} == set(json.loads(printed(capsys, rule.name, "--json"))["also"])
