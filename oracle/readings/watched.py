"""Generators that are not scripted must stay untouched: their states are set, and compared after the runs.

The global generators of Python, numpy and torch get a state of ours and their own back at the end. numpy generators that
the program holds (found through its closure, globals and attributes) are left as they are, and only compared.
"""

from __future__ import annotations

import _random
import gc
import random
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .refused import Refused

_GLOBAL: _random.Random = random._inst  # type: ignore[attr-defined]
_LEGACY = np.random.mtrand._rand  # type: ignore[attr-defined]
_KINDS = (np.random.Generator, np.random.RandomState)
MOST_OBJECTS = 20_000


@dataclass(frozen=True)
class Source:
    """One global generator: its name, how to read its state and how to set it."""

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], None]
    seeded: Callable[[int], Any]  # a state, made from a number


def _numpy_state(seed: int) -> Any:
    return _KINDS[1](seed).get_state()


def _sources() -> list[Source]:
    python = Source(
        "Python",
        lambda: _random.Random.getstate(_GLOBAL),
        lambda state: _random.Random.setstate(_GLOBAL, state),
        lambda seed: _random.Random(seed).getstate(),
    )
    sources = [python, Source("numpy", _LEGACY.get_state, _LEGACY.set_state, _numpy_state)]
    torch = sys.modules.get("torch")
    if torch is not None:
        default, generator = torch.default_generator, torch.Generator
        seeded = lambda seed: generator().manual_seed(seed).get_state()  # noqa: E731
        sources.append(Source("torch", default.get_state, default.set_state, seeded))
        if torch.cuda.is_initialized():
            for device, cuda in enumerate(torch.cuda.default_generators):
                seeded = lambda seed, device=device: generator(f"cuda:{device}").manual_seed(seed).get_state()  # noqa: E731
                sources.append(Source(f"torch cuda:{device}", cuda.get_state, cuda.set_state, seeded))
    return sources


def _plain(state: Any) -> Any:
    """A state as something that compares."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    if isinstance(state, tuple):
        return tuple(map(_plain, state))
    if isinstance(state, np.ndarray):
        return state.tobytes()
    return state.cpu().numpy().tobytes() if hasattr(state, "cpu") else state


def held_generators(program: object) -> list[Any]:
    """numpy generators that can be reached from the program; the search stops after MOST_OBJECTS objects."""
    found, seen, layer = [], {id(program)}, [program]
    while layer and len(seen) < MOST_OBJECTS:
        following = []
        for value in gc.get_referents(*layer):
            if id(value) in seen or isinstance(value, (types.ModuleType, type, types.CodeType)):
                continue
            seen.add(id(value))
            if isinstance(value, _KINDS):
                found.append(value)
            elif gc.is_tracked(value):
                following.append(value)
        layer = following
    return [generator for generator in found if generator is not _LEGACY]


def _held_state(generator: Any) -> Any:
    return generator.get_state() if isinstance(generator, _KINDS[1]) else generator.bit_generator.state


class Watch:
    """The sources, and the states that they should be in."""

    def __init__(self, program: object) -> None:
        self.sources = _sources()
        self.states = [[source.seeded(seed) for source in self.sources] for seed in (1, 2)]
        self.expected = [[_plain(state) for state in states] for states in self.states]
        self.held = [(generator, _plain(_held_state(generator))) for generator in held_generators(program)]

    @contextmanager
    def under(self, which: int) -> Iterator[None]:
        """Run under the first or the second state; Refused if one was drawn from or set."""
        for source, state in zip(self.sources, self.states[which], strict=True):
            source.set(state)
        yield
        for source, state in zip(self.sources, self.expected[which], strict=True):
            if _plain(source.get()) != state:
                raise Refused(f"randomness that is not controlled: the program uses the global {source.name} generator")
        for generator, state in self.held:
            if _plain(_held_state(generator)) != state:
                raise Refused(f"randomness that is not controlled: the program draws from a {type(generator).__name__} it holds")


@contextmanager
def watched(program: object) -> Iterator[Watch]:
    """Puts the global generators back as they were."""
    watch = Watch(program)
    states = [source.get() for source in watch.sources]
    try:
        yield watch
    finally:
        for source, state in zip(watch.sources, states, strict=True):
            source.set(state)
