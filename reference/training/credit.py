"""Credit: how much an objective asks for each log-probability of the draft, and the gradient that this is in the logits.

A credit k is a linear form in the numbers log q_d(a); two of them are the same objective for every q when all coefficients agree, which is how an
identity between sums of logarithms is checked without a logarithm.  With logits z and q_d = softmax(z_d),

    loss = -sum_{d,a} k_d(a) log q_d(a)   =>   d loss / d z_d(a) = K_d q_d(a) - k_d(a),   K_d = sum_a k_d(a),

a rational number where q and k are.  For objectives that are not linear in the logarithms, k is the slope at the present q.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..laws import ZERO, Law
from ..models import Model, Prefix
from ..rational import Rational
from ..trees import Node

Credit = Mapping[tuple[int, int], Rational]
"""(depth from 1, token) -> coefficient of log q_depth(token)."""


@dataclass(frozen=True)
class Context:
    """One request of a training batch: the target after it, the draft rows q_1..q_H (``draft[0]`` is q_1), and the tree that was built."""

    target: Model
    draft: Sequence[Law[int]]
    root: Node

    def mass(self, path: Prefix) -> Rational:
        """q(v): the draft mass of a prefix, exp of its score s(v)."""
        product = ZERO + 1
        for row, token in zip(self.draft, path, strict=False):
            product *= row[token]
        return product


def added(parts: Iterable[tuple[Prefix, Rational]], whole_path: bool = False) -> dict[tuple[int, int], Rational]:
    """The credit that gives each prefix the number beside it: to its last token's logarithm, or to those of the ``whole_path``, its score s."""
    credit: dict[tuple[int, int], Rational] = {}
    for path, share in parts:
        for depth in range(1 if whole_path else len(path), len(path) + 1):
            if depth:
                key = depth, path[depth - 1]
                credit[key] = credit.get(key, ZERO) + share
    return {key: share for key, share in credit.items() if share}


def scaled(credit: Credit, factor: Rational) -> dict[tuple[int, int], Rational]:
    """Every coefficient times ``factor``."""
    return {key: share * factor for key, share in credit.items()}


def total(credit: Credit, depth: int | None = None) -> Rational:
    """K, or K_d of one depth."""
    return sum((share for (level, _), share in credit.items() if depth in (None, level)), ZERO)


def gradient(credit: Credit, draft: Sequence[Law[int]], vocabulary: int) -> list[list[Rational]]:
    """d loss / d z [H][V].  Raises ValueError where a token is credited that the draft gives no mass: the loss is infinite there."""
    for depth, token in credit:
        if not draft[depth - 1][token]:
            raise ValueError(f"token {token} is credited at depth {depth}, where the draft gives it no mass")
    rows = []
    for depth, row in enumerate(draft, 1):
        mass = total(credit, depth)
        rows.append([mass * row[token] - credit.get((depth, token), ZERO) for token in range(vocabulary)])
    return rows


def credit_ratio(tree: Iterable[Credit], token: Iterable[Credit], weight: Rational) -> Rational:
    """lambda times the credit of the tree objective, for each unit of the token loss's: what share of the signal the tree really has.

    Raises ValueError when the token loss credits nothing.
    """
    base = sum((total(one) for one in token), ZERO)
    if not base:
        raise ValueError("the token loss credits nothing")
    return weight * sum((total(one) for one in tree), ZERO) / base
