"""A rejection sampler in the call shape of vLLM's, in plain PyTorch: token-level speculative sampling (arXiv:2211.17192, algorithm 1).

    draftproof check vllm:examples/adapters/vllm_shape.py:rejection_sample
    draftproof check vllm:examples/adapters/vllm_shape.py:RejectionSampler
"""

from types import SimpleNamespace

import torch


def rejection_sample(
    draft_token_ids,  # [sum of the numbers of drafts]
    num_draft_tokens,  # a list of B
    max_spec_len,
    cu_num_draft_tokens,  # [B]
    draft_probs,  # [sum, V], or None where drafts are deterministic
    target_logits,  # [sum, V]
    bonus_token_ids,  # [B, 1]
    sampling_metadata,
):
    """Tokens [B, max_spec_len + 1], padded with -1."""
    target = target_logits.float().softmax(-1)
    ends = cu_num_draft_tokens.tolist()
    output = torch.full((len(ends), max_spec_len + 1), -1, dtype=torch.int32)
    for request, end in enumerate(ends):
        start = end - num_draft_tokens[request]
        generator = sampling_metadata.generators.get(request)
        for position in range(start, end):
            token, p = draft_token_ids[position], target[position]
            q = torch.zeros_like(p).index_fill_(0, token.long(), 1.0) if draft_probs is None else draft_probs[position]
            uniform = torch.rand(1, generator=generator, dtype=torch.float64)
            if uniform * q[token] >= p[token]:
                output[request, position - start] = torch.multinomial((p - q).clamp(min=0), 1, generator=generator)
                break
            output[request, position - start] = token
        else:
            output[request, end - start] = bonus_token_ids[request, 0]
    return output


class RejectionSampler(torch.nn.Module):
    """The whole sampler: it draws the bonus tokens itself."""

    def forward(self, metadata, draft_probs, logits, sampling_metadata):
        laws = logits[metadata.bonus_logits_indices].float().softmax(-1)
        generators = sampling_metadata.generators
        bonus = torch.stack([torch.multinomial(law, 1, generator=generators.get(row)) for row, law in enumerate(laws)])
        tokens = rejection_sample(
            metadata.draft_token_ids,
            metadata.num_draft_tokens,
            metadata.max_spec_len,
            metadata.cu_num_draft_tokens,
            draft_probs,
            logits[metadata.target_logits_indices],
            bonus,
            sampling_metadata,
        )
        return SimpleNamespace(sampled_token_ids=tokens)
