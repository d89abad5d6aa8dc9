"""The ledger says what the proofs say, and each way of saying more is found."""

import ast
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from draftproof.cli import main
from draftproof.proofs import build
from draftproof.proofs.ledger import HERE, Claim, LedgerError, Places, claims, faults, headline_groups, record
from draftproof.reference.verifiers import FAMILIES

LEDGER = claims()


def test_every_claim_holds() -> None:
    assert list(faults(LEDGER, FAMILIES, Places())) == []


def test_every_open_claim_says_what_is_missing() -> None:
    assert all(len(claim.says) > 40 for claim in LEDGER if claim.status == "open")


@pytest.fixture
def copy(tmp_path: Path) -> Places:
    """A small development of its own: two theorems that back a function and a test."""
    rocq = tmp_path / "proofs" / "rocq"
    rocq.mkdir(parents=True)
    (rocq / "_CoqProject").write_text("-Q . Draftproof\nA.v\n")
    (rocq / "A.v").write_text("Theorem first : True.\nProof. exact I. Qed.\nLemma second : True.\nProof. exact I. Qed.\n")
    (rocq / "Assumptions.v").write_text("Definition all := (\n  @first, @second).\nPrint Assumptions all.\n")
    record("all: Closed under the global context\n", rocq)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("def test_a():\n    pass\n")
    (tmp_path / "a.py").write_text("class A:\n    def f(self):\n        pass\n")
    return Places(rocq, tmp_path, tmp_path)


FIRST = Claim("one", "proved", "first", "A.v", "nothing", "a:A.f", "tests/test_a.py::test_a", ("a",))
SECOND = replace(FIRST, theorem="second", families=())


def found(places: Places, *ledger: Claim) -> list[str]:
    return list(faults(ledger, ["a"], places))


def test_a_sound_ledger_has_no_faults(copy: Places) -> None:
    assert found(copy, FIRST, SECOND) == []
    assert found(replace(copy, checkout=None), FIRST, replace(SECOND, test="")) == []
    assert headline_groups(copy.rocq) == {"all": ["first", "second"]}


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (replace(SECOND, theorem="third"), "A.v has no theorem third"),
        (replace(SECOND, file="B.v"), "there is no file B.v"),
        (replace(SECOND, test="tests/test_a.py::test_b"), "there is no test tests/test_a.py::test_b"),
        (replace(SECOND, test="tests/test_b.py::test_a"), "there is no test tests/test_b.py::test_a"),
        (replace(SECOND, function="a:A.g"), "there is no function a:A.g"),
        (replace(SECOND, function="b:A"), "there is no function b:A"),
        (replace(SECOND, theorem="first"), "first is claimed twice"),
        (replace(SECOND, status="open"), "second is open and yet names a theorem"),
        (replace(SECOND, families=("other",)), "other is no reference verifier"),
    ],
)
def test_planted_fault_in_a_claim(copy: Places, claim: Claim, message: str) -> None:
    assert any(message in fault for fault in found(copy, FIRST, claim))


def test_a_verifier_without_a_theorem(copy: Places) -> None:
    message = "the verifier a has no theorem"
    assert found(copy, replace(FIRST, families=()), SECOND) == [message]
    assert found(copy, replace(FIRST, families=()), SECOND, Claim("nobody has proved it", "open", families=("a",))) == [message]


def test_a_verifier_whose_theorem_is_elsewhere(copy: Places) -> None:
    elsewhere = replace(FIRST, families=("a", "b"))
    assert list(faults([elsewhere, SECOND], ["a", "b"], copy)) == ["the verifier b has no theorem in a file of its name, B.v"]


REFERENCE = HERE.parent / "reference" / "verifiers"


@pytest.mark.parametrize("name", FAMILIES)
def test_from_the_python_file_to_the_theorem_and_back(name: str) -> None:
    """One step each way: the docstring names the file of the theorems, whose heading names the Python file."""
    rocq = f"{name.capitalize()}.v"
    docstring = ast.get_docstring(ast.parse((REFERENCE / f"{name}.py").read_text(encoding="utf-8")))
    assert docstring is not None and f"proofs/rocq/{rocq}" in docstring
    heading = (HERE / "rocq" / rocq).read_text(encoding="utf-8").split("From mathcomp")[0]
    assert f"reference/verifiers/{name}.py" in heading


def test_a_headline_theorem_without_a_claim(copy: Places) -> None:
    assert found(copy, FIRST) == ["second is a headline theorem without a claim"]


def edit(places: Places, name: str, change: Callable[[str], str]) -> None:
    (places.rocq / name).write_text(change((places.rocq / name).read_text()))


@pytest.mark.parametrize("word", ["Admitted.", "admit.", "Axiom a : True.", "Parameter a : True.", "Conjecture a : True."])
def test_nothing_is_admitted(copy: Places, word: str) -> None:
    edit(copy, "A.v", lambda text: text + word + "\n")
    record("all: Closed under the global context\n", copy.rocq)
    assert found(copy, FIRST, SECOND) == [f"A.v, line 5: {word.split()[0].rstrip('.')}"]


def test_sources_that_changed_since_the_build(copy: Places) -> None:
    edit(copy, "A.v", lambda text: text + "\n")
    assert found(copy, FIRST, SECOND) == ["assumptions.txt is about other sources: run draftproof prove --build"]


def test_groups_that_are_not_closed(copy: Places) -> None:
    record("all: Axioms: a : True\n", copy.rocq)
    assert found(copy, FIRST, SECOND) == ["not known to be closed: first, second"]
    (copy.rocq / "assumptions.txt").unlink()
    assert found(copy, FIRST, SECOND) == ["assumptions.txt is missing: run draftproof prove --build"]


def test_a_theorem_that_is_no_headline(copy: Places) -> None:
    edit(copy, "Assumptions.v", lambda text: text.replace(", @second", ""))
    record("all: Closed under the global context\n", copy.rocq)
    assert found(copy, FIRST, SECOND) == ["second is not among the headline theorems of Assumptions.v"]


@pytest.mark.parametrize(("entry", "message"), [('status = "sure"\nsays = ""', "neither proved nor open"), ('proof = ""', "entry 1")])
def test_a_ledger_that_cannot_be_read(tmp_path: Path, entry: str, message: str) -> None:
    (tmp_path / "ledger.toml").write_text(f"[[claim]]\n{entry}\n")
    with pytest.raises(LedgerError, match=message):
        claims(tmp_path / "ledger.toml")


# ---- the command


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove"]) == 0
    out = capsys.readouterr().out
    assert f"{sum(claim.status == 'proved' for claim in LEDGER)} theorems, closed under the global context" in out


def test_command_about_a_verifier(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "block"]) == 0
    assert "block_optimal (Block_optimal.v)" in capsys.readouterr().out
    assert main(["prove", "nonsense"]) == 2
    assert "nothing is claimed about 'nonsense'" in capsys.readouterr().err


def test_command_without_rocq(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "coqc" else tool)
    assert main(["prove", "--build"]) == 2
    assert "coqc not found; on Debian: apt-get install make coq" in capsys.readouterr().err


def test_command_finds_a_fault(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "new_rule", FAMILIES["traversal"])
    assert main(["prove"]) == 1
    assert "FAULT: the verifier new_rule has no theorem" in capsys.readouterr().out


# ---- the build, with a stand-in for the real one


@pytest.mark.parametrize(
    ("recipe", "wrong"),
    [
        ("@echo 'all: Closed under the global context'", []),
        ("@echo '{}' > vectors.jsonl", ["vectors.jsonl changed: the build prints other golden vectors"]),
        ("@echo 'Error: no such proof' && false", ["the proofs do not build:"]),
    ],
)
def test_build(copy: Places, recipe: str, wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: tool)
    (copy.rocq / "Makefile").write_text(f"all:\n\t{recipe}\n")
    shutil.copy(HERE / "rocq" / "vectors.jsonl", copy.rocq)
    assert build.build(copy.rocq)[:1] == wrong
    assert bool(list(faults([FIRST, SECOND], ["a"], copy))) == ("Closed" not in recipe and "Error" not in recipe)
