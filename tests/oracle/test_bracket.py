"""Bracketing: agreement with the reference around every threshold bounds the law; disagreement is for integrate to explain."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from draftproof.oracle import reading
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.controls import rules
from draftproof.oracle.faults import exits
from draftproof.oracle.faults.exits import Array, Arrays
from draftproof.oracle.faults.rows import arrays, inverse_cdf
from draftproof.oracle.reading import bracket, read
from draftproof.oracle.readings.bracket import branches, tapes
from draftproof.reference.rational import fraction, rational
from draftproof.reference.verifiers import FAMILIES


@arrays("tree", **exits.TAPE)
def tree_exit(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
    rows = exits.off_children(tokens, parents, valid, target)
    at = inverse_cdf(exits.reach(parents, exits.edges(tokens, parents, valid, target)) * rows.sum(2), uniforms[:, 1])
    return exits.blocks(tokens, parents, at, inverse_cdf(rows[np.arange(len(at)), at], uniforms[:, 0]))


def test_branches_are_the_law_of_the_reference() -> None:
    case = Case(rules.block_rescues_later_positions, find("chain-block"))
    law: dict[tuple[int, ...], Fraction] = {}
    for tree, probability in zip(case.trees, case.probabilities, strict=True):
        found, thresholds = branches(FAMILIES["traversal"], case.target, tree)
        assert sum(branch.reach for branch in found) == 1 and thresholds > 0
        for branch in found:
            width = rational(1)
            for decision in branch.decisions:
                assert 0 <= decision.low < decision.high <= 1
                width *= decision.high - decision.low
            assert width == branch.reach
            law[branch.block] = law.get(branch.block, Fraction(0)) + fraction(probability) * fraction(branch.reach)
    assert case.reference_law is not None
    assert law == {block: fraction(mass) for block, mass in case.reference_law.items()}


def test_tapes_stay_inside_their_branch() -> None:
    case = Case(tree_exit, find("tree-worked-example"))
    width, rng = Fraction(1, 1 << 23), np.random.default_rng(0)
    for branch in branches(FAMILIES["tree_exit"], case.target, next(iter(case.trees)))[0]:
        values, edge = tapes(branch, 2, width, 24, rng)
        assert values.shape == (len(edge), 2) and ((0 <= values) & (values < 1)).all() and ((values * 2**24) % 1 == 0).all()
        for decision in branch.decisions:
            inside = values[~edge, decision.column]
            assert (inside >= float(fraction(decision.low))).all() and (inside <= float(fraction(decision.high))).all()
        assert edge.any() == any(decision.low == 0 or decision.high == 1 for decision in branch.decisions[branch.fresh :])


@pytest.mark.parametrize("name", ["tree-worked-example", "tree-top-two", "tree-dead-branch", "tree-ragged", "tree-siblings", "chain-pairs"])
def test_a_right_verifier_gets_the_law_of_the_reference(name: str) -> None:
    case = Case(tree_exit, find(name))
    reading = read(case)
    assert reading.way == "bracket" and 0 < reading.resolution <= Fraction(1, 10**7)
    assert case.reference_law is not None
    assert reading.law == {block: fraction(mass) for block, mass in case.reference_law.items()}


@pytest.mark.parametrize(
    "subject", [exits.exit_weight_is_reach, exits.edge_of_child_row, exits.leaves_never_exit, exits.exit_uniform_reused, exits.bonus_not_masked]
)
def test_a_wrong_one_does_not(subject: object) -> None:
    case = Case(subject, find("tree-dead-branch"))  # type: ignore[arg-type]
    assert bracket(case) is None


@pytest.mark.parametrize("uniforms", ["float32", "float64"])
def test_thresholds_that_are_slightly_off(uniforms: str) -> None:
    """A threshold that is off by more than the width is seen, by less is not: the resolution says which."""

    def shifted(by: float) -> object:
        def verify(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
            moved = uniforms.astype(float) + np.array([0.0, by])
            return tree_exit.call(tokens, parents, valid, target, declared, np.minimum(moved, 1 - 2.0**-53))

        return replace(tree_exit, call=verify, uniforms_dtype=uniforms)

    instance = find("tree-worked-example")
    fine = bracket(Case(shifted(2.0**-34), instance))  # type: ignore[arg-type]
    assert fine is not None and fine.resolution <= Fraction(1, 10**6)
    assert bracket(Case(shifted(1e-5), instance)) is None  # type: ignore[arg-type]


def test_edges_are_notes() -> None:
    """At u = 0 this one accepts what it should not; everywhere else it is right."""

    def verify(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
        return tree_exit.call(tokens, parents, valid, target, declared, np.where(uniforms == 0, 0.999, uniforms))

    reading = bracket(Case(replace(tree_exit, call=verify), find("tree-worked-example")))
    assert reading is not None and reading.edges
    assert reading.edges[0].startswith("at a uniform of exactly 0 or 1 - 2^-53 it emits [")


def test_a_subject_that_mixes_up_requests_is_not_bracketed() -> None:
    def verify(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
        return tree_exit.call(tokens, parents, valid, np.repeat(target[:1], len(target), axis=0), declared, uniforms)

    assert bracket(Case(replace(tree_exit, call=verify), find("tree-two-levels"))) is None


@pytest.mark.parametrize("wide", [0.0, 0.004])
def test_an_interval_between_thresholds_is_not_overlooked(wide: float) -> None:
    """Uniforms a little above 0.1235 are taken for others: no threshold of the reference is near."""

    @arrays("tree", **exits.TAPE)
    def verify(tokens: Array, parents: Array, valid: Array, target: Array, declared: None, uniforms: Array) -> Arrays:
        mended = np.where((uniforms > 0.1235) & (uniforms < 0.1235 + wide), 0.9999, uniforms)
        return tree_exit.call(tokens, parents, valid, target, declared, mended)

    assert (bracket(Case(verify, find("tree-worked-example"))) is None) == (wide > 0)


def test_the_pages_say_how_many_tapes() -> None:
    root = Path(__file__).parents[2]
    assert f"on {reading.INSIDE:,} tapes between them ({reading.INSIDE >> 2:,} row by row)" in (root / "README.md").read_text(encoding="utf-8")
    page = (root / "docs" / "readings.md").read_text(encoding="utf-8")
    assert f"another {reading.INSIDE:,} tapes" in page and f"({reading.INSIDE >> 2:,} tapes" in page and f"{reading.INSIDE >> 6} tapes under" in page
    assert (1 - 4e-3) ** reading.INSIDE < 1e-7 and (1 - 1.6e-2) ** (reading.INSIDE >> 2) < 1e-7
