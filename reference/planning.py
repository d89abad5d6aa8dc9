"""PLAN and FREEZE of tree replay (Tsubame, arXiv 2609.33652): grow a tree best-first on planned tokens, keep its shape, throw the tokens away.

The plan may use anything but the replayed tokens; its score and its temperature change what is accepted, never the law.
"""

from collections.abc import Sequence

from .budgets.best_first import ddtree
from .drafting import fixed
from .models import Model, Prefix
from .trees import Scheme, Slot


def plan(draft: Model, nodes: int, depth: int) -> list[Prefix]:
    """The planned paths: the ``nodes`` most probable prefixes of at most ``depth`` tokens under ``draft``, best first.

    Parents come before children and elder siblings first; ties go to the lexicographically smallest tuple of ranks.  Tokens without probability
    are never planned, so no node has more slots than its planned row has tokens.  To plan at another temperature, plan with
    ``drafters.tempered(draft, n)``.
    """
    return ddtree(draft, depth, nodes)


def freeze(paths: Sequence[Prefix]) -> Slot:
    """The topology of planned paths: parents and sibling order, no tokens."""
    return fixed(paths)[0]


def best_first(draft: Model, nodes: int, depth: int) -> tuple[Slot, Scheme]:
    """The deterministic tree that keeps its planned tokens (DDTree, arXiv 2604.12989): topology and one-hot scheme."""
    return fixed(plan(draft, nodes, depth))
