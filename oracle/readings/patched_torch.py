"""torch's random calls, scripted: functions of `torch`, methods of `Tensor`, and generators made by the program."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import isfinite
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from . import scripted, tensor_operations  # noqa: F401 (loaded before torch is patched: it keeps what it calls as it is)
from .arithmetic import Number
from .patched import Patch
from .scripted import choose_one_of, current, draw_without_replacement, exact_weights, note_seed, rewound
from .tensor_numbers import of_values
from .tensors import LazyTensor, filled, is_lazy, lifted, make_lazy
from .torch_grids import exponentials, grid_of
from .uniforms import Grid

NOT_SCRIPTED = {
    torch: "randn randn_like randperm normal poisson binomial dropout feature_dropout alpha_dropout rrelu".split(),
    Tensor: "normal_ random_ geometric_ cauchy_ log_normal_".split(),
}
_rand, _randint, _multinomial, _bernoulli = torch.rand, torch.randint, torch.multinomial, torch.bernoulli
_tensor, _as_tensor, _asarray = torch.tensor, torch.as_tensor, torch.asarray
_Generator, _exponential_ = torch.Generator, Tensor.exponential_


class ScriptedTorchGenerator(torch.Generator):
    """A torch Generator that only serves to be passed on: draws with it are the script's."""

    seeded = False

    def manual_seed(self, seed: int) -> ScriptedTorchGenerator:
        note_seed("torch.Generator.manual_seed", seed)
        self.seeded = True
        return self

    def seed(self) -> int:
        self.seeded = True
        return super().seed()

    def set_state(self, *_: Any) -> NoReturn:
        rewound()

    def graphsafe_set_state(self, *_: Any) -> NoReturn:
        rewound()

    def clone_state(self) -> NoReturn:
        rewound()


def _check(generator: Any) -> None:
    if generator is not None and not getattr(generator, "seeded", True):
        current().refuse("draws from torch.Generator() without a seed, which is the same at every call")


def _spare(device: Any = "cpu") -> torch.Generator:
    """For calls of the real function that only check arguments and raise as usual."""
    return _Generator(device)


# uniforms


def _draw_into(tensor: Tensor, grid: Grid | None = None) -> Tensor:
    """Uniforms, or what else lies on a grid, as the elements of a new tensor."""
    grid, script = grid or grid_of(tensor), current()
    drawn = script.draws(grid, tensor.numel())
    if script.lazy:
        return filled(tensor.detach() if tensor.requires_grad else tensor, drawn)
    if tensor.dtype is torch.float32 or tensor.dtype is torch.float64:
        return of_values(array("f" if tensor.dtype is torch.float32 else "d", drawn), tensor.dtype, tensor.shape, tensor.device)
    return _tensor(drawn, dtype=tensor.dtype, device=tensor.device).reshape(tensor.shape)


def rand(*size: Any, generator: Any = None, out: Any = None, **options: Any) -> Tensor:
    _check(generator)
    tensor = torch.empty(*size, **options)
    if not tensor.is_floating_point() or out is not None:
        _rand(*size, **options, generator=_spare(tensor.device))  # raises for integers
        current().refuse("torch.rand of complex numbers, or into a given tensor")
    return _draw_into(tensor)


def rand_like(input: Tensor, *, generator: Any = None, **options: Any) -> Tensor:
    _check(generator)
    return _draw_into(torch.empty_like(input, **options))


def uniform_(self: Tensor, *bounds: float, generator: Any = None, **named: float) -> Tensor:
    _check(generator)
    low = bounds[0] if bounds else named.get("from", 0.0)
    high = bounds[1] if len(bounds) > 1 else named.get("to", 1.0)
    if (low, high) != (0, 1):
        current().refuse(f"torch uniform_ between other bounds than 0 and 1: {low}, {high}")
    return _written(self, _draw_into(torch.empty(self.shape, dtype=self.dtype, device=self.device)))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    _check(generator)
    _exponential_(torch.empty(1, dtype=self.dtype), lambd, generator=_spare())  # raises unless it is one
    return _written(self, _draw_into(torch.empty(self.shape, dtype=self.dtype, device=self.device), exponentials(self.dtype, lambd)))


def _written(tensor: Tensor, fresh: Tensor) -> Tensor:
    if isinstance(fresh, LazyTensor):
        make_lazy(tensor).places.copy_(fresh.places)
        return tensor
    return tensor.copy_(fresh)


# discrete draws


def _rows(input: Tensor) -> list[tuple[int, ...]] | None:
    """Rows of weights as integers; None where the real function must look at them."""
    if input.dim() not in (1, 2) or not input.is_floating_point() or not input.shape[-1]:
        return None
    rows = input.tolist() if input.dim() == 2 else [input.tolist()]
    if not all(isfinite(weight) and weight >= 0 for row in rows for weight in row) or not all(map(any, rows)):
        return None
    return [exact_weights(row) for row in rows]


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Tensor:
    _check(generator)
    if is_lazy(input) or out is not None:
        current().refuse("torch.multinomial with uniforms as weights, or into a given tensor")
    rows = _rows(input)
    if rows is None or num_samples != 1:
        _multinomial(input, num_samples, replacement, generator=_spare(input.device))  # may raise
        if rows is None:
            current().refuse("torch.multinomial with weights that are not understood")
    if replacement:
        taken = [[current().choose(row) for _ in range(num_samples)] for row in rows]
    else:
        taken = [draw_without_replacement(row, num_samples) for row in rows]
    result = _tensor(taken, dtype=torch.int64, device=input.device)
    return result.reshape(num_samples) if input.dim() == 1 else result.reshape(len(rows), num_samples)


def _flips(probabilities: Tensor) -> list[int]:
    def flip(p: float) -> int:
        numerator, denominator = p.as_integer_ratio()
        return current().choose((denominator - numerator, numerator))

    return [flip(float(p)) for p in probabilities.flatten().tolist()]


def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    _check(generator)
    if is_lazy(input) or out is not None:
        current().refuse("torch.bernoulli with uniforms as probabilities, or into a given tensor")
    spare = _spare(input.device)
    result = _bernoulli(input, generator=spare) if p is None else _bernoulli(input, p, generator=spare)
    probabilities = input if p is None else torch.full(input.shape, p, dtype=torch.float64)
    return result.copy_(_tensor(_flips(probabilities), dtype=result.dtype).reshape(result.shape))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    _check(generator)
    probabilities = _as_tensor(p, dtype=torch.float64).expand(self.shape)
    _bernoulli(probabilities, generator=_spare())  # raises unless they are
    return self.copy_(_tensor(_flips(probabilities), dtype=self.dtype).reshape(self.shape))


def randint(*args: Any, generator: Any = None, **options: Any) -> Tensor:
    _check(generator)
    result = _randint(*args, **options, generator=_spare(options.get("device") or "cpu"))
    given = [value for value in args if isinstance(value, int)]
    low, high = options.get("low", 0), options.get("high")
    if len(given) == 2:
        low, high = given
    elif given:
        low, high = (given[0], high) if high is not None else (low, given[0])
    values = [low + choose_one_of(high - low) for _ in range(result.numel())]
    return result.copy_(_tensor(values, dtype=result.dtype).reshape(result.shape))


# numbers into tensors


def _holds_lazy(data: Any) -> bool:
    if isinstance(data, np.ndarray):
        return bool(data.dtype == object)
    return is_lazy(data) or isinstance(data, (list, tuple)) and any(map(_holds_lazy, data))


def _built(data: Any) -> Tensor:
    if isinstance(data, Number):
        return lifted(data)
    if isinstance(data, (list, tuple)):
        return torch.stack([_built(each) for each in data])
    return data if isinstance(data, Tensor) else _tensor(data, dtype=torch.float64)


def _converting(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def convert(data: Any, *args: Any, **options: Any) -> Tensor:
        if scripted.active is None or not scripted.active.lazy or not _holds_lazy(data):
            return real(data, *args, **options)
        of_double = isinstance(data, np.ndarray)
        built = _built(data.tolist() if of_double else data)
        default = data.dtype if isinstance(data, Tensor) else torch.float64 if of_double else torch.get_default_dtype()
        dtype = options.get("dtype", args[0] if args else None) or default
        return built.to(dtype=dtype, device=options.get("device") or built.device, copy=isinstance(data, Tensor))

    return convert


def _not_scripted(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        current().refuse(f"draws from torch {name}")

    return refuse


def torch_patches() -> list[Patch]:
    def manual_seed(seed: int) -> torch.Generator:
        note_seed("torch.manual_seed", seed)
        return torch.default_generator

    patches: list[Patch] = []
    for owner, names in NOT_SCRIPTED.items():
        patches += [(owner, name, _not_scripted(name)) for name in names if hasattr(owner, name)]
    functions: dict[Any, list[Callable[..., Tensor]]] = {
        torch: [rand, rand_like, multinomial, bernoulli, randint],
        Tensor: [multinomial, bernoulli, bernoulli_, uniform_, exponential_],
    }
    for owner, replacements in functions.items():
        patches += [(owner, function.__name__, function) for function in replacements]
    for real in (_tensor, _as_tensor, _asarray):
        patches.append((torch, real.__name__, _converting(real)))
    patches.append((torch, "Generator", ScriptedTorchGenerator))
    for module in (torch, torch.random):
        patches += [(module, "manual_seed", manual_seed), (module, "set_rng_state", lambda state: rewound())]
    return patches
