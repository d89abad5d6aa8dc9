"""One program, two readings: its exact law and its samples."""

import math
import random
from collections.abc import Callable
from typing import Any

from draftproof.reference.chance import Chance, law_of, simulate
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.rational import rational

HALF = rational("1/2")
DIE = Law.row([1] * 6)


def agree(program: Callable[[Chance], Any], law: Law[Any], count: int, seed: int) -> bool:
    """Whether ``count`` samples look like ``law``: false with probability at most 1e-6 when they are, whatever the law.

    Sum over k outcomes of |frequency - probability| exceeds e with probability at most 2^k exp(-count e^2 / 2) (Bretagnolle, Huber, Carol).
    """
    counts = simulate(program, random.Random(seed), count)
    outcomes = {*counts, *law}
    bound = math.sqrt(2 * (len(outcomes) * math.log(2) + math.log(1e6)) / count)
    return sum(abs(counts[outcome] / count - to_float(law[outcome])) for outcome in outcomes) <= bound


def to_float(number: Any) -> float:
    return int(number.numerator) / int(number.denominator)


def two_dice(chance: Chance) -> int:
    return chance.draw(DIE) + chance.draw(DIE)


def first_head(chance: Chance) -> int:
    """Number of tails before the first head, at most three."""
    return next((tails for tails in range(3) if chance.flip(HALF, at=tails)), 3)


def later_depends_on_earlier(chance: Chance) -> tuple[int, bool]:
    token = chance.draw(Law({0: 1, 1: 2}))
    return token, chance.flip(rational("1/3")) if token else chance.flip(ONE)


def test_laws_by_hand() -> None:
    assert law_of(two_dice) == Law({total: 6 - abs(total - 5) for total in range(11)})
    assert law_of(first_head) == Law({0: 4, 1: 2, 2: 1, 3: 1})
    assert law_of(later_depends_on_earlier) == Law({(0, True): 3, (1, True): 2, (1, False): 4})
    assert law_of(lambda chance: "nothing random") == Law.point("nothing random")


def test_a_program_is_replayed_once_a_branch() -> None:
    """Certain decisions are no branches."""
    runs = 0

    def program(chance: Chance) -> int:
        nonlocal runs
        runs += 1
        assert chance.flip(ONE) and chance.flip(rational(2)) and not chance.flip(ZERO) and not chance.flip(rational(-1))
        assert chance.draw(Law.point(7)) == 7
        return first_head(chance)

    assert len(law_of(program)) == runs == 4


def test_probabilities_are_never_rounded() -> None:
    tiny = rational(f"1/{10**60}")
    law = law_of(lambda chance: chance.flip(tiny) and chance.flip(tiny))
    assert law[True] == tiny * tiny and law[False] == 1 - tiny * tiny


def test_both_readings_agree() -> None:
    for seed, program in enumerate((two_dice, first_head, later_depends_on_earlier)):
        assert agree(program, law_of(program), 4000, seed)


def test_the_wrong_law_does_not_agree() -> None:
    assert not agree(two_dice, Law.row([1] * 11), 4000, 0)
    assert not agree(first_head, Law({0: 4, 1: 2, 2: 2}), 4000, 0)


def test_a_sample_never_has_probability_zero() -> None:
    law = Law({0: 0, 1: 1, 2: 1})
    assert set(simulate(lambda chance: chance.draw(law), random.Random(3), 200)) == {1, 2}
    assert simulate(lambda chance: (chance.flip(ZERO), chance.flip(ONE)), random.Random(3), 200) == {(False, True): 200}


def test_the_same_generator_gives_the_same_samples() -> None:
    assert simulate(two_dice, random.Random(1), 50) == simulate(two_dice, random.Random(1), 50)
