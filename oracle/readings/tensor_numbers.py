"""Comparisons of, and arithmetic with, tensors of uniforms that are not known yet.

Comparisons branch, element by element, and give ordinary bool tensors. Monotone operations are put off: torch itself
replays them at grid points, on a tensor of the same shape, because its vectorised functions may round otherwise.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arithmetic import Number, Term, index_in
from .functions import Function
from .tensors import LazyTensor, explorer, filled, is_lazy, lazy, lifted, numbers_at

new_tensor = torch.tensor  # as it is before it is patched


def compare(op: Any, exchanged: Any, a: Any, b: Any) -> Tensor:
    """In the dtype that torch would compare in; one branch for each element that is still open.

    `exchanged` is the operator with its sides exchanged.
    """
    if not is_lazy(a):
        op, a, b = exchanged, b, a
    if is_lazy(b):
        explorer().refuse("compares two uniforms")
    if isinstance(a, Number):  # with a tensor
        shape, device, held, dtype = b.shape, b.device, torch.float64, torch.result_type(0.0, b)
        numbers = [a] * b.numel()
    else:
        shape, device, held, numbers = a.shape, a.device, a.dtype, a.numbers
        dtype = held if type(b) is float or type(b) is int else torch.result_type(a, b)  # a is no integer
    if isinstance(b, Tensor):
        if b.shape != shape:
            shape = torch.Size(np.broadcast_shapes(tuple(shape), tuple(b.shape)))
            numbers, b = numbers_at(a.places.expand(shape)), b.expand(shape)
        thresholds = b.to(dtype).flatten().tolist()
    else:
        thresholds = [nearest(b, dtype)] * len(numbers)
    if narrower(dtype, held):
        numbers = [rounded(number, dtype) for number in numbers]
    truths = [op(number, threshold) for number, threshold in zip(numbers, thresholds, strict=True)]
    if len(set(truths)) == 1:
        return torch.full(shape, truths[0], dtype=torch.bool, device=device)
    return of_values(bytearray(truths), torch.bool, shape, device)


def of_values(values: Any, dtype: torch.dtype, shape: torch.Size, device: torch.device) -> Tensor:
    """A tensor on a buffer, which is several times as fast as one of a list."""
    tensor = torch.frombuffer(values, dtype=dtype) if len(values) else torch.empty(0, dtype=dtype)
    tensor = tensor if len(shape) == 1 else tensor.reshape(shape)
    return tensor if device.type == "cpu" else tensor.to(device)


@lru_cache(4096)
def nearest(value: float, dtype: torch.dtype) -> float:
    """A known number as an element of this dtype."""
    return float(new_tensor(value, dtype=dtype).item())


def narrower(dtype: torch.dtype, than: torch.dtype) -> bool:
    return dtype != than and torch.finfo(dtype).eps > torch.finfo(than).eps


def rounded(number: Number, dtype: torch.dtype) -> Number:
    """The number as an element of a narrower dtype."""
    return number.apply(nearest, dtype)


def values_at(end: int, tensor: LazyTensor) -> Tensor:
    """The elements at the lower or upper end, 0 or 1, of what is known of their uniforms."""
    values = [number.ends()[end] for number in tensor.numbers]
    return new_tensor(values, dtype=tensor.dtype, device=tensor.device).reshape(tensor.shape)


def monotone(function: Any, name: str, args: Any, kwargs: Any) -> LazyTensor:
    """`function`, elementwise and monotone in its one argument that is lazy."""
    where_lazy = [i for i, value in enumerate(args) if is_lazy(value)]
    if len(where_lazy) != 1 or any(map(is_lazy, kwargs.values())):
        explorer().refuse(f"combines two uniforms: torch {name}")
    at = where_lazy[0]
    scalar = isinstance(args[at], Number)
    source = lifted(args[at]) if scalar else args[at]
    shape, dtype, device = source.shape, source.dtype, source.device

    def evaluate(values: Tensor) -> Tensor:
        given = values.item() if scalar else values
        result: Tensor = function(*args[:at], given, *args[at + 1 :], **kwargs)
        return result

    outer = evaluate(source.as_subclass(Tensor))
    numbers = source.numbers if outer.shape == shape else numbers_at(source.places.expand(outer.shape))
    terms = [number.term for number in numbers]

    def put_off() -> list[Term]:
        ends = values_at(0, source), values_at(1, source)
        low, high = map(evaluate, ends)
        divides = name in ("rdiv", "rtruediv", "reciprocal") or ("div" in name and at == 1)
        if not torch.equal(low.isnan(), high.isnan()) or divides and bool((ends[0] * ends[1] < 0).any()):
            explorer().refuse(f"torch {name} of a uniform is not monotone over its whole range")
        by = name, at, scalar, shape, dtype, device, *map(shown, args[:at]), None, *map(shown, args[at + 1 :]), *kwargs, *map(shown, kwargs.values())
        return [Term(term.uniform, following(term.function, place, by)) for place, term in enumerate(terms)]

    filling = torch.empty(shape, dtype=dtype, device=device)

    def following(before: Function, place: int, by: Hashable) -> Function:
        def value(k: int) -> float:
            return float(evaluate(filling.fill_(before.value(k))).flatten()[place].item())

        return before.followed((place, by), value)

    return filled(torch.empty_like(outer), explorer().make_all(monotone, None, (name, terms), put_off))


def shown(value: Any) -> Hashable:
    """A known argument, to tell it from others."""
    return (value.dtype, value.shape, repr(value.tolist())) if isinstance(value, Tensor) else repr(value)


def classified(function: Any, tensor: LazyTensor) -> Tensor:
    """isnan and its like, where the answer is the same over the whole range."""
    low, high = function(values_at(0, tensor)), function(values_at(1, tensor))
    if not torch.equal(low, high):
        explorer().refuse(f"torch {function.__name__} of a uniform")
    answer: Tensor = low
    return answer


def cast(tensor: LazyTensor, dtype: torch.dtype) -> Tensor:
    """Another dtype; whole numbers and truth values branch."""
    if dtype == tensor.dtype:
        return tensor
    if dtype == torch.bool:
        return compare(operator.ne, operator.ne, tensor, 0)
    if not dtype.is_floating_point:
        whole = [number.pin(int) for number in tensor.numbers]
        return new_tensor(whole, dtype=dtype, device=tensor.device).reshape(tensor.shape)
    outer = tensor.as_subclass(Tensor).to(dtype)
    if narrower(dtype, tensor.dtype):
        return filled(outer, [rounded(number, dtype) for number in tensor.numbers])
    return lazy(outer, tensor.places.clone())


def search(function: Any, rows: Any, values: Any, **options: Any) -> Tensor:
    """torch.searchsorted: the same binary search, one comparison after another."""
    if not is_lazy(values) or options.get("sorter") is not None:
        explorer().refuse("torch.searchsorted into uniforms, or with a sorter")
    scalar = isinstance(values, Number)
    template = torch.searchsorted(rows, 0.5 if scalar else torch.zeros_like(values.as_subclass(Tensor)), **options)
    right = bool(options.get("right")) or options.get("side") == "right"
    edges = rows.reshape(-1, rows.shape[-1]).tolist()
    columns = template.shape[-1] if rows.dim() > 1 else max(template.numel(), 1)
    numbers = [rounded(values, rows.dtype)] if scalar else values.numbers
    found = [index_in(edges[place // columns], number, right) for place, number in enumerate(numbers)]
    return template.new_tensor(found).reshape(template.shape)
