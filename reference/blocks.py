"""The exact law of the block a verifier emits: accepted path tokens and one bonus token.

Root-to-leaf rules are evaluated one level at a time and merged wherever nodes are equal, leaf-to-root rules one node at a time and merged where
capacities are equal too; any other whole-tree rule is replayed as it is.
"""

from collections import defaultdict
from collections.abc import Callable

from .chance import Chance, law_of
from .laws import ONE, ZERO, Law
from .models import Model
from .rational import Rational
from .trees import DraftNode, LazyNode, Node, Scheme, Slot, populate
from .verifiers import Family
from .verifiers.ascent import Visit
from .verifiers.descent import Accepted, Level, Stop

Block = tuple[int, ...]


def block_law(family: Family, target: Model, topology: Slot, scheme: Scheme) -> Law[Block]:
    """Law of the block over everything random: the draws that populate the tree and the verifier's own.

    Rules that do not read declared laws are given trees whose same-token siblings are merged.
    """

    def root(chance: Chance) -> LazyNode:
        return LazyNode(topology, (), scheme, chance, distinct=not family.reads_declared)

    return _block_law(family, target, root)


def block_law_on_tree(family: Family, target: Model, tree: Node) -> Law[Block]:
    """Law of the block on one populated tree, as it stands."""
    return _block_law(family, target, lambda chance: tree)


def tree_law(topology: Slot, scheme: Scheme) -> Law[Node]:
    """Law of the populated tree."""
    return law_of(lambda chance: populate(topology, scheme, chance))


def _block_law(family: Family, target: Model, root: Callable[[Chance], DraftNode]) -> Law[Block]:
    level = family.level
    if level is not None:
        return _descend(level, target, root)
    if family.visit is not None:
        return _ascend(family.visit, target, root)
    weights: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)
    for answer, probability in law_of(lambda chance: family.verify(target, root(chance), chance)).items():
        for token, weight in answer.bonus.items():
            weights[(*answer.node.path, token)] += probability * weight
    return _whole(weights)


def _descend(level: Level, target: Model, root: Callable[[Chance], DraftNode]) -> Law[Block]:
    weights: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)
    reached: dict[DraftNode, Rational] = dict(law_of(root).items())
    while reached:
        deeper: defaultdict[DraftNode, Rational] = defaultdict(lambda: ZERO)
        for node, probability in reached.items():

            def step(chance: Chance, node: DraftNode = node) -> DraftNode | Stop:
                return level(target, _redrawn(node, chance), chance)

            for answer, weight in law_of(step).items():
                if isinstance(answer, Stop):
                    for token, share in answer.bonus.items():
                        weights[(*node.path, token)] += probability * weight * share
                else:
                    deeper[answer] += probability * weight
        reached = deeper
    return _whole(weights)


def _ascend(visit: Visit, target: Model, root: Callable[[Chance], DraftNode]) -> Law[Block]:
    """A subtree's part in the law depends on its root and its capacity only, since its draws are its own."""
    known: dict[tuple[DraftNode, int, int], int] = {}  # capacities as two integers: they hash faster than rationals
    parts: list[tuple[Rational, dict[Block, Rational]]] = []  # probability that the subtree is accepted, masses of its blocks

    def part(node: DraftNode, capacity: Rational) -> int:
        """The number of the part of ``node``'s subtree, given that it is visited with ``capacity``."""
        key = node, int(capacity.numerator), int(capacity.denominator)
        if key not in known:
            masses = accepted(node, capacity)
            known[key] = len(parts)
            parts.append((sum(masses.values(), ZERO), masses))
        return known[key]

    def accepted(node: DraftNode, capacity: Rational) -> dict[Block, Rational]:
        weights: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)

        def step(chance: Chance) -> Accepted | int | None:
            def below(child: DraftNode, share: Rational) -> int | None:
                number = part(child, share)
                return number if chance.flip(parts[number][0]) else None

            return visit(target, _redrawn(node, chance), capacity, chance, below)

        for answer, weight in law_of(step).items():
            if isinstance(answer, Accepted):
                for token, share in answer.bonus.items():
                    weights[(*node.path, token)] += weight * share
            elif answer is not None:
                total, masses = parts[answer]
                for block, mass in masses.items():
                    weights[block] += weight * mass / total
        return dict(weights)

    blocks: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)
    for start, probability in law_of(root).items():
        for block, mass in accepted(start, ONE).items():
            blocks[block] += probability * mass
    return Law(blocks)


def _redrawn(node: DraftNode, chance: Chance) -> DraftNode:
    return node.redrawn(chance) if isinstance(node, LazyNode) else node


def _whole(weights: dict[Block, Rational]) -> Law[Block]:
    """A law from masses that must sum to one: ``Law`` would normalise, and hide a rule that loses some."""
    total = sum(weights.values(), ZERO)
    if total != 1:
        raise ValueError(f"the verifier emits blocks of total probability {total}, not 1")
    return Law(weights)
