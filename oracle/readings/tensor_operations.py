"""What torch operations make of uniforms that are not known yet.

Operations that only move elements are applied to the tensor and to its places. Comparisons branch, element by element,
and give ordinary bool tensors. Monotone operations are put off: torch itself replays them at grid points, on a tensor of
the same shape. Everything else needs the numbers and refuses the reading.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arithmetic import Number, index_in
from .tensors import LazyTensor, constant_places, explorer, filled, lazy, lifted, make_lazy, numbers_at, placed
from .uniforms import Derived

new_tensor = torch.tensor  # as it is before it is patched

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
    """Every torch operation on a `LazyTensor` or a `Uniform` comes here."""
    name = function.__name__
    if name in CONVERSIONS:
        return CONVERSIONS[name](*args)
    if name.startswith("__"):
        name = name[2:-2]
    with torch._C.DisableTorchFunctionSubclass():
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


def is_lazy(value: Any) -> bool:
    return isinstance(value, (LazyTensor, Number))


# comparisons


def compare(op: Any, exchanged: Any, a: Any, b: Any) -> Tensor:
    """In the dtype that torch would compare in; one branch for each element that is still open."""
    if not is_lazy(a):
        op, a, b = exchanged, b, a
    if is_lazy(b):
        explorer().refuse("compares two uniforms")
    if isinstance(a, Number):
        held, dtype, places, device = torch.float64, torch.result_type(0.0, b), lifted(a).places, b.device
    else:
        held, dtype, places, device = a.dtype, torch.result_type(a, b), a.places, a.device
    if isinstance(b, Tensor):
        shape = places.shape
        if b.shape != shape:
            shape = torch.Size(np.broadcast_shapes(tuple(shape), tuple(b.shape)))
            places, b = places.expand(shape), b.expand(shape)
        thresholds = b.to(dtype).flatten().tolist()
    else:
        shape = places.shape
        thresholds = [nearest(b, dtype)] * shape.numel()
    numbers = numbers_at(places)
    if torch.finfo(dtype).eps > torch.finfo(held).eps:
        numbers = [rounded(number, held, dtype) for number in numbers]
    truths = [op(number, threshold) for number, threshold in zip(numbers, thresholds, strict=True)]
    return new_tensor(truths, dtype=torch.bool, device=device).reshape(shape)


def nearest(value: float, dtype: torch.dtype) -> float:
    """A known number as an element of this dtype."""
    return float(value) if dtype == torch.float64 else float(new_tensor(value, dtype=dtype).item())


def rounded(number: Number, held: torch.dtype, wanted: torch.dtype) -> Number:
    """The number in a dtype that may be narrower than the one it is held in."""
    if torch.finfo(wanted).eps <= torch.finfo(held).eps:
        return number
    return number.apply(lambda value: nearest(value, wanted))


# moving elements


def swapped(value: Any) -> Any:
    """The same arguments with places in place of uniforms."""
    if isinstance(value, LazyTensor):
        return value.places
    if isinstance(value, (list, tuple)) and any(is_lazy(each) for each in value):
        return type(value)(swapped(each) for each in value)
    return value


def moved(function: Any, args: Any, kwargs: Any) -> Any:
    outer: Any = function(*args, **kwargs)
    if not isinstance(outer, (Tensor, tuple, list)) or isinstance(outer, torch.Size):
        return outer  # a property
    places = function(*map(swapped, args), **kwargs)
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


def places_as(value: Any, dtype: torch.dtype) -> Tensor:
    """Places of anything that can be written into a tensor of this dtype."""
    if isinstance(value, Number):
        value = lifted(value)
    if isinstance(value, LazyTensor):
        found = cast(value, dtype)
        return found.places if isinstance(found, LazyTensor) else constant_places(found)
    return constant_places(torch.as_tensor(value, dtype=dtype))


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


# monotone operations


def monotone(function: Any, name: str, args: Any, kwargs: Any) -> LazyTensor:
    where_lazy = [i for i, value in enumerate(args) if is_lazy(value)]
    if len(where_lazy) != 1 or any(map(is_lazy, kwargs.values())):
        explorer().refuse(f"combines two uniforms: torch {name}")
    at = where_lazy[0]
    source = lifted(args[at]) if isinstance(args[at], Number) else args[at]

    def evaluate(values: Tensor) -> Tensor:
        given = values.item() if isinstance(args[at], Number) else values
        result: Tensor = function(*args[:at], given, *args[at + 1 :], **kwargs)
        return result

    def at_ends(end: str) -> Tensor:
        values = [number.value(getattr(number.uniform, end)) for number in numbers_at(source.places)]
        return new_tensor(values, dtype=source.dtype, device=source.device).reshape(source.shape)

    ends = at_ends("lo"), at_ends("hi")
    low, high = map(evaluate, ends)
    divides = name in ("rdiv", "rtruediv", "reciprocal") or ("div" in name and at == 1)
    if not torch.equal(low.isnan(), high.isnan()) or divides and bool((ends[0] * ends[1] < 0).any()):
        explorer().refuse(f"torch {name} of a uniform is not monotone over its whole range")

    def put_off(number: Number, place: int) -> Number:
        def value(k: int) -> float:
            filling = torch.full(source.shape, number.value(k), dtype=source.dtype, device=source.device)
            return float(evaluate(filling).flatten()[place].item())

        return Derived(number.uniform, value)

    numbers = numbers_at(source.places.expand(low.shape))
    return filled(torch.empty_like(low), [put_off(number, place) for place, number in enumerate(numbers)])


def cast(tensor: LazyTensor, dtype: torch.dtype) -> Tensor:
    if dtype == tensor.dtype:
        return tensor
    if dtype == torch.bool:
        return compare(operator.ne, operator.ne, tensor, 0)
    if not dtype.is_floating_point:
        whole = [number.pin(int) for number in numbers_at(tensor.places)]
        return new_tensor(whole, dtype=dtype, device=tensor.device).reshape(tensor.shape)
    outer = tensor.as_subclass(Tensor).to(dtype)
    if torch.finfo(dtype).eps <= torch.finfo(tensor.dtype).eps:
        return lazy(outer, tensor.places)
    return lazy(outer, placed([rounded(n, tensor.dtype, dtype) for n in numbers_at(tensor.places)], outer))


# the rest


def to(function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    outer = function(tensor, *args, **kwargs)
    if not isinstance(outer, Tensor) or not isinstance(tensor, LazyTensor):
        return outer
    there = tensor if outer.device == tensor.device else tensor.to(outer.device)
    return cast(lazy(there, tensor.places.to(outer.device)), outer.dtype)


def item(function: Any, tensor: LazyTensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return numbers_at(tensor.places)[0] if tensor.numel() == 1 else function(tensor)


def refuse_number(tensor: LazyTensor) -> Any:
    explorer().refuse("a uniform used as a plain number: float()")


def tolist(function: Any, tensor: LazyTensor) -> Any:
    known = explorer().numbers

    def named(places: Any) -> Any:
        return [named(each) for each in places] if isinstance(places, list) else known[places]

    return named(tensor.places.tolist())


def search(function: Any, rows: Any, values: Any, **options: Any) -> Tensor:
    """torch.searchsorted: the same binary search, one comparison after another."""
    if not is_lazy(values) or options.get("sorter") is not None:
        explorer().refuse("torch.searchsorted into uniforms, or with a sorter")
    weak = isinstance(values, Number)
    template = torch.searchsorted(rows, 0.5 if weak else torch.zeros_like(values.as_subclass(Tensor)), **options)
    right = bool(options.get("right")) or options.get("side") == "right"
    edges = rows.reshape(-1, rows.shape[-1]).tolist()
    columns = template.shape[-1] if rows.dim() > 1 else max(template.numel(), 1)
    numbers = [rounded(values, torch.float64, rows.dtype)] if weak else numbers_at(values.places)
    found = [index_in(edges[place // columns], number, right) for place, number in enumerate(numbers)]
    return template.new_tensor(found).reshape(template.shape)


CONVERSIONS: dict[str, Any] = {
    "__bool__": lambda tensor: bool(item(Tensor.item, tensor)),
    "__int__": lambda tensor: int(item(Tensor.item, tensor)),
    "__float__": refuse_number,
}
SPECIAL: dict[str, Any] = {
    "where": where,
    "masked_fill": lambda function, tensor, mask, value: where(function, mask, value, tensor),
    "setitem": setitem,
    "copy_": copy_,
    "to": to,
    "type": to,
    "type_as": to,
    "item": item,
    "tolist": tolist,
    "searchsorted": search,
    "bucketize": lambda function, values, boundaries, **options: search(function, boundaries, values, **options),
}
