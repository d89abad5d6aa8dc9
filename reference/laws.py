"""Finite exact laws: the only kind of probability this package knows.

A :class:`Law` maps outcomes (tokens, nodes, blocks, ...) to positive rationals that sum to one exactly.  Outcomes that are not listed
have probability zero.  The order in which outcomes were given is kept: it is the order in which a draw looks at them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

from .rational import Rational, rational

T = TypeVar("T", bound=Hashable)
S = TypeVar("S", bound=Hashable)

ZERO, ONE = rational(0), rational(1)


class Law(Generic[T]):
    """A finite law.  ``Law({0: 1, 1: 3})`` and ``Law({0: "1/4", 1: "0.75"})`` are the same one: weights are normalised exactly.

    Raises ValueError for a negative or non-finite weight, naming the outcome, and when no weight is positive.
    """

    __slots__ = ("_weights", "_hash")

    def __init__(self, weights: Mapping[T, Any] | Iterable[tuple[T, Any]]):
        exact: dict[T, Rational] = {}
        for outcome, weight in weights.items() if isinstance(weights, Mapping) else weights:
            try:
                value = rational(weight)
            except ValueError as error:
                raise ValueError(f"weight of {outcome!r}: {error}") from None
            if value < 0:
                raise ValueError(f"weight of {outcome!r} is negative: {weight}")
            if value:
                exact[outcome] = exact.get(outcome, ZERO) + value
        total = sum(exact.values(), ZERO)
        if not total:
            raise ValueError("a law needs at least one positive weight")
        self._weights = exact if total == 1 else {outcome: value / total for outcome, value in exact.items()}
        self._hash: int | None = None

    @classmethod
    def row(cls, weights: Iterable[Any]) -> "Law[int]":
        """The law of a token from a row of weights, one per token of the vocabulary."""
        return Law(enumerate(weights))

    @classmethod
    def point(cls, outcome: T) -> "Law[T]":
        """All mass on one outcome (a "one-hot" row)."""
        return _trusted({outcome: ONE})

    def __getitem__(self, outcome: T) -> Rational:
        return self._weights.get(outcome, ZERO)

    def __iter__(self) -> Iterator[T]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __contains__(self, outcome: object) -> bool:
        return outcome in self._weights

    def items(self) -> Iterable[tuple[T, Rational]]:
        """Outcomes of positive probability with their probabilities."""
        return self._weights.items()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Law) and self._weights == other._weights)

    def __hash__(self) -> int:
        if self._hash is None:  # laws are keys of every memo below, so the hash is worth keeping
            self._hash = hash(frozenset(self._weights.items()))
        return self._hash

    def __repr__(self) -> str:
        return "Law({" + ", ".join(f"{outcome!r}: {weight}" for outcome, weight in self._weights.items()) + "})"

    def mass(self, outcomes: Iterable[T]) -> Rational:
        """Probability of a set of outcomes."""
        return sum((self[outcome] for outcome in set(outcomes)), ZERO)

    def without(self, outcomes: Iterable[T]) -> "Law[T] | None":
        """Conditioned on avoiding ``outcomes``; None when nothing else is possible."""
        return _without(self, frozenset(outcomes))

    def excess(self, declared: "Law[T]", mass: Rational | int = 1) -> "tuple[Rational, Law[T] | None]":
        """Mass and law of what a drafted token leaves of a target: m = sum_x (mass f(x) - r(x))_+ and (mass f - r)_+ / m, f this law.

        The law is None when m = 0.  (The residual of speculative sampling, arXiv 2211.17192 eq. in section 2.3; with mass < 1 that of block
        verification, arXiv 2403.10444.)
        """
        return _excess(self, declared, mass)

    def map(self, function: Callable[[T], S]) -> "Law[S]":
        """Law of ``function(outcome)``."""
        image: dict[S, Rational] = {}
        for outcome, weight in self._weights.items():
            key = function(outcome)
            image[key] = image.get(key, ZERO) + weight
        return _trusted(image)

    def expectation(self, value: Callable[[T], Any]) -> Rational:
        """Mean of ``value(outcome)``."""
        return sum((weight * value(outcome) for outcome, weight in self._weights.items()), ZERO)

    def total_variation(self, other: "Law[T]") -> Rational:
        """1/2 sum_x |f(x) - g(x)|."""
        return sum((abs(self[outcome] - other[outcome]) for outcome in {*self, *other}), ZERO) / 2


def mixture(parts: Iterable[tuple[Rational, Law[T]]]) -> Law[T]:
    """Law of a two-stage draw: part i with the given probability (they sum to one), then an outcome of it."""
    weights: dict[T, Rational] = {}
    for probability, law in parts:
        for outcome, weight in law.items():
            weights[outcome] = weights.get(outcome, ZERO) + probability * weight
    return Law(weights)


def _trusted(weights: dict[T, Rational]) -> Law[T]:
    """A law from positive weights known to sum to one."""
    law: Law[T] = object.__new__(Law)
    law._weights, law._hash = weights, None
    return law


# The replay of a verifier's branches meets the same few laws thousands of times; these two memos are most of its speed.


@lru_cache(maxsize=1 << 16)
def _without(law: Law[T], outcomes: frozenset[T]) -> Law[T] | None:
    rest = {outcome: weight for outcome, weight in law.items() if outcome not in outcomes}
    return Law(rest) if rest else None


@lru_cache(maxsize=1 << 16)
def _excess(law: Law[T], declared: Law[T], mass: Rational | int) -> tuple[Rational, Law[T] | None]:
    left = {outcome: mass * weight - declared[outcome] for outcome, weight in law.items()}
    left = {outcome: weight for outcome, weight in left.items() if weight > 0}
    total = sum(left.values(), ZERO)
    return total, (_trusted({outcome: weight / total for outcome, weight in left.items()}) if left else None)
