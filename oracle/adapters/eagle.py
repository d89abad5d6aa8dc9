"""EAGLE's ``evaluate_posterior(logits, candidates, logits_processor) -> (best_candidate, accept_length, sample_p)``, one request at a time.

``candidates`` [P, D + 1] are the paths from the root to each leaf, padded with -1, ``logits`` [P, D + 1, V] the target's after each of their nodes.
The engine draws the next token from ``sample_p``; so does this adapter.  EAGLE-2 and -3 draft deterministic trees and read no declared law, which
is predraw and follow in law.  (EAGLE-1 took eight arguments, declared laws among them; it is not adapted.)
"""

from typing import Any

from ..subjects import Subject
from . import parameters


def subject(function: Any, name: str, **declares: Any) -> Subject:
    """``function`` as a tree subject with randomness of its own."""
    parameters(function, name, ("logits", "candidates", "logits_processor"))

    def verify(tokens: Any, parents: Any, valid: Any, target: Any, declared: Any) -> tuple[Any, Any]:
        import torch

        width = tokens.shape[1]
        paths = _paths(parents[0].tolist(), valid[0].tolist())
        longest = max(map(len, paths))
        places = torch.tensor([path + [-1] * (longest - len(path)) for path in paths], device=tokens.device)
        candidates = tokens[0][places].masked_fill(places < 0, -1)
        best, accepted, last = function(target[0][places], candidates, lambda ids, logits: logits)
        count = int(accepted)
        blocks = torch.full((1, width), -1, dtype=torch.int64, device=tokens.device)
        blocks[0, :count] = candidates[int(best), 1 : count + 1]
        blocks[0, count] = torch.multinomial(last.reshape(1, -1), 1)[0, 0]
        return blocks, torch.tensor([count])

    return Subject(verify, name, rows="logits", randomness="internal", batched=False, **{"family": "predraw_follow", **declares})


def _paths(parents: list[int], valid: list[bool]) -> list[list[int]]:
    """The nodes from the root to every leaf, elder leaves first."""
    nodes = [node for node in range(1, len(parents)) if valid[node] and parents[node] != node]
    way = {0: [0]}
    for node in nodes:
        way[node] = [*way[parents[node]], node]
    inner = {parents[node] for node in nodes}
    return sorted(path for node, path in way.items() if node not in inner)
