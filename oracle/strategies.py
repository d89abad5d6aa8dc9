"""Instances for property tests with Hypothesis, which shrinks a failing one to few tokens, few drafts, small weights and no zeros."""

from itertools import product
from typing import Any

from hypothesis import strategies as st

from draftproof.reference.instances import SCHEMES, Instance, parse
from draftproof.reference.models import Prefix, spell

MOST_WEIGHT = 9


@st.composite
def instances(draw: Any, vocabulary: int = 4, children: int = 3, depth: int = 2, chains: bool = False) -> Instance:
    """Instances of at most ``vocabulary`` tokens, ``children`` siblings and ``depth`` levels, of every scheme or chains only.

    Every prefix has rows of its own; weights are integers up to MOST_WEIGHT, zeros among them, with the smallest of values first in shrinking: a
    row of ones.  Fixed trees have at most ``children`` paths a level.
    """
    size = draw(st.integers(1, vocabulary))
    scheme = "chain" if chains else draw(st.sampled_from(["chain", *(name for name in SCHEMES if name != "chain"), "fixed"]))
    weights = st.lists(st.sampled_from([*range(1, MOST_WEIGHT + 1), 0]), min_size=size, max_size=size).filter(any)

    def rows(levels: int) -> dict[str, list[int]]:
        return {spell(Prefix(prefix)): draw(weights) for length in range(levels) for prefix in product(range(size), repeat=length)}

    if scheme == "fixed":
        tree = draw(_trees(size, children, depth))
        return parse({"vocabulary": size, "target": rows(1 + max(map(len, tree))), "drafting": {"scheme": scheme, "tree": [*map(spell, tree)]}})
    levels = draw(st.lists(st.integers(1, 1 if scheme == "chain" else children), min_size=1, max_size=depth))
    drafting = {"scheme": scheme, "children": levels}
    return parse({"vocabulary": size, "target": rows(len(levels) + 1), "draft": rows(len(levels)), "drafting": drafting})


@st.composite
def _trees(draw: Any, vocabulary: int, children: int, depth: int) -> list[Prefix]:
    """Paths, parents first, at least one."""
    tree = list[Prefix]()
    level: list[Prefix] = [()]
    for number in range(depth):
        below = [(*parent, token) for parent in level for token in range(vocabulary)]
        level = draw(st.lists(st.sampled_from(below), min_size=not number, max_size=children, unique=True)) if below else []
        tree += level
    return tree
