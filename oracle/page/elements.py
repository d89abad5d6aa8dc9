"""HTML from Python functions: a tag is a call, and whatever is not an ``Html`` already is escaped."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from ..plain_text import plain


class Html(str):
    """Text that is markup and goes into the page as it stands."""

    __slots__ = ()


Child: TypeAlias = "Html | str | int | float | None | Iterable[Child]"

EMPTY = frozenset(("meta", "link", "input", "br"))


def text(value: object, most: int = 2000, keep: str = "") -> Html:
    """Escaped, and without what cannot be seen."""
    return Html(escape(plain(value, most, keep)))


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """``<name ...>children</name>``.  Attributes: ``class_`` for class, ``aria_label`` for aria-label; True is bare, None and False are left out."""
    opened = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return Html(f"<{name}{opened}>" if name in EMPTY else f"<{name}{opened}>{joined(children)}</{name}>")


def joined(children: Child) -> Html:
    """Children one after the other."""
    if children is None:
        return Html()
    if isinstance(children, Html):
        return children
    if isinstance(children, str | int | float):
        return text(children)
    return Html("".join(map(joined, children)))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    return f" {key}" if value is True else f' {key}="{text(value)}"'


def table(caption: Child, heads: Iterable[Child], rows: Iterable[Iterable[Child]], **attributes: object) -> Html:
    """A table whose rows begin with their name, in a box that scrolls sideways by itself, keyboard included."""
    head = tag("thead", tag("tr", *(tag("th", one, scope="col") for one in heads)))
    body = tag("tbody", *(tag("tr", _row(row)) for row in rows))
    return scrolled(tag("table", tag("caption", caption), head, body, **attributes), "table")


def _row(row: Iterable[Child]) -> Iterable[Html]:
    first, *others = row
    return [tag("th", first, scope="row"), *(tag("td", one) for one in others)]


def scrolled(content: Html, label: str) -> Html:
    """A box that scrolls sideways where the screen is narrower than ``content``."""
    return tag("div", content, class_="scroll", role="group", aria_label=label)


def details(summary: Child, *content: Child, **attributes: object) -> Html:
    """A part that is closed at first."""
    return tag("details", tag("summary", summary), *content, **attributes)


def code(content: str, what: str) -> Html:
    """A block of code, and a button that copies it (which the script makes work, and shows)."""
    box = tag("pre", tag("code", text(content, 40_000, keep="\n\t")), tabindex="0", role="group", aria_label=what)
    return tag("div", box, tag("button", "Copy", type="button", class_="copy", hidden=True, aria_label=f"Copy {what}"), class_="code")


def described(terms: Iterable[tuple[Child, Child]], **attributes: object) -> Html:
    """Terms and what is said of each; those with nothing to say are left out."""
    return tag("dl", *(tag("div", tag("dt", term), tag("dd", said)) for term, said in terms if said), **attributes)
