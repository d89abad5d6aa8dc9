"""Tree exit on one tree: reads, in index order, the target rows of nodes with children up to the exit."""
from collections.abc import Sequence

from .rows import Row
from .trees import Tree


def tree_exit(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    """The exit masses sum to 1, so the inverse CDF over nodes need not know those after the exit."""
    bonus, place = uniforms[0], uniforms[1]
    reach = [0.0] * len(tree.tokens)
    reach[0], below = 1.0, 0.0
    last, residual = 0, None
    for node, mass in enumerate(reach):  # which grows as parents come before their children
        if not mass > 0:
            continue
        row, stay = None, 1.0
        if tree.children[node]:
            row, stay = _split(tree, node, reach)
        if mass * stay > 0:
            last, residual, below = node, row, below + mass * stay
            if below > place:
                break
    return last, (residual or tree.target(last)).draw(bonus)


def _split(tree: Tree, node: int, reach: list[float]) -> tuple[Row, float]:
    """The target row off the children's tokens and its share; the children's reach.  A token is handed out once."""
    row = tree.target(node)
    eldest = {tree.tokens[child]: child for child in reversed(tree.children[node])}
    rest = row.without(list(eldest))
    whole = rest.total + sum(row.weight(token) for token in eldest)
    for token, child in eldest.items():
        reach[child] = reach[node] * row.weight(token) / whole
    return rest, rest.total / whole
