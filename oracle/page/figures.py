"""How numbers are written on the page."""

from math import isfinite


def short(value: float | None, digits: int = 4) -> str:
    """A few digits; "–" for none."""
    if value is None:
        return "–"
    return f"{value:.{digits}g}" if isfinite(value) else "not a number" if value != value else "infinite"


def percent(share: float | None) -> str:
    """With at most two decimals, and never 100 % or 0 % for what is only near them."""
    if share is None:
        return "–"
    said = f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"
    if (said == "100%" and share < 1 - 1e-9) or (said == "0%" and share > 0):
        return "almost 100%" if share > 0.5 else "<0.01%"
    return said


def counted(number: int, noun: str) -> str:
    """1 subject, 2 subjects."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
