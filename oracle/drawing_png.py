"""Drawings as PNG, on a light page, by Pillow: the extra ``plot``."""

from io import BytesIO
from math import hypot
from typing import Any

from .drawing import COLOURS, Dot, Drawing, DrawingError, Group, Line, Shape, Text

SCALE = 2
"""Pixels of the picture to one of the drawing: sharp on fine screens."""

LARGEST = 1 << 14
"""Pixels of the picture, either way."""

ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def png(drawing: Drawing) -> bytes:
    """The bytes of the file.  Raises DrawingError when Pillow is not installed, or the picture would be too large."""
    try:
        from PIL import Image
    except ImportError:
        raise DrawingError("PNG needs pillow (pip install 'draftproof[plot]'); SVG needs nothing") from None
    size = round(drawing.width * SCALE), round(drawing.height * SCALE)
    if max(size) > LARGEST:
        raise DrawingError(f"{size[0]} x {size[1]} pixels are too many for PNG; make it SVG")
    picture, held = Image.new("RGB", size, COLOURS["page"]), BytesIO()
    for shape in drawing.shapes:
        _draw(picture, shape, 0, 0)
    picture.save(held, "png", optimize=True)
    return held.getvalue()


def _draw(picture: Any, shape: Shape, x: float, y: float) -> None:
    """One shape, moved by (x, y)."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(picture)
    if isinstance(shape, Group):
        for one in shape.shapes:
            _draw(picture, one, x + shape.x, y + shape.y)
    elif isinstance(shape, Line):
        points = [(SCALE * (x + across), SCALE * (y + down)) for across, down in shape.points]
        for start, end in zip(points, points[1:], strict=False):
            for piece in _dashes(start, end) if shape.dashed else [(start, end)]:
                pen.line(piece, COLOURS[shape.colour], max(round(SCALE * shape.width), 1))
    elif isinstance(shape, Dot):
        left, top, radius = SCALE * (x + shape.x), SCALE * (y + shape.y), SCALE * shape.radius
        fill = COLOURS["page" if shape.hollow else shape.colour]
        pen.ellipse((left - radius, top - radius, left + radius, top + radius), fill, COLOURS[shape.colour], SCALE)
    else:
        _write(picture, shape, SCALE * (x + shape.x), SCALE * (y + shape.y))


def _dashes(start: tuple[float, float], end: tuple[float, float], on: float = 4.0 * SCALE, off: float = 3.0 * SCALE) -> list[Any]:
    length = hypot(end[0] - start[0], end[1] - start[1])
    pieces, along = [], 0.0
    while along < length:
        shares = along / length, min(along + on, length) / length
        pieces.append([tuple(a + share * (b - a) for a, b in zip(start, end, strict=True)) for share in shares])
        along += on + off
    return pieces


def _write(picture: Any, text: Text, x: float, y: float) -> None:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(SCALE * text.size)
    look: dict[str, Any] = {"fill": COLOURS[text.colour], "font": font, "anchor": ANCHORS[text.anchor]}
    if text.halo:
        look |= {"stroke_width": 2 * SCALE, "stroke_fill": COLOURS["page"]}
    if not text.turn:
        ImageDraw.Draw(picture).text((x, y), text.words, **look)
        return
    reach = round(font.getlength(text.words)) + SCALE * text.size  # on a square of its own, turned about the middle
    square = Image.new("L", (2 * reach, 2 * reach))
    ImageDraw.Draw(square).text((reach, reach), text.words, fill=255, font=font, anchor=ANCHORS[text.anchor])
    picture.paste(COLOURS[text.colour], (round(x) - reach, round(y) - reach), square.rotate(-text.turn))
