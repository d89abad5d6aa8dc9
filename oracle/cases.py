"""A case: one instance made ready for one subject, with the exact meaning of every number handed over."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.exits import length_bound
from draftproof.reference.growth import expected_length
from draftproof.reference.instances import Instance
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix
from draftproof.reference.rational import Rational
from draftproof.reference.trees import Node, Scheme, Slot, level_order, merged
from draftproof.reference.verifiers import family

from . import ceilings
from .rounding import Rounding
from .subjects import Subject, SubjectError

if TYPE_CHECKING:
    from .embeddings import Embedding

Block = tuple[int, ...]

MAX_LISTED = 1 << 16
"""Populated trees of an instance are listed when there are at most this many ways to draw them."""


@dataclass(frozen=True)
class Batch:
    """Arrays of B draft trees (shapes in ``subjects``); rows are float64 holding values of the subject's dtype."""

    tokens: np.ndarray
    parents: np.ndarray
    valid: np.ndarray
    target: np.ndarray
    declared: np.ndarray | None

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def depths(self) -> np.ndarray:
        """Of each tree the depth of its deepest node, [B]."""
        depth = np.zeros_like(self.parents)
        for node in range(1, depth.shape[1]):  # parents come before their children
            parent = self.parents[:, node]
            depth[:, node] = np.where(self.valid[:, node] & (parent != node), depth[np.arange(len(depth)), parent] + 1, 0)
        return np.asarray(depth.max(1))

    @property
    def deepest(self) -> int:
        """D, the depth of the deepest node of the batch."""
        return int(self.depths.max())

    def take(self, rows: np.ndarray | Sequence[int]) -> "Batch":
        """The batch of the given rows, repeats allowed."""
        pick = np.asarray(rows)

        def taken(values: np.ndarray) -> np.ndarray:
            return values.take(pick, axis=0)  # five times as fast as values[pick]

        declared = None if self.declared is None else taken(self.declared)
        batch = Batch(taken(self.tokens), taken(self.parents), taken(self.valid), taken(self.target), declared)
        vars(batch)["depths"] = taken(self.depths)  # not worked out anew for every batch of a sample
        return batch


class Case:
    """An instance as ``subject`` sees it.

    ``target``: the target model after rounding.  ``trees``: every populated draft tree with its exact probability, its declared laws being those
    of the rounded rows.  ``batch``: the trees as arrays, row i the i-th tree.  ``embedding``: what is done to every batch before it is handed over;
    the blocks that come back are those of the instance again, where the token ``vocabulary`` - 1 stands for every token that is not the instance's.
    ``offset`` and ``share`` as in ``Rounding``.
    """

    def __init__(self, subject: Subject, instance: Instance, embedding: "Embedding | None" = None, offset: float = 0.0, share: int = 1):
        if subject.shape == "chain" and not instance.is_chain:
            raise SubjectError(f"{subject.name} takes chains; {instance.name} is a tree")
        if subject.reference is not None and not subject.reference.admits(instance):
            raise SubjectError(f"{subject.family} is not made for {instance.scheme_name} drafting, as {instance.name} has it")
        self.subject, self.instance, self.embedding = subject, instance, embedding
        self.vocabulary = instance.vocabulary + (embedding is not None)
        self.rounding = Rounding(subject, instance.vocabulary, offset, share)

    def embedded(self, embedding: "Embedding") -> "Case":
        """The same case, handed over in another way."""
        return Case(self.subject, self.instance, embedding, self.rounding.offset, self.rounding.share)

    def target(self, prefix: Prefix) -> Law[int]:
        return self.rounding.law(self.instance.target(prefix))

    def scheme(self, slot: Slot, prefix: Prefix, elders: tuple[int, ...]) -> Law[int] | None:
        """The instance's drafting scheme with its declared laws rounded."""
        law = self.instance.scheme(slot, prefix, elders)
        return None if law is None else self.rounding.law(law)

    @cached_property
    def enumerable(self) -> bool:
        """Whether the populated trees are few enough to be listed."""
        return self.instance.deterministic or _ways(self.instance.scheme, self.instance.topology, (), MAX_LISTED) <= MAX_LISTED

    @cached_property
    def trees(self) -> Law[Node]:
        law = tree_law(self.instance.topology, self.scheme)
        reference = self.subject.reference
        return law if reference is None or reference.reads_declared else law.map(merged)

    @cached_property
    def probabilities(self) -> list[Rational]:
        """Probability of each tree, in the order of ``batch``."""
        return [probability for _, probability in self.trees.items()]

    @cached_property
    def batch(self) -> Batch:
        return self.arrays(list(self.trees))

    @cached_property
    def depth(self) -> int:
        return self.instance.depth

    @cached_property
    def length_bound(self) -> Rational | None:
        """No lossless verifier emits more tokens on average: 1 + coverage on a fixed tree, attained on chains, a bound in general."""
        return length_bound(self.target, self.trees) if self.enumerable else None

    @cached_property
    def ceiling(self) -> Rational | None:
        """The least bound known to hold for every lossless verifier: certified where the draft trees are few, else ``length_bound``."""
        return ceilings.ceiling(self)

    @cached_property
    def expected_length(self) -> Rational | None:
        """Exact E[L] of the reference the subject claims to be."""
        law = self.reference_law
        return None if law is None else expected_length(law)

    @cached_property
    def reference_law(self) -> Law[Block] | None:
        """Exact block law of the reference the subject claims to be, averaged over the trees."""
        if self.subject.family is None:
            return None
        return block_law(family(self.subject.family), self.target, self.instance.topology, self.scheme)

    def arrays(self, trees: Sequence[Node]) -> Batch:
        """Trees as arrays, padded to the largest of them."""
        listed = [level_order(tree) for tree in trees]
        width = max(map(len, listed))
        if self.subject.shape == "chain":
            width = self.depth + 1
        size, vocabulary = len(trees), self.instance.vocabulary
        tokens = np.zeros((size, width), dtype=np.int64)
        parents = np.tile(np.arange(width), (size, 1))
        valid = np.zeros((size, width), dtype=bool)
        target = np.zeros((size, width, vocabulary))
        declared = np.zeros((size, width, vocabulary))
        blank = self.rounding.hand(Law.row([1] * vocabulary))[0]
        target[:], declared[:] = blank, blank  # padding holds a proper row, so that only a subject that ignores ``valid`` is misled
        for row, nodes in enumerate(listed):
            index = {id(node): position for position, node in enumerate(nodes)}
            for position, node in enumerate(nodes):
                valid[row, position] = True
                target[row, position] = self.rounding.hand(self.instance.target(node.path))[0]
                if node.declared is not None:
                    tokens[row, position] = node.token
                for child in node.children():
                    parents[row, index[id(child)]] = position
                    assert child.declared is not None
                    declared[row, index[id(child)]] = self.rounding.row(child.declared)
        return Batch(tokens, parents, valid, target, None if self.instance.deterministic else declared)


def _ways(scheme: Scheme, slot: Slot, prefix: Prefix, most: int, elders: tuple[int, ...] = ()) -> int:
    """How many ways there are to draw the slots from number ``len(elders)`` on and all below them; more than ``most`` may be counted short."""
    law = scheme(slot, prefix, elders) if len(elders) < len(slot) else None
    total = 0
    for token in law or ():
        below = _ways(scheme, slot[len(elders)], (*prefix, token), most)
        total += below * _ways(scheme, slot, prefix, most // below, (*elders, token))
        if total > most:
            break
    return total if law else 1
