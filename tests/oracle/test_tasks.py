"""What `draftproof law` carries out in its worker."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from draftproof.oracle.tasks import UsageError, instance_named, law_task, reference_law, subject_law

CHAINS = "draftproof.oracle.faults.chains"


def law(instance: str, subject: str, way: str | None = None) -> dict[str, Any]:
    found = subject_law(instance, subject, way, seed=0, time_limit=60)
    assert json.loads(json.dumps(found)) == found
    assert sum(Fraction(block["probability"]) for block in found["blocks"]) == 1
    assert all(block["accepted"] == len(block["tokens"]) - 1 for block in found["blocks"])
    return found


def test_law_of_a_fault() -> None:
    found = law("chain-one-draft", f"{CHAINS}:residual_is_target")
    assert (found["way"], found["exact"], found["verifier"]) == ("enumerate", False, f"{CHAINS}:residual_is_target")
    assert float(Fraction(found["total_variation"])) == pytest.approx(0.15) and float(Fraction(found["expected_length"])) == pytest.approx(1.7)
    first = found["first_violation"]
    assert (first["prefix"], first["token"]) == ("", 0) and float(Fraction(first["emitted"])) == pytest.approx(0.35)


def test_next_tokens_beside_the_target() -> None:
    """Worst rows first; a fault in the residual moves two tokens at the root and nothing else, a right rule moves nothing."""
    rows = law("chain-one-draft", f"{CHAINS}:residual_is_target")["next_tokens"]
    off = [abs(float(Fraction(row["off"]))) for row in rows]
    assert off == sorted(off, reverse=True) and off[0] == pytest.approx(0.15) and max(off[3:]) < 1e-6
    assert (rows[0]["prefix"], rows[0]["token"], float(Fraction(rows[0]["should_be"]))) == ("", 0, pytest.approx(0.5))
    assert float(Fraction(rows[0]["emitted"])) == pytest.approx(0.35)
    assert {row["off"] for row in reference_law("chain-one-draft", "token")["next_tokens"]} == {"0"}


def test_law_of_a_lossy_rule_is_not_exact() -> None:
    assert law("chain-one-draft", "draftproof.oracle.controls.rules:typical_acceptance")["exact"] is False


def test_sampled_law() -> None:
    found = law("chain-pairs", "draftproof.oracle.faults.tapes:seeded_anew_at_every_test")
    assert found["way"] == "sample" and found["exact"] is False and "; sampled because seeds" in found["effort"]
    assert found["first_violation"]["prefix"] == "2"
    found = law("chain-one-draft", "draftproof.oracle.faults.tapes:uniform_of_test_reused", "sample")  # it is right there
    assert found["exact"] is True and found["first_violation"] is None
    assert "; total variation is at most 0.0" in found["effort"]


def test_reference_law() -> None:
    found = reference_law("chain-one-draft", "token")
    assert (found["verifier"], found["exact"], found["total_variation"]) == ("recursive_rejection", True, "0")
    assert found["expected_length"] == "17/10" and found["first_violation"] is None
    with pytest.raises(UsageError, match="unknown verifier 'tokens'"):
        reference_law("chain-one-draft", "tokens")


def test_instances_keep_the_name_they_were_asked_for_by(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**instance_named("chain-pairs").source, "name": "another"}))
    assert instance_named(str(path)).name == str(path)
    with pytest.raises(UsageError, match="chain-pear: no such file, nor is it in the catalogue; did you mean 'chain-pairs'"):
        instance_named("chain-pear")


def test_messages_of_a_worker() -> None:
    sent: list[Any] = []
    law_task(sent.append, "tree-siblings", None, f"{CHAINS}:always_accepts", None, 0, 60)
    law_task(sent.append, "chain-pairs", None, f"{CHAINS}:always", None, 0, 60)
    law_task(sent.append, "chain-pairs", None, f"{CHAINS}:always_accepts", "integrate", 0, 60)
    kinds, texts = zip(*sent, strict=True)
    assert kinds == ("fatal",) * 3
    assert texts[0] == f"{CHAINS}:always_accepts on instance tree-siblings: {CHAINS}:always_accepts takes chains; tree-siblings is a tree"
    assert texts[1] == f"{CHAINS} has no 'always'"
    assert "does not take its uniforms as an argument, so it cannot be integrated" in texts[2]


def test_one_subject_at_a_time() -> None:
    pytest.importorskip("torch")
    with pytest.raises(UsageError, match=r"gpu_impl names \d+ subjects; give one, e.g. gpu_impl.traversal"):
        subject_law("chain-pairs", "gpu_impl", None, 0, 60)
