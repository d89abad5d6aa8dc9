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
from .arithmetic import Number
from .scripted import Explorer
from .uniforms import CONSTANT, Derived, Uniform


class LazyTensor(Tensor):
    """`places` [same shape, int64] are indices into the numbers of the run in progress."""

    places: Tensor

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .tensor_operations import dispatch

        return dispatch(function, args, kwargs or {})

    def __hash__(self) -> int:
        explorer().refuse("a tensor of uniforms used as a key, or returned")

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        if scripted.active is not None:
            explorer().refuse("prints a tensor of uniforms")
        return "<tensor of uniforms>"


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


def placed(numbers: list[Number], like: Tensor) -> Tensor:
    """Enter new numbers; their places in the shape and on the device of `like`."""
    known = explorer().numbers
    first = len(known)
    known += numbers
    places = torch.arange(first, first + len(numbers), device=like.device)
    return places if like.dim() == 1 else places.reshape(like.shape)


def filled(outer: Tensor, numbers: list[Number]) -> LazyTensor:
    """Numbers, in row-major order, as the elements of `outer`, a tensor of the program's own that is overwritten."""
    return lazy(outer.fill_(math.nan), placed(numbers, outer))


def lifted(number: Number) -> LazyTensor:
    """A Python number as a float64 tensor of no dimensions."""
    return filled(torch.empty((), dtype=torch.float64), [number])


def constant_places(tensor: Tensor) -> Tensor:
    """Places of numbers that are known."""
    fixed = Uniform(explorer(), scripted.DISCRETE, CONSTANT)
    numbers: list[Number] = [Derived(fixed, lambda k, v=value: v) for value in tensor.flatten().tolist()]  # type: ignore[misc]
    return placed(numbers, tensor)


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


def numbers_at(places: Tensor) -> list[Number]:
    """The numbers at these places, in row-major order."""
    known = explorer().numbers
    return [known[place] for place in places.flatten().tolist()]
