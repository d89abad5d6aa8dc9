"""Is there any order of drawing in which a drafter is predictable?  For drafters that do not draw their slots in the order in which they list them.

Slots are revealed one after the other: first whether the slot exists and what it declares, then its token, which must have the declared law given all
that was revealed before.  Which slot comes next may depend on what was revealed.  An order that works is a predictable build, so lossless.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from draftproof.reference.laws import Law

from .declared import Draw, Place, distance

Tree = Mapping[Place, tuple[int, Law[int]]]
Weighted = list[tuple[Tree, Fraction]]


def predictable(law: Mapping[Draw, Fraction], tolerance: Fraction) -> bool:
    """Whether some order works, each token being within total variation ``tolerance`` of its declared law at every history."""
    return _search([({slot.place: (slot.token, slot.declared) for slot in draw}, mass) for draw, mass in law.items()], frozenset(), tolerance)


def _search(trees: Weighted, settled: frozenset[Place], tolerance: Fraction) -> bool:
    """``settled``: places revealed to exist, or not to."""
    open_places = sorted({place for tree, _ in trees for place in tree if place not in settled and _may_follow(place, settled)})
    return not open_places or any(_reveal(trees, place, settled, tolerance) for place in open_places)


def _may_follow(place: Place, settled: frozenset[Place]) -> bool:
    """Parent and elder siblings come first."""
    parent, rank = place[:-1], place[-1]
    return (not parent or parent in settled) and (rank == 0 or (*parent, rank - 1) in settled)


def _reveal(trees: Weighted, place: Place, settled: frozenset[Place], tolerance: Fraction) -> bool:
    parts: defaultdict[tuple[int, Law[int]] | None, Weighted] = defaultdict(list)
    for tree, mass in trees:
        parts[tree.get(place)].append((tree, mass))
    cells: defaultdict[Law[int], dict[int, Fraction]] = defaultdict(dict)
    for drawn, part in parts.items():
        if drawn is not None:
            cells[drawn[1]][drawn[0]] = _mass(part)
    if any(distance(declared, cell) > tolerance * sum(cell.values()) for declared, cell in cells.items()):
        return False
    return all(_search(part, settled | {place}, tolerance) for part in parts.values())


def _mass(part: Iterable[tuple[Tree, Fraction]]) -> Fraction:
    return sum((mass for _, mass in part), Fraction(0))
