"""A target that notices what it was shown: the row after a token is a random law of all the tokens it sees and how far back each of them stands."""

import random
from functools import cache
from typing import Any

import numpy as np

from draftproof.reference.laws import Law
from draftproof.reference.models import Model, Prefix, random_law

from .subjects import SubjectError

Seen = tuple[tuple[int, int], ...]
"""(distance back, token) of everything seen, itself at distance 0."""


@cache
def law_of_seen(seen: Seen, vocabulary: int) -> Law[int]:
    """One law for every view."""
    return random_law(random.Random(f"{vocabulary} {seen}"), vocabulary, zeros=0.1)


def after(history: Prefix, vocabulary: int) -> Model:
    """The target after this text: every token sees the whole of it and its own path."""

    def model(prefix: Prefix) -> Law[int]:
        text = history + prefix
        return law_of_seen(tuple(sorted((len(text) - 1 - place, token) for place, token in enumerate(text))), vocabulary)

    return model


def views(tokens: Any, positions: Any, mask: Any) -> list[list[Seen]]:
    """What each of tokens [B, M] sees.  Raises SubjectError where shapes do not fit or a token does not see itself."""
    arrays = [np.asarray(part.detach().cpu() if hasattr(part, "detach") else part) for part in (tokens, positions, mask)]
    token, position, seen = arrays
    if token.ndim != 2 or position.shape != token.shape or seen.shape != (*token.shape, token.shape[1]):
        raise SubjectError(f"calls score with shapes {token.shape}, {position.shape}, {seen.shape}, not [B, M], [B, M], [B, M, M]")
    if seen.dtype.kind != "b":
        raise SubjectError(f"calls score with a mask of type {seen.dtype}, not bool")
    return [[_view(token[row], position[row], seen[row, query], query) for query in range(token.shape[1])] for row in range(len(token))]


def _view(tokens: np.ndarray, positions: np.ndarray, seen: np.ndarray, query: int) -> Seen:
    if not seen[query]:
        raise SubjectError(f"calls score with a mask in which token {query} does not see itself")
    return tuple(sorted((int(positions[query]) - int(positions[other]), int(tokens[other])) for other in np.flatnonzero(seen)))
