"""Plain uniforms, the float64 ones of `random.random`, go out in C: from a list that every run fills anew with what it is to draw."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from operator import attrgetter, length_hint
from typing import Any


class Supply:
    """``next()`` takes the next of what was offered, and ``more()`` where that does not suffice; it may raise."""

    def __init__(self, more: Callable[[], list[Any]]) -> None:
        self._more = more
        self._items: list[Any] = []
        self._taking: Any = iter(self._items)
        self._fetching = map(self._fetched, repeat(None))
        # in turn, and without a step in Python: an exception in what comes next would end it for good
        sources = chain.from_iterable(map(attrgetter("_taking", "_fetching"), repeat(self)))
        self.next = chain.from_iterable(sources).__next__

    def offer(self, items: list[Any]) -> None:
        """In place of what there was."""
        self._items[:] = items
        self._taking.__setstate__(0)
        if items and not length_hint(self._taking):  # it came to its end before
            self._taking = iter(self._items)

    def used(self) -> int:
        """How many were taken."""
        return len(self._items) - length_hint(self._taking)

    def left(self) -> int:
        """How many were not."""
        return length_hint(self._taking)

    def _fetched(self, _: None) -> Any:
        if length_hint(self._taking):
            raise StopIteration  # back to what is there
        first, more = len(self._items), self._more()
        self._items += more
        self._taking = iter(self._items)
        self._taking.__setstate__(first + 1)
        return more[0]
