"""Hugging Face transformers: the rejection sampler behind assisted generation, called as it is shipped."""

from typing import Any

from ..subjects import Subject
from . import parameters


def subject(function: Any, name: str, **declares: Any) -> Subject:
    """``transformers.generation.utils._speculative_sampling`` as a chain subject: logits in, one request at a time, its own randomness."""
    takes = parameters(function, name, ("candidate_input_ids", "candidate_logits", "candidate_length", "new_logits"))

    def verify(drafts: Any, declared: Any, target: Any) -> tuple[Any, Any]:
        import torch

        if declared is None:
            declared = torch.full_like(target[:, :-1], -torch.inf).scatter_(2, drafts[..., None], 0.0)
        done = {"is_done_candidate": False} if "is_done_candidate" in takes else {}
        emitted, matches = function(drafts, declared, drafts.shape[1], target, **done)
        blocks = torch.full((1, drafts.shape[1] + 1), -1, dtype=torch.int64)
        blocks[0, : emitted.shape[1]] = emitted[0]
        return blocks, matches.reshape(1)

    declares = {"family": "recursive_rejection", **declares}
    return Subject(verify, name, shape="chain", rows="logits", randomness="internal", **{"batched": False, **declares})
