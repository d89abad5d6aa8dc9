"""Batches to train on: small, asymmetric, each made for a kind of mistake, then the catalogue's fixed trees, then generated ones; 200 and more."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from draftproof.reference.chance import law_of
from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, random_law, random_model
from draftproof.reference.training import Context, built, lock_in, tree_of
from draftproof.reference.trees import level_order, populate

from .catalogue import catalogue

GENERATED = 200
HISTORY = 6


@dataclass(frozen=True)
class TrainingInstance:
    """Requests of one batch, a context each, and for every one the tokens [HISTORY] that came before, the root's last."""

    name: str
    note: str
    vocabulary: int
    contexts: Sequence[Context]

    @property
    def histories(self) -> list[Prefix]:
        """Texts that differ in their first token from each other, so that a truncated one is another text."""
        rng = random.Random(self.name)
        return [tuple(rng.randrange(self.vocabulary) for _ in range(HISTORY)) for _ in self.contexts]


@cache
def training_instances() -> tuple[TrainingInstance, ...]:
    """All of them, curated ones first."""
    return (*_curated(), *_catalogued(), *(_generated(seed) for seed in range(GENERATED)))


def named(name: str) -> TrainingInstance:
    """The instance of that name.  Raises KeyError."""
    return next(one for one in training_instances() if one.name == name)


def _curated() -> list[TrainingInstance]:
    worked = {(): [7, 3], (0,): [3, 2], (0, 0): [1, 3], (1,): [1, 1]}
    example: Model = lambda prefix: Law.row(worked[prefix])  # noqa: E731
    rare: Model = lambda prefix: Law.row([[1, 400, 1, 98], [300, 1, 1, 198]][len(prefix) % 2])  # noqa: E731
    covered: Model = lambda prefix: Law.row([3, 2, 0] if len(prefix) % 2 == 0 else [1, 0, 4])  # noqa: E731
    rows = [Law.row([5, 3, 2]), Law.row([1, 4, 2]), Law.row([2, 2, 3])]
    four = [Law.row([6, 1, 4, 2]), Law.row([5, 2, 1, 3])]
    return [
        TrainingInstance(
            "training-lock-in",
            "a covered node of weight 0 is pushed down: exit and prefix weights disagree in sign",
            2,
            [built(lock_in.target, [Law.row([4, 1]), lock_in.EVEN], 4)],
        ),
        TrainingInstance(
            "training-worked-example",
            "exits at every node, listed deepest branch first",
            2,
            [Context(example, [Law.row([2, 3]), Law.row([5, 1])], tree_of([(0,), (0, 0), (1,)]))],
        ),
        TrainingInstance(
            "training-root-exit",
            "most paths leave at the root, which is no node and has no credit",
            4,
            [Context(rare, four, tree_of([(0,), (0, 0)]))],
        ),
        TrainingInstance(
            "training-rare-nodes",
            "nodes of mass 1/500 and less beside heavy ones: a floor under probabilities shows",
            4,
            [Context(rare, four, tree_of([(1,), (0,), (0, 1), (2,), (2, 0)]))],
        ),
        TrainingInstance(
            "training-ragged",
            "one node, seven nodes and none: padding is not counted and requests are not averaged one by one",
            3,
            [built(random_model(71 + nodes, 3), rows, nodes) for nodes in (1, 7, 0)],
        ),
        TrainingInstance("training-no-nodes", "no nodes at all: the loss is 0, not 0/0", 3, [built(random_model(5, 3), rows, 0)] * 2),
        TrainingInstance(
            "training-covered", "children cover the target's support: rho = 0, and tokens the target cannot emit", 3, [built(covered, rows, 6)]
        ),
        TrainingInstance(
            "training-dead-branch",
            "a branch that the target cannot enter: weight 0 below it",
            3,
            [Context(covered, rows, tree_of([(2,), (2, 0), (0,), (0, 0), (2, 0, 1)]))],
        ),
        TrainingInstance("training-deep", "a chain: the weight is at its end, its rows are one a node", 3, [built(random_model(9, 3), rows, 3)]),
        TrainingInstance(
            "training-short-trees",
            "trees that do not reach the last rows of the draft, which get nothing",
            3,
            [Context(random_model(12, 3), rows, tree_of([(1,), (0,)])), Context(random_model(13, 3), rows, tree_of([(2,)]))],
        ),
    ]


def _catalogued() -> list[TrainingInstance]:
    found = []
    for one in catalogue():
        if one.deterministic and one.depth:
            rng = random.Random(one.name)
            draft = [random_law(rng, one.vocabulary) for _ in range(one.depth)]
            root = next(iter(law_of(lambda chance, one=one: populate(one.topology, one.scheme, chance))))  # type: ignore[misc]
            context = Context(one.target, draft, root)
            found.append(TrainingInstance(f"training-{one.name}", "a tree of the catalogue", one.vocabulary, [context]))
    return found


def _generated(seed: int) -> TrainingInstance:
    """Best-first trees of random drafts, some close to the target's rows at the root's depth, some with zeros."""
    rng = random.Random(f"training {seed}")
    vocabulary, depths, zeros = rng.randint(2, 5), rng.randint(1, 4), rng.choice((0.0, 0.0, 0.3))
    contexts = []
    for _ in range(rng.randint(1, 3)):
        target = random_model(rng.randrange(1 << 30), vocabulary, zeros, largest=rng.choice((3, 9, 60)))
        draft = [random_law(rng, vocabulary, largest=rng.choice((3, 9, 60))) for _ in range(depths)]
        contexts.append(built(target, draft, rng.randint(0, 9)))
    nodes = ", ".join(str(len(level_order(one.root)) - 1) for one in contexts)
    return TrainingInstance(f"training-generated-{seed}", f"best-first trees of {nodes} nodes", vocabulary, contexts)
