"""A torch tensor of uniforms that are not known yet.

`LazyTensor` has the dtype, shape and device the program expects (its data are NaN) and beside it a tensor of the same
shape that numbers the `Uniform`s standing for its elements. What torch operations make of it is in `tensor_operations`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from . import scripted
from .scripted import CONSTANT, Cell, Explorer
from .uniforms import Uniform


class LazyTensor(Tensor):
    """`places` [same shape, int64] are indices into the numbers of the run in progress."""

    places: Tensor

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .tensor_operations import dispatch

        return dispatch(function, args, kwargs or {})


def explorer() -> Explorer:
    """The run in progress, which is one that explores."""
    script = scripted.active
    if not isinstance(script, Explorer):
        raise RuntimeError("a tensor of uniforms outlived the run that drew them")
    return script


def lazy(outer: Tensor, places: Tensor) -> LazyTensor:
    """The tensor whose elements stand at `places`, with the metadata of `outer`."""
    tensor = outer.as_subclass(LazyTensor)
    tensor.places = places
    return tensor


def placed(numbers: list[Uniform], like: Tensor) -> Tensor:
    """Enter new numbers; their places in the shape and on the device of `like`."""
    known = explorer().numbers
    first = len(known)
    known += numbers
    return torch.arange(first, first + len(numbers), device=like.device).reshape(like.shape)


def filled(outer: Tensor, numbers: list[Uniform]) -> LazyTensor:
    """Numbers, in row-major order, as the elements of `outer`, a tensor of the program's own that is overwritten."""
    return lazy(outer.fill_(math.nan), placed(numbers, outer))


def lifted(number: Uniform) -> LazyTensor:
    """A Python number as a float64 tensor of no dimensions."""
    return filled(torch.empty((), dtype=torch.float64), [number])


def constant_places(tensor: Tensor) -> Tensor:
    """Places of numbers that are known."""
    cell = Cell(explorer(), scripted.DISCRETE, CONSTANT)
    return placed([Uniform(cell, lambda k, v=value: v) for value in tensor.flatten().tolist()], tensor)  # type: ignore[misc]


def make_lazy(tensor: Tensor) -> LazyTensor:
    """Turn an ordinary tensor, in place, into one that can hold uniforms."""
    if isinstance(tensor, LazyTensor):
        return tensor
    if tensor._is_view():
        explorer().refuse("writes uniforms into a view of a tensor")
    places = constant_places(tensor)
    tensor.__class__ = LazyTensor
    tensor.places = places  # type: ignore[attr-defined]
    return tensor  # type: ignore[return-value]


def numbers_at(places: Tensor) -> list[Uniform]:
    """The numbers at these places, in row-major order."""
    known = explorer().numbers
    return [known[place] for place in places.flatten().tolist()]
