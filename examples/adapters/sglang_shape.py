"""Samplers in the call shapes of SGLang's tree and chain samplers, in plain PyTorch, one request after the other.

    draftproof check 'sglang:examples/adapters/sglang_shape.py:tree_speculative_sampling_target_only?batched=no'
    draftproof check 'sglang.chain:examples/adapters/sglang_shape.py:chain_speculative_sampling?batched=no'
"""


def tree_speculative_sampling_target_only(
    predicts,  # out [B N]
    accept_index,  # out [B, steps]
    accept_token_num,  # out [B]
    candidates,  # [B, N]
    retrive_index,  # [B, N]: where each node is in predicts
    retrive_next_token,  # [B, N]: first child, or -1
    retrive_next_sibling,  # [B, N]: next sibling, or -1
    uniform_samples,  # [B, N]
    uniform_samples_for_final_sampling,  # [B]
    target_probs,  # [B, N, V]
    draft_probs,  # [B, N, V]: zeros
    threshold_single=1.0,
    threshold_acc=1.0,
    deterministic=True,
):
    """Predraw and follow: the coin of a node falls on one of its children, or past them."""
    for row in range(len(candidates)):
        node, accepted = 0, 0
        accept_index[row, 0] = retrive_index[row, 0]
        while True:
            law, coin, below = target_probs[row, node].clone(), uniform_samples[row, node], 0.0
            child = int(retrive_next_token[row, node])
            while child >= 0:
                token = candidates[row, child]
                below = below + target_probs[row, node, token]
                if coin < below / threshold_acc or target_probs[row, node, token] >= threshold_single:
                    break
                law[token] = 0
                child = int(retrive_next_sibling[row, child])
            if child < 0:
                break
            predicts[retrive_index[row, node]] = candidates[row, child]
            accepted += 1
            accept_index[row, accepted] = retrive_index[row, child]
            node = child
        accept_token_num[row] = accepted
        predicts[retrive_index[row, node]] = drawn(law, uniform_samples_for_final_sampling[row])


def chain_speculative_sampling(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    uniform_samples,
    uniform_samples_for_final_sampling,
    target_probs,
    draft_probs,  # [B, N - 1, V]: the laws of the drafts
    threshold_single=1.0,
    threshold_acc=1.0,
    deterministic=True,
):
    """Token-level speculative sampling."""
    for row in range(len(candidates)):
        accept_index[row, 0] = retrive_index[row, 0]
        law = target_probs[row, -1]
        for step in range(1, candidates.shape[1]):
            p, q, token = target_probs[row, step - 1], draft_probs[row, step - 1], candidates[row, step]
            if uniform_samples[row, step - 1] * q[token] >= p[token]:
                law = (p - q).clamp(min=0)
                break
            predicts[retrive_index[row, step - 1]] = token
            accept_index[row, step] = retrive_index[row, step]
        else:
            step = candidates.shape[1]
        accept_token_num[row] = step - 1
        predicts[retrive_index[row, step - 1]] = drawn(law, uniform_samples_for_final_sampling[row])


def drawn(law, uniform):
    """Inverse CDF over unnormalised weights: the first token whose cumulative weight is above; never one of weight 0."""
    above = law.cumsum(0) > uniform * law.sum()
    return int(above.int().argmax()) if above.any() else int(law.nonzero()[-1])
