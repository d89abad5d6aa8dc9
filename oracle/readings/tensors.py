"""A torch tensor of uniforms that are not known yet.

`LazyTensor` has the dtype, shape and device the program expects (its data are NaN) and beside it the `Number`s that its
elements are. Once elements move, a tensor of the same shape holds their *places*: indices into the numbers of the run.
What torch operations make of it is in `tensor_operations`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from . import scripted
from .arithmetic import OUTLIVED, Number
from .exploring import Explorer

without_dispatch = torch._C.DisableTorchFunctionSubclass


class LazyTensor(Tensor):
    """Made by `filled`, `lazy` or `make_lazy`."""

    _numbers: list[Number] | None  # in row-major order, until places are asked for
    _places: Tensor | None
    _known: list[Number]  # those of the run that made it

    @property
    def places(self) -> Tensor:
        """[same shape] int64, indices into the numbers of the run in progress; writing into it changes the tensor."""
        if self._known is not explorer().numbers:
            explorer().refuse(OUTLIVED)
        if self._places is None:
            assert self._numbers is not None
            with without_dispatch():
                self._places, self._numbers = placed(self._numbers, self), None
        return self._places

    @property
    def numbers(self) -> list[Number]:
        """The elements, in row-major order."""
        return numbers_at(self.places) if self._numbers is None else self._numbers

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


def is_lazy(value: Any) -> bool:
    return isinstance(value, (LazyTensor, Number))


def explorer() -> Explorer:
    """The run in progress, which is one that explores."""
    script = scripted.active
    if not isinstance(script, Explorer):
        raise RuntimeError("a tensor of uniforms outlived the run that drew them")
    return script


def placed(numbers: list[Number], like: Tensor) -> Tensor:
    """Enter numbers; their places in the shape and on the device of `like`."""
    known = explorer().numbers
    first = len(known)
    known += numbers
    return torch.arange(first, first + len(numbers), device=like.device).reshape(like.shape)


def numbers_at(places: Tensor) -> list[Number]:
    """The numbers at these places, in row-major order."""
    known = explorer().numbers
    return [known[place] for place in places.flatten().tolist()]


def lazy(outer: Tensor, places: Tensor) -> LazyTensor:
    """The tensor whose elements stand at `places`, with the metadata of `outer`."""
    tensor = outer.as_subclass(LazyTensor)
    tensor._numbers, tensor._places, tensor._known = None, places, explorer().numbers
    return tensor


def filled(outer: Tensor, numbers: list[Number]) -> LazyTensor:
    """Numbers, in row-major order, as the elements of `outer`, a new tensor that is overwritten."""
    tensor = outer.fill_(math.nan).as_subclass(LazyTensor)
    tensor._numbers, tensor._places, tensor._known = numbers, None, explorer().numbers
    return tensor


def lifted(number: Number) -> LazyTensor:
    """A Python number as a float64 tensor of no dimensions."""
    return filled(torch.empty((), dtype=torch.float64), [number])


def constant_places(tensor: Tensor) -> Tensor:
    """Places of numbers that are known."""
    values = tensor.flatten().tolist()
    return placed(explorer().constants(values), tensor)


def make_lazy(tensor: Tensor) -> LazyTensor:
    """Turn an ordinary tensor, in place, into one that can hold uniforms."""
    if isinstance(tensor, LazyTensor):
        return tensor
    places = _view_of_places(tensor) if tensor._is_view() else constant_places(tensor)
    tensor.__class__ = LazyTensor
    assert isinstance(tensor, LazyTensor)
    tensor._numbers, tensor._places, tensor._known = None, places, explorer().numbers
    return tensor


def _view_of_places(view: Tensor) -> Tensor:
    """The places of a view are a view of its base's, so that what is written into one is seen in the other."""
    base = view._base
    assert base is not None
    if not base.is_contiguous() or view.dtype != base.dtype:
        explorer().refuse("writes uniforms into a view of a tensor whose elements are laid out in another way")
    return make_lazy(base).places.as_strided(view.size(), view.stride(), view.storage_offset() - base.storage_offset())
