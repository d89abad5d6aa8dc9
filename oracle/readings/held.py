"""Generators that a program holds. numpy's cannot be patched, and torch's may be seeded by it, so both are watched."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .patched_numpy import Scripted

MOST_OBJECTS = 3_000
_LIBRARIES = {"builtins", "numpy", "torch"}


def held_generators(program: object) -> list[Any]:
    """Those found from the program through closures, the globals that its code names, attributes and containers.

    The search goes outwards and stops after MOST_OBJECTS objects.
    """
    kinds: tuple[type, ...] = (np.random.Generator, np.random.RandomState)
    if "torch" in sys.modules:
        kinds += (sys.modules["torch"].Generator,)
    found: list[Any] = []
    seen, waiting = {id(program)}, [program]
    for value in waiting:
        for part in _parts(value):
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, kinds) and not isinstance(part, Scripted):
                found.append(part)
            elif gc.is_tracked(part):
                waiting.append(part)
        if len(seen) > MOST_OBJECTS:
            break
    return found


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, types.FunctionType):
        yield from value.__closure__ or ()
        yield from value.__defaults__ or ()
        yield value.__kwdefaults__
        names = set(_names(value.__code__))
        for name in names & value.__globals__.keys():
            named = value.__globals__[name]
            yield named
            if isinstance(named, types.ModuleType) and _library(named.__name__) not in _LIBRARIES:
                yield from (vars(named)[other] for other in names & vars(named).keys())
    elif isinstance(value, type):
        if _library(value.__module__) not in _LIBRARIES and not issubclass(value, Scripted):
            yield from vars(value).values()
    elif not isinstance(value, (types.ModuleType, types.CodeType, types.BuiltinFunctionType)):
        yield from gc.get_referents(value)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _library(module: str) -> str:
    return module.partition(".")[0]
