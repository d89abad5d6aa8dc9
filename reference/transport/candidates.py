"""The law of the candidate set of a node: which distinct tokens its children carry.

Children are drawn one after the other; ``Draws`` says by which law, given the elders, and None when there are no more.  A rule that is lossless at
the node gains nothing from the order in which the tokens came, so the law of the set is all that optimal transport needs.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..laws import ONE, ZERO, Law
from ..rational import Rational
from ..trees import DraftNode, Draws, Tokens

TokenSet = frozenset[int]


@dataclass(frozen=True)
class WithReplacement:
    """``count`` independent drafts from ``law``."""

    law: Law[int]
    count: int

    def __call__(self, elders: Tokens) -> Law[int] | None:
        return self.law if len(elders) < self.count else None


@dataclass(frozen=True)
class WithoutReplacement:
    """``count`` drafts, each from ``law`` off its elders; fewer when its support is exhausted."""

    law: Law[int]
    count: int

    def __call__(self, elders: Tokens) -> Law[int] | None:
        return self.law.without(elders) if len(elders) < self.count else None


@dataclass(frozen=True)
class Greedy:
    """Deterministic candidates, then one from ``law`` (None: no more, a fixed set)."""

    hubs: Tokens
    law: Law[int] | None = None

    def __call__(self, elders: Tokens) -> Law[int] | None:
        if len(elders) < len(self.hubs):
            return Law.point(self.hubs[len(elders)])
        return self.law if len(elders) == len(self.hubs) else None


def draws_of(children: Sequence[DraftNode]) -> Draws:
    """How siblings were drawn: what they say themselves, or else what their tokens and declared laws give away.

    Raises ValueError when these follow none of the schemes above.
    """
    if not children:
        return Greedy(())
    if children[0].draws is not None:
        return children[0].draws
    tokens, laws = tuple(child.token for child in children), [child.declared for child in children if child.declared is not None]
    for draws in (Greedy(tokens[:-1], laws[-1]), WithReplacement(laws[0], len(laws)), WithoutReplacement(laws[0], len(laws))):
        if all(draws(tokens[:rank]) == law for rank, law in enumerate(laws)):
            return draws
    raise ValueError(f"the declared laws of siblings {list(tokens)} follow no drafting scheme that is known here: give the nodes their ``draws``")


@lru_cache(maxsize=1 << 12)
def set_law(draws: Draws) -> Law[TokenSet]:
    """Law of the set of drawn tokens.  ``draws`` must depend on which elders there are, not on their order."""
    sets: defaultdict[TokenSet, Rational] = defaultdict(lambda: ZERO)
    drawn: dict[Tokens, Rational] = {(): ONE}
    while drawn:
        longer: defaultdict[Tokens, Rational] = defaultdict(lambda: ZERO)
        for elders, probability in drawn.items():
            law = draws(elders)
            if law is None:
                sets[frozenset(elders)] += probability
                continue
            for token, weight in law.items():
                longer[tuple(sorted((*elders, token)))] += probability * weight
        drawn = longer
    return Law(sets)
