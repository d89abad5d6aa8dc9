"""Noise that several races share, at most one of which matters.

An engine may draw one row of noise for a request and take an argmax over it for every draft position, of which only that of the first rejected draft
is emitted.  The winners W_1, W_2, ... of races over the same noise depend on each other in a way that is not known here.  But where everything else
that is random is fixed, and what the program does with every combination of winners depends on one of them only, its law is a mixture of the laws of
single races, each known; so it is the same as if every race had noise of its own.  That is how the branches are explored, and what is verified on
them: each combination of winners must occur, with the same questions asked, and change the outcome through one winner.

Where that is not so the reading is refused.  Other noise, shared in its turn, counts as fixed: one row after the other may be replaced.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from .refused import Refused
from .scripted import REUSED, TICK, Race
from .uniforms import point

if TYPE_CHECKING:
    from .enumerate import Leaf
    from .exploring import Explorer

Group = tuple[Race, ...]
BOTH = f"two races over the same noise, both of which matter{REUSED}"


def groups(races: Sequence[Race]) -> list[Group]:
    """Races that are connected by noise they share."""
    found = list[Group]()
    for race in races:
        near = [group for group in found if any(race.taped.keys() & other.taped.keys() for other in group)]
        found = [group for group in found if group not in near] + [(*(other for group in near for other in group), race)]
    return found


class _Kept(NamedTuple):
    """A leaf: (uniform, question, answer) of its branches, and the races over one row of noise."""

    leaf: Leaf
    branches: tuple[tuple[int | None, Any, int], ...]
    group: Group

    def winners(self) -> tuple[int, ...]:
        return tuple(self.branches[race.position][2] for race in self.group)

    def rest(self) -> Hashable:
        """All but who won."""
        mine = {race.position: tuple(race.taped) for race in self.group}
        return tuple((*branch, None) if at not in mine else (branch[1], mine[at]) for at, branch in enumerate(self.branches))


class SharedNoise:
    """The leaves of a program in whose runs races shared their noise."""

    def __init__(self) -> None:
        self._tables: dict[Hashable, dict[tuple[int, ...], _Kept]] = {}
        self._leaves: list[Leaf] = []

    def keep(self, leaf: Leaf, explorer: Explorer) -> bool:
        """Take the leaf just visited, if races shared their noise on its way."""
        shared = [group for group in groups(explorer.races) if len(group) > 1]
        if not shared:
            return False
        self._leaves.append(leaf)
        branches = tuple((branch.uniform.index if branch.uniform else None, branch.question, branch.answer) for branch in explorer.branches)
        for group in shared:
            kept = _Kept(leaf, branches, group)
            self._tables.setdefault(kept.rest(), {})[kept.winners()] = kept
        return True

    def leaves(self) -> list[Leaf]:
        """All that were kept, each with noise that lets the winner that matters win.  Raises Refused where more than one does."""
        for table in self._tables.values():
            first = next(iter(table.values()))
            supports = [sum(map(bool, first.branches[race.position][1])) for race in first.group]
            used = [place for place in range(len(supports)) if _matters(table, place)]
            if len(table) < prod(supports) or len(used) > 1:
                raise Refused(BOTH)
            for kept in table.values():
                for index, taped in kept.group[used[0] if used else -1].taped.items():
                    lowest, highest, others = kept.leaf[1]
                    if index >= 0:
                        lowest[index], highest[index] = taped[0] * TICK, taped[1] * TICK
                    else:
                        others[~index] = point(others[~index].grid, others[~index].kind, taped)
        return self._leaves


def _matters(table: dict[tuple[int, ...], _Kept], place: int) -> bool:
    """Whether the outcome changes with the winner of one race alone."""
    outcomes = dict[tuple[int, ...], Hashable]()
    for winners, kept in table.items():
        others = winners[:place] + winners[place + 1 :]
        if outcomes.setdefault(others, kept.leaf[0]) != kept.leaf[0]:
            return True
    return False
