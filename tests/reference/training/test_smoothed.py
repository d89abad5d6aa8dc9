from math import exp

import pytest

from draftproof.reference.rational import fraction, rational
from draftproof.reference.training import gradient, smoothed_coverage
from draftproof.reference.training.smoothed import budget, candidates

from .batches import VOCABULARY, Logits, batch, near, score, slopes


@pytest.mark.parametrize(("seed", "sharpness"), [(seed, 1 + seed % 2) for seed in range(10)])
def test_slope_keeps_the_budget(seed: int, sharpness: int) -> None:
    """Against differences of the smoothed coverage with the level found anew for the same budget."""
    context, level = batch(seed, requests=1, depths=2)[0], rational("1/5")
    exact = gradient(smoothed_coverage([context], VOCABULARY, [level], sharpness)[0], context.draft, VOCABULARY)
    wanted = float(fraction(budget(context, VOCABULARY, level, sharpness)))
    worth = {path: float(fraction(mass)) for path, mass in candidates(context, VOCABULARY).items()}

    def loss(z: Logits) -> float:
        scores = {path: score(z, path) for path in worth}
        low, high = -40.0, 40.0
        for _ in range(100):
            middle = (low + high) / 2
            above = sum(1 / (1 + exp(-sharpness * (scores[path] - middle))) for path in worth) > wanted
            low, high = (middle, high) if above else (low, middle)
        return -sum(worth[path] / (1 + exp(-sharpness * (scores[path] - low))) for path in worth)

    assert near(exact, slopes(loss, context.draft, 1e-4), 1e-6)
