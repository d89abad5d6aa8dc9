"""Exact blocks, one after the other and cut anywhere, generate the target (``loop_exact``)."""

import random

import pytest

from draftproof.reference import drafting
from draftproof.reference.chance import Chance
from draftproof.reference.models import Model, Prefix, random_model
from draftproof.reference.rounds import generation_law, round_law, target_law
from draftproof.reference.trees import DraftNode, Scheme, Slot, uniform_topology
from draftproof.reference.verifiers import FAMILIES, Family, Stop, descend, recursive_rejection

TARGET, DRAFT = random_model(3, 2, 0), random_model(4, 2, 0)


def drafting_after(context: Prefix) -> tuple[Slot, Scheme]:
    """A tree that depends on the context: a chain or two siblings."""
    wide = random.Random(len(context)).random() < 0.5
    return uniform_topology((2,) if wide else (1, 1)), drafting.with_replacement(lambda prefix: DRAFT(context + prefix))


@pytest.mark.parametrize("name", ["predraw_follow", "tree_exit", "recursive_rejection", "traversal"])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_rounds_cut_anywhere_generate_the_target(name: str, length: int) -> None:
    assert generation_law(round_law(FAMILIES[name], TARGET, drafting_after), length) == target_law(TARGET, length)


def bonus_from_target(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """Recursive rejection that forgets its residual at the end."""
    answer = recursive_rejection(target, node, chance)
    return Stop(target(node.path)) if isinstance(answer, Stop) else answer


def test_a_faulty_round_is_found() -> None:
    family = Family("planted", descend(bonus_from_target), bonus_from_target)
    assert generation_law(round_law(family, TARGET, drafting_after), 3) != target_law(TARGET, 3)
