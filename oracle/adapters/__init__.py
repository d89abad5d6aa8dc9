"""Adapters: the call shapes of engines that people run, mapped onto the native shapes of ``oracle.subjects``.

``ENGINE`` names what the installed engine ships, ``ENGINE:module:callable`` (or ``ENGINE:path/file.py:callable``) a function of the same call
shape, such as a fork's; settings follow a question mark: ``sglang:my_fork.kernels:tree_sample?device=cuda,threshold_acc=0.9``.  They are fields of
``Subject`` and the options that the adapter itself lists.  ``docs/adapters.md`` says what each engine expects.
"""

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from draftproof.reference.exact_json import among

from ..subjects import Subject, SubjectError

FIELDS: Mapping[str, Callable[[str], Any]] = {
    "device": str,
    "dtype": str,
    "batched": lambda text: {"yes": True, "no": False}[text],
    "claims": lambda text: tuple(text.split("+")),
    "temperature": float,
    "top_k": int,
    "top_p": float,
}
"""Fields of ``Subject`` that a spec may set, and how each is read."""


@dataclass(frozen=True)
class Adapter:
    """``module``: where ``subject(function, name, **settings)`` is.  ``ships``: what the engine calls it, newest first; nothing where it is no
    function.  ``needs``: to run it.  ``options``: settings beside ``FIELDS``, or alone where there is no function.  ``device``: of what it ships.
    """

    module: str
    ships: tuple[str, ...]
    needs: str
    options: Mapping[str, Callable[[str], Any]]
    device: str = "cpu"


THRESHOLDS = {"threshold_single": float, "threshold_acc": float}
CUDA = "its kernels run on a CUDA device only"

ADAPTERS: Mapping[str, Adapter] = {
    "transformers": Adapter(
        "transformers", ("transformers.generation.utils:_speculative_sampling",), "install it with pip install 'draftproof[engines]'", {}
    ),
    "transformers.generate": Adapter(
        "transformers_generate",
        (),
        "",
        {
            "num_assistant_tokens": int,
            "assistant_confidence_threshold": float,
            "assistant_ensemble_weight": float,
            "prompt_lookup_num_tokens": int,
        },
    ),
    "vllm": Adapter("vllm", ("vllm.v1.sample.rejection_sampler:RejectionSampler",), CUDA, {}, "cuda"),
    "sglang": Adapter(
        "sglang",
        (
            "sglang.kernels.ops.speculative.sampling:tree_speculative_sampling_target_only",
            "sgl_kernel:tree_speculative_sampling_target_only",
        ),
        CUDA,
        THRESHOLDS,
        "cuda",
    ),
    "sglang.chain": Adapter(
        "sglang_chain",
        (
            "sglang.kernels.ops.speculative.reject_sampling:chain_speculative_sampling_triton",
            "sglang.srt.speculative.reject_sampling:chain_speculative_sampling_triton",
        ),
        CUDA,
        THRESHOLDS,
        "cuda",
    ),
    "flashinfer": Adapter("flashinfer", ("flashinfer.sampling:chain_speculative_sampling",), CUDA, {}, "cuda"),
    "eagle": Adapter("eagle", ("eagle.model.utils:evaluate_posterior",), "it needs a checkout of SafeAILab/EAGLE on the path", {}),
}


def named(spec: str) -> bool:
    """Whether a spec is for an adapter: ENGINE, ENGINE?settings or ENGINE:module:callable."""
    engine, colon, rest = spec.partition("?")[0].partition(":")
    return engine in ADAPTERS and (not colon or ":" in rest)  # module:callable may be of a module that is called like an engine


def adapted(spec: str, find: Callable[[str], Any]) -> Subject:
    """The subject of a spec.  ``find`` imports ``module:callable``.

    Raises SubjectError where the engine or its device is missing, the call shape is another, or a setting is unknown.
    """
    place, _, settings = spec.partition("?")
    engine, _, given = place.partition(":")
    adapter = ADAPTERS[engine]
    module = importlib.import_module(f"{__name__}.{adapter.module}")
    declares = _settings(spec, adapter.options if not adapter.ships else {**FIELDS, **adapter.options}, settings)
    if not adapter.ships:
        if given:
            raise SubjectError(f"{spec}: {engine} stands for itself; it takes settings only, after a question mark")
        adapting: Subject = module.subject(spec, **declares)
        return adapting
    function = find(given) if given else _shipped(engine, adapter, find)
    adapting = module.subject(function, spec, **{"device": "cpu" if given else adapter.device, **declares})
    return adapting


def _shipped(engine: str, adapter: Adapter, find: Callable[[str], Any]) -> Any:
    for place in adapter.ships:
        try:
            return find(place)
        except SubjectError as error:
            said = error
    more = "" if engine == "transformers" else f"to judge a function of its call shape, give {engine}:module:callable"
    raise SubjectError("; ".join(filter(None, [f"{engine} is not installed here: {said}", adapter.needs, more])))


def _settings(spec: str, known: Mapping[str, Callable[[str], Any]], text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in filter(None, text.split(",")):
        key, _, value = setting.partition("=")
        if key not in known:
            raise SubjectError(f"{spec}: no setting {key!r}{among(key, known)}")
        if key in found:
            raise SubjectError(f"{spec}: {key} is set twice")
        try:
            found[key] = known[key](value)
        except (KeyError, ValueError):
            raise SubjectError(f"{spec}: {value!r} is no value for {key}") from None
    return found


def parameters(function: Any, name: str, *shapes: Collection[str]) -> set[str]:
    """Names of the parameters of a callable.  Raises SubjectError unless those of one of the call shapes are among them."""
    try:
        names = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise SubjectError(f"{name}: it does not show its parameters, so its call shape cannot be told; wrap it in a function that does") from None
    if not any(names >= set(shape) for shape in shapes):
        wanted = " or ".join(f"({', '.join(shape)})" for shape in shapes)
        raise SubjectError(f"{name}: takes ({', '.join(names)}), which is no call shape of this adapter: {wanted}")
    return names


def filled(tokens: Any, counts: Any) -> Any:
    """Blocks [B, W] as they are, with -1 after the first ``counts`` [B] tokens and the bonus."""
    import torch

    places = torch.arange(tokens.shape[1], device=tokens.device)
    return tokens.to(torch.int64).masked_fill(places > counts[:, None], -1)
