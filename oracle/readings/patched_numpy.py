"""numpy's random calls, scripted: the functions of `numpy.random`, and generators made by the program.

Arrays of uniforms are object arrays of `Number`, so broadcasting, indexing, comparing and searching are numpy's own.
A generator that existed before cannot be patched (it is a C object): it is watched instead, or given out by
`scripted_generator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import inf, lcm, prod
from typing import Any, NoReturn

import numpy as np
from numpy.random import Generator, RandomState

from .arithmetic import Number, boxed, index_in
from .patched import Patch
from .scripted import choose_one_of, current, draw_without_replacement, exact_weights, note_seed, rewound
from .uniforms import DOUBLE, EXPONENTIAL, GUMBEL, Grid

Array = np.ndarray[Any, Any]
_searchsorted = np.searchsorted


def _shape(size: Any) -> tuple[int, ...]:
    return tuple(size) if isinstance(size, (tuple, list)) else (int(size),)


def _filled(shape: tuple[int, ...], values: Sequence[Any], dtype: Any) -> Array:
    """Without asking every element whether it is an array."""
    return np.fromiter(values, dtype, len(values)).reshape(shape)


def _uniforms(size: Any, grid: Grid = DOUBLE) -> Any:
    if size is None:
        return current().draw(grid)
    shape = _shape(size)
    values = current().draws(grid, prod(shape), np.float64)
    return _filled(shape, values, object if current().lazy else np.float64)


def _scaled(noise: Any, loc: Any, scale: Any) -> Any:
    """loc + scale * noise, with the operations that change something."""
    if not (np.ndim(scale) == 0 and scale == 1):
        noise = noise * np.asarray(scale, dtype=float)[()]
    return noise if np.ndim(loc) == 0 and loc == 0 else noise + np.asarray(loc, dtype=float)[()]


def _integer_weights(weights: Sequence[Fraction]) -> tuple[int, ...]:
    common = lcm(*(weight.denominator for weight in weights))
    return tuple(int(weight * common) for weight in weights)


def _bernoulli(p: float) -> int:
    exact = Fraction(float(p))
    return current().choose(_integer_weights([1 - exact, exact]))


def _one_hot(pvals: Array) -> list[int]:
    """One trial; the last value takes what the others leave."""
    weights = [Fraction(float(p)) for p in pvals[:-1]]
    taken = current().choose(_integer_weights([*weights, max(Fraction(0), 1 - sum(weights, Fraction(0)))]))
    return [int(i == taken) for i in range(len(pvals))]


class Scripted:
    """The draws that both kinds of generators have. A real generator checks the arguments and raises as usual."""

    _real: Any

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if np.dtype(dtype) != np.float64 or out is not None:
            current().refuse("numpy uniforms of another dtype than float64, or written into a given array")
        return _uniforms(size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        shape = np.shape(self._real.uniform(low, high, size))
        uniforms = _uniforms(shape if shape or size is not None else None)
        if np.ndim(low) == np.ndim(high) == 0:
            low, high = float(low), float(high)
            return uniforms if (low, high) == (0, 1) else low + (high - low) * uniforms
        return np.asarray(low, dtype=float) + np.subtract(high, low, dtype=float) * uniforms

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        shape = np.shape(self._real.exponential(scale, size))
        return _scaled(_uniforms(shape if shape or size is not None else None, EXPONENTIAL), 0, scale)

    def standard_exponential(self, size: Any = None, *others: Any, **options: Any) -> Any:
        if others or options:
            current().refuse("numpy standard_exponential of another dtype or method, or written into a given array")
        return _uniforms(size, EXPONENTIAL)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        shape = np.shape(self._real.gumbel(loc, scale, size))
        return _scaled(_uniforms(shape if shape or size is not None else None, GUMBEL), loc, scale)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        options: dict[str, Any] = {} if isinstance(self, RandomState) else {"axis": axis, "shuffle": shuffle}
        template = self._real.choice(a, size, replace, p, **options)
        if not shuffle:
            current().refuse("numpy choice without shuffling")
        pool = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        weights = (1,) * pool.shape[axis] if p is None else exact_weights(np.asarray(p, dtype=float).tolist())
        count = 1 if size is None else prod(_shape(size))
        if replace or count <= 1:
            indices = [current().choose(weights) for _ in range(count)]
        else:
            indices = draw_without_replacement(weights, count)
        if size is None:
            taken = pool.take(indices[0], axis)
            return type(template)(taken) if np.ndim(a) == 0 else taken
        return pool.take(np.array(indices, dtype=int).reshape(_shape(size)), axis).astype(template.dtype)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        template = self._real.multinomial(n, pvals, size)
        if np.any(np.asarray(n) != 1):
            current().refuse("numpy multinomial with n != 1")
        rows = np.broadcast_to(np.asarray(pvals, dtype=float), template.shape).reshape(-1, template.shape[-1])
        return np.array([_one_hot(row) for row in rows], dtype=template.dtype).reshape(template.shape)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        template = self._real.binomial(n, p, size)
        if np.any(np.asarray(n) != 1):
            current().refuse("numpy binomial with n != 1")
        values = [_bernoulli(each) for each in np.broadcast_to(np.asarray(p, dtype=float), np.shape(template)).ravel()]
        if np.ndim(template) == 0:
            return type(template)(values[0])
        return _filled(template.shape, values, template.dtype)

    def _whole(self, template: Any, low: Any, high: Any) -> Any:
        if np.ndim(low) or np.ndim(high):
            current().refuse("numpy integers with arrays as bounds")
        low, high = (0, int(low)) if high is None else (int(low), int(high))
        if np.ndim(template) == 0:
            return type(template)(low + choose_one_of(high - low))
        return _filled(template.shape, [low + choose_one_of(high - low) for _ in range(template.size)], template.dtype)


class _LikeReal(type):
    """In place of the real class, answers isinstance for real instances too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[2])


class ScriptedGenerator(Scripted, Generator, metaclass=_LikeReal):
    """A numpy Generator whose draws are the script's; everything that is not scripted refuses the reading."""

    _real = Generator(np.random.PCG64(0))

    def __init__(self, bit_generator: Any = None) -> None:
        if bit_generator is not None:
            current().refuse("builds a numpy Generator from a bit generator of its own")
        super().__init__(np.random.PCG64(0))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        template = self._real.integers(low, high, size, dtype, endpoint)
        return self._whole(
            template, *((low, high) if not endpoint else (0, low + 1) if high is None else (low, high + 1))
        )


class ScriptedState(Scripted, RandomState, metaclass=_LikeReal):
    """A numpy RandomState whose draws are the script's; everything that is not scripted refuses the reading."""

    _real = RandomState(np.random.MT19937(0))

    def __init__(self, seed: Any = None) -> None:
        note_seed("numpy.random.RandomState", seed)
        super().__init__(np.random.MT19937(0))

    def random_sample(self, size: Any = None) -> Any:
        return _uniforms(size)

    def rand(self, *shape: int) -> Any:
        return _uniforms(shape or None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        return self._whole(self._real.randint(low, high, size, dtype), low, high)

    def seed(self, seed: Any = None) -> None:
        note_seed("numpy.random.seed", seed)

    def set_state(self, state: Any) -> None:
        rewound()


def _refusing(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        current().refuse(f"numpy.random.{name} is not scripted")

    return refuse


for _class in (ScriptedGenerator, ScriptedState):
    for _name in dir(_class.__mro__[2]):
        if not _name.startswith("_") and not {_name} & {*vars(_class), *vars(Scripted)}:
            setattr(_class, _name, _refusing(_name))


def default_rng(seed: Any = None) -> Any:
    if isinstance(seed, Generator):
        return seed
    note_seed("numpy.random.default_rng", seed)
    return ScriptedGenerator()


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """numpy's own search also compares the numbers that it looks for with one another."""
    values = v if isinstance(v, np.ndarray) else boxed(v)
    if not any(isinstance(value, Number) for value in values.flat) or sorter is not None:
        return _searchsorted(a, v, side, sorter)  # type: ignore[call-overload]
    edges = [inf if edge != edge else edge for edge in np.asarray(a).tolist()]
    found = [index_in(edges, value, side == "right") for value in values.flat]
    return np.array(found, dtype=np.intp).reshape(values.shape)[()]


@cache
def numpy_patches() -> list[Patch]:
    legacy = ScriptedState()
    patches: list[Patch] = [
        (np, "searchsorted", searchsorted),
        (np.random, "default_rng", default_rng),
        (np.random, "Generator", ScriptedGenerator),
        (np.random, "RandomState", ScriptedState),
        (np.random, "seed", legacy.seed),
        (np.random, "ranf", legacy.random_sample),
        (np.random, "sample", legacy.random_sample),
    ]
    for name, function in vars(np.random).items():
        if isinstance(getattr(function, "__self__", None), RandomState):
            patches.append((np.random, name, getattr(legacy, name)))
    return patches
