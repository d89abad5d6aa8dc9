"""Objectives whose credit does not depend on the draft: the paper's exit weights, their relatives, on-tree distillation, the token loss.

    loss = - sum_i sum_{v in T_i, v != root} weight_i(v) log q_{d(v)}(v_last | c_i)  /  sum_i (|T_i| - 1)        arXiv 2610.11750, eq. of ExitTrain

The root has no incoming edge: w(root) gets no credit, and neither the root nor padding is counted below.
"""

from collections.abc import Callable, Mapping, Sequence

from ..exits import exit_law, reach
from ..laws import ZERO
from ..models import Model, Prefix
from ..rational import Rational, rational
from ..trees import Node, level_order
from .credit import Context, Credit, added, scaled

Weighting = Callable[[Model, Node], Mapping[Prefix, Rational]]


def exit_weights(target: Model, root: Node) -> dict[Prefix, Rational]:
    """w(v) = P(v) rho(v): the paper's.  Summed over the nodes besides the root, 1 - w(root)."""
    return {node.path: weight for node, weight in exit_law(target, root).items() if node.path}


def prefix_weights(target: Model, root: Node) -> dict[Prefix, Rational]:
    """P(v): the paper's control, and what every released recipe uses.  Sums to the coverage."""
    return {node.path: weight for node, weight in reach(target, root).items() if node.path}


def depth_weights(target: Model, root: Node) -> dict[Prefix, Rational]:
    """w(v) d(v): an option of the released code.  Sums to the coverage, as P does."""
    return {path: weight * len(path) for path, weight in exit_weights(target, root).items()}


WEIGHTINGS: Mapping[str, Weighting] = {"exit": exit_weights, "prefix": prefix_weights, "depth": depth_weights}


def tree_credit(contexts: Sequence[Context], weighting: Weighting = exit_weights) -> list[Credit]:
    """The credit of every context, over the nodes of the whole batch; nothing where there are none."""
    nodes = sum(len(level_order(one.root)) - 1 for one in contexts)
    return [scaled(added(weighting(one.target, one.root).items()), rational(1) / max(nodes, 1)) for one in contexts]


def distillation(contexts: Sequence[Context]) -> list[Credit]:
    """A. On-tree distillation (ours): row d + 1 learns t_{d+1}(a) = sum_{v in T, d(v) = d} P(v) p(a|v); a mean over the contexts.

    The root and missing children are credited like everything else, from target rows that are there already.  Stationary rows are
    Pr(Z_{d+1} = a | Z followed the tree to depth d).
    """
    credits: list[Credit] = []
    for one in contexts:
        parts = [
            ((*node.path, token), mass * share)
            for node, mass in reach(one.target, one.root).items()
            if len(node.path) < len(one.draft)
            for token, share in one.target(node.path).items()
        ]
        credits.append(scaled(added(parts), rational(1) / len(contexts)))
    return credits


def token_credit(labels: Sequence[Sequence[int | None]]) -> list[Credit]:
    """The usual token loss: the mean of -log q_d(y_d) over all labels y; None is no label.  Raises ValueError when there is none."""
    count = sum(token is not None for row in labels for token in row)
    if not count:
        raise ValueError("there is no label")
    share = rational(1) / count
    return [{(depth, token): share for depth, token in enumerate(row, 1) if token is not None} for row in labels]


def combined(token: Sequence[Credit], tree: Sequence[Credit], weight: Rational) -> list[Credit]:
    """L = L_tok + lambda L_tree, per context.  (The paper does not say its lambda; the released recipes have 1/10.)"""
    return [
        {key: mine.get(key, ZERO) + weight * theirs.get(key, ZERO) for key in {**mine, **theirs}} for mine, theirs in zip(token, tree, strict=True)
    ]
