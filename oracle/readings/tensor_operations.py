"""What torch operations make of tensors of uniforms that are not known yet.

Operations that only move elements are applied to the tensor and to its places; comparisons and monotone operations are
in `tensor_numbers`. Everything else needs the numbers and refuses the reading.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor

from .arithmetic import Number
from .races import order
from .tensor_numbers import cast, classified, compare, monotone, search
from .tensors import LazyTensor, constant_places, explorer, lazy, lifted, make_lazy, numbers_at, without_dispatch

# operator, and the operator with the sides exchanged
LT, LE = (operator.lt, operator.gt), (operator.le, operator.ge)
COMPARISONS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("lt", "less"), LT),
    **dict.fromkeys(("gt", "greater"), LT[::-1]),
    **dict.fromkeys(("le", "less_equal"), LE),
    **dict.fromkeys(("ge", "greater_equal"), LE[::-1]),
    "eq": (operator.eq, operator.eq),
    **dict.fromkeys(("ne", "not_equal"), (operator.ne, operator.ne)),
}
LAYOUT = set(
    "view reshape view_as reshape_as squeeze unsqueeze expand expand_as broadcast_to flatten unflatten ravel transpose "
    "swapaxes swapdims t permute movedim moveaxis contiguous clone detach index_select gather take take_along_dim "
    "getitem select narrow chunk split tensor_split unbind repeat repeat_interleave tile roll flip masked_select "
    "diagonal unfold atleast_1d atleast_2d cpu cuda pin_memory get".split()
)
JOINS = set("cat concat concatenate stack hstack vstack".split())
METADATA = set(
    "size dim numel nelement ndimension stride is_contiguous is_floating_point is_complex element_size get_device len "
    "result_type storage_offset zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full "
    "new_tensor is_tensor _is_view".split()
)
MONOTONE = set(
    "add sub subtract rsub mul multiply div divide true_divide rdiv rtruediv reciprocal neg negative clamp clip "
    "clamp_min clamp_max minimum maximum log log1p log2 log10 exp sqrt floor ceil round trunc floor_divide".split()
)
CASTS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "long": torch.int64,
    "int": torch.int32,
    "short": torch.int16,
    "bool": torch.bool,
}


def dispatch(function: Any, args: Any, kwargs: Any) -> Any:
    """Every torch operation on a `LazyTensor` or a `Number` comes here."""
    name = function.__name__
    with without_dispatch():
        if name in CONVERSIONS:
            return CONVERSIONS[name](*args)
        if name.startswith("__"):
            name = name[2:-2]
        if name in COMPARISONS:
            return compare(*COMPARISONS[name], *args, **kwargs)
        if name in LAYOUT:
            return moved(function, args, kwargs)
        if name in METADATA:
            return function(*args, **kwargs)
        if name in JOINS:
            return joined(function, *args, **kwargs)
        if name in MONOTONE:
            return monotone(function, name, args, kwargs)
        if name.endswith("_") and name[:-1] in MONOTONE:
            return overwrite(args[0], monotone(getattr(Tensor, name[:-1]), name[:-1], args, kwargs))
        if name in CASTS:
            return cast(args[0], CASTS[name])
        if name in SPECIAL:
            return SPECIAL[name](function, *args, **kwargs)
    explorer().refuse(f"needs the value of a uniform: torch {name}")


# moving elements


def moved(function: Any, args: Any, kwargs: Any) -> Any:
    outer: Any = function(*args, **kwargs)
    if not isinstance(outer, (Tensor, tuple, list)) or isinstance(outer, torch.Size):
        return outer  # a property
    places = function(*(arg.places if isinstance(arg, LazyTensor) else arg for arg in args), **kwargs)
    if isinstance(outer, Tensor):
        return lazy(outer, places)
    return type(outer)(lazy(each, there) for each, there in zip(outer, places, strict=True))


def joined(function: Any, tensors: Any, *args: Any, **kwargs: Any) -> LazyTensor:
    """Uniforms and known numbers in one tensor."""
    places = [each.places if isinstance(each, LazyTensor) else constant_places(each) for each in tensors]
    return lazy(function(tensors, *args, **kwargs), function(places, *args, **kwargs))


def where(function: Any, condition: Any, a: Any, b: Any) -> LazyTensor:
    outer: Any = torch.where(condition, *((float("nan") if isinstance(each, Number) else each) for each in (a, b)))
    return lazy(outer, torch.where(condition, places_as(a, outer.dtype), places_as(b, outer.dtype)))


def masked_fill(function: Any, tensor: Any, mask: Any, value: Any) -> LazyTensor:
    return where(function, mask, value, tensor)


def places_as(value: Any, dtype: torch.dtype) -> Tensor:
    """Places of anything that can be written into a tensor of this dtype."""
    if isinstance(value, Number):
        value = lifted(value)
    if isinstance(value, LazyTensor):
        value = cast(value, dtype)
    return value.places if isinstance(value, LazyTensor) else constant_places(torch.as_tensor(value, dtype=dtype))


def setitem(function: Any, tensor: Tensor, index: Any, value: Any) -> None:
    target = make_lazy(tensor)
    target.places[index] = places_as(value, target.dtype)


def copy_(function: Any, tensor: Tensor, value: Any, non_blocking: bool = False) -> Tensor:
    setitem(function, tensor, ..., value)
    return tensor


def overwrite(tensor: Tensor, result: LazyTensor) -> Tensor:
    if result.dtype != tensor.dtype:
        explorer().refuse("writes uniforms into a tensor of another dtype")
    make_lazy(tensor).places.copy_(result.places)
    return tensor


def to(function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    outer = function(tensor, *args, **kwargs)
    if not isinstance(outer, Tensor) or not isinstance(tensor, LazyTensor):
        return outer
    there = lazy(tensor.as_subclass(Tensor).to(outer.device), tensor.places.to(outer.device))
    return cast(there, outer.dtype)


# races


def placed_first(tensor: LazyTensor, dim: int, count: int, largest: bool) -> Tensor:
    """[..., count] indices along ``dim``, last here, of the largest or smallest elements, best first."""
    along = tensor.places.movedim(dim, -1)
    rows = along.reshape(-1, along.shape[-1])
    found = [order(numbers_at(row), largest, count) for row in rows]
    return torch.tensor(found, device=tensor.device).reshape(*along.shape[:-1], count)


def arg(largest: bool) -> Any:
    def one(function: Any, tensor: LazyTensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            index = placed_first(moved(Tensor.flatten, (tensor,), {}), 0, 1, largest).squeeze(-1)
            return index.reshape([1] * tensor.dim()) if keepdim else index
        index = placed_first(tensor, dim, 1, largest)
        return index.movedim(-1, dim) if keepdim else index.squeeze(-1)

    return one


def top(function: Any, tensor: LazyTensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    index = placed_first(tensor, dim, k, largest).movedim(-1, dim)
    return torch.return_types.topk((moved(torch.gather, (tensor, dim, index), {}), index))


def extreme(largest: bool) -> Any:
    def one(function: Any, tensor: LazyTensor, dim: int | None = None, keepdim: bool = False) -> Any:
        if not isinstance(dim, int):
            explorer().refuse("needs the value of a uniform: torch max or min")
        index = placed_first(tensor, dim, 1, largest).movedim(-1, dim)
        values = moved(torch.gather, (tensor, dim, index), {})
        kind = torch.return_types.max if largest else torch.return_types.min
        return kind((values, index) if keepdim else (moved(Tensor.squeeze, (values, dim), {}), index.squeeze(dim)))

    return one


# single elements


def item(tensor: LazyTensor) -> Any:
    return tensor.numbers[0] if tensor.numel() == 1 else Tensor.item(tensor)


def tolist(function: Any, tensor: LazyTensor) -> Any:
    known = explorer().numbers

    def named(places: Any) -> Any:
        return [named(each) for each in places] if isinstance(places, list) else known[places]

    return named(tensor.places.tolist())


def refuse_number(tensor: LazyTensor) -> Any:
    explorer().refuse("a uniform used as a plain number: float()")


CONVERSIONS: dict[str, Any] = {
    "__bool__": lambda tensor: bool(item(tensor) != 0),
    "__int__": lambda tensor: int(item(tensor)),
    "__float__": refuse_number,
}
SPECIAL: dict[str, Any] = {
    **dict.fromkeys(("isnan", "isinf", "isfinite"), classified),
    **dict.fromkeys(("to", "type", "type_as"), to),
    "argmax": arg(largest=True),
    "argmin": arg(largest=False),
    "max": extreme(largest=True),
    "min": extreme(largest=False),
    "topk": top,
    "where": where,
    "masked_fill": masked_fill,
    "setitem": setitem,
    "copy_": copy_,
    "item": lambda function, tensor: item(tensor),
    "tolist": tolist,
    "searchsorted": search,
    "bucketize": lambda function, values, boundaries, **options: search(function, boundaries, values, **options),
}


def _compares(name: str) -> Any:
    """A method instead of a dispatch, which takes as long as the comparison."""
    op, exchanged = COMPARISONS[name]

    def method(self: LazyTensor, other: Any) -> Any:
        try:
            with without_dispatch():
                return compare(op, exchanged, self, other)
        except TypeError:  # what is no number
            return NotImplemented

    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(LazyTensor, f"__{_name}__", _compares(_name))
