"""Faults of predraw-and-follow, one request at a time.

What it should be: draw the target's token at the node, go on to the child that carries it, and where there is none emit it.
"""

from .rows import Sibling, on_tree, pick


@on_tree(family="predraw_follow")
def any_node_of_level_matches(root: Sibling) -> list[int]:
    """Goes on to any node of the next level that carries the drawn token, whoever its parent is."""
    node, level, block = root, [root], list[int]()
    while True:
        drawn, level = pick(node.target), [child for one in level for child in one.children]
        match = next((child for child in level if child.token == drawn), None)  # fault: among node.children
        if match is None:
            return [*block, drawn]
        node, block = match, [*block, drawn]


@on_tree(family="predraw_follow")
def miss_drawn_off_eldest(root: Sibling) -> list[int]:
    """Where the target's draw is no child, draws again off the eldest child only."""
    node, block = root, list[int]()
    while True:
        drawn = pick(node.target)
        match = next((child for child in node.children if child.token == drawn), None)
        if match is None:
            off = {child.token for child in node.children[:1]}  # fault: of all children
            return [*block, pick([0.0 if token in off else weight for token, weight in enumerate(node.target)])]
        node, block = match, [*block, drawn]


@on_tree(family="predraw_follow")
def emits_child_not_draw(root: Sibling) -> list[int]:
    """Where the target's draw is no child, goes on to the eldest child all the same."""
    node, block = root, list[int]()
    while node.children:
        drawn = pick(node.target)
        node = next((child for child in node.children if child.token == drawn), node.children[0])  # fault: emit the draw and stop
        block.append(node.token)
    return [*block, pick(node.target)]
