"""SGLang's chain sampler ``chain_speculative_sampling_triton``: the arguments of its tree sampler, with draft laws that are read.

A coin for each draft, one for the last token; ``draft_probs`` has a row for each draft, ``target_probs`` one more.
"""

from typing import Any

from ..subjects import Subject
from . import parameters
from .sglang import FINAL, SHAPE, walked


def subject(function: Any, name: str, threshold_single: float = 1.0, threshold_acc: float = 1.0, **declares: Any) -> Subject:
    """``function`` as a chain subject; the thresholds are passed on as they are."""
    takes = parameters(function, name, (*SHAPE, FINAL))
    options = {"threshold_single": threshold_single, "threshold_acc": threshold_acc, "deterministic": True}
    more = {key: value for key, value in options.items() if key in takes}

    def verify(drafts: Any, declared: Any, target: Any, uniforms: Any) -> tuple[Any, Any]:
        import torch

        if declared is None:
            declared = torch.zeros_like(target[:, :-1]).scatter_(2, drafts[..., None], 1.0)
        slots = drafts.shape[1] + 1
        candidates = torch.nn.functional.pad(drafts, (1, 0))
        child = torch.arange(1, slots + 1, device=drafts.device).expand_as(candidates).clone()
        child[:, -1] = -1
        coins = {"uniform_samples": uniforms[:, :-1].contiguous(), FINAL: uniforms[:, -1].contiguous()}
        rows = {"target_probs": target, "draft_probs": declared}
        return walked(function, candidates, child, torch.full_like(child, -1), slots, {**coins, **rows, **more})

    return Subject(
        verify,
        name,
        shape="chain",
        randomness="uniforms",
        columns=lambda nodes: nodes + 1,
        order=lambda nodes: range(nodes + 1),
        **{"family": "recursive_rejection", **declares},
    )
