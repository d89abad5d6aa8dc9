"""The verifiers, by name, and the exact law of the block each emits.

``FAMILIES`` is the list every other part of the project goes by: the name of a family is the name of its file here, of its batched twin in
``gpu_impl`` (where there is one) and of its theorem.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..exact_json import among
from . import traversal as _traversal
from . import univer as _univer
from . import univer_lookahead as _univer_lookahead
from . import univer_transport as _univer_transport
from .ascent import Visit, ascend
from .descent import Accepted, Level, Stop, Verifier, descend
from .greedy_transport import greedy_transport
from .k_seq import k_seq
from .predraw_follow import predraw_follow
from .recursive_rejection import recursive_rejection
from .traversal import traversal
from .tree_exit import tree_exit
from .univer import univer
from .univer_lookahead import univer_lookahead
from .univer_transport import univer_transport

if TYPE_CHECKING:
    from ..instances import Instance

__all__ = [
    "ALIASES",
    "FAMILIES",
    "Accepted",
    "Family",
    "Stop",
    "ascend",
    "descend",
    "family",
    "greedy_transport",
    "k_seq",
    "predraw_follow",
    "recursive_rejection",
    "traversal",
    "tree_exit",
    "univer",
    "univer_lookahead",
    "univer_transport",
]

GREEDY = ("greedy", "fixed")
"""Siblings are all deterministic, except perhaps the last."""


@dataclass(frozen=True)
class Family:
    """One verification rule.

    ``level`` is set for root-to-leaf rules, ``visit`` for leaf-to-root ones.  ``reads_declared``: whether declared laws matter; rules that ignore
    them need distinct siblings.  ``draws``: the ways of drawing siblings (``Instance.draws``) that the rule is made for, None for all; every rule
    takes chains.
    """

    name: str
    verify: Verifier
    level: Level | None = None
    reads_declared: bool = True
    visit: Visit | None = None
    draws: tuple[str, ...] | None = None

    def admits(self, instance: "Instance") -> bool:
        """Whether the rule is made for the way the instance is drafted."""
        return self.draws is None or instance.is_chain or instance.draws in self.draws


FAMILIES = {
    family.name: family
    for family in (
        Family("predraw_follow", descend(predraw_follow), predraw_follow, reads_declared=False),
        Family("tree_exit", tree_exit, reads_declared=False),
        Family("recursive_rejection", descend(recursive_rejection), recursive_rejection),
        Family("traversal", traversal, visit=_traversal.visit),
        Family("greedy_transport", descend(greedy_transport), greedy_transport, draws=GREEDY),
        Family("univer", univer, visit=_univer.visit, draws=GREEDY),
        Family("univer_lookahead", univer_lookahead, visit=_univer_lookahead.visit, draws=GREEDY),
        Family("univer_transport", univer_transport, visit=_univer_transport.visit),
        Family("k_seq", descend(k_seq), k_seq, draws=("with_replacement",)),
    )
}

ALIASES: dict[str, str] = {"token": "recursive_rejection", "block": "traversal", "tev": "tree_exit"}


def family(name: str) -> Family:
    """The family called ``name`` or by its alias (token, block, tev).  Raises ValueError with the known names otherwise."""
    try:
        return FAMILIES[ALIASES.get(name, name)]
    except KeyError:
        raise ValueError(f"unknown verifier {name!r}{among(name, [*FAMILIES, *ALIASES])}") from None
