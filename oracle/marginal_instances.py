"""Marginals to build trees from: small, asymmetric, each made for a kind of construction fault, with a note why."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import log, nan
from typing import Any

import numpy as np

from draftproof.reference.laws import Law

from .builders import Taker
from .logits import meaning
from .rounding import round_to

Weights = Sequence[int]


@dataclass(frozen=True)
class MarginalInstance:
    """Weights per depth and token (an empty row stands for NaN), and the budgets to build with.

    ``exact``: probabilities are 0 and 1 only, so that nothing is rounded on the way and exact ties stay ties for any implementation.
    """

    name: str
    note: str
    rows: Sequence[Weights]
    budgets: Sequence[int] = (0, 1, 2, 3, 4, 5, 8)
    exact: bool = False
    vocabulary: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", max((len(row) for row in self.rows), default=1))


@dataclass(frozen=True)
class Variant:
    """One way to hand an instance over: values [L, V] float64 as the subject's dtype holds them, and the laws those bits mean.

    ``laws`` end above the first row that means none.
    """

    name: str
    values: np.ndarray
    laws: tuple[Law[int], ...]


def variants(subject: Taker, instance: MarginalInstance) -> list[Variant]:
    """As it is; with the vocabulary permuted; and, for logits, with another constant added at each depth."""
    plain = _values(subject, instance.rows, instance.vocabulary)
    order = random.Random(instance.name).sample(range(instance.vocabulary), instance.vocabulary)
    found = [("", plain), ("with the vocabulary permuted, ", plain[:, order])]
    if subject.rows == "logits":
        lifts = np.array([8.0 * (-1) ** depth * (1 + depth % 3) for depth in range(len(plain))])
        found.append(("with a constant added to each row, ", plain + lifts[:, None]))
    return [_variant(subject, name, round_to(values, subject.dtype)) for name, values in found]


def _values(subject: Taker, rows: Sequence[Weights], vocabulary: int) -> np.ndarray:
    values = np.full((len(rows), vocabulary), nan)
    for depth, weights in enumerate(rows):
        for token, weight in enumerate(weights):
            share = Fraction(weight, sum(weights))
            values[depth, token] = float(share) if subject.rows == "probs" else log(share) if share else -np.inf
    return round_to(values, subject.dtype)


def _variant(subject: Taker, name: str, values: np.ndarray) -> Variant:
    laws = list[Law[int]]()
    for row in values.tolist():
        law = meaning(row, subject.rows)
        if law is None:
            break
        laws.append(law)
    return Variant(name, values, tuple(laws))


@cache
def marginal_instances() -> tuple[MarginalInstance, ...]:
    """All instances, from small to large."""
    many = tuple(range(0, 13))
    return (
        MarginalInstance("two-depths", "two depths, every probability different: wrong parent, wrong row, wrong order", [[5, 3, 2], [1, 8, 3]], many),
        MarginalInstance("one-depth", "L = 1: there are no children to offer", [[1, 4, 2, 3]]),
        MarginalInstance("one-token", "V = 1: certain, and no siblings to offer", [[1], [1], [1]], exact=True),
        MarginalInstance(
            "certain",
            "probability 1: a prefix ties with its extension, and only the order says who is the parent",
            [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
            exact=True,
        ),
        MarginalInstance(
            "impossible",
            "probability 0: no node, even where the budget has room for it",
            [[3, 0, 2, 0], [0, 1, 0, 0], [0, 5, 0, 4]],
            (0, 1, 3, 8, 20, 40),
        ),
        MarginalInstance("rows-differ", "flat, peaked, flat: a row used at the wrong depth", [[3, 4, 3], [1, 1, 18], [4, 5, 6]], many),
        MarginalInstance("peaked", "near certainty: the chain to the end, then its siblings", [[1, 97, 2], [98, 1, 2], [2, 1, 96], [95, 3, 2]], many),
        MarginalInstance("uniform", "all alike: a star before anything else", [[1] * 8] * 3, (0, 1, 7, 8, 9, 20)),
        MarginalInstance("ties", "small equal weights: any order among equals is right", [[2, 1, 1, 2], [1, 2, 1, 2], [1, 1, 1, 1]], many),
        MarginalInstance(
            "tail",
            "much of depth 1 is in a long tail: a normaliser over the best few inflates its best token",
            [[60, 50, *[9] * 10], [50, *[4] * 10, 8], [70, *[3] * 10, 6]],
            many,
        ),
        MarginalInstance("faint", "probabilities of 1e-9 and less are not zero", [[10**9, 1], [1, 10**9], [10**9, 1]], (0, 1, 3, 8, 14, 20)),
        MarginalInstance("wide", "V = 64, flat: eight tokens a depth are not enough", [[40 + token % 3 for token in range(64)]] * 2, (1, 8, 32, 64)),
        MarginalInstance("broken-later", "a NaN row at depth 2: the tree ends above it", [[5, 3, 2], [], [1, 2, 3]], (0, 1, 3, 8)),
        MarginalInstance("broken-first", "a NaN row at depth 1: the root alone", [[], [5, 3, 2]], (0, 1, 8)),
        MarginalInstance("close", "probabilities close to each other: 16 bits cannot tell them apart", _close(5, 48), (1, 20, 40)),
        MarginalInstance("many", "a hundred nodes at several depths: scores added up in 16 bits choose others", _many(7, 8, 16), (30, 100)),
        MarginalInstance("deep", "sixteen depths of a confident draft", _many(8, 16, 6, peak=60), (16, 64)),
    )


def _close(seed: int, vocabulary: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randint(9000, 11000) for _ in range(vocabulary)] for _ in range(2)]


def _many(seed: int, depths: int, vocabulary: int, peak: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    rows = [[int(1000 * rng.paretovariate(1.2)) for _ in range(vocabulary)] for _ in range(depths)]
    for row in rows:
        row[rng.randrange(vocabulary)] += peak * 1000
    return rows


def named_instance(name: str) -> MarginalInstance:
    """The instance of that name.  Raises KeyError with the known names."""
    known: dict[str, Any] = {instance.name: instance for instance in marginal_instances()}
    if name not in known:
        raise KeyError(f"no marginals {name!r}; known: {', '.join(known)}")
    return known[name]  # type: ignore[no-any-return]
