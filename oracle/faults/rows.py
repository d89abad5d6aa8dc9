"""What the planted faults and the controls are written with: one request at a time, plain lists, Python's own random numbers.

``on_chain``, ``on_tree`` and ``by_level`` give such a verifier the call shape of ``oracle.subjects``.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from ..subjects import Subject, subject_of

Row = list[float]


def pick(weights: Row) -> int:
    """A token drawn with these weights, which need not sum to one."""
    return random.choices(range(len(weights)), weights)[0]


def excess(p: Row, q: Row) -> Row:
    """(p - q)_+, not normalised."""
    return [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]


def normalised(weights: Row) -> Row:
    total = sum(weights)
    return [weight / total for weight in weights]


def softmax(logits: Row, temperature: float) -> Row:
    top = max(logits)
    return normalised([math.exp((logit - top) / temperature) for logit in logits])


def one_hot(token: int, size: int) -> Row:
    return [float(other == token) for other in range(size)]


@dataclass(frozen=True)
class Sibling:
    """A node: its place in the arrays, its token, the law it was drawn from, the target row after it, its children in draw order."""

    index: int
    token: int
    declared: Row
    target: Row
    children: tuple["Sibling", ...]

    @property
    def leaves(self) -> int:
        return sum(child.leaves for child in self.children) if self.children else 1


Verifier = Callable[..., list[int]]


def on_chain(**declares: Any) -> Callable[[Verifier], Subject]:
    """Decorator: ``f(drafts, declared, target, **randomness) -> block`` of one request, on plain lists, as a Subject."""

    def batched(verify: Verifier) -> Subject:
        @wraps(verify)
        def call(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, **randomness: Any) -> tuple[np.ndarray, np.ndarray]:
            laws = np.eye(target.shape[2])[drafts] if declared is None else declared
            requests = zip(drafts.tolist(), laws.tolist(), target.tolist(), strict=True)
            return padded([verify(*request, **randomness) for request in requests], drafts.shape[1] + 1)

        return arrays("chain", **declares)(call)

    return batched


def on_tree(**declares: Any) -> Callable[[Verifier], Subject]:
    """Decorator: ``f(root, **randomness) -> block`` of one request as a Subject."""

    def batched(verify: Verifier) -> Subject:
        @wraps(verify)
        def call(
            tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray, declared: np.ndarray | None, **randomness: Any
        ) -> tuple[np.ndarray, np.ndarray]:
            laws = np.eye(target.shape[2])[tokens] if declared is None else declared
            requests = zip(tokens.tolist(), parents.tolist(), valid.tolist(), target.tolist(), laws.tolist(), strict=True)
            return padded([verify(_root(*request), **randomness) for request in requests], tokens.shape[1])

        return arrays("tree", **declares)(call)

    return batched


def by_level(**declares: Any) -> Callable[[Callable[..., Sibling | int]], Subject]:
    """Decorator: one level, ``f(p, siblings, **randomness) -> the sibling to go on from, or the bonus token``, as a Subject."""

    def walked(level: Callable[..., Sibling | int]) -> Subject:
        @wraps(level)
        def verify(root: Sibling, **randomness: Any) -> list[int]:
            node, block = root, list[int]()
            while not isinstance(step := level(node.target, node.children, **randomness), int):
                node, block = step, [*block, step.token]
            return [*block, step]

        return on_tree(**declares)(verify)

    return walked


def arrays(shape: str, **declares: Any) -> Callable[[Callable[..., Any]], Subject]:
    """Decorator: a verifier of a native call shape as a Subject, numpy and float64 unless declared otherwise."""
    return lambda verify: subject_of(verify, **{"shape": shape, "framework": "numpy", "dtype": "float64", **declares})


def _root(tokens: list[int], parents: list[int], valid: list[bool], target: list[Row], declared: list[Row]) -> Sibling:
    below: list[list[Sibling]] = [[] for _ in tokens]
    for v in reversed(range(len(tokens))):  # children come after their parent
        node = Sibling(v, tokens[v], declared[v], target[v], tuple(reversed(below[v])))
        if v == 0:
            return node
        if valid[v]:
            below[parents[v]].append(node)
    raise ValueError("no nodes")


def padded(blocks: list[list[int]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks as an array [B, width] padded with -1, and the numbers of accepted drafts [B]."""
    out = np.full((len(blocks), width), -1, dtype=np.int64)
    for row, block in zip(out, blocks, strict=True):
        row[: len(block)] = block
    return out, np.array([len(block) - 1 for block in blocks], dtype=np.int64)


def inverse_cdf(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """A token [B] from each row of weights [B, V], by one uniform [B] each."""
    cdf = weights.cumsum(1)
    tokens: np.ndarray = (cdf <= uniforms[:, None] * cdf[:, -1:]).sum(1)
    return tokens


def emitted(drafts: np.ndarray, accepted: np.ndarray, bonus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks [B, K + 1] of the first ``accepted`` [B] drafts [B, K], then ``bonus`` [B]."""
    places = np.arange(drafts.shape[1] + 1)
    blocks = np.where(places < accepted[:, None], np.pad(drafts, ((0, 0), (0, 1))), -1)
    blocks[np.arange(len(blocks)), accepted] = bonus
    return blocks, accepted
