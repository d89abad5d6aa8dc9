"""Is every draft token drawn from the law it claims?  Slot by slot, given everything that was settled before its token was drawn.

A **draw** lists the slots in the order in which they were drawn, parents before children and elder siblings before younger.  Verification is lossless
if, given the slots before it, and given that a slot exists, where it hangs and which law it declares, its token has the declared law (predictable
build).  So a slot may depend on any earlier draw, and on its own token in no way: neither its existence nor its place nor its declared law.

That one comparison judges siblings jointly, the order of verification against the order of drawing, pruning, growth and re-ranking alike.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from draftproof.reference.laws import Law
from draftproof.reference.rational import fraction

Place = tuple[int, ...]
"""Where a slot hangs: (0, 1) is the second child of the root's first child."""


class Drawn(NamedTuple):
    """A slot with its token and the law it declares."""

    place: Place
    token: int
    declared: Law[int]


Draw = tuple[Drawn, ...]


class Settled(NamedTuple):
    """A slot before its token is drawn: where it hangs, what it declares, and the earlier draws that count."""

    place: Place
    declared: Law[int]
    earlier: Draw


@dataclass(frozen=True)
class Deviation:
    """A slot whose token does not have its declared law.

    ``total_variation``: mass of the histories in which the slot exists x total variation between the token's law there and the declared law, summed.
    ``settled`` is the history that adds most to it, ``drawn`` the law of the token there.
    """

    place: Place
    total_variation: Fraction
    settled: Settled
    drawn: Mapping[int, Fraction]


def tokens(draw: Draw, looked_at: bool = False) -> Iterator[tuple[Settled, int]]:
    """The slots of a draw as they were settled, each with its token.

    ``looked_at``: of the earlier draws only those count which recursive rejection looks at before it comes to the slot: its ancestors, and the elder
    siblings of each and of itself.
    """
    for position, (place, token, declared) in enumerate(draw):
        earlier = draw[:position]
        if looked_at:
            earlier = tuple(other for other in earlier if _on_the_way(other.place, place))
        yield Settled(place, declared, earlier), token


def _on_the_way(other: Place, place: Place) -> bool:
    """Whether ``other`` is an ancestor of ``place``, or an elder sibling of one or of ``place`` itself."""
    last = len(other) - 1
    return last < len(place) and other[:-1] == place[:last] and other[-1] <= place[last]


def by_level(draw: Draw) -> Draw:
    """The same slots depth by depth, siblings in their order."""
    return tuple(sorted(draw, key=lambda slot: len(slot.place)))


def deviations(law: Mapping[Draw, Fraction], looked_at: bool = False) -> list[Deviation]:
    """The deviation of every slot, largest first, from the law of the draw.

    Where the order of drawing is not the order listed, the order depth by depth is tried as well: one that holds is enough.
    """
    levelled: defaultdict[Draw, Fraction] = defaultdict(Fraction)
    for draw, mass in law.items():
        levelled[by_level(draw)] += mass
    return min((_deviations(one, looked_at) for one in (law, levelled)), key=lambda found: found[0].total_variation if found else Fraction(0))


def _deviations(law: Mapping[Draw, Fraction], looked_at: bool) -> list[Deviation]:
    cells: defaultdict[Settled, defaultdict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for draw, mass in law.items():
        for settled, token in tokens(draw, looked_at):
            cells[settled][token] += mass
    worst: dict[Place, tuple[Fraction, Settled]] = {}
    total: defaultdict[Place, Fraction] = defaultdict(Fraction)
    for settled, cell in cells.items():
        off = distance(settled.declared, cell)
        total[settled.place] += off
        if settled.place not in worst or off > worst[settled.place][0]:
            worst[settled.place] = off, settled
    found = [Deviation(place, total[place], settled, _normalised(cells[settled])) for place, (_, settled) in worst.items()]
    return sorted(found, key=lambda deviation: -deviation.total_variation)


def distance(declared: Law[int], cell: Mapping[int, Fraction]) -> Fraction:
    """Mass of ``cell`` (token -> mass) x total variation between its law and ``declared``."""
    mass = sum(cell.values(), Fraction(0))
    return sum((abs(cell.get(token, Fraction(0)) - mass * fraction(declared[token])) for token in {*cell, *declared}), Fraction(0)) / 2


def _normalised(cell: Mapping[int, Fraction]) -> dict[int, Fraction]:
    mass = sum(cell.values(), Fraction(0))
    return {token: weight / mass for token, weight in sorted(cell.items())}


def describe(deviation: Deviation) -> str:
    """A deviation in words."""
    declared, drawn = deviation.settled.declared, deviation.drawn
    token = max(sorted({*drawn, *declared}), key=lambda token: abs(drawn.get(token, Fraction(0)) - fraction(declared[token])))
    earlier = " ".join(str(slot.token) for slot in deviation.settled.earlier)
    given = f'given the earlier draws "{earlier}"' if earlier else "drawn first"
    share, claimed = _short(drawn.get(token, Fraction(0))), _short(fraction(declared[token]))
    return f"slot {spell(deviation.place)}, {given}: token {token} comes with probability {share}, its declared law says {claimed}"


def spell(place: Place) -> str:
    """A place in words: "1.2" is the second child of the root's first child."""
    return ".".join(str(rank + 1) for rank in place)


def _short(value: Fraction) -> str:
    return str(value) if value.denominator <= 1000 else f"{float(value):.6g}"
