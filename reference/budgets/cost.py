"""What a round costs: one drafter pass and one verify pass, C(n) = C_d + C_v(n), where C_v(n) is the latency of n + 1 query tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..rational import Rational, rational


@dataclass(frozen=True)
class RoundCost:
    """``draft`` is C_d; ``verify[n]`` is C_v(n), continued beyond the table with its last slope (0 for a table of one entry).  Any unit of time.

    Raises ValueError when the table is empty or a number is not finite.
    """

    draft: Rational
    verify: tuple[Rational, ...]

    def __init__(self, draft: Any, verify: Sequence[Any]):
        if not len(verify):
            raise ValueError("a cost table needs at least one entry, C_v(0)")
        object.__setattr__(self, "draft", rational(draft))
        object.__setattr__(self, "verify", tuple(rational(entry) for entry in verify))

    def __call__(self, nodes: int) -> Rational:
        """C(n), the cost of a round whose tree has n nodes.

        Raises ValueError when it is not positive: the table is wrong, or extended too far; and for a negative number of nodes.
        """
        if nodes < 0:
            raise ValueError(f"there is no tree of {nodes} nodes")
        beyond = nodes - len(self.verify) + 1
        total = self.draft + (self.verify[nodes] if beyond <= 0 else self.verify[-1] + beyond * self._last_slope)
        if total <= 0:
            raise ValueError(f"a round of {nodes} nodes would cost {total}, which is not positive")
        return total

    def step(self, nodes: int) -> Rational:
        """c_{n+1} = C_v(n + 1) - C_v(n), the cost of one more node."""
        return self(nodes + 1) - self(nodes)

    def convex_up_to(self, nodes: int) -> bool:
        """Whether no node costs less than the one before it, among trees of at most ``nodes`` nodes."""
        return self.first_dent(nodes) is None

    def first_dent(self, nodes: int) -> int | None:
        """The first n with c_{n+1} < c_n among trees of at most ``nodes`` nodes: where the table is not convex."""
        return next((n for n in range(1, nodes) if self.step(n) < self.step(n - 1)), None)

    @property
    def _last_slope(self) -> Rational:
        return self.verify[-1] - self.verify[-2] if len(self.verify) > 1 else rational(0)
