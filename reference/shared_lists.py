"""The shortcut for marginal drafters: one list of draws per depth serves every node of that depth; a node with k slots takes the first k.

Nodes of one depth then carry the same tokens.  Recursive rejection looks at one node per depth, so it cannot tell the lists from independent draws
and emits the very same law.  A rule that looks into an elder sibling's subtree before the younger one's can tell, and is not lossless.
"""

from collections.abc import Sequence

from .blocks import Block, block_law_on_tree
from .chance import Chance, law_of
from .laws import Law, mixture
from .models import Model, Prefix
from .trees import Node, Slot
from .verifiers import Family


def populate_shared(topology: Slot, rows: Sequence[Law[int]], chance: Chance) -> Node:
    """Populate ``topology`` from one list without replacement per depth, drawn from ``rows[depth]``; slots beyond the support are dropped."""
    lists: list[list[tuple[int, Law[int]]]] = []  # (token, declared law) of each draw
    level: list[Slot] = [topology]
    while any(level):
        drawn: list[tuple[int, Law[int]]] = []
        law: Law[int] | None = rows[len(lists)]
        while law is not None and len(drawn) < max(map(len, level)):
            drawn.append((chance.draw(law), law))
            law = rows[len(lists)].without(token for token, _ in drawn)
        lists.append(drawn)
        level = [child for slot in level for child in slot]

    def fill(slot: Slot, path: Prefix, declared: Law[int] | None) -> Node:
        draws = zip(slot, lists[len(path)] if slot else (), strict=False)
        return Node(path, declared, tuple(fill(child, (*path, token), law) for child, (token, law) in draws))

    return fill(topology, (), None)


def shared_list_law(family: Family, target: Model, topology: Slot, rows: Sequence[Law[int]]) -> Law[Block]:
    """Law of the block over the shared lists and the verifier's coins.  Raises ValueError for any verifier but recursive_rejection."""
    if family.name != "recursive_rejection":
        raise ValueError(
            f"shared lists serve recursive_rejection only, not {family.name}: siblings' subtrees repeat the same draws, so their declared laws "
            "do not hold for a rule that looks at more than one node of a depth; draw every node's children afresh"
        )
    trees = law_of(lambda chance: populate_shared(topology, rows, chance))
    return mixture((probability, block_law_on_tree(family, target, tree)) for tree, probability in trees.items())
