"""Greedy transport on one tree: reads what the plans of the nodes on the accepted path read."""
from collections.abc import Sequence

from .greedy_plan import greedy_masses, greedy_rest
from .trees import Tree


def greedy_transport(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node, moved = 0, True
    while moved and tree.children[node]:
        moved, left = False, 1.0
        for child, mass in zip(tree.children[node], greedy_masses(tree, node, 1.0)[0], strict=True):
            if uniforms[child] * left < mass:
                node, moved = child, True
                break
            left -= mass
    return node, greedy_rest(tree, node, 1.0)[0].draw(uniforms[0])
