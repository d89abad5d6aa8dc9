"""The context that a training step sees: the tree is the DDTree of the present draft rows, as at inference."""

from collections.abc import Sequence

from ..budgets.best_first import ddtree
from ..laws import Law
from ..models import Model, Prefix, marginal
from ..trees import Node
from .credit import Context


def tree_of(paths: Sequence[Prefix]) -> Node:
    """A tree from its non-root paths, parents first; siblings as listed, declared one-hot."""

    def node(path: Prefix) -> Node:
        declared = Law.point(path[-1]) if path else None
        return Node(path, declared, tuple(node(longer) for longer in paths if longer[:-1] == path and longer))

    return node(())


def built(target: Model, draft: Sequence[Law[int]], nodes: int) -> Context:
    """A context with the best tree of so many nodes besides the root, for these rows."""
    return Context(target, draft, tree_of(ddtree(marginal(draft), len(draft), nodes)))
