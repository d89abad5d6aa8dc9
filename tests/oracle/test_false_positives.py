"""Sampling rejects lossless subjects within its bound; a test that peeks does not, and is found out."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from draftproof.oracle.cases import Case
from draftproof.oracle.catalogue import find
from draftproof.oracle.eprocess import stream_log_e_value
from draftproof.oracle.sampling import FIRST_LOOK, Sample, watch


def _benchmark() -> ModuleType:
    place = Path(__file__).resolve().parents[2] / "benchmarks" / "false_positives.py"
    spec = importlib.util.spec_from_file_location("false_positives", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["false_positives"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


measured = _benchmark()
SUBJECT = measured.lossless("recursive_rejection")
FEW = ["chain-one-draft", "chain-argmax-draft"]


def test_within_the_bound() -> None:
    assert measured.measure(measured.complete, SUBJECT, FEW, 400).within(measured.ALPHA)


def test_within_the_bound_when_stopped_at_the_worst_moment() -> None:
    assert measured.measure(measured.at_worst, SUBJECT, FEW[1:], 200).within(measured.ALPHA)


def test_peeking_chi_square_fails_the_same_test() -> None:
    rate = measured.measure(measured.peeking_chi_square, SUBJECT, FEW, 2000)
    assert not rate.within(measured.ALPHA), rate


@pytest.mark.slow
def test_twenty_thousand_runs() -> None:
    complete = measured.measure(measured.complete, SUBJECT, measured.smoke(SUBJECT), 20_000)
    assert complete.shown_within(measured.ALPHA), complete
    worst = measured.measure(measured.at_worst, SUBJECT, FEW, 20_000)
    assert worst.shown_within(measured.ALPHA), worst
    peeking = measured.measure(measured.peeking_chi_square, SUBJECT, FEW, 20_000)
    assert not peeking.within(measured.ALPHA), peeking


def test_a_level_spent_several_times_over_is_found_out() -> None:
    """The harness has the power to see a rate above its bound: at the worst moment, each process at level 0.3 is beyond 0.01."""
    rate = measured.measure(measured.at_worst, SUBJECT, FEW[1:], 50, alpha=1.8)
    assert not rate.within(measured.ALPHA), rate


def test_rejections_are_counted_by_a_binomial_interval() -> None:
    low, high = measured.Rate(10, 1000).interval
    assert low == pytest.approx(0.0027, abs=3e-4) and high == pytest.approx(0.0254, abs=5e-4)
    assert measured.Rate(0, 10).interval[0] == 0 and measured.Rate(10, 10).interval[1] == 1
    assert measured.Rate(0, 20_000).shown_within(1e-2) and not measured.Rate(0, 100).shown_within(1e-2)
    assert not measured.Rate(300, 20_000).within(1e-2)


def test_capitals_are_those_of_the_decision() -> None:
    """What is computed for all runs at once is what decides one."""
    streams = measured.Streams(Case(SUBJECT, find("chain-rows-by-position")))
    counts = streams.draw(2, measured.LOOKS, np.random.default_rng(1))
    capitals = streams.capitals(counts)
    for run, look in np.ndindex(capitals.shape):
        seen = streams.sample(counts[run, look])
        assert capitals[run, look] == pytest.approx(seen.log_capital()) == pytest.approx(stream_log_e_value(seen.blocks, seen.target))
    one = float(streams.chances @ streams.lengths)
    lengths = streams.length_capitals(counts)
    for run, look in np.ndindex(lengths.shape):
        seen, just = streams.sample(counts[run, look]).lengths, 2 * np.exp(-lengths[run, look])  # the level at which the exact mean is excluded
        low, high = seen.interval(just * 0.999)
        assert low <= one <= high
        low, high = seen.interval(just * 1.001)
        assert not low <= one <= high


def test_looks_are_those_of_the_real_thing() -> None:
    streams, rng = measured.Streams(Case(SUBJECT, find("chain-one-draft"))), np.random.default_rng(2)
    seen, looks = Sample(streams.case), list[int]()

    def more(size: int) -> bool:
        new = streams.draw(1, np.array([size]), rng)[0, 0]
        seen.count({block: int(times) for block, times in zip(streams.blocks, new, strict=True)})
        looks.append(seen.observations)
        return len(looks) <= len(measured.LOOKS)

    found = watch(seen, more, measured.ALPHA, 0.0)  # a tolerance of zero: goes on as long as there are blocks
    assert found.outcome == "inconclusive" and looks[:4] == list(measured.LOOKS) and looks[0] == FIRST_LOOK
