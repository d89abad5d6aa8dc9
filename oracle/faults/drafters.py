"""The builds of ``drafts`` as drafters, judged by the law that each of their tokens declares."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from draftproof.reference.drafters import markov_head
from draftproof.reference.laws import Law
from draftproof.reference.models import marginal, markov
from draftproof.reference.trees import Slot

from ..drafters import Drafter
from .drafts import Build, Setting, arrays
from .programs import Coins, law
from .rounds import PAIRS

ROWS: Mapping[str, list[list[int]]] = {"draft-full": [[4, 1, 1], [1, 4, 2]]}
"""Draft rows on which the planted drafters show: two positions, three tokens."""

TARGET = markov(Law.row([1, 3, 4]), {0: Law.row([2, 5, 1]), 1: Law.row([4, 1, 3]), 2: Law.row([1, 1, 6])})
HEAD = {0: {0: 1, 1: 2, 2: 1}, 1: {0: 3, 1: 1, 2: 1}, 2: {0: 1, 1: 1, 2: 4}}


def drafter_from(build: Build, name: str, head: bool = True, topology: Slot = PAIRS, **declares: Any) -> Drafter:
    """A build as a drafter: base rows, the same for the whole batch, in; a head or none; a tree for each out."""

    def draft(rows: np.ndarray) -> tuple[np.ndarray, ...]:
        base = [law(tuple(row)) for row in rows[0].tolist()]
        model = markov_head(base, 0, HEAD.__getitem__) if head else marginal(base)
        trees = [arrays(build(Setting(3, model, TARGET, topology), Coins()), 3, 5) for _ in rows]
        return tuple(np.concatenate(parts) for parts in zip(*trees, strict=True))

    draft.__doc__ = build.__doc__
    return Drafter(draft, name, dtype="float64", framework="numpy", **declares)
