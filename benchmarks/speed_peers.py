"""What people run today to verify draft trees, in the form they write it, from logits; each returns the accepted counts [B]."""
import importlib
import importlib.util
from collections.abc import Callable

import torch
from speed_cases import Case
from torch import Tensor


def predraw_walk(case: Case) -> Tensor:
    """What DDTree code does: softmax and one multinomial draw at every node, then a walk on the host."""
    batch, nodes, vocabulary = case.target.shape
    drawn = torch.multinomial(case.target.softmax(-1).view(-1, vocabulary), 1).view(batch, nodes).tolist()
    children, tokens = case.children(), case.tokens.tolist()
    accepted = []
    for b in range(batch):
        node = depth = 0
        while (child := next((c for c in children[node] if tokens[b][c] == drawn[b][node]), None)) is not None:
            node, depth = child, depth + 1
        accepted.append(depth)
    return torch.tensor(accepted)


def sibling_loop(case: Case) -> Tensor:
    """What EAGLE-style code does: tree by tree, sibling by sibling, on dense float32 rows."""
    children, accepted = case.children(), []
    for b in range(len(case.tokens)):
        node = depth = 0
        while True:
            row, parent = case.target[b, node].softmax(-1), node
            for child in children[node]:
                token, draft = case.tokens[b, child], case.draft[b, child].softmax(-1)
                if torch.rand((), device=row.device) * draft[token] <= row[token]:
                    node, depth = child, depth + 1
                    break
                row = (row - draft).clamp(min=0)
                row = row / row.sum()
            if node == parent:
                torch.multinomial(row, 1).item()
                accepted.append(depth)
                break
    return torch.tensor(accepted)


def transformers_chain(case: Case) -> Tensor:
    """transformers' own function, request by request (it takes one); chains only."""
    from transformers.generation.utils import _speculative_sampling

    drafts = case.tokens.shape[1] - 1
    return torch.tensor([
        int(_speculative_sampling(case.tokens[b : b + 1, 1:], case.draft[b : b + 1, 1:], drafts, case.target[b : b + 1])[1])
        for b in range(len(case.tokens))
    ])


def peers(tree: str) -> dict[str, Callable[[Case], Tensor]]:
    """Those that can be run here on a chain or on a tree."""
    found: dict[str, Callable[[Case], Tensor]] = {"predraw walk": predraw_walk, "sibling loop": sibling_loop}
    if tree == "chain" and importlib.util.find_spec("transformers"):
        importlib.import_module("transformers.generation.utils")  # seconds, which are not the sampler's
        found["transformers"] = transformers_chain
    return found
