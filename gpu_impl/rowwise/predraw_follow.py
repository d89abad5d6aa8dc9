"""Predraw-and-follow on one tree: reads the target rows on the accepted path."""
from collections.abc import Sequence

from .trees import Tree


def predraw_follow(tree: Tree, uniforms: Sequence[float]) -> tuple[int, int]:
    node = 0
    while True:
        drawn = tree.target(node).draw(uniforms[node])
        child = next((child for child in tree.children[node] if tree.tokens[child] == drawn), None)
        if child is None:
            return node, drawn
        node = child
