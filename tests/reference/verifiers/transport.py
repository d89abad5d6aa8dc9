"""What the transport verifiers are put through, and what is measured of them."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from draftproof.reference import drafting
from draftproof.reference.blocks import Block, block_law
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import Model, Prefix, random_model, table
from draftproof.reference.rational import Rational
from draftproof.reference.trees import Scheme, Slot, uniform_topology
from draftproof.reference.verifiers import Family, family

SCHEMES: dict[str, Callable[[Model], Scheme]] = {
    "with_replacement": drafting.with_replacement,
    "without_replacement": drafting.without_replacement,
    "greedy": drafting.greedy,
    "top_k": drafting.top_k,
}


@dataclass(frozen=True)
class TwoLevels:
    """Every node of the first two levels has ``siblings`` children."""

    target: Model
    draft: Model
    vocabulary: int
    siblings: int

    @property
    def topology(self) -> Slot:
        return uniform_topology([self.siblings, self.siblings])

    def law(self, rule: Family | str, scheme: str) -> Law[Block]:
        made = SCHEMES[scheme](self.draft)
        return block_law(family(rule) if isinstance(rule, str) else rule, self.target, self.topology, made)


def two_levels(count: int, largest: int = 5, seed: int = 0, threes: int = 2) -> Iterator[TwoLevels]:
    """Vocabulary 3 to ``largest``, three siblings in every ``threes``-th and two in the others, zeros in half of them."""
    for number in range(count):
        rng = random.Random(f"two levels:{seed}:{number}")
        vocabulary = rng.randint(3, largest)
        siblings = 2 if (number // 2) % threes else 3
        zeros = 0.3 * (number % 2)
        yield TwoLevels(random_model(2 * number, vocabulary, zeros), random_model(2 * number + 1, vocabulary, zeros), vocabulary, siblings)


def by_prefix(rows: dict[Prefix, Sequence[int]], otherwise: Sequence[int]) -> Model:
    """A model from a few rows, the same row everywhere else."""
    given = {prefix: Law.row(row) for prefix, row in rows.items()}
    known = table(given)
    rest = Law.row(otherwise)
    return lambda prefix: known(prefix) if prefix in given else rest


def accepted_at_least(law: Law[Block], depth: int) -> Rational:
    """Probability that at least ``depth`` drafts are accepted."""
    return sum((mass for block, mass in law.items() if len(block) > depth), ZERO)


def drafts(rule: Family | str, target: Model, topology: Slot, scheme: Scheme) -> Rational:
    """Mean number of accepted drafts."""
    return expected_length(block_law(family(rule) if isinstance(rule, str) else rule, target, topology, scheme)) - 1
