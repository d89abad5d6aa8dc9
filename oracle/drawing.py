"""Small drawings: a chart of curves and a tree.  As SVG text they stand alone, are readable on light and dark pages, and need no library."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, log10
from typing import Any

COLOURS = {"ink": "#1f2328", "soft": "#818b98", "faint": "#d0d7de", "page": "#ffffff", "a": "#0969da", "b": "#bc4c00", "c": "#1a7f37"}
DARK = {"ink": "#e6edf3", "soft": "#7d8590", "faint": "#30363d", "page": "#0d1117", "a": "#58a6ff", "b": "#f0883e", "c": "#3fb950"}
"""Names of colours, on a light page and on a dark one."""


class DrawingError(Exception):
    """A drawing that cannot be made, and why."""


@dataclass(frozen=True)
class Text:
    """Words from (x, y) on the baseline; ``anchor``: start, middle or end; ``turn``: degrees, clockwise; ``halo``: the page's colour around them."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    colour: str = "ink"
    size: int = 12
    turn: int = 0
    halo: bool = False


@dataclass(frozen=True)
class Line:
    """Straight pieces from point to point."""

    points: tuple[tuple[float, float], ...]
    colour: str = "ink"
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class Dot:
    """A disc, or a circle filled with the page's colour; ``note`` shows when pointed at."""

    x: float
    y: float
    radius: float = 3.0
    colour: str = "a"
    hollow: bool = False
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Shapes moved by (x, y)."""

    x: float
    y: float
    shapes: "Sequence[Shape]"


Shape = Text | Line | Dot | Group


@dataclass
class Drawing:
    """Shapes on a page of ``width`` by ``height`` pixels, later ones on top; y grows downwards.  ``title`` is what a screen reader says."""

    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, anchor: str = "start", **more: Any) -> None:
        self.shapes.append(Text(x, y, words, anchor, **more))

    def line(self, points: Iterable[tuple[float, float]], colour: str = "ink", width: float = 1.0, dashed: bool = False) -> None:
        self.shapes.append(Line(tuple(points), colour, width, dashed))

    def dot(self, x: float, y: float, radius: float = 3.0, colour: str = "a", **more: Any) -> None:
        self.shapes.append(Dot(x, y, radius, colour, **more))

    def place(self, other: "Drawing", x: float, y: float) -> None:
        """Another drawing, its upper left corner at (x, y)."""
        self.shapes.append(Group(x, y, other.shapes))

    def svg(self) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" role="img">'
        page = f'<rect width="{self.width:g}" height="{self.height:g}" {_paint(fill="page")}/>'
        return "\n".join([head, f"<title>{escape(self.title)}</title><style>{_style()}</style>", page, *map(_svg, self.shapes), "</svg>\n"])

    def inline(self, name: str, description: str) -> str:
        """As a part of a page of HTML, which styles the classes itself; ``name`` is its id there, ``description`` what a screen reader says next."""
        ids = f'id="{name}" aria-labelledby="{name}-title" aria-describedby="{name}-desc"'
        head = f'<svg {ids} role="img" viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}">'
        said = f'<title id="{name}-title">{escape(self.title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        return "".join([head, said, *map(_svg, self.shapes), "</svg>"])


def rendered(drawing: Drawing, suffix: str) -> bytes:
    """The drawing as a file of this suffix, .svg or .png.  Raises DrawingError for any other, and where what .png needs is not installed."""
    if suffix.lower() == ".svg":
        return drawing.svg().encode()
    if suffix.lower() == ".png":
        from .drawing_png import png

        return png(drawing)
    raise DrawingError("give a file name that ends in .svg or .png")


def _svg(shape: Shape) -> str:
    if isinstance(shape, Group):
        return f'<g transform="translate({shape.x:.1f} {shape.y:.1f})">{"".join(map(_svg, shape.shapes))}</g>'
    if isinstance(shape, Line):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        dash = ' stroke-dasharray="4 3"' if shape.dashed else ""
        return f'<polyline points="{path}" fill="none" stroke-width="{shape.width:g}" {_paint(stroke=shape.colour)}{dash}/>'
    if isinstance(shape, Dot):
        paint = _paint(fill="page" if shape.hollow else shape.colour, stroke=shape.colour)
        inside = f"<title>{escape(shape.note)}</title>" if shape.note else ""
        return f'<circle cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}" {paint}>{inside}</circle>'
    turned = f' transform="rotate({shape.turn} {shape.x:.1f} {shape.y:.1f})"' if shape.turn else ""
    place = f'x="{shape.x:.1f}" y="{shape.y:.1f}" text-anchor="{shape.anchor}" font-size="{shape.size}"'
    words = f"<text {place} {_paint(fill=shape.colour)}{turned}>{escape(shape.words)}</text>"
    if not shape.halo:  # else the same words in the page's colour behind, so that lines do not cross them
        return words
    behind = f'stroke-width="4" {_paint(fill="page", stroke="page")}'
    return f'<text {place} {behind}{turned} aria-hidden="true">{escape(shape.words)}</text>{words}'


def stacked(title: str, drawings: Sequence[Drawing]) -> Drawing:
    """One drawing, the given ones below each other."""
    page = Drawing(max(one.width for one in drawings), sum(one.height for one in drawings), title)
    below = 0.0
    for one in drawings:
        page.place(one, 0, below)
        below += one.height
    return page


@dataclass(frozen=True)
class Curve:
    """A named line through (x, y); ``marks`` are points to stress, each with a word; ``bars`` are intervals (x, low, high).

    Gaps are not supported: leave NaN out.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: str = "a"
    dashed: bool = False
    marks: Sequence[tuple[float, float, str]] = ()
    bars: Sequence[tuple[float, float, float]] = ()


def chart(title: str, curves: Sequence[Curve], across: str, up: str, width: float = 640, height: float = 320) -> Drawing:
    """Curves over common axes.  Raises ValueError when there is no point to draw."""
    points = [point for curve in curves for point in curve.points]
    points += [(x, y) for curve in curves for x, *ends in curve.bars for y in ends]
    if not points:
        raise ValueError("nothing to draw")
    left, right, top, bottom = 64.0, width - 24, 46.0, height - 44
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    rows = ticks(min(y for _, y in points), max(y for _, y in points))
    low_y, high_y = rows[0], rows[-1]

    def at(x: float, y: float) -> tuple[float, float]:
        along = (x - low_x) / (high_x - low_x) if high_x > low_x else 0.5
        return left + along * (right - left), bottom - (y - low_y) / (high_y - low_y) * (bottom - top)

    page = Drawing(width, height, title)
    page.text(left, 20, title, size=14)
    for y in rows:
        page.line([at(low_x, y), at(high_x, y)] if high_x > low_x else [(left, at(0, y)[1]), (right, at(0, y)[1])], "faint")
        page.text(left - 8, at(low_x, y)[1] + 4, f"{y:g}", "end")
    for x in ticks(low_x, high_x):
        if low_x <= x <= high_x:
            page.text(at(x, low_y)[0], bottom + 18, f"{x:g}", "middle")
    page.text((left + right) / 2, height - 8, across, "middle")
    page.text(16, (top + bottom) / 2, up, "middle", turn=-90)
    legend = right
    for curve in reversed(curves):
        legend -= 7 * len(curve.name) + 30
        page.line([(legend, 16), (legend + 18, 16)], curve.colour, 2, curve.dashed)
        page.text(legend + 22, 20, curve.name)
    for curve in curves:
        if len(curve.points) > 1:
            page.line([at(*point) for point in curve.points], curve.colour, 2, curve.dashed)
        for x, low, high in curve.bars:
            page.line([at(x, low), at(x, high)], curve.colour, 1.5)
        if len(curve.points) <= 40:
            for point in curve.points:
                page.dot(*at(*point), 2.5, curve.colour, note=f"{curve.name}: {point[1]:.6g} at {point[0]:g}")
    marks = [(at(x, y), one.colour, word, f"{word}: {y:.6g} at {x:g}") for one in curves for x, y, word in one.marks]
    above = min((y for (_, y), *_ in marks), default=top) - 9
    for place, ((x, y), colour, word, note) in enumerate(marks):  # last, on top of every line; the words one above the other
        on_right = x > (left + right) / 2
        page.line([(x, y), (x, above - 15 * place)], colour, dashed=True)
        page.text(x + (-6 if on_right else 6), above - 15 * place + 2, word, "end" if on_right else "start", halo=True)
        page.dot(x, y, 5, colour, hollow=True, note=note)
    return page


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers that span [low, high]."""
    if high <= low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = floor(low / step), -floor(-high / step)
    return [round(step * index, 12) for index in range(first, last + 1)]


@dataclass(frozen=True)
class TreeNode:
    """A node of a drawn tree: the index of its parent (None at the root), what is written in it, its colour, and a longer note."""

    parent: int | None
    label: str
    colour: str = "a"
    note: str = ""


def tree(title: str, nodes: Sequence[TreeNode], least_width: float = 640, rise: float = 54) -> Drawing:
    """A tree, root on top, siblings in the order given; a parent stands before its children in ``nodes``."""
    children: list[list[int]] = [[] for _ in nodes]
    depth = [0] * len(nodes)
    for index, node in enumerate(nodes):
        if node.parent is not None:
            children[node.parent].append(index)
            depth[index] = depth[node.parent] + 1
    across = [0.0] * len(nodes)
    leaves = 0
    for index in _leaves_first(children):
        if children[index]:
            across[index] = (across[children[index][0]] + across[children[index][-1]]) / 2
        else:
            across[index] = leaves
            leaves += 1
    radius = max(12.0, 5 + 3.4 * max(len(node.label) for node in nodes))
    spread = 2 * radius + 10
    width = max(least_width, 48 + spread * leaves)
    indent = (width - spread * (leaves - 1)) / 2
    page = Drawing(width, 56 + radius + rise * max(depth) + 24, title)
    page.text(24, 20, title, size=14)
    spots = [(indent + spread * across[index], 44 + radius + rise * depth[index]) for index in range(len(nodes))]
    for index, node in enumerate(nodes):
        if node.parent is not None:
            page.line([spots[node.parent], spots[index]], "faint", 1.5)
    for index, node in enumerate(nodes):
        page.dot(*spots[index], radius, node.colour, hollow=True, note=node.note)
        page.text(spots[index][0], spots[index][1] + 4, node.label, "middle", size=11)
    return page


def _leaves_first(children: Sequence[Sequence[int]]) -> list[int]:
    """Every node after its descendants, elder siblings first; without recursion, since chains may be long."""
    order, waiting = list[int](), [0]
    while waiting:
        node = waiting.pop()
        order.append(node)  # parents before children, youngest sibling first: the reverse of what is wanted
        waiting += children[node]
    return order[::-1]


def _paint(**colours: str) -> str:
    """Attributes for renderers without style sheets, and the classes that let a dark page override them."""
    classes = " ".join(f"{attribute}-{colour}" for attribute, colour in colours.items())
    return " ".join([f'class="{classes}"', *(f'{attribute}="{COLOURS[colour]}"' for attribute, colour in colours.items())])


def _style() -> str:
    dark = "".join(f".{attribute}-{colour}{{{attribute}:{value}}}" for attribute in ("fill", "stroke") for colour, value in DARK.items())
    return f"svg{{font:12px system-ui,sans-serif}}@media(prefers-color-scheme:dark){{{dark}}}"
