"""Greedy transport on one tree: reads what the plans of the nodes on the accepted path read."""
from collections.abc import Sequence

from .greedy_plan import Plan
from .trees import Tree


def greedy_transport(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node = 0
    while tree.children[node]:
        plan, left = Plan(tree, node, 1.0), 1.0
        for child, mass in zip(tree.children[node], plan.masses, strict=True):
            if uniforms[child] * left < mass:
                node = child
                break
            left -= mass
        else:
            return node, plan.rest()[0].draw(uniforms[0])
    return node, tree.target(node).draw(uniforms[0])
