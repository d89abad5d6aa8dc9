"""The league as a picture: one bar a verifier, grouped by drafting scheme, with the ceiling drawn across."""

from collections.abc import Sequence
from itertools import groupby

from .drawing import Drawing
from .league import Mean

LEFT, RIGHT, ROW, BAR = 190.0, 90.0, 20.0, 12.0
WIDTH = 760.0


def draw(means: Sequence[Mean]) -> Drawing:
    """Mean E[L] from 1 (nothing accepted) up; rules that are not lossless are marked."""
    groups = [(scheme, list(rows)) for scheme, rows in groupby(means, key=lambda mean: mean.scheme)]
    page = Drawing(WIDTH, 30 + sum(34 + ROW * len(rows) for _, rows in groups), "Mean block length by verifier and drafting scheme")
    most = max((float(max(mean.length, mean.ceiling)) for mean in means), default=2.0)
    scale = (WIDTH - LEFT - RIGHT) / max(most - 1, 1e-9)

    def across(length: float) -> float:
        return LEFT + (length - 1) * scale

    y = 20.0
    page.text(12, y, "Expected tokens per block, bonus included; the line is the ceiling of lossless verifiers", size=13)
    for scheme, rows in groups:
        y += 28
        page.text(12, y, scheme.replace("_", " "), size=13)
        top = y + 6
        for mean in rows:
            y += ROW
            length = float(mean.length)
            page.text(LEFT - 8, y, mean.verifier, anchor="end")
            page.line([(LEFT, y - 4), (max(across(length), LEFT + 1), y - 4)], colour="a" if mean.lossless else "b", width=BAR)
            page.text(across(length) + 6, y, f"{length:.4f}" + ("" if mean.lossless else " not lossless"), halo=True)
        ceiling = across(float(rows[0].ceiling))
        page.line([(ceiling, top), (ceiling, y + 4)], dashed=True)
        y += 6
    return page
