"""Subjects, batches and instances for the three verifiers by optimal transport."""

from typing import Any

import torch
from torch import Tensor

from draftproof import gpu_impl
from draftproof.oracle.adapters.gpu_impl import CLAIMS
from draftproof.oracle.cases import Case
from draftproof.oracle.league import random_instance
from draftproof.oracle.subjects import Subject
from draftproof.reference.instances import Instance

from .bracketing import Verifier
from .instances import pad

NAMES = ["univer", "greedy_transport", "k_seq"]
VERIFIERS: dict[str, Verifier] = {name: getattr(gpu_impl, name) for name in NAMES}
DRAFTING = {"univer": "greedy", "greedy_transport": "greedy", "k_seq": "with_replacement"}


def subject(name: str, call: Verifier | None = None, **more: Any) -> Subject:
    """As the adapter declares it; ``call`` in place of the shipped function."""
    declares = {"family": name, "randomness": "uniforms", "uniforms_dtype": "float64", "layout": "draftproof", "claims": CLAIMS[name], **more}
    return Subject(call or VERIFIERS[name], f"gpu_impl.{name}", **declares)


def instances(name: str, count: int) -> list[Instance]:
    """Two levels, ragged where the draft runs out of tokens, zeros in half of them; every third of deterministic drafts where the rule takes them."""
    made = []
    for seed in range(count):
        scheme = "top_k" if DRAFTING[name] == "greedy" and seed % 3 == 2 else DRAFTING[name]
        children = [(2, 2), (3,), (2, 1), (1, 2), (3, 1)][seed % 5] if scheme != "with_replacement" else [(2, 1), (3,), (1, 2), (2,)][seed % 4]
        vocabulary = 3 if scheme == "with_replacement" else 3 + seed % 3
        made.append(random_instance(f"{scheme}-{seed}", seed, vocabulary, scheme, children, zeros=0.3 * (seed % 2)))
    return made


def batch(name: str, dtype: torch.dtype = torch.float32, copies: int = 4, deterministic: bool = False) -> dict[str, Any]:
    """Every draft tree of a few instances over four tokens side by side, padded to one size, each several times."""
    scheme = "top_k" if deterministic else DRAFTING[name]
    calls = []
    for seed, children in enumerate([(2, 2), (3,), (2, 1)] if scheme != "with_replacement" else [(2, 1), (3,)]):
        given = random_instance(scheme, seed, 4, scheme, children, zeros=0.2)
        arrays = Case(subject(name, dtype=str(dtype).removeprefix("torch.")), given).batch
        call = {
            "tokens": torch.from_numpy(arrays.tokens),
            "parents": torch.from_numpy(arrays.parents),
            "valid": torch.from_numpy(arrays.valid),
            "target": torch.from_numpy(arrays.target).to(dtype),
            "declared": None if arrays.declared is None else torch.from_numpy(arrays.declared).to(dtype),
        }
        calls.append(pad({key: None if value is None else value[:40] for key, value in call.items()}, 8))
    names = [key for key in calls[0] if calls[0][key] is not None]
    joined = {key: torch.cat([call[key] for call in calls]).repeat_interleave(copies, 0) for key in names}
    return {"declared": None, **joined}


def uniforms_for(call: dict[str, Any], seed: int = 0) -> Tensor:
    return torch.rand(call["tokens"].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
