"""Chain samplers in both call shapes of FlashInfer's ``chain_speculative_sampling``, in plain PyTorch.

    draftproof check 'flashinfer:examples/adapters/flashinfer_shape.py:by_uniforms?batched=no'
    draftproof check flashinfer:examples/adapters/flashinfer_shape.py:by_generator
"""

import torch


def by_uniforms(draft_probs, draft_token_ids, uniform_samples, target_probs, deterministic=True):
    """(tokens [B, K + 1] padded with -1, accepted [B] counted position by position, emitted drafts [B])."""
    size, length = draft_token_ids.shape
    tokens = torch.full((size, length + 1), -1, dtype=torch.int32)
    emitted = torch.zeros(size, dtype=torch.int32)
    for row in range(size):
        law, place = target_probs[row, length], length
        for position in range(length):
            p, q, token = target_probs[row, position], draft_probs[row, position], draft_token_ids[row, position]
            if uniform_samples[row, position] * q[token] >= p[token]:
                law, place = (p - q).clamp(min=0), position
                break
            tokens[row, position] = token
        above = law.cumsum(0) > uniform_samples[row, min(place + 1, length)] * law.sum()
        tokens[row, place] = int(above.int().argmax()) if above.any() else int(law.nonzero()[-1])
        emitted[row] = place
    return tokens, emitted, emitted


def by_generator(draft_probs, draft_token_ids, target_probs, deterministic=True, generator=None, seed=None, offset=None):
    """The same with uniforms of its own."""
    uniforms = torch.rand(len(draft_token_ids), draft_token_ids.shape[1] + 1, generator=generator)
    return by_uniforms(draft_probs, draft_token_ids, uniforms, target_probs)
