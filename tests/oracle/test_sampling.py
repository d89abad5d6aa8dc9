"""Sampling: when it conforms, when it rejects, and when it does not know."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from draftproof.oracle import Subject, check
from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import blocks
from draftproof.oracle.faults.rows import arrays, emitted, inverse_cdf
from draftproof.oracle.faults.tapes import owed, passed
from draftproof.oracle.sampling import Budget, Sample, sample
from draftproof.oracle.verdicts import BOUNDARY, Verdict

FOREVER = Budget(1e-6, math.inf)
Arrays = tuple[np.ndarray, np.ndarray]


def token_level(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    accepted = passed(drafts, declared, target, generator.random(drafts.shape))
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), generator.random(len(drafts))))


def subject(call: Callable[..., Any] = token_level, **declares: Any) -> Subject:
    return arrays("chain", **{"randomness": "generator", **declares})(call)


def three(call: Subject, name: str, budget: Budget = FOREVER, tolerance: float | None = None, seed: int = 0) -> tuple[Verdict, Verdict, Verdict]:
    support, exactness, acceptance = sample(Case(call, find(name)), budget, tolerance, seed)[1]
    return support, exactness, acceptance


def test_conforms_when_the_bound_is_below_the_tolerance() -> None:
    support, exactness, acceptance = three(subject(family="token"), "chain-pairs")
    assert (support.outcome, exactness.outcome, acceptance.outcome) == ("conform", "conform", "conform")
    assert exactness.number is not None and 0.005 < exactness.number <= 0.02 == exactness.limit
    assert exactness.message == f"total variation is at most {exactness.number:.3g}"
    assert "and 2.19 is what recursive_rejection has here" in acceptance.message


def test_ten_samples_never_conform() -> None:
    support, exactness, acceptance = three(subject(), "chain-pairs", Budget(1e-6, math.inf, blocks=1), tolerance=1e-3)
    assert exactness.outcome == "inconclusive" and "not known to be at most 0.001: more blocks or more time are needed" in exactness.message
    few = Sample(Case(subject(), find("chain-one-draft")))
    few.add(np.array([[0, -1]] * 5 + [[1, -1]] * 3 + [[2, -1]] * 2))
    assert few.upper_bound(1e-6) == 1.0 and few.log_capital() < 1


def test_no_time_is_inconclusive() -> None:
    report = check(subject(), [find("chain-pairs")], way="sample", time_limit=1e-3)
    assert report.outcome in ("inconclusive", "error")
    assert [verdict.outcome for verdict in report.verdicts if verdict.verdict == "exactness"] in (["inconclusive"], [])


def test_rejects_what_leaves_marginals_and_lengths_right() -> None:
    for seed in range(3):
        support, exactness, acceptance = three(blocks.block_with_token_residual, "chain-block", seed=seed)
        assert (support.outcome, exactness.outcome) == ("conform", "nonconform")
        assert exactness.violation is not None and exactness.violation["prefix"] != ""
        assert int(exactness.effort.split()[0]) <= 1 << 16


def test_same_seed_same_verdict() -> None:
    first, second = (three(subject(), "chain-one-draft", seed=7)[1] for _ in range(2))
    assert (first.number, first.message) == (second.number, second.message)


@pytest.mark.parametrize("randomness", ["internal", "generator", "uniforms", "seeds"])
@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_every_kind_of_randomness(randomness: str, framework: str) -> None:
    given: list[Any] = []

    def verify(drafts: Any, declared: Any, target: Any, **more: Any) -> Arrays:
        given.append(more)
        rows = np.asarray(target)
        return emitted(np.asarray(drafts), np.zeros(len(rows), dtype=int), inverse_cdf(rows[:, 0], np.random.random(len(rows))))

    settings = {"framework": framework, "randomness": randomness, "uniforms_dtype": "float32"}
    assert three(subject(verify, **settings), "chain-one-draft")[1].outcome == "conform"
    assert [*given[0]] == ([] if randomness == "internal" else [randomness])
    if randomness == "generator":
        assert len({id(more["generator"]) for more in given}) == 1  # one stream for the whole run
    if randomness == "seeds":
        seeds = np.concatenate([np.asarray(more["seeds"]) for more in given])
        assert len(np.unique(seeds)) == len(seeds)
    if randomness == "uniforms":
        uniforms = np.asarray(given[0]["uniforms"])
        assert uniforms.dtype == np.float32 and uniforms.shape == (1 << 12, 2)
        assert 0 <= uniforms.min() and uniforms.max() < 1 and ((uniforms * 2.0**24) % 1 == 0).all()


def test_one_row_at_a_time() -> None:
    sizes = set[int]()

    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
        sizes.add(len(drafts))
        return token_level(drafts, declared, target, generator)

    three(subject(verify, batched=False), "chain-one-draft", Budget(1e-6, time.monotonic() + 0.2))
    assert sizes == {1}


def test_impossible_tokens() -> None:
    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
        always = np.ones(len(drafts), dtype=int)
        return emitted(drafts, always, inverse_cdf(target[:, 1], generator.random(len(drafts))))

    support, exactness, _ = three(subject(verify), "chain-zero-target", tolerance=0.9)
    assert (support.outcome, exactness.outcome) == ("nonconform", "nonconform")
    assert support.message.startswith("at the root it emits 0, which the target cannot, ")
    assert exactness.violation is not None and exactness.violation["token"] == 0 and exactness.violation["should_be"] == "0"
    assert support.effort.startswith("4096 blocks")


def test_a_boundary_event_is_a_note() -> None:
    case = Case(subject(), find("chain-zero-target"))
    rare, often = Sample(case), Sample(case)
    rare.add(np.array([[1, 0, -1]] * (1 << 16) + [[0, 1, -1]]))
    often.add(np.array([[1, 0, -1]] * (1 << 16) + [[0, 1, -1]] * 8))
    assert not rare.impossible_beyond_boundary(1e-6) and often.impossible_beyond_boundary(1e-6)
    assert often.impossible == {(0, 1): 8} and often.cut() == {(0,): 8}


def test_false_alarm_rate_of_the_boundary_test() -> None:
    """The mean of the capital after n blocks is at most one, exactly: so it reaches 1 / alpha with probability at most alpha."""
    from scipy.stats import binom

    n, p = 1 << 20, float(BOUNDARY)
    sure = Sample(Case(subject(), find("chain-zero-target")))
    sure.observations = n
    chance = 0.0
    for count in range(8):
        sure.impossible_observations = count
        chance += float(binom.pmf(count, n, p)) * sure.impossible_beyond_boundary(1e-3)
    assert chance <= 1e-3


def test_lossy_is_never_rejected() -> None:
    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
        return emitted(drafts, np.full(len(drafts), drafts.shape[1]), inverse_cdf(target[:, -1], generator.random(len(drafts))))

    for name in ("chain-one-draft", "chain-zero-target"):
        support, exactness, _ = three(subject(verify, claims=("lossy",)), name)
        assert (support.outcome, exactness.outcome) == ("conform", "conform")
        assert exactness.message.startswith("lossy, as its author says: total variation is at most")
    assert three(subject(verify), "chain-one-draft")[1].outcome == "nonconform"


def test_acceptance_below_its_claim() -> None:
    def verify(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
        return emitted(drafts, np.zeros(len(drafts), dtype=int), inverse_cdf(target[:, 0], generator.random(len(drafts))))

    support, exactness, acceptance = three(subject(verify, family="token"), "chain-one-draft")
    assert (support.outcome, exactness.outcome, acceptance.outcome) == ("conform", "conform", "nonconform")
    assert "it accepts less than 1.7, what recursive_rejection has here" in acceptance.message


def test_global_generators_are_put_back() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr]
    three(subject(), "chain-one-draft")
    assert (np.random.get_state()[1] == before).all()  # type: ignore[union-attr]
