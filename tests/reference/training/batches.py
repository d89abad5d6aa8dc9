"""Random small batches to train on."""

import random
from collections.abc import Callable, Sequence
from math import exp, log

from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, random_law, random_model
from draftproof.reference.rational import fraction
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


Logits = list[list[float]]


def score(logits: Logits, path: Prefix) -> float:
    """s of a path: its log-probabilities under softmax, added up."""
    return sum(logits[depth][token] - log(sum(map(exp, logits[depth]))) for depth, token in enumerate(path))


def slopes(loss: Callable[[Logits], float], draft: Sequence[Law[int]], step: float = 1e-5) -> Logits:
    """Central differences of a loss in the logits of these rows, which have no zeros."""
    logits = [[log(float(fraction(row[token]))) for token in range(VOCABULARY)] for row in draft]

    def at(depth: int, token: int, by: float) -> float:
        moved = [list(row) for row in logits]
        moved[depth][token] += by
        return loss(moved)

    return [[(at(depth, token, step) - at(depth, token, -step)) / (2 * step) for token in range(VOCABULARY)] for depth in range(len(draft))]


def near(exact: Sequence[Sequence[object]], measured: Logits, within: float) -> bool:
    return all(abs(float(fraction(e)) - m) <= within for row, other in zip(exact, measured, strict=True) for e, m in zip(row, other, strict=True))
