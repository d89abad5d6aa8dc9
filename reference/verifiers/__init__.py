"""The verifiers, by name, and the exact law of the block each emits.

``FAMILIES`` is the list every other part of the project goes by: the name of a family is the name of its file here, of its batched twin in
``gpu_impl`` and of its theorem.
"""

from dataclasses import dataclass

from .descent import Accepted, Level, Stop, Verifier, descend
from .predraw_follow import predraw_follow
from .recursive_rejection import recursive_rejection
from .traversal import traversal
from .tree_exit import tree_exit

__all__ = ["ALIASES", "FAMILIES", "Accepted", "Family", "Stop", "family", "predraw_follow", "recursive_rejection", "traversal", "tree_exit"]


@dataclass(frozen=True)
class Family:
    """One verification rule.

    ``level`` is set for root-to-leaf rules.  ``reads_declared``: whether declared laws matter; rules that ignore them need distinct siblings.
    """

    name: str
    verify: Verifier
    level: Level | None = None
    reads_declared: bool = True


FAMILIES = {
    family.name: family
    for family in (
        Family("predraw_follow", descend(predraw_follow), predraw_follow, reads_declared=False),
        Family("tree_exit", tree_exit, reads_declared=False),
        Family("recursive_rejection", descend(recursive_rejection), recursive_rejection),
        Family("traversal", traversal),
    )
}

ALIASES: dict[str, str] = {"token": "recursive_rejection", "block": "traversal", "tev": "tree_exit"}


def family(name: str) -> Family:
    """The family called ``name`` or by its alias (token, block, tev).  Raises ValueError with the known names otherwise."""
    try:
        return FAMILIES[ALIASES.get(name, name)]
    except KeyError:
        known = ", ".join([*FAMILIES, *ALIASES])
        raise ValueError(f"unknown verifier {name!r}; known: {known}") from None
