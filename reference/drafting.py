"""Drafting schemes: one function each, (slot, prefix, elder siblings) -> declared law of the next sibling, or None when there is none.

The declared law is the law the token is really drawn from, given everything drawn before it; it is all a verifier knows of the drafter.
Deterministic tokens declare a point mass (the "q = 1" rule of the EAGLE line).  Ties in a ranking go to the smaller token.
"""

from collections.abc import Iterable

from .laws import Law
from .models import Model, Prefix, spell
from .trees import Scheme, Slot, Tokens


def ranked(law: Law[int]) -> list[int]:
    """Tokens of positive probability, most probable first, ties to the smaller token."""
    return sorted(law, key=lambda token: (-law[token], token))


def with_replacement(draft: Model) -> Scheme:
    """Independent siblings, all from q(.|prefix): SpecInfer (arXiv 2305.09781); a sampled chain when every slot has one child."""

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        return draft(prefix) if len(elders) < len(slot) else None

    return declared


chain = with_replacement
"""One sampled draft after the other (arXiv 2211.17192): the scheme of a topology in which every slot has at most one child."""


def without_replacement(draft: Model) -> Scheme:
    """Each sibling from q(.|prefix) off its elders (RSD arXiv 2402.14160, Sequoia 2402.12374); stops when the support is exhausted."""

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        return draft(prefix).without(elders) if len(elders) < len(slot) else None

    return declared


def top_k(draft: Model) -> Scheme:
    """The k most probable tokens, deterministic (EAGLE-2, arXiv 2406.16858); stops when the support is exhausted."""

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        tokens = ranked(draft(prefix))[: len(slot)]
        return Law.point(tokens[len(elders)]) if len(elders) < len(tokens) else None

    return declared


def greedy(draft: Model) -> Scheme:
    """The k - 1 most probable tokens, deterministic, then one token drawn from q off them (Hu et al., arXiv 2502.18779)."""

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        if len(elders) >= len(slot):
            return None
        rest = draft(prefix).without(elders)
        last = len(elders) == len(slot) - 1
        return rest if rest is None or last else Law.point(ranked(rest)[0])

    return declared


def fixed(paths: Iterable[Prefix]) -> tuple[Slot, Scheme]:
    """A given tree: topology and scheme from its non-root paths; siblings keep the order in which they are listed.

    Raises ValueError for a repeated or empty path and for one whose parent is missing, naming it.
    """
    children: dict[Prefix, list[int]] = {(): []}
    for path in paths:
        if path in children:
            raise ValueError(f'tree lists "{spell(path)}" twice' if path else "tree lists the root, which is always there")
        children[path] = []
    for path in children:
        if path:
            if path[:-1] not in children:
                raise ValueError(f'tree has "{spell(path)}" but not its parent "{spell(path[:-1])}"')
            children[path[:-1]].append(path[-1])

    def slot(prefix: Prefix) -> Slot:
        return tuple(slot((*prefix, token)) for token in children[prefix])

    def declared(slot: Slot, prefix: Prefix, elders: Tokens) -> Law[int] | None:
        tokens = children[prefix]
        return Law.point(tokens[len(elders)]) if len(elders) < len(tokens) else None

    return slot(()), declared
