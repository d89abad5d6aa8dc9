"""Random calls that ask the script instead of a generator; put in place for one reading and always taken out again."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import scripted
from .scripted import choose_one_of, current, note_seed, rewound, supply
from .uniforms import EXPONENTIAL

Patch = tuple[Any, str, Any]  # owner, name, replacement


@contextmanager
def patched() -> Iterator[bool]:
    """Python's, numpy's and, where it is loaded, torch's random calls are scripted. Yields whether torch's are."""
    from .patched_numpy import numpy_patches

    patches = [*python_patches(), *numpy_patches()]
    with_torch = "torch" in sys.modules
    if with_torch:
        from .patched_torch import torch_patches

        patches += torch_patches()
    undo: list[tuple[Any, str, bool, Any]] = []
    try:
        for owner, name, replacement in patches:
            undo.append((owner, name, name in vars(owner), getattr(owner, name)))
            setattr(owner, name, replacement)
        yield with_torch
    finally:
        for owner, name, own, original in reversed(undo):
            if own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)


_real_urandom = os.urandom


def _urandom(size: int) -> bytes:
    """Bytes of the operating system cannot be scripted, and a rare use of them would go unseen."""
    return _real_urandom(size) if scripted.active is None else current().refuse("draws from os.urandom, which is not scripted")


def python_patches() -> list[Patch]:
    """What `random` builds on: choices, randrange, sample, shuffle and the rest follow."""
    patches: list[Patch] = [
        (random, "random", supply.next),
        (random, "getrandbits", lambda bits: choose_one_of(1 << bits)),
        (random, "expovariate", lambda lambd=1.0: current().draw(EXPONENTIAL) / lambd),
        (random, "seed", lambda a=None, version=2: note_seed("random.seed", a)),
        (random, "setstate", lambda state: rewound()),
        (os, "urandom", _urandom),
    ]
    for owner in (random.Random, random.SystemRandom):
        patches += [
            (owner, "random", supply.next),  # which takes no self
            (owner, "getrandbits", lambda self, bits: choose_one_of(1 << bits)),
            (owner, "expovariate", lambda self, lambd=1.0: current().draw(EXPONENTIAL) / lambd),
            (owner, "_randbelow", lambda self, count: choose_one_of(count)),
            (owner, "seed", lambda self, a=None, version=2: note_seed("random.Random", a)),
            (owner, "setstate", lambda self, state: rewound()),
        ]
    return patches
