"""Lossless rules on trees that have been taken for faults, and a generator."""

import random
from collections.abc import Sequence

import numpy as np

from ..engine import Engine
from ..faults.plans import plan, walk
from ..faults.rows import Row, Sibling, by_level, on_tree, pick
from ..generators import Generator


@on_tree(family="predraw_follow")
def drawn_again_off_children(root: Sibling) -> list[int]:
    """Where the target's draw is no child, draws again off the children: the same law, by another random number."""
    node, block = root, list[int]()
    while True:
        drawn = pick(node.target)
        match = next((child for child in node.children if child.token == drawn), None)
        if match is None:
            off = {child.token for child in node.children}
            return [*block, pick([0.0 if token in off else weight for token, weight in enumerate(node.target)])]
        node, block = match, [*block, drawn]


@on_tree()
def leaves_emitted_as_bonus(root: Sibling) -> list[int]:
    """Never accepts a leaf: its token is emitted as the extra token of its parent."""
    node, block = root, list[int]()
    while True:
        drawn = pick(node.target)
        block.append(drawn)
        match = next((child for child in node.children if child.token == drawn and child.children), None)
        if match is None:
            return block
        node = match


@by_level(family="greedy_transport")
def fixed_children_by_plan(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Gives fixed children more than the target's probability: they carry what the sampled one cannot use."""
    masses, owed = plan(p, siblings, 1.0)
    return walk(siblings, masses) or pick(owed if any(owed) else p)


@on_tree()
def sampled_child_first(root: Sibling) -> list[int]:
    """Tries the sampled child before the fixed ones, each with its mass over what is left: the order is fixed beforehand."""

    def visit(node: Sibling, a: float, path: list[int]) -> list[int] | None:
        masses, owed = plan(node.target, node.children, a)
        left, total = 1.0, sum(owed)
        for child, mass in reversed(list(zip(node.children, masses, strict=True))):
            if mass and (block := visit(child, min(1.0, mass / left), [*path, child.token])) is not None:
                return block
            left -= mass
        return [*path, pick(owed)] if total and random.random() < total / (total + 1 - a) else None

    return visit(root, 1.0, []) or []


def _noise_shared_under_match(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Draws the draft and the target's own token with the same Gumbel noise, and accepts when they are equal."""
    emitted, root = list[int](), engine.prompt[-1]
    with np.errstate(divide="ignore"):
        while len(emitted) < engine.length:
            noise = generator.gumbel(size=engine.vocabulary)
            draft = int((np.log(engine.draft((root,))) + noise).argmax())
            own, after = engine.target([root, draft], [0, 0])
            drawn = int((np.log(own) + noise).argmax())
            engine.keep([0, 1] if drawn == draft else [0])
            emitted.append(drawn)
            root = drawn
            if drawn == draft:
                root = int((np.log(after) + generator.gumbel(size=engine.vocabulary)).argmax())
                emitted.append(root)
    return emitted[: engine.length]


noise_shared_under_match = Generator(_noise_shared_under_match, f"{__name__}:noise_shared_under_match", randomness="generator")
