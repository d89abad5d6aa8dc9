"""Whatever is in a file, or comes back from a command: a clear error and exit code 2, never a traceback, a hang or a wrong verdict."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.cli import main
from draftproof.oracle import SubjectError, check, protocol
from draftproof.oracle.calling import Caller
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.interrupt import alarm
from draftproof.oracle.protocol import command_subject
from draftproof.oracle.vectors import export
from draftproof.reference.verifiers import family

from .mutants import mutants

SOURCES = ("chain-one-draft", "tree-siblings", "tree-ragged", "tree-planned", "tree-replay", "tree-two-levels-greedy")
BUDGET = {"marginals": [["1/2", "1/3", "1/6"], ["3/5", "2/5"]], "cost": {"draft": "1", "verify": ["2", "2", 3, 3.5]}, "nodes": 3}
SECONDS = 20.0


def documents(kind: str) -> list[Any]:
    if kind == "instances":
        return [dict(find(name).source) for name in SOURCES]
    if kind == "budget":
        return [BUDGET]
    instance = find("chain-one-draft")
    return [export([instance], [family(name)]) for name in ("token", "tree_exit", "k_seq") if family(name).admits(instance)]


COMMANDS = {"instances": ["instances"], "budget": ["budget"], "vectors": ["vectors", "verify"]}


def run(kind: str, path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with alarm(SECONDS):
        code = main([*COMMANDS[kind], str(path)])
    found = capsys.readouterr()
    if code == 2:
        assert found.out == "" and found.err.startswith(f"draftproof: {path}" if kind != "vectors" else "draftproof: "), found.err[:300]
        assert found.err.count("\n") == 1 and len(found.err) < 1000 and "Traceback" not in found.err, found.err[:1500]
        assert found.err.isprintable() or found.err[:-1].isprintable(), found.err[:300]
    return code, found.out


def fuzz(kind: str, count: int, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until ``count`` texts of each kind were refused; what is not refused reads as the JSON it is."""
    refused, seeds = 0, documents(kind)
    streams = [mutants(document, seed) for seed, document in enumerate(seeds)]
    while refused < count:
        for document, stream in zip(seeds, streams, strict=True):
            text = next(stream)
            path.write_bytes(text)
            try:
                code, _ = run(kind, path, capsys)
            except BaseException as error:
                raise AssertionError(f"{type(error).__name__}: {error} of {text[:2000]!r}") from error
            assert code in ((0, 1, 2) if kind == "vectors" else (0, 2)), text
            refused += code == 2
            if code == 0:
                changed = json.loads(text)
                if kind == "vectors":
                    assert claims(changed) <= claims(document), text  # anything else that is claimed would be wrong


def claims(vectors: Any) -> set[str]:
    laws = [[law["family"], law["blocks"], law["expected_length"], law["total_variation"]] for law in vectors["laws"]]
    tapes = [[tape["family"], tape["block"], tape["accepted"]] for tape in vectors["tapes"]]
    return {json.dumps(one) for one in (*laws, *tapes)}


@pytest.mark.parametrize("kind", COMMANDS)
def test_files(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fuzz(kind, 40, tmp_path / "file.json", capsys)


@pytest.mark.slow
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_thousand_files(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fuzz(kind, 1000, tmp_path / "file.json", capsys)


SERVER = """
import sys
hello, answers, at = sys.argv[1:]
lines = open(answers, "rb").read().split(b"\\x00\\x01\\x02")
for line in sys.stdin:
    if line.startswith('{"draftproof"'):
        out = open(hello, "rb").read()
    else:
        turn = int(open(at).read())
        open(at, "w").write(str(turn + 1))
        out = lines[turn]
    sys.stdout.buffer.write(out + b"\\n")
    sys.stdout.buffer.flush()
"""
HELLO = {"hello": {"shape": "chain", "family": "token", "dtype": "float64", "randomness": "uniforms", "claims": ["lossless"], "columns": 2}}
ANSWER = {"blocks": [[2, 1], [0]], "accepted": [1, 0]}


class Served:
    """A command that says ``hello`` and answers with ``answers``, in order, across its restarts."""

    def __init__(self, folder: Path, answers: list[bytes], hello: bytes = json.dumps(HELLO).encode()):
        (folder / "server.py").write_text(SERVER)
        (folder / "answers").write_bytes(b"\0\1\2".join(answers))
        (folder / "hello").write_bytes(hello)
        (folder / "at").write_text("0")
        self.command = " ".join([sys.executable, "-S", *(str(folder / name) for name in ("server.py", "hello", "answers", "at"))])


def questions(command: str, count: int) -> Iterator[np.ndarray | str]:
    """Blocks, or what was said of an answer."""
    subject = command_subject(command, "served")
    case = Case(subject, find("chain-one-draft"))
    caller = Caller(case)
    for _ in range(count):
        try:
            with alarm(SECONDS):
                yield caller(case.batch.take([0, 1]), {"uniforms": np.array([[0.25, 0.5], [0.75, 0.5]])})
        except SubjectError as error:
            yield str(error)


def fuzz_protocol(count: int, folder: Path) -> None:
    answers = list(islice((text for text in mutants(ANSWER, 5) if b"\n" not in text), count))
    refused = 0
    for text, found in zip(answers, questions(Served(folder, answers).command, count), strict=True):
        if isinstance(found, str):
            assert 0 < len(found) < 600, found
            refused += 1
        else:
            given = json.loads(text.decode(errors="replace"))
            assert found[:, :2].tolist() == [block + [-1] * (2 - len(block)) for block in given["blocks"]] and set(given) == {"blocks", "accepted"}
            assert given["accepted"] == [len(block) - 1 for block in given["blocks"]], text
    assert refused > 0.8 * count


def test_answers_over_the_protocol(tmp_path: Path) -> None:
    fuzz_protocol(25, tmp_path)


@pytest.mark.slow
def test_a_thousand_answers_over_the_protocol(tmp_path: Path) -> None:
    fuzz_protocol(1200, tmp_path)


def hellos(count: int, folder: Path) -> None:
    for text in islice((text for text in mutants(HELLO, 6) if b"\n" not in text), count):
        served = Served(folder, [], text)
        try:
            with alarm(SECONDS):
                subject = command_subject(served.command, "served")
        except SubjectError as error:
            assert 0 < len(str(error)) < 1000, text
        else:
            assert subject.shape == json.loads(text.decode(errors="replace"))["hello"]["shape"]


def test_hellos(tmp_path: Path) -> None:
    hellos(10, tmp_path)


@pytest.mark.slow
def test_hellos_of_all_kinds(tmp_path: Path) -> None:
    hellos(300, tmp_path)


def test_a_giant_line_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LONGEST_LINE", 1 << 16)
    (said,) = questions(Served(tmp_path, [b"[" * (1 << 22)]).command, 1)
    assert isinstance(said, str) and "answered a line of more than 65536 bytes and was ended" in said


def test_exit_code_2_of_a_malformed_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    served = Served(tmp_path, [b'{"blocks": [[2, 1]], "accepted": "\x1b]0;owned\x07"}'] * 9)
    assert main(["check", "--command", served.command, "--instance", "chain-one-draft", "--quiet"]) == 2
    found = capfd.readouterr()
    assert "error        instance chain-one-draft: answered" in found.out and "Traceback" not in found.err
    assert all(line.isprintable() for line in (found.out + found.err).splitlines())


def test_what_a_subject_says_is_text_and_names_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Reports, logs and transcripts are written where the caller says, whatever is in them; control characters do not reach the terminal."""
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    Path("engine.py").write_text(
        "import draftproof\n@draftproof.chain(framework='numpy')\ndef verify(drafts, declared, target):\n"
        "    raise ValueError('../outside.json \\x1b[2J\\x1b]0;x\\x07 \\x9b3J $(touch ../outside) <script>')\n"
    )
    names = ["--log", "run.log", "--json", "report.json", "--shrink", "1"]
    assert main(["check", "engine.py:verify", "--instance", "chain-one-draft", *names]) == 2
    found = capsys.readouterr()
    assert r"\x1b[2J" in found.out and all(line.isprintable() for line in (found.out + found.err).splitlines())
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert sorted(path.name for path in inside.iterdir() if path.name != "__pycache__") == ["engine.py", "report.json", "run.log"]
    assert check("engine.py:verify", ["chain-one-draft"]).errors[0].message == json.loads(Path("report.json").read_text())["errors"][0]["message"]
