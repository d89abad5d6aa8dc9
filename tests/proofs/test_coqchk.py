"""Rocq's independent checker reads the compiled proofs again and lists what they rest on."""

import re
import shutil
import subprocess

import pytest

from draftproof.proofs.ledger import HERE


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqchk") is None, reason="Rocq is not installed")
def test_coqchk_finds_no_axiom() -> None:
    said = subprocess.run(["make", "-j2", "-C", str(HERE / "rocq"), "coqchk"], capture_output=True, text=True, check=True).stdout
    assert rests_on_nothing(said)


def rests_on_nothing(summary: str) -> bool:
    """Every list of the context summary is empty, but for the theory that Rocq names first."""
    lists = re.findall(r"^\* (?!Theory)(.*?):\s*(.*)$", summary, re.M)
    return bool(lists) and all(entry == "<none>" for _, entry in lists)


SUMMARY = "CONTEXT SUMMARY\n\n* Theory: Set is predicative\n  \n* Axioms: <none>\n  \n* Inductives whose positivity is assumed: <none>\n"
CHEAT = "Axioms:\n    Draftproof.Step.cheat"


@pytest.mark.parametrize(("summary", "sound"), [(SUMMARY, True), (SUMMARY.replace("Axioms: <none>", CHEAT), False), ("", False)])
def test_a_planted_axiom_is_found(summary: str, sound: bool) -> None:
    assert rests_on_nothing(summary) == sound
