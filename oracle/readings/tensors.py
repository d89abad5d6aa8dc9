"""A torch tensor of uniforms that are not known yet.

`LazyTensor` has the dtype, shape and device the program expects (its data are NaN) and beside it a tensor of the same
shape that numbers the `Uniform`s standing for its elements. Operations that only move elements are applied to both.
Comparisons branch, element by element, and give ordinary bool tensors; monotone operations are put off, and replayed by
torch itself at grid points (`Uniform`). Everything else needs the numbers and refuses the reading.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import scripted
from .scripted import CONSTANT, Cell, Explorer
from .uniforms import Uniform

COMPARISONS: dict[str, tuple[Any, Any]] = {  # operator, and the operator with the sides exchanged
    name: pair
    for names, pair in {
        "lt less": (operator.lt, operator.gt),
        "le less_equal": (operator.le, operator.ge),
        "gt greater": (operator.gt, operator.lt),
        "ge greater_equal": (operator.ge, operator.le),
        "eq": (operator.eq, operator.eq),
        "ne not_equal": (operator.ne, operator.ne),
    }.items()
    for name in names.split()
}
LAYOUT = set(
    "view reshape view_as reshape_as squeeze unsqueeze expand expand_as broadcast_to flatten unflatten ravel transpose "
    "swapaxes swapdims t permute movedim moveaxis contiguous clone detach index_select gather take take_along_dim "
    "getitem select narrow chunk split tensor_split unbind repeat repeat_interleave tile roll flip masked_select "
    "diagonal unfold atleast_1d atleast_2d cpu cuda pin_memory squeeze_ unsqueeze_ broadcast_tensors".split()
)
JOINS = set("cat concat concatenate stack hstack vstack where".split())
METADATA = set(
    "size dim numel nelement ndimension stride is_contiguous is_floating_point is_complex element_size get_device len "
    "result_type storage_offset zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full "
    "new_tensor is_tensor hash".split()
)
MONOTONE = set(
    "add sub subtract rsub mul multiply div divide true_divide rdiv rtruediv reciprocal neg negative clamp clip "
    "clamp_min clamp_max minimum maximum log log1p log2 log10 exp sqrt floor ceil round trunc floor_divide".split()
)
DIVISORS = {"rdiv", "rtruediv", "reciprocal"}
CASTS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "long": torch.int64,
    "int": torch.int32,
    "short": torch.int16,
}


class LazyTensor(Tensor):
    """`places` [same shape, int64] are indices into the numbers of the run in progress."""

    places: Tensor

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(function, args, kwargs or {})


def explorer() -> Explorer:
    script = scripted.active
    if not isinstance(script, Explorer):
        raise RuntimeError("a tensor of uniforms outlived the run that drew them")
    return script


def lazy(outer: Tensor, places: Tensor) -> LazyTensor:
    tensor = outer.as_subclass(LazyTensor)
    tensor.places = places
    return tensor


def places_of(numbers: list[Uniform], like: Tensor) -> Tensor:
    """Enters new numbers; their places in the shape and on the device of `like`."""
    known = explorer().numbers
    first = len(known)
    known += numbers
    return torch.arange(first, first + len(numbers), device=like.device).reshape(like.shape)


def filled(outer: Tensor, numbers: list[Uniform]) -> LazyTensor:
    return lazy(outer.fill_(math.nan), places_of(numbers, outer))


def make_lazy(tensor: Tensor) -> LazyTensor:
    """Turn an ordinary tensor, in place, into one that can hold uniforms."""
    if not isinstance(tensor, LazyTensor):
        if tensor._is_view():
            explorer().refuse("writes uniforms into a view of a tensor")
        places = constants(tensor)
        tensor.__class__ = LazyTensor
        tensor.places = places  # type: ignore[attr-defined]
    return tensor  # type: ignore[return-value]


def constants(tensor: Tensor) -> Tensor:
    """Places of numbers that are known."""
    cell = Cell(explorer(), scripted.DISCRETE, CONSTANT)
    return places_of([Uniform(cell, lambda k, v=v: v) for v in tensor.flatten().tolist()], tensor)  # type: ignore[misc]


def numbers_of(places: Tensor) -> list[Uniform]:
    known = explorer().numbers
    return [known[place] for place in places.flatten().tolist()]


def dispatch(function: Any, args: Any, kwargs: Any) -> Any:
    """Every torch operation on a `LazyTensor` or a `Uniform` comes here."""
    name = function.__name__
    name = name[2:-2] if name.startswith("__") else name
    with torch._C.DisableTorchFunctionSubclass():
        if name in COMPARISONS:
            return compare(*COMPARISONS[name], *args, **kwargs)
        if name in LAYOUT or name == "get":
            return moved(function, args, kwargs)
        if name in METADATA:
            return function(*args, **kwargs)
        if name in JOINS:
            return joined(function, args, kwargs)
        if name in MONOTONE:
            return monotone(function, name, args, kwargs)
        if name.endswith("_") and name[:-1] in MONOTONE:
            return overwrite(args[0], monotone(getattr(Tensor, name[:-1]), name[:-1], args, kwargs))
        if name in CASTS:
            return cast(args[0], CASTS[name])
        if name in SPECIAL:
            return SPECIAL[name](function, *args, **kwargs)
    explorer().refuse(f"needs the value of a uniform: torch {name}")


def compare(op: Any, exchanged: Any, a: Any, b: Any) -> Tensor:
    """Elementwise, in the dtype that torch would compare in; one branch for each element it leaves open."""
    if not isinstance(a, (LazyTensor, Uniform)):
        op, a, b = exchanged, b, a
    if isinstance(b, (LazyTensor, Uniform)):
        explorer().refuse("compares two uniforms")
    if isinstance(a, Uniform):
        a = lifted(a)
    dtype = torch.result_type(a.as_subclass(Tensor) if a.extra_weak else a, b) if False else common_dtype(a, b)
    numbers = numbers_of
    return dtype  # replaced below


SPECIAL: dict[str, Callable[..., Any]] = {}
