"""Embeddings: a small batch inside a larger call that must answer the same.

A step takes what is handed over and says where everything went: rows of the batch, nodes of the trees, tokens of the vocabulary.  Steps compose.
Tokens that the instance does not have get no mass wherever the target can come, so the law of the block, read back, is that of the small batch.
Lifts are such embeddings at real sizes; the invariance verdict compares a batch with its embeddings row by row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .cases import Batch
from .rounding import round_to
from .subjects import Subject, SubjectError

Rng = np.random.Generator


@dataclass(frozen=True)
class Handed:
    """A batch for ``subject``, and where it came from.

    ``rows`` [B]: the row that holds small row i.  ``nodes`` [N]: the node that small node v became.  ``tokens`` [V']: the small token that each
    token stands for, or ``dead``, a number above all of them.
    """

    subject: Subject
    batch: Batch
    rows: np.ndarray
    nodes: np.ndarray
    tokens: np.ndarray
    dead: int

    @property
    def vocabulary(self) -> int:
        return len(self.tokens)

    def columns(self) -> np.ndarray:
        """The column of the uniforms that each small column became.  Raises SubjectError where the subject does not say."""
        small, large = (self.subject.uniform_columns(nodes) for nodes in (len(self.nodes), self.batch.tokens.shape[1]))
        if small == large:
            return np.arange(small)
        if self.subject.layout != "draftproof" and (self.subject.columns or self.subject.order):
            raise SubjectError("its layout of uniforms is its own, so more nodes cannot be given the same ones")
        return self.nodes

    def read_back(self, blocks: np.ndarray) -> np.ndarray:
        """Blocks of all rows as blocks of the small rows, each cut after the first token that the instance does not have."""
        mine = blocks[self.rows]
        small = np.where(mine >= 0, self.tokens[np.maximum(mine, 0)], -1)
        dead = small == self.dead
        return np.where(dead.cumsum(1) - dead > 0, -1, small)


Step = Callable[[Handed, Rng], Handed]


MOST_NUMBERS = 1 << 21


@dataclass(frozen=True)
class Embedding:
    """Steps, taken one after the other.  Rows are handed over so many at a time that there are at most ``most_numbers`` in their target rows.

    ``large``: rows are so long that a few hundred calls of one row are what can be afforded.
    """

    steps: tuple[Step, ...]
    most_numbers: int = MOST_NUMBERS
    large: bool = False

    def __call__(self, subject: Subject, batch: Batch, rng: Rng) -> Handed:
        size, nodes, vocabulary = batch.target.shape
        handed = Handed(subject, batch, np.arange(size), np.arange(nodes), np.arange(vocabulary), vocabulary)
        for step in self.steps:
            handed = step(handed, rng)
        return handed


def nothing(subject: Subject) -> float:
    """What a row holds for a token without mass."""
    return 0.0 if subject.rows == "probs" else -np.inf


def one_hot(subject: Subject, tokens: np.ndarray, vocabulary: int) -> np.ndarray:
    """Rows [..., V] with all mass on ``tokens`` [...]."""
    rows = np.full((*tokens.shape, vocabulary), nothing(subject))
    np.put_along_axis(rows, tokens[..., None], 1.0 if subject.rows == "probs" else 0.0, -1)
    return rows


def random_rows(subject: Subject, shape: tuple[int, ...], rng: Rng) -> np.ndarray:
    """Rows of weights that have nothing to do with anything."""
    weights = rng.exponential(size=shape) + 2.0**-10
    laws = weights / weights.sum(-1, keepdims=True)
    return round_to(laws if subject.rows == "probs" else np.log(laws), subject.dtype)


# Vocabularies


def scattered(vocabulary: int) -> Step:
    """Every token its own place in a vocabulary of ``vocabulary``, in the same order, the first and the last id included."""
    return lambda handed, rng: _renamed(handed, _places(handed.dead, vocabulary), vocabulary)


def wider(more: int) -> Step:
    """``more`` tokens after the last one, as where a vocabulary is rounded up to a multiple of the tile."""
    return lambda handed, rng: _renamed(handed, np.arange(handed.vocabulary), handed.vocabulary + more)


def with_gaps(handed: Handed, rng: Rng) -> Handed:
    """A token without mass after the first one, and one at the end."""
    size = handed.vocabulary
    return _renamed(handed, np.append([0], np.arange(2, size + 1))[:size], size + 2)


def _places(small: int, large: int) -> np.ndarray:
    """Increasing places for ``small`` tokens: the first and the last id, and either side of edges of tiles between them."""
    if small > large:
        raise SubjectError(f"{small} tokens do not fit into a vocabulary of {large}")
    even = np.linspace(0, large - 1, small).round().astype(np.int64)
    if large < 4 * 1024 * small:
        return even
    edges = even // 1024 * 1024 - np.arange(small) % 2  # the last of a tile, the first of one, by turns
    edges[0], edges[-1] = 0, large - 1
    return edges


def _renamed(handed: Handed, places: np.ndarray, vocabulary: int) -> Handed:
    batch = handed.batch

    def spread(rows: np.ndarray) -> np.ndarray:
        wide = np.full((*rows.shape[:2], vocabulary), nothing(handed.subject))
        wide[..., places] = rows
        return wide

    tokens = np.full(vocabulary, handed.dead)
    tokens[places] = handed.tokens
    declared = None if batch.declared is None else spread(batch.declared)
    return replace(handed, batch=replace(batch, tokens=places[batch.tokens], target=spread(batch.target), declared=declared), tokens=tokens)


def split(vocabulary: int, share: int) -> Step:
    """Every token becomes ``share`` neighbouring tokens, each with the row's value, which is a ``share``-th of the token's mass (see ``Case.share``).

    Drafts become one token of theirs.  Where a draft is tested by its token alone (it was not sampled, or the subject does not read declared laws),
    that token gets all that the others would have.
    """
    return partial(_split, vocabulary=vocabulary, share=share)


def _split(handed: Handed, rng: Rng, *, vocabulary: int, share: int) -> Handed:
    batch, subject, size = handed.batch, handed.subject, handed.vocabulary
    starts = np.linspace(0, vocabulary - share, size).astype(np.int64)
    members = starts[:, None] + np.arange(share)  # [V, share]
    rows, nodes = np.indices(batch.tokens.shape)

    def spread(values: np.ndarray) -> np.ndarray:
        wide = np.full((*values.shape[:2], vocabulary), nothing(subject))
        wide[..., members.ravel()] = values.repeat(share, -1)
        return wide

    target, declared = spread(batch.target), None if batch.declared is None else spread(batch.declared)
    by_token = np.array(batch.valid)
    by_token[:, 0] = False
    if subject.reference is not None and subject.reference.reads_declared and batch.declared is not None:
        by_token &= np.take_along_axis(batch.declared, batch.tokens[..., None], 2)[..., 0] == batch.declared.sum(2)
    chosen = starts[batch.tokens] + (7 * np.where(by_token, batch.parents, nodes) + 3 * rows + 1) % share
    if by_token.any() and subject.rows != "probs":
        raise SubjectError("split: its rows are logarithms, in which the mass of a draft that is not sampled cannot be gathered without rounding")
    for row, node in zip(*np.nonzero(by_token), strict=True):
        family = np.flatnonzero(batch.valid[row] & (batch.parents[row] == batch.parents[row, node]) & (np.arange(len(batch.valid[row])) > 0))
        here, one = members[batch.tokens[row, node]], chosen[row, node]
        gathered = [target[row, batch.parents[row, node]]]
        gathered += [] if declared is None else [declared[row, sibling] for sibling in family]
        for wide in gathered:
            mass = wide[here].sum()  # exact: equal numbers, a power of two of them
            wide[here], wide[one] = 0.0, mass
    tokens = np.full(vocabulary, handed.dead)
    tokens[members.ravel()] = handed.tokens.repeat(share)
    return replace(handed, batch=replace(batch, tokens=np.where(batch.valid, chosen, 0), target=target, declared=declared), tokens=tokens)


# Nodes


def padded(more: int, garbage: float | None = None) -> Step:
    """``more`` nodes that are not valid after the last one, their tokens and rows those of other nodes, or ``garbage``."""

    def step(handed: Handed, rng: Rng) -> Handed:
        batch = handed.batch
        size, nodes, _ = batch.target.shape
        copied = rng.integers(0, nodes, more)
        copied[-1] = 0

        def longer(rows: np.ndarray) -> np.ndarray:
            extra = rows[:, copied] if garbage is None else np.full((size, more, rows.shape[2]), garbage)
            return np.concatenate([rows, extra], 1)

        own = np.tile(np.arange(nodes, nodes + more), (size, 1))
        return replace(
            handed,
            batch=Batch(
                np.concatenate([batch.tokens, batch.tokens[:, copied]], 1),
                np.concatenate([batch.parents, own], 1),
                np.concatenate([batch.valid, np.zeros((size, more), bool)], 1),
                longer(batch.target),
                None if batch.declared is None else longer(batch.declared),
            ),
        )

    return step


def filled(nodes: int) -> Step:
    """Trees of ``nodes`` nodes: the others are drafts that the target cannot emit, and what hangs below them, their declared laws one-hot.

    One is the root's eldest child; what hangs below it comes before the real nodes, which get high numbers.  One is a child of every leaf, with the
    rest below.  Chains get their drafts after the last one.  Needs tokens without mass: see ``with_gaps``.
    """

    def step(handed: Handed, rng: Rng) -> Handed:
        given = handed.batch
        tables = (given.tokens, given.parents, given.valid, given.target, given.declared)
        rows = [table.reshape(len(given), -1) for table in tables if table is not None]
        _, first, back = np.unique(np.concatenate(rows, 1), axis=0, return_index=True, return_inverse=True)  # tree by tree, not row by row
        trees = _filled(replace(handed, batch=given.take(first)), rng, nodes=nodes)
        return replace(trees, batch=trees.batch.take(back.reshape(-1)), rows=handed.rows)

    return step


def _filled(handed: Handed, rng: Rng, *, nodes: int) -> Handed:
    batch, subject = handed.batch, handed.subject
    size, before, vocabulary = batch.target.shape
    dead = np.flatnonzero(handed.tokens == handed.dead)
    inner = np.zeros_like(batch.valid)
    inner[np.arange(size)[:, None], np.where(batch.valid, batch.parents, 0)] = True
    inner[:, 0] = (batch.valid & (batch.parents == 0))[:, 1:].any(1)
    leaves = batch.valid & ~inner
    # the siblings of k_seq are drawn from one law, so no node with children gets another
    free = nodes - before - int(leaves.sum(1).max())
    if free < 1:
        raise SubjectError(f"the tree has {before} nodes, too many to be filled up to {nodes}")
    elders = free if subject.shape == "tree" and subject.family != "k_seq" else 0
    moved = np.arange(before) + elders
    moved[0] = 0
    tokens, parents = np.zeros((size, nodes), np.int64), np.tile(np.arange(nodes), (size, 1))
    valid = np.zeros((size, nodes), bool)
    target = np.take(batch.target, rng.integers(0, before, nodes), 1)
    declared = np.take(batch.target if batch.declared is None else batch.declared, np.zeros(nodes, np.int64), 1)
    tokens[:, moved], parents[:, moved], valid[:, moved] = batch.tokens, moved[batch.parents], batch.valid
    target[:, moved] = batch.target
    if batch.declared is not None:
        declared[:, moved] = batch.declared
    most = 1 if subject.family == "k_seq" or subject.shape == "chain" else min(3, vocabulary)

    def hang(row: int, below: list[tuple[int, int]], places: Sequence[int]) -> None:
        """Fillers at ``places``, the first below the given nodes by the given tokens, the others below fillers."""
        free = list(below)
        for at in places:
            parent, token = free.pop(0)
            tokens[row, at], parents[row, at], valid[row, at] = token, parent, True
            declared[row, at] = one_hot(subject, np.array(token), vocabulary)
            free += [(at, (int(dead[-1]) + rank) % vocabulary) for rank in range(most)]

    for row in range(size):
        hang(row, [(0, int(dead[0]))], range(1, elders + 1))
        hang(row, [(int(moved[leaf]), int(dead[-1])) for leaf in np.flatnonzero(leaves[row])], range(elders + before, nodes))
    own = Batch(tokens, parents, valid, target, None if batch.declared is None else declared)
    return replace(handed, batch=own, nodes=moved[handed.nodes])


# Rows


def permuted(handed: Handed, rng: Rng) -> Handed:
    """The rows in another order."""
    order = rng.permutation(len(handed.batch))
    if order[0] == 0:  # the first row moves in any case
        order = order[::-1]
    where = np.empty_like(order)
    where[order] = np.arange(len(order))
    return replace(handed, batch=handed.batch.take(order), rows=where[handed.rows])


def crowded(neighbours: int, garbage: float | None = None) -> Step:
    """Two or more rows of other trees before, between and after, chains of any length; with ``garbage`` as all their rows, if given."""

    def step(handed: Handed, rng: Rng) -> Handed:
        batch, subject = handed.batch, handed.subject
        size, nodes, vocabulary = batch.target.shape
        shape = (neighbours, nodes, vocabulary)
        lengths = np.full(neighbours, nodes) if subject.shape == "chain" else rng.integers(1, nodes + 1, neighbours)
        valid = np.arange(nodes) < lengths[:, None]
        tokens = np.where(valid, rng.integers(0, vocabulary, (neighbours, nodes)), 0)
        parents = np.where(valid, np.maximum(np.arange(nodes) - 1, 0), np.arange(nodes))
        target, declared = (random_rows(subject, shape, rng) if garbage is None else np.full(shape, garbage) for _ in range(2))
        others = Batch(tokens, parents, valid, target, None if batch.declared is None else declared)
        places = rng.permutation(np.arange(1, size + neighbours - 1))  # the first row and the last are others
        mine = np.sort(places[:size])  # in their order, so that what a permutation changes is told apart
        order = np.empty(size + neighbours, np.int64)
        order[mine] = np.arange(size)
        order[np.setdiff1d(np.arange(size + neighbours), mine)] = np.arange(size, size + neighbours)
        return replace(handed, batch=joined([batch, others]).take(order), rows=mine[handed.rows])

    return step


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches of trees of the same size one after the other."""
    declared = [batch.declared for batch in batches if batch.declared is not None]
    names = ("tokens", "parents", "valid", "target")
    tokens, parents, valid, target = (np.concatenate([getattr(batch, name) for batch in batches]) for name in names)
    return Batch(tokens, parents, valid, target, np.concatenate(declared) if len(declared) == len(batches) else None)
