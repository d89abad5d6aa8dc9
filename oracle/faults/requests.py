"""Generators whose every output has the target's law, and that are wrong as a server's requests are: not to be repeated, or not independent.

They are caught by the verdict *invariance*; ``REQUEST_FAULTS`` says by which part of it.
"""

import random
from collections.abc import Callable
from copy import deepcopy
from itertools import count

import numpy as np

from ..engine import Engine
from ..generators import Generator

Uniform = Callable[[], float]


def by_uniforms(engine: Engine, uniform: Uniform) -> list[int]:
    """The right answer, token by token."""
    emitted, root = list[int](), engine.prompt[-1]
    while len(emitted) < engine.length and (not emitted or emitted[-1] != engine.eos):
        row = engine.target([root], [0])[0]
        engine.keep([0])
        root = int(np.searchsorted(np.cumsum(row)[:-1], uniform(), side="right"))
        emitted.append(root)
    return emitted


def _offset_kept(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Adds an offset that it counts on from request to request to the numbers of the request's seed."""
    shift = 0.37 * next(REQUESTS)  # fault: 0
    return by_uniforms(engine, lambda: (generator.random() + shift) % 1.0)


REQUESTS = count()


def _global_noise_mixed_in(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Mixes the global generator, which differs from rank to rank, into the numbers of the request's seed."""
    return by_uniforms(engine, lambda: (generator.random() + np.random.random()) % 1.0)  # fault: the first alone


class _Salted:
    """Adds a salt drawn where the server starts, so that two ranks with one seed emit different tokens."""

    def __init__(self) -> None:
        self.salt = random.random()  # fault: 0.0

    def __deepcopy__(self, memo: object) -> "_Salted":
        other = _Salted()
        other.salt = (self.salt + random.uniform(0.25, 0.75)) % 1.0  # far from this one's, or a short output may not show it
        return other

    def __call__(self, engine: Engine, generator: np.random.Generator) -> list[int]:
        return by_uniforms(engine, lambda: (generator.random() + self.salt) % 1.0)


def _state_not_advanced(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Draws from a copy of the generator it is given, as a captured graph with a frozen offset does: every request is the same."""
    own = deepcopy(generator)  # fault: generator
    return by_uniforms(engine, own.random)


def _noise_mirrored_in_next(engine: Engine) -> list[int]:
    """Uses one minus the numbers of the last request for every second one."""
    if KEPT:
        noise = [1 - 2.0**-53 - u for u in KEPT]  # fault: new numbers
        KEPT.clear()
    else:
        noise = [random.random() for _ in range(engine.length)]
        KEPT.extend(noise)
    return by_uniforms(engine, iter(noise).__next__)


KEPT = list[float]()


def _rows_overwritten(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Adds the row up in place, in the engine's own buffer."""
    emitted, root = list[int](), engine.prompt[-1]
    while len(emitted) < engine.length and (not emitted or emitted[-1] != engine.eos):
        row = engine.target([root], [0])[0]
        engine.keep([0])
        for token in range(1, len(row)):
            row[token] += row[token - 1]  # fault: in a row of its own
        root = int(np.searchsorted(row[:-1], generator.random(), side="right"))
        emitted.append(root)
    return emitted


def _rows_cached(engine: Engine, generator: np.random.Generator) -> list[int]:
    """Keeps what it computed from rows for later requests: state, but none that an answer depends on."""
    emitted, root = list[int](), engine.prompt[-1]
    while len(emitted) < engine.length and (not emitted or emitted[-1] != engine.eos):
        row = tuple(engine.target([root], [0])[0])
        engine.keep([0])
        cdf = CACHE.setdefault(row, np.cumsum(row)[:-1])
        root = int((cdf <= generator.random()).sum())
        emitted.append(root)
    return emitted


CACHE: dict[tuple[float, ...], np.ndarray] = {}


def _given(call: Callable[..., list[int]], name: str) -> Generator:
    return Generator(call, f"{__name__}:{name}", randomness="generator")


offset_kept = _given(_offset_kept, "offset_kept")
global_noise_mixed_in = _given(_global_noise_mixed_in, "global_noise_mixed_in")
salted_by_rank = _given(_Salted(), "salted_by_rank")
state_not_advanced = _given(_state_not_advanced, "state_not_advanced")
noise_mirrored_in_next = Generator(_noise_mirrored_in_next, f"{__name__}:noise_mirrored_in_next")
rows_overwritten = _given(_rows_overwritten, "rows_overwritten")
rows_cached = _given(_rows_cached, "rows_cached")

REQUEST_FAULTS: tuple[tuple[Generator, str], ...] = (
    (offset_kept, "replay"),
    (global_noise_mixed_in, "ranks"),
    (salted_by_rank, "ranks"),
    (state_not_advanced, "new draws"),
    (noise_mirrored_in_next, "independent calls"),
    (rows_overwritten, "rows untouched"),
)
"""Each with the part of the invariance verdict that sees it."""
