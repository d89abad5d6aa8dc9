"""How long ceilings take, certificates included: whole draft trees, single nodes, and single nodes at full vocabulary.

Run ``python benchmarks/ceilings.py``.  *exact* is the optimum with both its proofs in rationals, *check* the independent checker on the certificate,
*float LP* the same linear program in floating point alone (cvxpy and HiGHS).  Medians of processor time, which a busy machine spoils least.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from draftproof.oracle.league import SAMPLED, random_instance
from draftproof.reference.instances import Instance
from draftproof.reference.laws import ONE, Law
from draftproof.reference.models import random_law
from draftproof.reference.transport import sorted_ratio
from draftproof.reference.transport.candidates import WithoutReplacement, WithReplacement, set_law
from draftproof.reference.transport.certificate import check
from draftproof.reference.transport.exact_simplex import Ceiling, ceiling_of
from draftproof.reference.transport.node import linear_program, optimum
from draftproof.reference.transport.record import one_node, whole_tree
from draftproof.reference.transport.tree import Problem, problem_of, solve

FULL = 151_936


def taken(work: Callable[[], Any], runs: int = 5) -> str:
    """Median processor time of ``work``, after one run that does not count."""
    times = []
    for _ in range(runs + 1):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    median = statistics.median(times[1:])
    return f"{median:7.2f} s " if median >= 1 else f"{1e3 * median:7.1f} ms"


def program(given: Instance) -> Problem:
    """Its draft trees listed."""
    return problem_of(given.target, given.topology, given.scheme)


def certified(given: Instance) -> Ceiling:
    """From the instance to the ceiling."""
    return ceiling_of(program(given))


def whole_trees() -> None:
    """Every drafting scheme."""
    print(f"{'whole tree: V=4, k=2, depth 2':<38}{'trees':>6}{'exact':>12}{'check':>12}{'float LP':>12}   gap")
    for scheme in SAMPLED:
        for zeros in (0.0, 0.3):
            given = random_instance(scheme, 1, 4, scheme, [2, 2], zeros)
            problem, found = program(given), certified(given)
            name = f"  {scheme.replace('_', ' ')}{', zeros' if zeros else ''}"
            times = taken(partial(certified, given)), taken(partial(check, whole_tree(given, found))), taken(partial(solve, problem))
            print(f"{name:<38}{len(problem.trees):>6}" + "".join(f"{time:>12}" for time in times) + f"   {found.gap}", flush=True)


def rows(vocabulary: int) -> Iterator[tuple[str, Law[int], Law[int]]]:
    """Target and draft: fractions with small denominators, and what a float32 softmax hands over."""
    rng, normal = random.Random(0), np.random.default_rng(0)
    yield "small fractions", random_law(rng, vocabulary), random_law(rng, vocabulary)
    weights = np.exp(normal.standard_normal((2, vocabulary)))
    handed = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    yield "float32 rows", Law.row(map(Fraction, handed[0].tolist())), Law.row(map(Fraction, handed[1].tolist()))


def single_nodes() -> None:
    """Any drafting; without replacement has the longest fractions."""
    print(f"\n{'one node, without replacement':<38}{'sets':>6}{'exact':>12}{'check':>12}{'float LP':>12}")
    for vocabulary, count in ((10, 3), (64, 2)):
        for kind, p, q in rows(vocabulary):
            sets = set_law(WithoutReplacement(q, count))
            certificate = one_node(p, sets, ONE, optimum(p, sets))
            times = taken(partial(optimum, p, sets)), taken(partial(check, certificate)), taken(partial(linear_program, p, sets))
            name = f"  V={vocabulary}, k={count}, {kind}"
            print(f"{name:<38}{len(sets):>6}" + "".join(f"{time:>12}" for time in times), flush=True)


def full_vocabulary() -> None:
    """The value alone, in floats, by the sorted-ratio rule, held against the certified optimum where that is small enough."""
    print(f"\n{f'one node, V={FULL:,}, float64':<38}{'with replacement':>24}{'without':>18}")
    normal = np.random.default_rng(0)
    for spread in (1.0, 3.0):
        p = np.exp(spread * normal.standard_normal(FULL))
        q = p**0.8 * np.exp(normal.standard_normal(FULL))
        p, q = p / p.sum(), q / q.sum()
        for count in (2, 3, 4):
            rules = sorted_ratio.with_replacement, sorted_ratio.without_replacement
            times = [taken(partial(rule, p, q, count)) for rule in rules]
            print(f"  k={count}, logits of deviation {spread:<11}{times[0]:>27}{times[1]:>18}", flush=True)
    worst = 0.0
    for _, exact_p, exact_q in rows(10):
        p, q = (np.array([float(law[token]) for token in range(10)]) for law in (exact_p, exact_q))
        for draws, value in (
            (WithReplacement(exact_q, 3), sorted_ratio.with_replacement(p, q, 3)),
            (WithoutReplacement(exact_q, 3), sorted_ratio.without_replacement(p, q, 3)),
        ):
            worst = max(worst, abs(value - float(optimum(exact_p, set_law(draws)).value)))
    print(f"  off the certified optimum at V=10, k=3 by at most {worst:.1e}")


if __name__ == "__main__":
    whole_trees()
    single_nodes()
    full_vocabulary()
