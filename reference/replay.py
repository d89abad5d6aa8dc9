"""REPLAY of a frozen topology (Tsubame, arXiv 2609.33652): slot j of a node is filled by draw j, and each declared law is the law it was drawn from.

Siblings are drawn with or without replacement, or greedily: the most probable tokens, deterministic, and one draw off them (what UniVer is made
for).  A node with more slots than its draft row has tokens exhausts the row: the remaining slots are then dropped with their subtrees, filled with
the best untried token (declared one-hot), or filled uniformly from the untried tokens.
All of it is a predictable build: a slot's place and declared law are fixed before its token is drawn.
"""

from collections.abc import Callable

from .drafting import ranked
from .exact_json import among
from .laws import Law
from .models import Model, Prefix
from .trees import Node, Scheme, Slot, Tokens, merged

SAMPLERS = ("without_replacement", "with_replacement", "greedy")
EXHAUSTION = ("drop", "one_hot", "uniform")


def replay(draft: Model, vocabulary: int, sampler: str = "without_replacement", exhaust: str = "drop", raw: Model | None = None) -> Scheme:
    """The scheme that repopulates any topology from ``draft``, over tokens 0..vocabulary - 1.

    ``raw`` ranks the tokens that fill exhausted slots (default ``draft``): the draft model before temperature and truncation.  Ties go to the
    smaller token.  With replacement a row is never exhausted, so ``exhaust`` does not matter.  Raises ValueError for an unknown rule.
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"unknown sampler {sampler!r}{among(sampler, SAMPLERS)}")
    fill = _filled(exhaust, vocabulary, draft if raw is None else raw)

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        if len(elders) >= len(slot):
            return None
        if sampler == "with_replacement":
            return draft(prefix)
        rest = draft(prefix).without(elders)
        if rest is None:
            return fill(prefix, elders)
        return rest if sampler == "without_replacement" or len(elders) + 1 == len(slot) else Law.point(ranked(rest)[0])

    return declared


def _filled(exhaust: str, vocabulary: int, raw: Model) -> Callable[[Prefix, Tokens], Law[int] | None]:
    """(prefix, elders that used up the row) -> declared law of the next sibling; None when no token is untried."""

    def drop(prefix: Prefix, elders: Tokens) -> Law[int] | None:
        return None

    def one_hot(prefix: Prefix, elders: Tokens) -> Law[int] | None:
        untried = [token for token in range(vocabulary) if token not in elders]
        return Law.point(min(untried, key=lambda token: (-raw(prefix)[token], token))) if untried else None

    def uniform(prefix: Prefix, elders: Tokens) -> Law[int] | None:
        untried = [token for token in range(vocabulary) if token not in elders]
        return Law((token, 1) for token in untried) if untried else None

    rules = {"drop": drop, "one_hot": one_hot, "uniform": uniform}
    if exhaust not in rules:
        raise ValueError(f"unknown exhaustion rule {exhaust!r}{among(exhaust, EXHAUSTION)}")
    return rules[exhaust]


def deduplicated(tree: Node, draft: Model) -> Node:
    """A tree drawn with replacement, duplicates merged recursively and declared as if drawn without replacement.

    The j-th distinct draw has the law of q off its elders, and how many distinct draws there are is settled by draws of elders only.  Keeping
    q as the declared law instead is not lossless.
    """

    def redeclared(node: Node) -> Node:
        elders: list[int] = []
        below = []
        for child in node.below:
            below.append(redeclared(Node(child.path, draft(node.path).without(elders), child.below)))
            elders.append(child.token)
        return Node(node.path, node.declared, tuple(below))

    return redeclared(merged(tree))
