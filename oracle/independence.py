"""Independence: the rows of a batch, and calls one after the other, have nothing to do with each other, however far apart they are.

If blocks A and B are independent and lossless, then also given the first token a of A, the next token of B after prefix s has the target's law
p(.|s).  So (a, b1, b2, ...) is a stream whose every token has a known law given the earlier ones, and the e-process for blocks applies to it as it
stands (``eprocess``): its capital reaches 1 / alpha with probability at most alpha.  Rows that share noise make it grow with every pair.

Of n rows the pairs at each distance, up to n / 2, are such a stream, twice: those that begin in even stretches of this length and those in odd
ones, so that no row is in two pairs.  The mean of all these capitals is a martingale as well; it is at least any of them divided by their number, so
it is enough to look at the distances where correlations are largest.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import log

import numpy as np

from .calling import block_of
from .cases import Block, Case
from .embeddings import Embedding
from .eprocess import stream_log_e_value
from .reading import touched
from .sampling import Sample, _seeded, _Source
from .verdicts import after

ROWS, CALLS = 1 << 11, 8
"""Rows of a large call; calls that share as many rows."""

FEW_SINGLE, MOST_SINGLE, SUSPICIOUS = 1 << 9, 1 << 12, 1.0
"""Calls of one row, where a subject takes no more: twice as many again as long as some log capital is suspicious."""

KINDS = 8
"""Blocks, the most frequent ones, whose correlations are looked at."""

DISTANCES = 2
"""Distances that are judged."""


def wrong_in_batches(case: Case, among_others: Embedding, alpha: float, seed: int) -> tuple[str, str, str]:
    """What is wrong with the law of the rows of a large batch among others, between its rows, and between calls; "" where nothing is.

    Something is said of an independent lossless subject with probability at most ``alpha``.
    """
    seen = Sample(case.embedded(among_others))
    with _seeded(seed + 7):
        sources = _Source(seen.case, seed + 8), _Source(case, seed + 7), _Source(case, seed + 9, ROWS // CALLS)
        crowd, large, small = ([block_of(row) for row in next(iter(source.blocks(ROWS, np.inf)))] for source in sources)
    for source in sources:
        touched(source.caller)
    return (
        "right in batches of one row, its law is wrong among other rows" if _capital(Counter(crowd), 0, seen) >= log(3 / alpha) else "",
        dependent(large, seen, alpha / 3, lambda apart: "neighbouring rows" if apart == 1 else f"rows {apart} apart in a batch"),
        dependent(small, seen, alpha / 3, lambda apart: _of_calls(apart, ROWS // CALLS)),
    )


def wrong_between_calls(case: Case, alpha: float, seed: int) -> tuple[str, int]:
    """What is wrong between calls of a subject that takes one row at a time, "" where nothing is, and how many calls that took."""
    seen, source, blocks = Sample(case), _Source(case, seed + 7), list[Block]()
    while len(blocks) < MOST_SINGLE:
        with _seeded(seed + 7 + len(blocks)):
            blocks += [block_of(row) for row in next(iter(source.blocks(len(blocks) or FEW_SINGLE, np.inf)))]
        capital, apart, stream = most_dependent(blocks, seen)
        if capital >= log(MOST_SINGLE / alpha):
            return f"{_of_calls(apart, 1)} are not independent: {example(stream, seen.target(()))}", len(blocks)
        if capital < SUSPICIOUS:
            break
    touched(source.caller)
    return "", len(blocks)


def _of_calls(apart: int, rows: int) -> str:
    calls, left = divmod(apart, rows)
    other = "the next" if calls == 1 else f"the one {calls} calls later"
    if not left:
        return f"a row of one call and the same row of {other}" if rows > 1 else f"a call and {other}"
    return f"rows of calls, {apart} apart as they come"


def dependent(blocks: Sequence[Block], seen: Sample, alpha: float, place: Callable[[int], str]) -> str:
    """Which blocks of a sequence are not independent, by ``place`` of their distance; "" where none are seen not to be."""
    capital, apart, stream = most_dependent(blocks, seen)
    return f"{place(apart)} are not independent: {example(stream, seen.target(()))}" if capital >= log(len(blocks) / alpha) else ""


def most_dependent(blocks: Sequence[Block], seen: Sample) -> tuple[float, int, Counter[Block]]:
    """The largest log capital of n streams of pairs of n blocks, their distance, and the stream."""
    found = []
    for apart in distances(blocks):
        for odd in (False, True):
            first = [i for i in range(len(blocks) - apart) if i // apart % 2 == odd]
            stream = pairs([blocks[i] for i in first], [blocks[i + apart] for i in first])
            found.append((_capital(stream, 1, seen), apart, stream))
    return max(found, key=lambda one: one[0])


def distances(blocks: Sequence[Block]) -> list[int]:
    """Those, up to half of all, where most is amiss with what comes together: the most frequent blocks' correlations, at all distances at once."""
    kinds = [kind for kind, _ in Counter(blocks).most_common(KINDS)]
    size = len(blocks)
    marks = np.array([[block == kind for kind in kinds] for block in blocks], dtype=float)
    marks -= marks.mean(0)
    marks /= np.maximum(marks.std(0), 1e-9)
    waves = np.fft.rfft(marks, 2 * size, axis=0)
    together = np.fft.irfft(waves.conj()[:, :, None] * waves[:, None, :], axis=0)[1 : size // 2 + 1]
    score = (together**2).sum((1, 2)) / np.arange(size - 1, size - size // 2 - 1, -1)
    return [int(place) + 1 for place in np.argsort(-score, kind="stable")[:DISTANCES]]


def pairs(one: Sequence[Block], other: Sequence[Block]) -> Counter[Block]:
    """The first token of a block, then the other block."""
    return Counter((a[0], *b) for a, b in zip(one, other, strict=True))


def _capital(stream: Counter[Block], before: int, seen: Sample) -> float:
    """Log capital against "every token after the first ``before`` has the target's law"; what is impossible is judged elsewhere."""
    possible = {one: times for one, times in stream.items() if seen.possible(one[before:]) and seen.possible(one[:before])}
    return stream_log_e_value(possible, lambda prefix: seen.target(prefix[before:] if len(prefix) >= before else ()))


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
