from math import exp, log

import pytest

from draftproof.reference.rational import rational
from draftproof.reference.training import gradient, smoothed_coverage
from draftproof.reference.training.smoothed import budget, candidates

from .batches import VOCABULARY, batch
from .test_credit import str_fraction


@pytest.mark.parametrize(("seed", "sharpness"), [(seed, 1 + seed % 2) for seed in range(10)])
def test_slope_keeps_the_budget(seed: int, sharpness: int) -> None:
    """Against differences of the smoothed coverage with the level found anew for the same budget."""
    context, level = batch(seed, requests=1, depths=2)[0], rational("1/5")
    exact = gradient(smoothed_coverage([context], VOCABULARY, [level], sharpness)[0], context.draft, VOCABULARY)
    wanted = str_fraction(budget(context, VOCABULARY, level, sharpness))
    worth = {path: str_fraction(mass) for path, mass in candidates(context, VOCABULARY).items()}
    logits = [[log(str_fraction(row[token])) for token in range(VOCABULARY)] for row in context.draft]

    def covered(z: list[list[float]]) -> float:
        score = {path: sum(z[d][a] - log(sum(map(exp, z[d]))) for d, a in enumerate(path)) for path in worth}
        low, high = -40.0, 40.0
        for _ in range(100):
            middle = (low + high) / 2
            above = sum(1 / (1 + exp(-sharpness * (score[path] - middle))) for path in worth) > wanted
            low, high = (middle, high) if above else (low, middle)
        return sum(worth[path] / (1 + exp(-sharpness * (score[path] - low))) for path in worth)

    for depth, row in enumerate(exact):
        for token, slope in enumerate(row):
            ends = []
            for step in (1e-4, -1e-4):
                moved = [list(one) for one in logits]
                moved[depth][token] += step
                ends.append(covered(moved))
            assert -(ends[0] - ends[1]) / 2e-4 == pytest.approx(str_fraction(slope), abs=1e-6)
