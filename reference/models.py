"""Target and draft models over a small vocabulary: a model is a function from a prefix to the law of the next token.

A **prefix** is the tuple of tokens after the fixed context.
"""

import random
from collections.abc import Callable, Mapping, Sequence

from .laws import Law

Prefix = tuple[int, ...]
Model = Callable[[Prefix], Law[int]]


class MissingRow(KeyError):
    """A model was asked for a prefix it has no row for."""

    def __str__(self) -> str:
        return str(self.args[0])


def spell(prefix: Prefix) -> str:
    """A prefix as it is written in instance files and reports: tokens separated by one space."""
    return " ".join(map(str, prefix))


def table(rows: Mapping[Prefix, Law[int]], name: str = "model") -> Model:
    """One row per prefix.  The model raises MissingRow for any other prefix."""

    def model(prefix: Prefix) -> Law[int]:
        try:
            return rows[prefix]
        except KeyError:
            raise MissingRow(f'{name} has no row for prefix "{spell(prefix)}"') from None

    return model


def marginal(rows: Sequence[Law[int]]) -> Model:
    """One row per position, whatever the tokens before it: a block-diffusion drafter (DFlash).

    The model raises MissingRow beyond the last position.
    """

    def model(prefix: Prefix) -> Law[int]:
        if len(prefix) >= len(rows):
            raise MissingRow(f"the marginal model has {len(rows)} positions, none for depth {len(prefix) + 1}")
        return rows[len(prefix)]

    return model


def markov(first: Law[int], after: Mapping[int, Law[int]]) -> Model:
    """``first`` at the root, then one row per last token (a DSpark-like head).  The model raises MissingRow for a token without a row."""

    def model(prefix: Prefix) -> Law[int]:
        if not prefix:
            return first
        if prefix[-1] not in after:
            raise MissingRow(f"the Markov model has no row after token {prefix[-1]}")
        return after[prefix[-1]]

    return model


def random_law(rng: random.Random, vocabulary: int, zeros: float = 0.0, largest: int = 9) -> Law[int]:
    """Independent integer weights in 1..largest, each replaced by zero with probability ``zeros`` (at least one stays)."""
    weights = [0 if rng.random() < zeros else rng.randint(1, largest) for _ in range(vocabulary)]
    if not any(weights):
        weights[rng.randrange(vocabulary)] = 1
    return Law.row(weights)


def random_model(seed: int, vocabulary: int, zeros: float = 0.0, largest: int = 9) -> Model:
    """A random law for every prefix, different at each, the same whenever asked again."""

    def model(prefix: Prefix) -> Law[int]:
        if prefix not in rows:
            rows[prefix] = random_law(random.Random(f"{seed}:{spell(prefix)}"), vocabulary, zeros, largest)
        return rows[prefix]

    rows: dict[Prefix, Law[int]] = {}
    return model
