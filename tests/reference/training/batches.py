"""Random small batches to train on."""

import random

from draftproof.reference.models import random_law, random_model
from draftproof.reference.training import Context, built

VOCABULARY = 3


def batch(seed: int, requests: int = 2, depths: int = 3) -> list[Context]:
    """Best-first trees of up to seven nodes, targets with zeros."""
    rng = random.Random(seed)
    found = []
    for _ in range(requests):
        target = random_model(rng.randrange(1 << 30), VOCABULARY, rng.choice((0.0, 0.3)))
        draft = [random_law(rng, VOCABULARY) for _ in range(depths)]
        found.append(built(target, draft, rng.randint(0, 7)))
    return found
