"""The step lemma by Z3 for small vocabularies; what refutes a mutant is an instance that refutes the mutant verifier too."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from draftproof.reference.blocks import block_law
from draftproof.reference.chance import Chance
from draftproof.reference.growth import violations
from draftproof.reference.instances import Instance, parse
from draftproof.reference.laws import ONE, Law
from draftproof.reference.models import Model
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode
from draftproof.reference.verifiers import Accepted, Family, ascend

pytest.importorskip("z3", reason="z3-solver is not installed")
from draftproof.proofs.symbolic import smt  # noqa: E402


@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_step_lemma(tokens: int) -> None:
    assert smt.step_counterexample(smt.SOUND, tokens) is None
    assert smt.nothing_rejected_counterexample(tokens) is None


def traversal_by(step: str) -> Family:
    """Traversal with the update of a mutant."""

    def visit(target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], Any]) -> Any:
        row = residual = target(node.path)
        for child in node.children():
            assert child.declared is not None
            if (accepted := below(child, min(ONE, capacity * residual[child.token] / child.declared[child.token]))) is not None:
                return accepted
            mass, left = residual.excess(child.declared, capacity)
            if left is None:
                return None
            whole = residual.excess(child.declared)[1]
            assert whole is not None
            capacity = ONE if step == "+ 1 - a dropped" else mass / (mass + 1 - capacity)
            residual = {"bonus from target": row, "excess of the whole target": whole}.get(step, left)
        return Accepted(node, residual) if chance.flip(capacity) else None

    return Family("traversal", ascend(visit), visit=visit)


def instance(capacity: Fraction, f: list[Fraction], r: list[Fraction]) -> Instance:
    """A chain whose second node is visited with this capacity, has target row f and is drafted from r."""
    tokens = len(f)
    ends = {f"0 {token}": [1] * tokens for token in range(tokens)}
    target = {"": [str(capacity), str(1 - capacity), *[0] * (tokens - 2)], "0": list(map(str, f)), **ends}
    draft = {"": [1, *[0] * (tokens - 1)], "0": list(map(str, r))}
    return parse({"vocabulary": tokens, "target": target, "draft": draft, "drafting": {"scheme": "chain", "children": [1, 1]}})


def lossless(family: Family, where: Instance) -> bool:
    law = block_law(family, where.target, where.topology, where.scheme)
    return next(iter(violations(law, where.target)), None) is None


@pytest.mark.parametrize("tokens", [3, 4])
@pytest.mark.parametrize("step", [step for step in smt.STEPS if step != smt.SOUND])
def test_counterexample_refutes_the_mutant_verifier(step: str, tokens: int) -> None:
    found = smt.step_counterexample(step, tokens)
    assert found is not None
    assert not lossless(traversal_by(step), instance(*found))
    assert lossless(traversal_by(smt.SOUND), instance(*found))


def test_the_rows_of_a_counterexample_are_laws() -> None:
    found = smt.step_counterexample("+ 1 - a dropped", 3)
    assert found is not None
    assert all(sum(row) == 1 and Law.row(row) for row in found[1:]) and 0 < found[0] <= 1
