"""Rocq's independent checker reads the compiled proofs again and lists what they rest on."""

import shutil
import subprocess

import pytest

from draftproof.proofs.ledger import HERE


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqchk") is None, reason="Rocq is not installed")
def test_coqchk_finds_no_axiom_of_ours() -> None:
    done = subprocess.run(["make", "-j2", "-C", str(HERE / "rocq"), "coqchk"], capture_output=True, text=True, check=True)
    assert ours_rest_on_nothing(done.stdout + done.stderr)


def ours_rest_on_nothing(summary: str) -> bool:
    """No list of the context summary names anything of this development.

    Among the axioms are MathComp's definitions behind signatures, which the checker cannot see through; the build asks of every headline theorem
    that it uses none.
    """
    return "* Axioms:" in summary and "Draftproof." not in summary.split("CONTEXT SUMMARY")[1]


SUMMARY = """\
coqchk -o -norec Draftproof.Step
CONTEXT SUMMARY

* Theory: Set is predicative

* Axioms:
    mathcomp.ssreflect.bigop.BigOp.bigop

* Constants/Inductives relying on type-in-type: <none>
"""
CHEAT = SUMMARY.replace("    mathcomp", "    Draftproof.Step.cheat\n    mathcomp")


@pytest.mark.parametrize(("summary", "sound"), [(SUMMARY, True), (CHEAT, False), ("coqchk", False)])
def test_a_planted_axiom_is_found(summary: str, sound: bool) -> None:
    assert ours_rest_on_nothing(summary) == sound
