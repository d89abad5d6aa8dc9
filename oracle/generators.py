"""Generators: subjects that run many rounds, each drafting, verifying, emitting and carrying its state on.

``f(engine, **randomness) -> tokens``: the tokens emitted after ``engine.prompt``, at most ``engine.length`` of them, ending with the first
``engine.eos``.  ``engine`` is a toy model behind the calls of an engine (see ``engine``); every call is one generation, on an engine of its own.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from .subjects import made


@dataclass(frozen=True)
class Generator:
    """A callable and what its author declares: ``randomness`` is ``internal`` (nothing passed) or ``generator``, of ``framework``."""

    call: Callable[..., Iterable[int]]
    name: str
    randomness: Literal["internal", "generator"] = "internal"
    framework: Literal["numpy", "torch"] = "numpy"


def generator(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare a generator; ``draftproof.check`` then judges it as one."""
    if function is None:
        return lambda later: generator(later, **declares)
    from .judge_generator import plan_generator

    subject = generator_of(function, **declares)
    function.__draftproof_plan__ = lambda **settings: plan_generator(subject, **settings)  # type: ignore[attr-defined]
    return function


def generator_of(function: "Generator | Callable[..., Any]", **declares: Any) -> Generator:
    """A Generator from a callable."""
    if isinstance(function, Generator):
        return function
    name = declares.pop("name", None) or f"{function.__module__}:{getattr(function, '__qualname__', repr(function))}"
    return made(Generator, function, name, declares)

