"""Where the target leaves the draft tree of an instance: the exit law of ``reference.exits``, averaged over the trees that may be drafted."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from draftproof.reference.blocks import tree_law
from draftproof.reference.exits import reach
from draftproof.reference.instances import Instance, parse
from draftproof.reference.laws import ZERO
from draftproof.reference.models import Prefix
from draftproof.reference.rational import Rational
from draftproof.reference.trees import level_order, merged

from ..cases import _ways

MOST_TREES = 512
"""Ways to draft that are averaged."""

MOST_NODES = 512
"""Of one tree."""


class NoPicture(ValueError):
    """Why there is none."""


@dataclass(frozen=True)
class Exit:
    """A node: with which probability it is drafted, reached by the target while it is, and left there; ``leaf``: nothing is ever drafted below it."""

    path: Prefix
    drafted: float
    reached: float
    lost: float
    leaf: bool


def exits(source: Mapping[str, Any]) -> list[Exit]:
    """All nodes, parents before children, siblings in the order in which they appear.  What is lost adds up to one.

    Same-token siblings are one node.  Raises NoPicture for an instance that is none, or has too many draft trees.
    """
    try:
        instance = parse(dict(source))
        return _exits(instance)
    except NoPicture:
        raise
    except (ValueError, KeyError, RecursionError) as error:  # InstanceError and MissingRow among them
        raise NoPicture(f"the instance cannot be drawn: {error}") from None


def _exits(instance: Instance) -> list[Exit]:
    if not instance.deterministic and _ways(instance.scheme, instance.topology, (), MOST_TREES) > MOST_TREES:
        raise NoPicture(f"there are more than {MOST_TREES} draft trees")
    drafted, reached, lost = (defaultdict[Prefix, Rational](lambda: ZERO) for _ in range(3))
    for tree, probability in tree_law(instance.topology, instance.scheme).items():
        one = merged(tree)
        nodes = level_order(one)
        if len(nodes) > MOST_NODES:
            raise NoPicture(f"a draft tree has more than {MOST_NODES} nodes")
        mass = reach(instance.target, one)
        for node in nodes:
            drafted[node.path] += probability
            reached[node.path] += probability * mass[node]
            lost[node.path] += probability * (mass[node] - sum((mass[child] for child in node.children()), ZERO))
    inner = {path[:-1] for path in drafted if path}
    return [Exit(path, float(drafted[path]), float(reached[path]), float(lost[path]), path not in inner) for path in _depth_first(list(drafted))]


def _depth_first(paths: list[Prefix]) -> list[Prefix]:
    below = defaultdict[Prefix, list[Prefix]](list)
    for path in paths:
        if path:
            below[path[:-1]].append(path)
    order, waiting = list[Prefix](), list[Prefix]([()])
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(below[order[-1]])
    return order
