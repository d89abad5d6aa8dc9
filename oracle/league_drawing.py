"""The league as a picture: one bar a verifier, grouped by drafting scheme, with the ceiling drawn across."""

from collections.abc import Sequence
from itertools import groupby

from draftproof.reference.verifiers import FAMILIES

from .drawing import Drawing
from .league import Mean, shortened

LEFT, RIGHT, ROW, BAR = 200.0, 210.0, 20.0, 12.0
WIDTH = 820.0


def draw(means: Sequence[Mean]) -> Drawing:
    """Mean E[L] from 1 (nothing accepted) up, with its share of the ceiling if known; subjects, and rules that are not lossless, stand out."""
    groups = [(scheme, list(rows)) for scheme, rows in groupby(means, key=lambda mean: mean.scheme)]
    page = Drawing(WIDTH, 30 + sum(34 + ROW * len(rows) for _, rows in groups), "Mean block length by verifier and drafting scheme")
    most = max((float(max(mean.length, mean.ceiling or 1)) for mean in means), default=2.0)
    scale = (WIDTH - LEFT - RIGHT) / max(most - 1, 1e-9)

    def across(length: float) -> float:
        return LEFT + (length - 1) * scale

    y = 20.0
    page.text(12, y, "Mean block length, bars from 1 (nothing accepted); dashed: the ceiling of lossless verifiers", size=13)
    page.text(WIDTH - RIGHT + 50, y, "of ceiling")
    for scheme, rows in groups:
        y += 28
        page.text(12, y, f"{scheme.replace('_', ' ')} drafting", size=13)
        top = y + 6
        for mean in rows:
            y += ROW
            colour = "b" if mean.lossless is False else "a" if mean.verifier in FAMILIES else "c"
            page.text(LEFT - 8, y, shortened(mean.verifier), anchor="end", colour="ink" if mean.verifier in FAMILIES else colour)
            page.line([(LEFT, y - 4), (max(across(float(mean.length)), LEFT + 1), y - 4)], colour=colour, width=BAR)
            page.text(WIDTH - RIGHT + 8, y, f"{float(mean.length):.4f}")
            said = {True: "", False: "  not lossless", None: "  undecided"}[mean.lossless]
            page.text(WIDTH - RIGHT + 62, y, (f"{float(mean.length / mean.ceiling):.1%}" if mean.ceiling else "?") + said)
        if rows[0].ceiling:
            ceiling = across(float(rows[0].ceiling))
            page.line([(ceiling, top), (ceiling, y + 4)], dashed=True)
        y += 6
    return page
