"""A verifier of deterministic trees in the call shape of EAGLE's ``evaluate_posterior``, in plain PyTorch.

    draftproof check eagle:examples/adapters/eagle_shape.py:evaluate_posterior
"""

import random

import torch


def evaluate_posterior(logits, candidates, logits_processor):
    """(index of a path through the accepted nodes, how many drafts are accepted, law of the next token).

    Siblings are tried in order: token x with the chance that what is left of the target gives it, after which x is taken out of the target.
    """
    here, depth = list(range(len(candidates))), 0  # the paths through the node that was reached
    while True:
        law = logits_processor(None, logits[here[0], depth][None])[0].softmax(-1)
        below = dict.fromkeys(candidates[here, depth + 1].tolist()) if depth + 1 < candidates.shape[1] else {}
        for token in below:
            if token < 0:
                continue
            if random.random() < law[token]:
                here = [path for path in here if candidates[path, depth + 1] == token]
                depth += 1
                break
            law[token] = 0
            law = law / law.sum()
        else:
            return torch.tensor(here[0]), depth, law
