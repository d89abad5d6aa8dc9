"""The same laws once more, from the definitions alone: plain fractions, plain loops, none of the code under test.

Rows are dictionaries token -> Fraction; a tree is a nested list of (token, declared row, children).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

Row = Mapping[int, Fraction]
Path = tuple[int, ...]
Rows = Callable[[Path], Row]
Tree = list[tuple[int, Row, Any]]  # the children of a node, in draw order
Declare = Callable[[Path, Path], Row]  # (prefix, elder siblings) -> row of the next sibling; empty when there is none
Shape = Sequence[Any]


def normalised(row: Row) -> Row:
    total = sum(row.values(), Fraction(0))
    return {token: weight / total for token, weight in row.items() if weight > 0}


def owed(a: Fraction, f: Row, r: Row) -> tuple[Fraction, Row]:
    """m = sum (a f - r)_+ and the law (a f - r)_+ / m (empty when m = 0)."""
    left = {x: a * f[x] - r.get(x, Fraction(0)) for x in f if a * f[x] > r.get(x, Fraction(0))}
    return sum(left.values(), Fraction(0)), normalised(left)


def recursive_rejection(p: Rows, children: Tree, v: Path = ()) -> dict[Path, Fraction]:
    """f = p(.|v); every child accepted with min(1, f(x)/r(x)), else f = (f - r)_+ normalised; none: bonus from f."""
    blocks: defaultdict[Path, Fraction] = defaultdict(Fraction)
    f, alive = p(v), Fraction(1)
    for x, r, below in children:
        accept = min(Fraction(1), f.get(x, Fraction(0)) / r[x])
        for block, mass in recursive_rejection(p, below, (*v, x)).items():
            blocks[block] += alive * accept * mass
        alive *= 1 - accept
        f = owed(Fraction(1), f, r)[1]
    for y, mass in f.items():
        blocks[(*v, y)] += alive * mass
    return blocks


def traversal(p: Rows, children: Tree, v: Path = (), a: Fraction = Fraction(1)) -> tuple[dict[Path, Fraction], Fraction]:
    """VISIT(v, a): the blocks accepted in v's subtree and the probability that the whole subtree is rejected."""
    blocks: defaultdict[Path, Fraction] = defaultdict(Fraction)
    f, alive = p(v), Fraction(1)
    for x, r, below in children:
        accepted, rejected = traversal(p, below, (*v, x), min(Fraction(1), a * f.get(x, Fraction(0)) / r[x]))
        for block, mass in accepted.items():
            blocks[block] += alive * mass
        alive *= rejected
        m, left = owed(a, f, r)
        if m == 0:
            return blocks, alive
        f, a = left, m / (m + 1 - a)
    for y, mass in f.items():
        blocks[(*v, y)] += alive * a * mass
    return blocks, alive * (1 - a)


def trees(shape: Shape, declare: Declare, v: Path = (), elders: Path = ()) -> Iterator[tuple[Fraction, Tree]]:
    """Every way to populate the slots of ``shape``, with its probability."""
    row = declare(v, elders) if len(elders) < len(shape) else {}
    if not row:
        yield Fraction(1), []
        return
    for x, mass in row.items():
        for (below_mass, below), (rest_mass, rest) in product(
            trees(shape[len(elders)], declare, (*v, x)), list(trees(shape, declare, v, (*elders, x)))
        ):
            yield mass * below_mass * rest_mass, [(x, row, below), *rest]


def average(shape: Shape, declare: Declare, blocks: Callable[[Tree], Mapping[Path, Fraction]]) -> dict[Path, Fraction]:
    """Block law over all trees."""
    total: defaultdict[Path, Fraction] = defaultdict(Fraction)
    for probability, tree in trees(shape, declare):
        for block, mass in blocks(tree).items():
            total[block] += probability * mass
    return {block: mass for block, mass in total.items() if mass}


def probability(p: Rows, string: Path, given: Path = ()) -> Fraction:
    """Target probability of ``string`` given its prefix ``given``."""
    mass = Fraction(1)
    for end in range(len(given), len(string)):
        mass *= p(string[:end]).get(string[end], Fraction(0))
    return mass


def completed(p: Rows, blocks: Mapping[Path, Fraction], vocabulary: int, length: int) -> dict[Path, Fraction]:
    """Law of the first ``length`` tokens of "block, then target"; no block may be longer."""
    law: defaultdict[Path, Fraction] = defaultdict(Fraction)
    for block, mass in blocks.items():
        for rest in product(range(vocabulary), repeat=length - len(block)):
            law[(*block, *rest)] += mass * probability(p, (*block, *rest), block)
    return law


def total_variation(p: Rows, blocks: Mapping[Path, Fraction], vocabulary: int) -> Fraction:
    """Half the sum over all strings as long as the longest block, mass that is missing (or too much) counted as one string more."""
    length = max(map(len, blocks))
    law = completed(p, blocks, vocabulary, length)
    strings = product(range(vocabulary), repeat=length)
    return (sum(abs(law[z] - probability(p, z)) for z in strings) + abs(1 - sum(blocks.values()))) / 2
