"""Verify cost per context length: a table for each measured length, a line between neighbours, and the line continued outside."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..rational import Rational, rational
from .cost import RoundCost


class CostTable:
    """C_d, and C_v(0), C_v(1), ... for each measured context length (tokens).

    Between two lengths the cost is their convex combination, so it is convex in n where both are.  Outside, the line through the two nearest
    lengths goes on: clamping would undercharge long contexts.  That line need not stay convex, which ``RoundCost.convex_up_to`` tells.
    Raises ValueError for a table that is missing or empty.
    """

    def __init__(self, draft: Any, tables: Mapping[int, Sequence[Any]]):
        if not tables:
            raise ValueError("a cost table needs at least one context length")
        self.draft = rational(draft)
        self._tables = {context: RoundCost(draft, tables[context]) for context in sorted(tables)}

    def at(self, context: int) -> RoundCost:
        """The cost of a round at this context length, as long as the longest table it is made of."""
        if context in self._tables:
            return self._tables[context]
        low, high = self._neighbours(context)
        if low == high:
            return self._tables[low]
        share = rational(context - low) / (high - low)
        length = max(len(self._tables[end].verify) for end in (low, high))
        return RoundCost(self.draft, [self._mixed(low, high, share, n) for n in range(length)])

    def _mixed(self, low: int, high: int, share: Rational, nodes: int) -> Rational:
        return (1 - share) * self._tables[low](nodes) + share * self._tables[high](nodes) - self.draft

    def _neighbours(self, context: int) -> tuple[int, int]:
        """The measured lengths on both sides, or the two nearest on one."""
        lengths = list(self._tables)
        below = sum(length < context for length in lengths)
        right = min(max(below, 1), len(lengths) - 1)
        return lengths[max(right - 1, 0)], lengths[right]
