"""The drawings of the page, none wider than a phone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..drawing import Curve, Drawing, chart
from ..plain_text import plain
from .exits import Exit
from .figures import percent, short

WIDTH = 320.0
MOST_ROWS = 40
MOST_POINTS = 256


def law(title: str, tokens: Sequence[Sequence[Any]]) -> Drawing:
    """What the next token should be and what it is: two bars for each of ``[token, should_be, emitted]``."""
    left, right, row = 44.0, WIDTH - 104, 34.0
    page = Drawing(WIDTH, 36 + row * len(tokens), title)
    page.line([(left, 12), (left + 14, 12)], "soft", 9)
    page.text(left + 20, 16, "should be")
    page.line([(left + 96, 12), (left + 110, 12)], "b", 9)
    page.text(left + 116, 16, "is")
    scale = (right - left) / max((max(should, emitted) for _, should, emitted in tokens), default=1.0)
    for place, (token, should, emitted) in enumerate(tokens):
        y = 40 + row * place
        page.text(left - 8, y + 9, "rest" if token is None else plain(token, 6), "end")
        page.line([(left, y), (left + max(scale * should, 1), y)], "soft", 10)
        page.line([(left, y + 11), (left + max(scale * emitted, 1), y + 11)], "a" if _same(should, emitted) else "b", 10)
        page.text(left + max(scale * should, 1) + 6, y + 4, short(should), size=11)
        page.text(left + max(scale * emitted, 1) + 6, y + 15, short(emitted), colour="ink" if _same(should, emitted) else "b", size=11)
    return page


def _same(should: float, emitted: float) -> bool:
    return abs(should - emitted) <= 1e-9 + 1e-6 * abs(should)


def prefixes(title: str, laws: Sequence[Mapping[str, Any]], telling: str) -> Drawing:
    """How much goes wrong at each prefix: a bar each, that of the ``telling`` one in another colour."""
    left, right, row = 92.0, WIDTH - 62, 22.0
    page = Drawing(WIDTH, 24 + row * len(laws), title)
    page.text(left - 8, 14, "after", "end", colour="ink")
    scale = (right - left) / (max((one["off"] for one in laws), default=0.0) or 1.0)
    for place, one in enumerate(laws):
        y, colour = 32 + row * place, "b" if one["prefix"] == telling else "a"
        page.text(left - 8, y + 4, _ending(one["prefix"]), "end")
        page.line([(left, y), (left + max(scale * one["off"], 1), y)], colour, 12)
        page.text(left + max(scale * one["off"], 1) + 6, y + 4, short(one["off"], 3), size=11)
    return page


def _ending(prefix: str) -> str:
    """The root, or as much of the end of a prefix as fits."""
    said = plain(prefix, 200) or "the root"
    return said if len(said) <= 12 else "…" + said[-11:]


def tree(title: str, exits: Sequence[Exit]) -> Drawing:
    """The draft tree, one node a line, and how much of the target leaves it there: because no sibling covers it, or because the tree ends."""
    shown = exits[:MOST_ROWS]
    depth = max((len(one.path) for one in shown), default=0)
    step, row, top = min(20.0, 84 / max(depth, 1)), 22.0, 44.0
    bars, most = 128.0, 128.0
    page = Drawing(WIDTH, top + row * (len(shown) + (len(exits) > len(shown))) + 4, title)
    page.line([(10, 12), (24, 12)], "b", 9)
    page.text(30, 16, "no draft covers it")
    page.line([(150, 12), (164, 12)], "a", 9)
    page.text(170, 16, "the tree ends")
    scale = most / (max((one.lost for one in exits), default=0.0) or 1.0)
    spots = {one.path: (10 + step * len(one.path), top + row * place) for place, one in enumerate(shown)}
    for one in shown:
        if one.path:
            (x, y), (above, y_above) = spots[one.path], spots[one.path[:-1]]
            page.line([(above, y_above), (above, y), (x, y)], "soft", 1.5)
    for one in shown:
        x, y = spots[one.path]
        note = f"{'root' if not one.path else ' '.join(map(str, one.path))}: drafted {percent(one.drafted)}, left here {percent(one.lost)}"
        page.dot(x, y, 4.5, "ink", hollow=one.drafted < 1, note=note)
        page.text(x + 9, y + 4, "root" if not one.path else plain(one.path[-1], 6), size=12)
        page.line([(bars, y), (bars + max(scale * one.lost, 1), y)], "a" if one.leaf else "b", 11)
        page.text(bars + max(scale * one.lost, 1) + 6, y + 4, percent(one.lost), size=11)
    if len(exits) > len(shown):
        rest = sum(one.lost for one in exits[MOST_ROWS:])
        page.text(10, top + row * len(shown) + 4, f"and {len(exits) - len(shown)} nodes more, {percent(rest)} in all")
    return page


@dataclass(frozen=True)
class Length:
    """A bar: E[L] of something, what it is held against, and whether it stands out."""

    name: str
    length: float
    ceiling: float | None
    wrong: bool = False


def lengths(title: str, bars: Sequence[Length]) -> Drawing:
    """E[L] from 1 (nothing accepted) up, each with its ceiling as a tick."""
    shown, row = bars[:MOST_ROWS], 36.0
    page = Drawing(WIDTH, 30 + row * len(shown), title)
    page.line([(8, 6), (8, 20)], "ink", 2)
    page.text(16, 16, "the most that a lossless verifier can have", size=11)
    most = max((max(one.length, one.ceiling or 1.0) for one in shown), default=2.0)
    scale = (WIDTH - 70) / max(most - 1, 1e-9)
    for place, one in enumerate(shown):
        y, end = 44 + row * place, 6 + max(scale * (one.length - 1), 1)
        page.text(6, y, plain(one.name, 44), size=11)
        page.line([(6, y + 11), (end, y + 11)], "b" if one.wrong else "a", 12)
        if one.ceiling is not None:
            tick = 6 + max(scale * (one.ceiling - 1), 1)
            page.line([(tick, y + 3), (tick, y + 19)], "ink", 2)
            end = max(end, tick)
        page.text(end + 6, y + 15, short(one.length), size=11)
    return page


def throughput(rates: Sequence[float], greedy: int, best: int) -> Drawing:
    """Tokens per unit of time against draft nodes.  Raises ValueError where there is nothing to draw."""
    points = _thinned([(n, rate) for n, rate in enumerate(rates)], {greedy, best})
    marks = [(best, rates[best], f"best: {best}" if best != greedy else f"best, and greedy: {best}")]
    if greedy != best:
        marks.append((greedy, rates[greedy], f"greedy: {greedy}"))
    page = chart("", [Curve("throughput", points, "a", marks=marks)], "draft nodes", "tokens / time", width=WIDTH, height=250)
    page.title = "Throughput, by size of the draft tree"
    return page


def _thinned(points: Sequence[tuple[float, float]], keep: set[int]) -> list[tuple[float, float]]:
    """At most about MOST_POINTS of them: the ends, those at ``keep``, and the lowest and highest in between."""
    if len(points) <= MOST_POINTS:
        return list(points)
    edges = [round(part * len(points) / (MOST_POINTS // 2)) for part in range(MOST_POINTS // 2 + 1)]
    chosen = {0, len(points) - 1, *keep}
    for start, end in pairwise(edges):
        part = range(start, end)
        chosen |= {min(part, key=lambda n: points[n][1]), max(part, key=lambda n: points[n][1])} if part else set()
    return [points[n] for n in sorted(chosen)]
