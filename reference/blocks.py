"""The exact law of the block a verifier emits: accepted path tokens and one bonus token.

Root-to-leaf rules are evaluated one level at a time and merged wherever nodes are equal; whole-tree rules are replayed as they are.
"""

from collections import defaultdict
from collections.abc import Callable

from .chance import Chance, law_of
from .laws import ZERO, Law
from .models import Model
from .rational import Rational
from .trees import DraftNode, LazyNode, Node, Scheme, Slot, populate
from .verifiers import Family
from .verifiers.descent import Level, Stop

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
    weights: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)
    for answer, probability in law_of(lambda chance: family.verify(target, root(chance), chance)).items():
        for token, weight in answer.bonus.items():
            weights[(*answer.node.path, token)] += probability * weight
    return Law(weights)


def _descend(level: Level, target: Model, root: Callable[[Chance], DraftNode]) -> Law[Block]:
    weights: defaultdict[Block, Rational] = defaultdict(lambda: ZERO)
    reached: dict[DraftNode, Rational] = dict(law_of(root).items())
    while reached:
        deeper: defaultdict[DraftNode, Rational] = defaultdict(lambda: ZERO)
        for node, probability in reached.items():

            def step(chance: Chance, node: DraftNode = node) -> DraftNode | Stop:
                return level(target, node.redrawn(chance) if isinstance(node, LazyNode) else node, chance)

            for answer, weight in law_of(step).items():
                if isinstance(answer, Stop):
                    for token, share in answer.bonus.items():
                        weights[(*node.path, token)] += probability * weight * share
                else:
                    deeper[answer] += probability * weight
        reached = deeper
    return Law(weights)
