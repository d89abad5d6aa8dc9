"""Independence: the rows of a batch, and consecutive calls, have nothing to do with each other.

If blocks A and B are independent and lossless, then also given the first token a of A, the next token of B after prefix s has the target's law
p(.|s).  So (a, b1, b2, ...) is a stream whose every token has a known law given the earlier ones, and the e-process for blocks applies to it as it
stands (``eprocess``): its capital reaches 1 / alpha with probability at most alpha.  Rows that share noise make it grow with every pair.
"""

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from .calling import block_of
from .cases import Block, Case
from .embeddings import Embedding
from .eprocess import stream_log_e_value
from .reading import touched
from .sampling import Sample, _seeded, _Source
from .verdicts import after

ROWS = 1 << 11
"""Rows of a call."""


def wrong_in_batches(case: Case, among_others: Embedding, alpha: float, seed: int) -> tuple[str, str, str]:
    """What is wrong with the law of the rows of a large batch among others, between neighbouring rows, and between calls; "" where nothing is.

    Something is said of an independent lossless subject with probability at most ``alpha``.
    """
    seen = Sample(case.embedded(among_others))
    with _seeded(seed + 7):
        source, crowd = _Source(case, seed + 7), _Source(seen.case, seed + 8)
        among, first, second = ([block_of(row) for row in next(iter(one.blocks(ROWS, np.inf)))] for one in (crowd, source, source))
    touched(source.caller)
    touched(crowd.caller)
    row = seen.target(())
    rows, calls = pairs(first[::2], first[1::2]) + pairs(second[::2], second[1::2]), pairs(first, second)

    def wrong(stream: Counter[Block], before: int) -> bool:
        possible = {one: times for one, times in stream.items() if seen.possible(one[before:]) and seen.possible(one[:before])}
        capital = stream_log_e_value(possible, lambda prefix: seen.target(prefix[before:] if len(prefix) >= before else ()))
        return capital >= -log(alpha / 3)

    return (
        "right in batches of one row, its law is wrong among other rows" if wrong(Counter(among), 0) else "",
        f"neighbouring rows are not independent: {example(rows, row)}" if wrong(rows, 1) else "",
        f"a row of one call and the same row of the next are not independent: {example(calls, row)}" if wrong(calls, 1) else "",
    )


def pairs(one: list[Block], other: list[Block]) -> Counter[Block]:
    """The first token of a block, then the other block."""
    return Counter((a[0], *b) for a, b in zip(one, other, strict=True))


def example(stream: Counter[Block], row: Sequence[float]) -> str:
    """The first token that is most off, given the first token of the other block, where ``row`` is its law."""
    given, both = Counter[int](), Counter[tuple[int, int]]()
    for block, times in stream.items():
        given[block[0]] += times
        both[block[:2]] += times  # type: ignore[index]

    def off(pair: tuple[int, int]) -> float:
        expected = given[pair[0]] * row[pair[1]]
        return float(abs(both[pair] - expected) / max(expected, 1.0) ** 0.5)

    a, b = max(((a, b) for a in given for b in range(len(row))), key=off)
    return f"{after(())} {b} should follow with probability {row[b]:.3g}, and does so in about {both[a, b] / given[a]:.3g} where the other emits {a}"
