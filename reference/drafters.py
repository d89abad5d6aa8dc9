"""Draft models with a head: one parallel pass gives a base row for each position, a cheap head corrects it by what was drafted before.

A head adds a bias to the base logits; on exact weights that is a factor for every token: q(x|s) proportional to base[d](x) * factor(x), d = |s|.
The marginal drafter (no head) is ``models.marginal``.  Temperature belongs to the caller: no model here hides one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .drafting import ranked
from .laws import Law
from .models import MissingRow, Model, Prefix
from .rational import rational

S = TypeVar("S")
Factors = Mapping[int, Any]
"""Token -> non-negative factor (exp of the bias); tokens not listed keep a factor of 1."""


def recurrent_head(base: Sequence[Law[int]], start: S, step: Callable[[S, int], S], factors: Callable[[S], Factors]) -> Model:
    """A small state is carried along each branch: ``start`` at the root, ``step(state, token)`` below a token (DSpark's RNN, Domino's GRU).

    The state is recomputed from the path, so branches cannot share one.  The model raises MissingRow beyond the last position and ValueError where
    base row and factors leave no token.
    """

    def model(prefix: Prefix) -> Law[int]:
        if len(prefix) >= len(base):
            raise MissingRow(f"the draft block has {len(base)} positions, none for depth {len(prefix) + 1}")
        state = start
        for token in prefix:
            state = step(state, token)
        bias = factors(state)
        return Law((token, weight * rational(bias.get(token, 1))) for token, weight in base[len(prefix)].items())

    return model


def markov_head(base: Sequence[Law[int]], anchor: int, factors: Callable[[int], Factors]) -> Model:
    """The bias depends on the parent token, the anchor (last emitted token) at the root: a recurrent head whose state is that token (DSpark)."""
    return recurrent_head(base, anchor, lambda parent, token: token, factors)


def low_rank(inner: Sequence[Sequence[Any]], outer: Sequence[Sequence[Any]]) -> Callable[[int], Factors]:
    """Factors of a parent token: exp of a rank-R bias is a product of R powers, here sum_k inner[parent][k] * outer[k][token], kept non-negative.

    ``inner`` [V][R], ``outer`` [R][V].  A low-rank table of factors plays the part of the low-rank table of biases, which is not rational.
    """

    def factors(parent: int) -> Factors:
        row = inner[parent]
        return {token: sum(rational(row[k]) * rational(outer[k][token]) for k in range(len(row))) for token in range(len(outer[0]))}

    return factors


def at_temperature(law: Law[int], inverse: int) -> Law[int]:
    """The law at temperature 1 / inverse: weights to that power.  Other temperatures give irrational weights.

    Raises ValueError unless ``inverse`` is a positive integer.
    """
    if inverse < 1 or inverse != int(inverse):
        raise ValueError(f"only temperatures 1/1, 1/2, 1/3, ... are exact; the inverse must be a positive integer, not {inverse}")
    return Law((token, weight**inverse) for token, weight in law.items())


def at_zero(law: Law[int]) -> Law[int]:
    """The law at temperature 0: a point mass on the most probable token, ties to the smaller one."""
    return Law.point(ranked(law)[0])


def tempered(draft: Model, inverse: int) -> Model:
    """``draft`` at temperature 1 / inverse, at every prefix."""
    return lambda prefix: at_temperature(draft(prefix), inverse)
