"""Invariance of generators: each planted fault is seen by its part alone, what is right passes, what cannot be judged is said; races have a slack."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from draftproof.oracle.drafters import Drafter
from draftproof.oracle.engine import Engine, Toy
from draftproof.oracle.faults.generators import LONG, STOPS, plain
from draftproof.oracle.faults.requests import REQUEST_FAULTS, by_uniforms, rows_cached
from draftproof.oracle.generator_invariance import generator_invariance
from draftproof.oracle.generators import Generator
from draftproof.oracle.judge_drafter import check_drafter
from draftproof.oracle.judge_generator import Runs, check_generator
from draftproof.oracle.verdicts import Verdict
from draftproof.reference.laws import Law


def judged(subject: Generator, toy: Toy = LONG, lossless: bool = True, seconds: float = 60.0, seed: int = 0, alpha: float = 1e-6) -> Verdict:
    return generator_invariance(Runs(subject, toy), lossless, alpha, seed, time.monotonic() + seconds)


def given(call: Callable[..., Any]) -> Generator:
    return Generator(call, "given", randomness="generator")


SOUND = given(lambda engine, generator: by_uniforms(engine, generator.random))
PARTS = ["rows untouched", "replay", "ranks", "new draws", "independent calls"]


@pytest.mark.parametrize(("subject", "part"), REQUEST_FAULTS, ids=[subject.name.rpartition(":")[2] for subject, _ in REQUEST_FAULTS])
def test_each_fault_breaks_its_part_alone(subject: Generator, part: str) -> None:
    verdict = judged(subject)
    assert verdict.outcome == "nonconform" and verdict.details["broken"] == [part] and part in verdict.details["judged"]


def test_what_is_right_conforms_in_every_part() -> None:
    for subject in (SOUND, rows_cached):
        verdict = judged(subject)
        assert verdict.outcome == "conform" and verdict.details == {"judged": PARTS, "broken": [], "not judged": {}}


def test_no_false_alarm() -> None:
    """At a level where one in a hundred would be allowed."""
    short = replace(LONG, length=1)
    assert [judged(SOUND, short, seed=seed, alpha=0.01).outcome for seed in range(30)].count("nonconform") <= 2


def test_internal_randomness_is_replayed_by_the_global_generators() -> None:
    verdict = judged(Generator(lambda engine: by_uniforms(engine, np.random.random), "global"))
    assert verdict.outcome == "conform" and "replay" in verdict.details["judged"]
    assert verdict.details["not judged"] == {"ranks": "its randomness is its own: no request's seed is handed to it"}


def test_randomness_from_elsewhere_is_not_judged_and_said() -> None:
    hidden = np.random.default_rng(0)
    verdict = judged(Generator(lambda engine: by_uniforms(engine, hidden.random), "hidden"))
    assert verdict.outcome == "conform" and verdict.details["not judged"]["replay"].startswith("it draws from elsewhere")


def test_what_cannot_be_judged_is_said() -> None:
    one_hot = replace(LONG, target=lambda prefix: Law.point(1))
    for verdict, why in (
        (judged(SOUND, one_hot), "nothing is random"),
        (judged(SOUND, lossless=False), "only the law of a lossless"),
        (judged(SOUND, seconds=0), "too few outputs"),
    ):
        assert verdict.outcome == "conform" and why in verdict.details["not judged"]["new draws"]


def test_a_subject_that_cannot_be_copied_is_asked_twice_itself() -> None:
    class Held:
        def __deepcopy__(self, memo: object) -> "Held":
            raise TypeError("no copies")

        def __call__(self, engine: Engine, generator: np.random.Generator) -> list[int]:
            return by_uniforms(engine, generator.random)

    verdict = judged(given(Held()))
    assert verdict.outcome == "conform" and "ranks" in verdict.details["judged"] and "TypeError" in verdict.details["not judged"]["second copy"]


def test_settings_of_the_engine_are_left_alone() -> None:
    def call(engine: Engine, generator: np.random.Generator) -> list[int]:
        answer = by_uniforms(engine, generator.random)
        engine.length = 0
        return answer

    assert judged(given(call)).message == "it overwrites the engine's length"


def test_it_is_one_of_the_verdicts_of_a_generator() -> None:
    report = check_generator(rows_cached, [LONG, STOPS])
    assert [verdict.verdict for verdict in report.verdicts] == ["support", "exactness", "ending", "invariance"] * 2 and report.outcome == "conform"
    numbers = count()

    def shifted(engine: Engine, generator: np.random.Generator) -> list[int]:
        return by_uniforms(engine, lambda: (generator.random() + 0.37 * next(numbers)) % 1)

    counted = check_generator(given(shifted), [LONG], tolerance=0.1)
    assert "invariance on rounds-two-tokens" in str(counted) and counted.outcome == "nonconform"


def racing(scale: float) -> Generator:
    """Draws by Gumbel noise, of this scale."""

    def call(engine: Engine, generator: np.random.Generator) -> list[int]:
        return plain(engine, lambda row: int((np.log(row) + scale * generator.gumbel(size=len(row))).argmax()))

    return given(call)


def test_the_slack_of_races_is_part_of_what_is_known_of_a_generator() -> None:
    short = [replace(LONG, length=2)]
    exact = {verdict.verdict: verdict for verdict in check_generator(racing(1.0), short, way="enumerate").verdicts}["exactness"]
    assert exact.outcome == "conform" and "races to" in exact.effort and exact.limit == 2e-5
    unknown = {verdict.verdict: verdict for verdict in check_generator(racing(1.0), short, way="enumerate", tolerance=1e-13).verdicts}["exactness"]
    assert unknown.outcome == "inconclusive"
    assert check_generator(racing(0.9), short, way="enumerate").outcome == "nonconform"


def test_the_slack_of_races_is_part_of_what_is_known_of_a_drafter() -> None:
    def drafts(scale: float) -> Drafter:
        def call(rows: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
            size = len(rows)
            noise = generator.gumbel(size=rows[:, 0].shape)
            with np.errstate(divide="ignore"):
                token = (np.log(rows[:, 0]) + scale * noise).argmax(1)
            tokens = np.stack([np.zeros(size, dtype=np.int64), token], 1)
            return tokens, np.zeros_like(tokens), np.ones(tokens.shape, dtype=bool), np.repeat(rows[:, :1], 2, axis=1)

        return Drafter(call, "racing", dtype="float64", framework="numpy", randomness="generator")

    rows = {"peaked": [[14, 1, 1]]}
    (right,) = check_drafter(drafts(1.0), rows, way="enumerate").verdicts
    assert right.outcome == "conform" and "races to" in right.effort and right.limit == 2e-5 and "known to" in right.message
    assert check_drafter(drafts(1.0), rows, way="enumerate", tolerance=1e-13).outcome == "inconclusive"
    assert check_drafter(drafts(0.9), rows, way="enumerate").outcome == "nonconform"
