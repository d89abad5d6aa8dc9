"""Vectors: right as exported, wrong once changed, used from JavaScript, and malformed files named."""

import copy
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from draftproof.cli import main
from draftproof.commands import vectors as command
from draftproof.oracle.catalogue import find
from draftproof.oracle.vectors import SCHEMA, VectorError, export, load, mistakes
from draftproof.reference.verifiers import FAMILIES, family

CHECK = Path(__file__).parents[2] / "examples" / "vectors" / "check_vectors.mjs"
NAMES = ("chain-one-draft", "chain-ngram", "tree-siblings", "tree-ragged", "tree-greedy-three", "tree-siblings-with-replacement")


@pytest.fixture(scope="module")
def exported() -> dict[str, Any]:
    return export([find(name) for name in NAMES])


def written(vectors: Any, folder: Path) -> Path:
    path = folder / "vectors.json"
    path.write_text(json.dumps(vectors))
    return path


def test_exported_vectors_are_right(exported: dict[str, Any], tmp_path: Path) -> None:
    assert list(mistakes(load(written(exported, tmp_path)))) == []
    assert {entry["family"] for entry in exported["laws"]} == set(FAMILIES)
    assert {entry["family"] for entry in exported["tapes"]} == set(FAMILIES) - {"univer_transport"}
    assert len({entry["id"] for entry in exported["tapes"]}) == len(exported["tapes"]) > 200
    assert all(entry["total_variation"] == {"fraction": "0", "decimal": 0.0} for entry in exported["laws"])
    assert min(entry["margin"] for entry in exported["tapes"]) >= 1e-4


def test_wrong_vectors_are_found(exported: dict[str, Any]) -> None:
    for change in range(6):
        vectors = copy.deepcopy(exported)
        law, tape = vectors["laws"][7], vectors["tapes"][40]
        if change == 0:
            law["expected_length"]["decimal"] += 1e-3
        elif change == 1:
            law["blocks"][0]["probability"]["fraction"] = "1/7"
        elif change == 2:
            tape["block"] = [*tape["block"][:-1], (tape["block"][-1] + 1) % 3]
        elif change == 3:
            tape["accepted"] += 1
        elif change == 4:
            tape["margin"] *= 1.5
        else:
            vectors["tapes"] = [
                {**entry, "tree": {**entry["tree"], "declared": [[1 / 4] * len(row) for row in entry["tree"]["declared"]]}}
                for entry in vectors["tapes"]
                if entry["family"] == "recursive_rejection" and entry["tree"]["declared"]
            ]
        assert list(mistakes(vectors))


def test_used_from_javascript(exported: dict[str, Any], tmp_path: Path) -> None:
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        pytest.skip("no Node.js here; continuous integration installs it")
    path = written(exported, tmp_path)
    done = subprocess.run([node, CHECK, path], capture_output=True, text=True)
    assert done.returncode == 0 and " 0 wrong" in done.stdout, done
    tried, skipped = int(done.stdout.split()[0]), [int(count) for count in re.findall(r"skipped (\d+) tapes of \w+: there is no", done.stdout)]
    assert skipped and tried + sum(skipped) == len(exported["tapes"])
    faulty = tmp_path / "faulty.mjs"
    text = CHECK.read_text()
    assert "if (sum(left) > 0) residual = left;" in text
    faulty.write_text(text.replace("if (sum(left) > 0) residual = left;", ""))
    done = subprocess.run([node, faulty, path], capture_output=True, text=True)
    assert done.returncode == 1 and "recursive_rejection" in done.stdout


def places(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, except inside instances: their parser has tests of its own."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [where, *(place for key, part in parts for place in places(part, (*where, key)))]


JUNK = [None, -1, 1.5, 10**30, "", "1/0", [], {}, [None], [[0.5]], True, float("nan"), float("inf"), "\x1b[31m", {"a": 1}]


def test_malformed_files_are_named(exported: dict[str, Any], tmp_path: Path) -> None:
    """Files with one place overwritten, dropped or doubled: right, wrong, or no file of vectors; never another end."""
    rng = random.Random(0)
    small = {**exported, "laws": exported["laws"][:2], "tapes": exported["tapes"][::40][:6]}
    ends = {"right": 0, "wrong": 0, "malformed": 0}
    for _ in range(200):
        vectors = copy.deepcopy(small)
        where = rng.choice(places(vectors)[1:])
        inner = vectors
        for key in where[:-1]:
            inner = inner[key]
        if rng.random() < 0.3:
            del inner[where[-1]]
        else:
            inner[where[-1]] = rng.choice(JUNK)
        try:
            end = "wrong" if list(mistakes(load(written(vectors, tmp_path)))) else "right"
        except VectorError as error:
            assert str(error)
            end = "malformed"
        ends[end] += 1
    assert min(ends.values()) > 0 and ends["malformed"] > 100


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"draftproof_vectors": 2, "laws": [], "tapes": []}', "[" * 100_000, "null", '{"a": NaN}'])
def test_no_file_of_vectors(text: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.json"
    path.write_text(text)
    with pytest.raises(VectorError, match="vectors.json: "):
        load(path)


@pytest.mark.parametrize("where", ["tokens", "parents"])
def test_an_integer_is_no_float(where: str, tmp_path: Path) -> None:
    """JSON Schema takes 1.0 for an integer; nothing that indexes does."""
    vectors = export([find("chain-one-draft")], [family("token")])
    vectors["tapes"][0]["tree"][where] = [float(value) for value in vectors["tapes"][0]["tree"][where]]
    with pytest.raises(VectorError, match=rf"tapes\[0\].tree.{where}\[1\]: 0.0 is not of type 'integer'"):
        load(written(vectors, tmp_path))


def test_an_id_that_is_there_twice(exported: dict[str, Any], tmp_path: Path) -> None:
    vectors = {**exported, "tapes": [*exported["tapes"], exported["tapes"][3]]}
    with pytest.raises(VectorError, match="is there twice"):
        load(written(vectors, tmp_path))


def test_a_misspelt_key_is_named_rather_than_the_one_that_is_missing(tmp_path: Path) -> None:
    vectors = export([find("chain-one-draft")], [family("token")])
    tape = vectors["tapes"][0]
    wrong = {**vectors, "tapes": [{**{key: tape[key] for key in tape if key != "uniforms"}, "unifroms": tape["uniforms"]}]}
    with pytest.raises(VectorError, match=r"tapes\[0\]: unknown key 'unifroms'; did you mean 'uniforms'\? known: "):
        load(written(wrong, tmp_path))
    with pytest.raises(VectorError, match="the file: unknown key 'nots'.* known: draftproof_vectors"):
        load(written({**vectors, "nots": 1}, tmp_path))
    with pytest.raises(VectorError, match="the file: 'tapes' is a required property"):
        load(written({key: vectors[key] for key in vectors if key != "tapes"}, tmp_path))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = [sys.executable, "-m", "draftproof.cli", "vectors"]
    twice = ["--instance", "chain-one-draft"] * 2, ["--family", "token", "--family", "recursive_rejection"]  # one rule by both its names
    export_one = [*run, "export", "v.json", *twice[0], *twice[1]]
    done = subprocess.run(export_one, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("v.json: 1 laws, ")
    vectors = json.loads((tmp_path / "v.json").read_text())
    vectors["tapes"][0]["block"] = [2, 2]
    written(vectors, tmp_path)
    for name, code in (("v.json", 0), ("vectors.json", 1), ("nothing.json", 2)):
        done = subprocess.run([*run, "verify", name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code and "Traceback" not in done.stderr, done
    done = subprocess.run([*run, "export", "--family", "telepathy"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "unknown verifier 'telepathy'" in done.stderr
    assert command.WRONG == 1


def test_schema_is_one() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(json.loads(SCHEMA.read_text()))


def test_what_is_wrong_is_not_listed_without_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = export([find("chain-one-draft")], [family("token")])
    vectors["tapes"] = [{**vectors["tapes"][0], "accepted": 7, "id": str(number)} for number in range(50)]
    (tmp_path / "wrong.json").write_text(json.dumps(vectors))
    assert main(["vectors", "verify", str(tmp_path / "wrong.json")]) == 1
    *_, before, more, last = capsys.readouterr().out.splitlines()
    assert before.startswith("19: the block is") and more == "... and 30 more" and last.endswith("50 wrong")


def test_the_example_of_the_page_is_an_entry() -> None:
    text = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")
    example = json.loads(text.partition("```json\n")[2].partition("```")[0])
    assert example in export([find("chain-two-residual-tokens")], [family("token")])["tapes"]
