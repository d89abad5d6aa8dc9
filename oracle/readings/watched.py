"""Generators that are not scripted must stay untouched: their states are set, and compared after the runs.

These are the global generators of Python, numpy and torch, and those that the program holds. All get their own state
back.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    """One generator: how to read its state and set it, the two states that it is to have, and what can be read in its place."""

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], object]
    states: tuple[Any, Any]
    instead: str = "take `generator`"


def _through(call: str) -> str:
    """A name that was imported out of a module before is not scripted."""
    return f"call {call} through its module, or take `generator`"


@cache
def _python() -> Source:
    states = random.Random(1).getstate(), random.Random(2).getstate()
    return Source("the global generator of Python", partial(_getstate, _PYTHON), partial(_setstate, _PYTHON), states, _through("random.random()"))


@cache
def _numpy() -> Source:
    states = np.random.RandomState(1).get_state(), np.random.RandomState(2).get_state()
    return Source("the global generator of numpy", _NUMPY.get_state, _NUMPY.set_state, states, _through("numpy.random.random()"))


@cache
def _torch_states(device: str) -> tuple[Any, Any]:
    import torch

    one, two = (torch.Generator(device).manual_seed(seed).get_state() for seed in (1, 2))
    return one, two


def _torch(name: str, generator: Any, instead: str = Source.instead) -> Source:
    kind: Any = sys.modules["torch"].Generator  # ours refuses to be set
    get, set_ = partial(kind.get_state, generator), partial(kind.set_state, generator)
    return Source(name, get, set_, _torch_states(str(generator.device)), instead)


def _held(generator: Any) -> Source:
    name = f"a {type(generator).__name__} that the program holds"
    if isinstance(generator, np.random.RandomState):
        return Source(name, generator.get_state, generator.set_state, 2 * (generator.get_state(),))
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        return Source(name, lambda: bits.state, partial(setattr, bits, "state"), 2 * (bits.state,))
    return _torch(name, generator)


def _sources(program: object) -> list[Source]:
    sources, known = [_python(), _numpy()], [_NUMPY]
    torch = sys.modules.get("torch")
    if torch is not None:
        defaults = [torch.default_generator, *(torch.cuda.default_generators if torch.cuda.is_initialized() else ())]
        sources += [_torch(f"the global generator of torch {generator.device}", generator, _through("torch.rand()")) for generator in defaults]
        known += defaults
    return sources + [_held(each) for each in held_generators(program) if not any(each is other for other in known)]


def _plain(state: Any) -> Any:
    """A state as something that compares."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return state.tobytes()
    if isinstance(state, tuple) and len(state) < 10:
        return tuple(map(_plain, state))
    return state.numpy().tobytes() if hasattr(state, "numpy") else state


class Watch:
    """Generators that must stay untouched while programs that hold the same objects are run, one after another."""

    def __init__(self, program: Callable[[], object]) -> None:
        self._program, self._sources = program, list[Source]()

    def meet(self, program: Callable[[], object]) -> bool:
        """Calls the program once as it is, so that what it imports and sets up at its first call has been done.  Whether it came back."""
        try:
            program()
            return True
        except Exception:
            return False
        finally:
            if not self._sources:  # the search takes longer than many a program
                self._sources = _sources(self._program)
                self._expected = [[_plain(source.states[which]) for source in self._sources] for which in (0, 1)]

    @contextmanager
    def under(self, which: int) -> Iterator[None]:
        """Run under the first or the second state; Refused if a generator was drawn from or seeded."""
        for source in self._sources:
            source.set(source.states[which])
        yield
        for source, expected in zip(self._sources, self._expected[which], strict=True):
            if _plain(source.get()) != expected:
                raise Refused(f"randomness that is not controlled: {source.name} was used or seeded; {source.instead}")

    def check(self) -> None:
        """Refused if the program has come by another generator since it was first called: nobody watched that."""
        if self._sources and len(_sources(self._program)) > len(self._sources):
            raise Refused("randomness that is not controlled: the program came to hold a generator while it was read")


@contextmanager
def watched(program: Callable[[], object]) -> Iterator[Watch]:
    """For ``program`` and others that hold the same objects.  Refused at the end as ``Watch.check`` says."""
    states = [(source, source.get()) for source in _sources(program)]
    try:
        watch = Watch(program)
        yield watch
        watch.check()
    finally:
        for source, state in states:
            source.set(state)
