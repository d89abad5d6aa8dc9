"""Hugging Face transformers: the rejection sampler behind assisted generation, called as it is shipped."""

import inspect
from typing import Any

from ..subjects import Subject, SubjectError


def speculative_sampling() -> Subject:
    """``transformers.generation.utils._speculative_sampling`` as a chain subject: logits in, one request at a time, its own randomness.

    Raises SubjectError when transformers or torch is not installed.
    """
    try:
        import torch
        from transformers.generation.utils import _speculative_sampling
    except ImportError as error:
        raise SubjectError(f"transformers: {error}; install it with pip install 'draftproof[engines]'") from None
    takes_done_flag = "is_done_candidate" in inspect.signature(_speculative_sampling).parameters

    def verify(drafts: Any, declared: Any, target: Any) -> tuple[Any, Any]:
        if declared is None:
            declared = torch.full_like(target[:, :-1], -torch.inf).scatter_(2, drafts[..., None], 0.0)
        done = {"is_done_candidate": False} if takes_done_flag else {}
        emitted, matches = _speculative_sampling(drafts, declared, drafts.shape[1], target, **done)
        blocks = torch.full((1, drafts.shape[1] + 1), -1, dtype=torch.int64)
        blocks[0, : emitted.shape[1]] = emitted[0]
        return blocks, matches.reshape(1)

    return Subject(
        verify,
        name="transformers",
        shape="chain",
        family="recursive_rejection",
        rows="logits",
        randomness="internal",
        batched=False,
        claims=("lossless",),
    )
