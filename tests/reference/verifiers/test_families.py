"""The registry of verifiers, and what holds between them."""

import random

import pytest

from draftproof.reference.chance import Chance, law_of, simulate
from draftproof.reference.growth import expected_length
from draftproof.reference.trees import LazyNode
from draftproof.reference.verifiers import ALIASES, FAMILIES, Accepted, descend, family, recursive_rejection

from ..instances import ANY_SCHEME, SCHEMES, Case, random_case, random_cases
from ..test_chance import agree
from .battery import DEEP, MEDIUM, SMALL, assert_lossless


def test_names() -> None:
    assert set(ANY_SCHEME) <= set(FAMILIES)
    assert all(family(name) is FAMILIES[name] and FAMILIES[name].name == name for name in FAMILIES)
    assert {alias: family(alias).name for alias in ("token", "block", "tev")} == {
        "token": "recursive_rejection",
        "block": "traversal",
        "tev": "tree_exit",
    }
    assert {"token", "block", "tev"} <= set(ALIASES)


def test_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown verifier 'tree-exit'; did you mean 'tree_exit'\\? known: predraw_follow, tree_exit"):
        family("tree-exit")


def emitted(name: str, case: Case, chance: Chance) -> tuple[int, ...]:
    """One block, the bonus token drawn."""
    root = LazyNode(case.topology, (), case.scheme, chance, distinct=not family(name).reads_declared)
    answer = family(name).verify(case.target, root, chance)
    return (*answer.node.path, chance.draw(answer.bonus, at="bonus"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ANY_SCHEME)
def test_lossless(name: str, scheme: str) -> None:
    assert_lossless(name, scheme, 240, SMALL)
    assert_lossless(name, scheme, 60, MEDIUM, start=240)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ANY_SCHEME)
def test_lossless_on_deep_trees(name: str, scheme: str) -> None:
    assert_lossless(name, scheme, 3, DEEP, start=1000)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ANY_SCHEME)
def test_lossless_on_many_deep_trees(name: str, scheme: str) -> None:
    assert_lossless(name, scheme, 300, DEEP, start=1000)


@pytest.mark.parametrize("name", ANY_SCHEME)
def test_one_program_read_in_three_ways(name: str) -> None:
    """Its exact law by levels, by whole replays, and its samples (false alarm at most 1e-6 for each)."""
    for scheme in ("without_replacement", "with_replacement", "greedy"):
        case = random_case(scheme, 12, 27)
        law = case.law(name)
        assert law == law_of(lambda chance, case=case: emitted(name, case, chance))
        assert agree(lambda chance, case=case: emitted(name, case, chance), law, 1500, seed=5)


def test_samples_of_another_verifier_do_not_agree() -> None:
    case = random_case("chain", 2, 64)
    assert case.law("token") != case.law("predraw_follow")
    assert not agree(lambda chance: emitted("predraw_follow", case, chance), case.law("token"), 4000, seed=5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_optimal_on_the_tree_means_the_same_law(scheme: str) -> None:
    """The law with E[L] = 1 + coverage is unique, so tree_exit and predraw_follow agree on every tree, the others where drafts are one-hot."""
    for case in random_cases(scheme, 10, 27, start=5000):
        laws = {name: case.law(name) for name in ANY_SCHEME}
        assert laws["tree_exit"] == laws["predraw_follow"]
        if scheme in ("fixed", "top_k"):
            assert len(set(laws.values())) == 1
            assert len({expected_length(law) for law in laws.values()}) == 1


def test_descend_goes_on_until_the_level_stops() -> None:
    case = random_case("chain", 3, 64)
    answers = simulate(lambda chance: len(answer(case, chance).node.path), random.Random(0), 200)
    assert set(answers) <= set(range(7)) and len(answers) > 1


def answer(case: Case, chance: Chance) -> Accepted:
    return descend(recursive_rejection)(case.target, LazyNode(case.topology, (), case.scheme, chance), chance)
