"""One list of draws per depth: the very law of independent draws under recursive rejection, refused by everything else."""

import random

import pytest

from draftproof.reference.blocks import block_law, block_law_on_tree
from draftproof.reference.chance import law_of
from draftproof.reference.drafting import without_replacement
from draftproof.reference.growth import total_variation
from draftproof.reference.laws import mixture
from draftproof.reference.models import marginal, random_law, random_model
from draftproof.reference.shared_lists import populate_shared, shared_list_law
from draftproof.reference.verifiers import FAMILIES, family

from .instances import random_topology


def test_same_law_as_independent_draws() -> None:
    rng = random.Random(12)
    for seed in range(20):
        rows = [random_law(rng, 3, rng.choice([0, 0.4])) for _ in range(4)]
        topology, target = random_topology(rng, 4), random_model(seed, 3)
        shared = shared_list_law(family("recursive_rejection"), target, topology, rows)
        assert shared == block_law(family("recursive_rejection"), target, topology, without_replacement(marginal(rows)))


@pytest.mark.parametrize("verifier", sorted(set(FAMILIES) - {"recursive_rejection"}))
def test_other_verifiers_are_refused(verifier: str) -> None:
    with pytest.raises(ValueError, match=f"recursive_rejection only, not {verifier}"):
        shared_list_law(family(verifier), random_model(1, 3), (), [])


def test_traversal_would_be_wrong() -> None:
    """Why it is refused: siblings' children repeat each other."""
    rng = random.Random(5)
    rows, target, topology = [random_law(rng, 3) for _ in range(2)], random_model(3, 3), (((),), ((),))
    trees = law_of(lambda chance: populate_shared(topology, rows, chance))
    law = mixture((mass, block_law_on_tree(family("traversal"), target, tree)) for tree, mass in trees.items())
    assert total_variation(law, target) > 0
