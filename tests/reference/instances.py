"""Random small instances: a target, a draft, a topology and a drafting scheme, the same whenever asked again."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from draftproof.reference import drafting
from draftproof.reference.blocks import Block, block_law
from draftproof.reference.growth import expected_length
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, marginal, markov, random_law, random_model
from draftproof.reference.rational import Rational, fraction
from draftproof.reference.trees import Scheme, Slot, uniform_topology
from draftproof.reference.verifiers import family

from . import brute

SAMPLED = {"chain": drafting.chain, "with_replacement": drafting.with_replacement, "without_replacement": drafting.without_replacement}
RANKED = {"top_k": drafting.top_k, "greedy": drafting.greedy}
SCHEMES = (*SAMPLED, *RANKED, "fixed")
ANY_SCHEME = ("predraw_follow", "tree_exit", "recursive_rejection", "traversal")
"""Verifiers that go with every scheme."""


@dataclass(frozen=True)
class Case:
    """One instance; ``vocabulary`` tokens."""

    seed: int
    vocabulary: int
    target: Model
    draft: Model
    topology: Slot
    scheme: Scheme

    def law(self, verifier: str) -> Law[Block]:
        return block_law(family(verifier), self.target, self.topology, self.scheme)


def random_topology(rng: random.Random, nodes: int) -> Slot:
    """A random ordered tree of ``nodes`` nodes, the root not counted; half of the new nodes go below the newest."""
    below: list[list[int]] = [[]]
    for node in range(1, nodes + 1):
        below[rng.choice([node - 1, rng.randrange(node)])].append(node)
        below.append([])

    def slot(node: int) -> Slot:
        return tuple(slot(child) for child in below[node])

    return slot(0)


def random_paths(rng: random.Random, nodes: int, vocabulary: int) -> list[Prefix]:
    """The paths of a random tree with distinct siblings, parents first."""
    paths: list[Prefix] = [()]
    while len(paths) <= nodes:
        path = (*rng.choice(paths[-2:] + paths), rng.randrange(vocabulary))
        if path not in paths:
            paths.append(path)
    return paths[1:]


def random_draft(rng: random.Random, seed: int, vocabulary: int, target: Model) -> Model:
    """Any kind of drafter: by prefix, by position, by last token, or the target itself."""
    zeros = rng.choice([0, 0.3, 0.5])
    kind = rng.choice(["prefix", "prefix", "position", "last", "target"])
    if kind == "position":
        return marginal([random_law(rng, vocabulary, zeros) for _ in range(7)])
    if kind == "last":
        return markov(random_law(rng, vocabulary, zeros), {token: random_law(rng, vocabulary, zeros) for token in range(vocabulary)})
    return target if kind == "target" else random_model(-1 - seed, vocabulary, zeros)


def sampled_slots(scheme: str, slot: Slot) -> int:
    """How many tokens of a tree are really drawn."""
    here = {"top_k": 0, "fixed": 0, "greedy": min(1, len(slot))}.get(scheme, len(slot))
    return here + sum(sampled_slots(scheme, child) for child in slot)


def random_case(scheme: str, seed: int, largest: int) -> Case:
    """Vocabulary 2 to 4, up to 6 nodes, zeros in half of the models; at most ``largest`` = V ** (drawn tokens) trees to go through."""
    rng = random.Random(f"{scheme}:{seed}")
    while True:
        vocabulary, nodes = rng.randint(2, 4), rng.randint(1, 6)
        topology = uniform_topology((1,) * nodes) if scheme == "chain" else random_topology(rng, nodes)
        if vocabulary ** sampled_slots(scheme, topology) <= largest:
            break
    target = random_model(seed, vocabulary, rng.choice([0, 0, 0.3, 0.5]))
    draft = random_draft(rng, seed, vocabulary, target)
    if scheme == "fixed":
        topology, declared = drafting.fixed(random_paths(rng, nodes, vocabulary))
    else:
        declared = {**SAMPLED, **RANKED}[scheme](draft)
    return Case(seed, vocabulary, target, draft, topology, declared)


def random_cases(scheme: str, count: int, largest: int = 81, start: int = 0) -> Iterator[Case]:
    """``count`` of them, with seeds from ``start`` on."""
    return (random_case(scheme, seed, largest) for seed in range(start, start + count))


def positions(*weights: Sequence[int]) -> Model:
    """A model with one row of weights a position."""
    return marginal([Law.row(row) for row in weights])


def accepted(verifier: str, target: Model, topology: Slot, scheme: Scheme) -> Rational:
    """Mean number of accepted drafts."""
    return expected_length(block_law(family(verifier), target, topology, scheme)) - 1


def rows(model: Model) -> brute.Rows:
    """A model as plain fractions."""
    return lambda prefix: {token: fraction(weight) for token, weight in model(prefix).items()}


def plain(law: Law[Block]) -> dict[Block, Fraction]:
    """A block law as plain fractions."""
    return {block: fraction(mass) for block, mass in law.items()}
