"""FlashInfer's ``chain_speculative_sampling``, in both of its call shapes.

Releases before 0.2.3 take their uniforms, one for each draft and one for the last token; later ones take a generator, or a seed and an offset.
Probabilities in, tokens padded with -1 out, and beside them how many drafts were emitted.
"""

from typing import Any

from ..subjects import Subject
from . import parameters

COMMON = ("draft_probs", "draft_token_ids", "target_probs")


def subject(function: Any, name: str, **declares: Any) -> Subject:
    """``function`` as a chain subject.  It takes its uniforms, or a generator, or else seed and offset, as its parameters show."""
    takes = parameters(function, name, (*COMMON, "uniform_samples"), (*COMMON, "generator"), (*COMMON, "seed", "offset"))
    uniforms = "uniform_samples" in takes

    def call(drafts: Any, declared: Any, target: Any, **more: Any) -> tuple[Any, Any]:
        import torch

        if declared is None:
            declared = torch.zeros_like(target[:, :-1]).scatter_(2, drafts[..., None], 1.0)
        tokens, _, emitted = function(draft_probs=declared, draft_token_ids=drafts.int(), target_probs=target, **more)
        return tokens.to(torch.int64), emitted

    def by_uniforms(drafts: Any, declared: Any, target: Any, uniforms: Any) -> tuple[Any, Any]:
        return call(drafts, declared, target, uniform_samples=uniforms)

    def by_generator(drafts: Any, declared: Any, target: Any, generator: Any) -> tuple[Any, Any]:
        if "generator" in takes:
            return call(drafts, declared, target, generator=generator)
        import torch

        seed = torch.randint(1 << 62, (1,), generator=generator, device=generator.device)
        return call(drafts, declared, target, seed=int(seed), offset=0)

    return Subject(
        by_uniforms if uniforms else by_generator,
        name,
        shape="chain",
        randomness="uniforms" if uniforms else "generator",
        order=range if uniforms else None,  # a uniform for each draft, the next one for the token after them
        **{"family": "recursive_rejection", **declares},
    )
