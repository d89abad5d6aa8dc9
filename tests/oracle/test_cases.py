"""Cases: an instance with its rows rounded, its trees listed, and the exact numbers that follow."""

from typing import Any

import numpy as np
import pytest

from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import catalogue, find, suits
from draftproof.oracle.subjects import Subject, SubjectError
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.instances import parse


def case(name: str, **declares: Any) -> Case:
    return Case(Subject(print, "s", **{"dtype": "float64", **declares}), find(name))


@pytest.mark.parametrize("instance", catalogue(), ids=lambda instance: instance.name)
def test_arrays_of_the_whole_catalogue(instance: Any) -> None:
    one = Case(Subject(print, "s", dtype="float32"), instance)
    if len(one.trees) > 200:
        pytest.skip("the same code on many trees")
    batch = one.batch
    assert sum(one.probabilities) == 1 and len(batch) == len(one.probabilities) == len(one.trees)
    np.testing.assert_allclose(batch.target.sum(2), 1, atol=1e-6)
    assert (batch.declared is None) == instance.deterministic
    if batch.declared is not None:
        chosen = np.take_along_axis(batch.declared, batch.tokens[..., None], 2)[..., 0]
        assert (chosen[:, 1:][batch.valid[:, 1:]] > 0).all()  # a token is drawn from the law it declares
    for row, tree in enumerate(one.trees):
        assert batch.valid[row].sum() == 1 + sum(1 for _ in below(tree))


def below(node: Any) -> Any:
    for child in node.children():
        yield child
        yield from below(child)


def test_siblings_come_in_the_order_they_were_drawn() -> None:
    batch = case("tree-siblings").batch
    first, second = batch.tokens[:, 1], batch.tokens[:, 2]
    assert (first > second).any() and (first < second).any()
    assert batch.declared is not None
    assert (batch.declared[np.arange(len(batch)), 2, first] == 0).all()  # drawn off its elder


def test_twins_are_merged_for_rules_that_do_not_read_declared_laws() -> None:
    plain, merged = case("tree-duplicates"), case("tree-duplicates", family="tree_exit")
    assert plain.batch.valid.all() and not merged.batch.valid.all()
    assert len(merged.trees) < len(plain.trees)


def test_expected_length_and_bound_follow_the_rounded_rows() -> None:
    exact, rounded = (case("chain-pairs", family="token", dtype=dtype) for dtype in ("float64", "float16"))
    assert float(exact.expected_length) == pytest.approx(2.19)  # type: ignore[arg-type]
    assert 1e-6 < abs(float(rounded.expected_length) - 2.19) < 1e-3  # type: ignore[arg-type, operator]
    assert float(exact.length_bound) == pytest.approx(2.25)  # type: ignore[arg-type]
    for one in (exact, rounded):
        law = one.reference_law
        assert law is not None and total_variation(law, one.target) == 0 and expected_length(law) == one.expected_length
    assert case("chain-pairs").reference_law is None and case("chain-pairs").expected_length is None


def test_chain_subjects_take_chains() -> None:
    chain = Subject(print, "s", shape="chain")
    assert suits(chain, find("chain-pairs")) and not suits(chain, find("tree-siblings"))
    with pytest.raises(SubjectError, match="s takes chains; tree-siblings is a tree"):
        Case(chain, find("tree-siblings"))


def test_many_trees_are_not_listed() -> None:
    source = {
        "vocabulary": 16,
        "target": {"": [1] * 16, **{f"{a}": [1] * 16 for a in range(16)}},
        "draft": {"": [1] * 16},
        "drafting": {"scheme": "with_replacement", "children": [5]},
    }
    one = Case(Subject(print, "s"), parse(source))
    assert not one.enumerable and one.length_bound is None
