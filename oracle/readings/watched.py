"""Generators that are not scripted must stay untouched: their states are set, and compared after the runs.

The global generators of Python, numpy and torch get a state of ours and their own back at the end. numpy generators that
the program holds are left as they are, and only compared.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from .held import held_generators
from .refused import Refused

_PYTHON = random._inst
_getstate, _setstate = random.Random.getstate, random.Random.setstate  # as they are before they are patched
_NUMPY = np.random.mtrand._rand


@dataclass(frozen=True)
class Source:
    """One global generator: how to read its state, set it, and make two states for it; `plain` states can be compared."""

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], object]
    states: tuple[Any, Any]
    plain: Callable[[Any], Any]


@cache
def _python() -> Source:
    states = random.Random(1).getstate(), random.Random(2).getstate()
    return Source("Python", partial(_getstate, _PYTHON), partial(_setstate, _PYTHON), states, tuple)


@cache
def _numpy() -> Source:
    states = np.random.RandomState(1).get_state(), np.random.RandomState(2).get_state()
    return Source("numpy", _NUMPY.get_state, _NUMPY.set_state, states, _plain_numpy)


def _plain_numpy(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _plain_numpy(value) for key, value in state.items()}
    if isinstance(state, tuple):
        return tuple(map(_plain_numpy, state))
    return state.tobytes() if isinstance(state, np.ndarray) else state


@cache
def _torch(device: int | None) -> Source:
    import torch

    name = "cpu" if device is None else f"cuda:{device}"
    generator = torch.default_generator if device is None else torch.cuda.default_generators[device]
    one, two = (torch.Generator(name).manual_seed(seed).get_state() for seed in (1, 2))
    return Source(f"torch {name}", generator.get_state, generator.set_state, (one, two), lambda s: s.numpy().tobytes())


def _sources() -> list[Source]:
    sources = [_python(), _numpy()]
    torch = sys.modules.get("torch")
    if torch is not None:
        sources.append(_torch(None))
        if torch.cuda.is_initialized():
            sources += [_torch(device) for device in range(torch.cuda.device_count())]
    return sources


def _held_state(generator: Any) -> Any:
    state = generator.get_state() if isinstance(generator, np.random.RandomState) else generator.bit_generator.state
    return _plain_numpy(state)


class Watch:
    """The sources, and the states that they should be in."""

    def __init__(self, program: object) -> None:
        self.sources = _sources()
        held = [generator for generator in held_generators(program) if generator is not _NUMPY]
        self.held = [(generator, _held_state(generator)) for generator in held]

    @contextmanager
    def under(self, which: int) -> Iterator[None]:
        """Run under the first or the second state; Refused if a generator was drawn from or set."""
        for source in self.sources:
            source.set(source.states[which])
        yield
        for source in self.sources:
            if source.plain(source.get()) != source.plain(source.states[which]):
                raise Refused(f"randomness that is not controlled: the global generator of {source.name} was used")
        for generator, state in self.held:
            if _held_state(generator) != state:
                kind = type(generator).__name__
                raise Refused(f"randomness that is not controlled: a {kind} that the program holds was used")


@contextmanager
def watched(program: Callable[[], object]) -> Iterator[Watch]:
    """Calls the program once as it is, so that what it imports and sets up at its first call has been done.

    Puts the global generators back as they were.
    """
    states = [(source, source.get()) for source in _sources()]
    try:
        with suppress(Exception):
            program()
        yield Watch(program)
    finally:
        for source, state in states:
            source.set(state)
