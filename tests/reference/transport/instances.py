"""What the transport tests run on: single nodes drafted in every way, and random instances of two levels."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from draftproof.oracle.league import random_instance
from draftproof.reference.drafting import ranked
from draftproof.reference.instances import Instance
from draftproof.reference.laws import Law
from draftproof.reference.models import random_law
from draftproof.reference.rational import Rational, rational
from draftproof.reference.transport.candidates import Greedy, WithoutReplacement, WithReplacement
from draftproof.reference.trees import DraftNode, Draws
from draftproof.reference.trees import Node as TreeNode

SCHEMES = ("with_replacement", "without_replacement", "greedy", "top_k")


@dataclass(frozen=True)
class Node:
    """One node: target row, how its children are drawn, the capacity it is visited with."""

    p: Law[int]
    draws: Draws
    capacity: Rational


def greedy_draws(q: Law[int], count: int) -> Greedy:
    """The count - 1 most probable tokens, then one drawn off them."""
    hubs = tuple(ranked(q)[: count - 1])
    return Greedy(hubs, q.without(hubs))


def random_node(rng: random.Random, scheme: str, vocabulary: int, count: int) -> Node:
    """Capacities 0 and 1 among them, zeros in half of the rows."""
    zeros = rng.choice([0, 0.3])
    p, q = random_law(rng, vocabulary, zeros), random_law(rng, vocabulary, zeros)
    made: dict[str, Draws] = {
        "with_replacement": WithReplacement(q, count),
        "without_replacement": WithoutReplacement(q, count),
        "greedy": greedy_draws(q, count),
        "top_k": Greedy(tuple(ranked(q)[:count])),
    }
    return Node(p, made[scheme], rng.choice([rational(1), rational(0), rational(rng.randint(1, 11)) / 12]))


def random_nodes(count: int, seed: int = 0) -> Iterator[Node]:
    """Vocabulary 2 to 5, up to 3 candidates, every scheme in turn."""
    rng = random.Random(f"nodes:{seed}")
    return (random_node(rng, SCHEMES[number % 4], rng.randint(2, 5), rng.randint(1, 3)) for number in range(count))


def instance(seed: int, scheme: str, vocabulary: int, *children: int, zeros: float = 0.0) -> Instance:
    """A random instance, ``children[d]`` siblings below every node of depth d."""
    return random_instance(f"{scheme}-{seed}", seed, vocabulary, scheme, children, zeros)


def declared_only(children: Sequence[DraftNode]) -> list[TreeNode]:
    """The siblings with their tokens and declared laws, without what they say of other draws."""
    return [TreeNode(child.path, child.declared) for child in children]
