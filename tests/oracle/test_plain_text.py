"""Text from outside: nothing that cannot be seen, nothing that turns lines around, nothing endless."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.oracle.plain_text import MOST_MARKS, plain


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("engine.py:verify", "engine.py:verify"),
        ("a\0b\x1b[31m\x7f", "a\\x00b\\x1b[31m\\x7f"),
        ("two\nlines\r\n", "two\\x0alines\\x0d\\x0a"),
        ("\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        ("zero\u200bwidth\ufeff\u00ad", "zero\\u200bwidth\\ufeff\\xad"),
        ("\ud800", "\\ud800"),
        ("\U000e0041 tag, \ue000 private, \uffff none", "\\U000e0041 tag, \\ue000 private, \\uffff none"),
        ("a\u00a0b\u2028c", "a\\xa0b\\u2028c"),
        ("Größe, 令牌, اسم, n\u0303, 🙂, ≤", "Größe, 令牌, اسم, n\u0303, 🙂, ≤"),
        (3, "3"),
        (None, "None"),
    ],
)
def test_what_is_shown(given: object, shown: str) -> None:
    assert plain(given) == shown


def test_lengths_and_what_is_kept() -> None:
    assert plain("x" * 1_000_000, 10) == "xxxxxxxxxx… (1,000,000 characters)"
    assert plain("a\n\tb\0", keep="\n\t") == "a\n\tb\\x00"
    assert plain("Z" + "\u0301" * 9).count("\u0301") == MOST_MARKS


@given(st.text(st.characters(codec=None), max_size=50))
def test_any_text_is_printable_and_can_be_encoded(text: str) -> None:
    shown = plain(text)
    shown.encode()
    assert all(unicodedata.category(letter)[0] in "LMNPSZ" for letter in shown) and plain(shown) == shown
