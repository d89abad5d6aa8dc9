"""An instance as text: what it is for, and its most probable draft tree with the law of every draft and of the target after it."""

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

from draftproof.reference.instances import Instance
from draftproof.reference.laws import Law
from draftproof.reference.models import MissingRow, Prefix
from draftproof.reference.rational import Rational, decimal, fraction
from draftproof.reference.trees import Node, populate

T = TypeVar("T", bound=Hashable)

UNICODE, ASCII = ("├─ ", "└─ ", "│  ", "   "), ("|- ", "`- ", "|  ", "   ")
SHOWN = 8
"""Tokens of a row that are shown."""


class _Likeliest:
    """A chance that takes the most probable outcome, the first of several."""

    def __init__(self) -> None:
        self.probability = Fraction(1)

    def flip(self, probability: Rational, at: Any = None) -> bool:
        return self.draw(Law({True: probability, False: 1 - probability}))

    def draw(self, law: Law[T], at: Any = None) -> T:
        outcome, mass = max(law.items(), key=lambda item: fraction(item[1]))
        self.probability *= fraction(mass)
        return outcome


def drawn(instance: Instance, unicode: bool = True) -> Iterator[str]:
    """Lines of text.  Raises MissingRow where the instance is incomplete."""
    chance = _Likeliest()
    root = populate(instance.topology, instance.scheme, chance)
    kinds = instance.source.get("kinds", [])
    yield instance.name + (f"   kinds {' '.join(kinds)}" if kinds else "")
    if note := instance.source.get("note"):
        yield f"  {note}"
    yield f"  {instance.vocabulary} tokens, {instance.scheme_name.replace('_', ' ')} drafting"
    yield ""
    how = "the draft tree" if chance.probability == 1 else f"draft by draft the most probable (together {_number(chance.probability)})"
    rows = [*_rows(instance, root, "", "", UNICODE if unicode else ASCII)]
    widths = [max(len(row[column]) for row in [*rows, ("draft", "its declared law", "")]) for column in range(2)]
    yield f"{how}; the law that a draft was drawn from, and the target's after it"
    yield ""
    for first, declared, target in [("draft", "its declared law", "target after it"), *rows]:
        yield f"  {first:<{widths[0]}}   {declared:<{widths[1]}}   {target}".rstrip()


def _rows(instance: Instance, node: Node, before: str, below: str, marks: tuple[str, str, str, str]) -> Iterator[tuple[str, str, str]]:
    label = str(node.token) if node.path else "root"
    yield before + label, "" if node.declared is None else _law(node.declared, instance.vocabulary), _target(instance, node.path)
    for place, child in enumerate(node.below):
        last = place == len(node.below) - 1
        yield from _rows(instance, child, below + marks[last], below + marks[2 + last], marks)


def _target(instance: Instance, path: Prefix) -> str:
    try:
        return _law(instance.target(path), instance.vocabulary)
    except MissingRow as missing:
        return str(missing)


def _law(law: Law[int], vocabulary: int) -> str:
    """Probabilities of tokens 0, 1, ..."""
    shown = [_number(fraction(law[token])) for token in range(min(vocabulary, SHOWN))]
    return " ".join(shown) + (" ..." if vocabulary > SHOWN else "")


def _number(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 9 else decimal(value)[:9]
