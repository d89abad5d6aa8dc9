"""Text that came from a subject or a file, made safe to look at: what cannot be seen, or turns lines around, stands as its code point."""

import unicodedata

LONGEST = 2000
"""Characters of one text that are shown; a message that needs more is in the JSON."""

INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0")
"""Letters and marks that draw nothing."""

MOST_MARKS = 4
"""Combining marks on top of each other; more reach into other lines."""


def plain(text: object, most: int = LONGEST, keep: str = "") -> str:
    """``str(text)``, at most ``most`` characters of it and a count of the rest.

    Controls, format characters (bidirectional controls and zero widths among them), lone surrogates, unassigned code points and separators other
    than a space are spelled, e.g. ``\\u202e``, but for those in ``keep``, such as a newline.
    """
    whole = str(text)
    shown = whole if len(whole) <= most else whole[:most]
    cut = f"… ({len(whole):,} characters)" if len(whole) > most else ""
    if shown.isascii() and shown.isprintable():
        return shown + cut
    out, marks = list[str](), 0
    for letter in shown:
        marks = marks + 1 if unicodedata.combining(letter) else 0
        out.append(letter if letter in keep or (_visible(letter) and marks <= MOST_MARKS) else spelled(letter))
    return "".join(out) + cut


def _visible(letter: str) -> bool:
    """Letters, marks, numbers, punctuation, symbols and the space."""
    return letter == " " or (unicodedata.category(letter)[0] in "LMNPS" and letter not in INVISIBLE)


def spelled(letter: str) -> str:
    """Its code point as in a Python string."""
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
