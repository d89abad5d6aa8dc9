"""SGLang's tree sampler ``tree_speculative_sampling_target_only``: coins in, tokens and accepted nodes written into buffers.

A tree is three arrays, the place of each node in the flat output, its first child and its next sibling.  The coin of a node decides which child is
next, all children against one coin, so drafts count as deterministic and declared laws are not read: the rule is predraw and follow, with siblings
of distinct tokens.  With ``threshold_single`` or ``threshold_acc`` below 1 it accepts more than it should, by design: lossy.
"""

from typing import Any

from ..subjects import Subject
from . import filled, parameters

BUFFERS = ("predicts", "accept_index", "accept_token_num")
TREE = ("candidates", "retrive_index", "retrive_next_token", "retrive_next_sibling")
SHAPE = (*BUFFERS, *TREE, "uniform_samples", "target_probs", "draft_probs")
FINAL = "uniform_samples_for_final_sampling"


def subject(function: Any, name: str, threshold_single: float = 1.0, threshold_acc: float = 1.0, **declares: Any) -> Subject:
    """``function`` as a tree subject.  Releases without coins of their own for the last token get none."""
    takes = parameters(function, name, SHAPE)
    thresholds = {"threshold_single": threshold_single, "threshold_acc": threshold_acc}
    more = {key: value for key, value in {**thresholds, "deterministic": True}.items() if key in takes}
    last = int(FINAL in takes)
    lossy = min(thresholds.values()) < 1

    def verify(tokens: Any, parents: Any, valid: Any, target: Any, declared: Any, uniforms: Any) -> tuple[Any, Any]:
        import torch

        coins = {"uniform_samples": uniforms[:, : tokens.shape[1]].contiguous()} | ({FINAL: uniforms[:, -1].contiguous()} if last else {})
        child, sibling, depth = linked(parents, valid)
        draft_probs = torch.zeros_like(target)  # the engine's own caller passes zeros
        return walked(function, tokens, child, sibling, depth + 1, {**coins, "target_probs": target, "draft_probs": draft_probs, **more})

    return Subject(
        verify,
        name,
        randomness="uniforms",
        columns=lambda nodes: nodes + last,
        order=lambda nodes: range(nodes + last),
        **{"family": None if lossy else "predraw_follow", "claims": ("lossy",) if lossy else ("lossless",), **declares},
    )


def linked(parents: Any, valid: Any) -> tuple[Any, Any, int]:
    """(first child [B, N], next sibling [B, N], depth of the deepest node); -1 where there is none."""
    import torch

    child, sibling = torch.full_like(parents, -1), torch.full_like(parents, -1)
    depth = torch.zeros_like(parents)
    rows = torch.arange(len(parents), device=parents.device)
    for node in range(parents.shape[1] - 1, 0, -1):  # the youngest first, so that every link points at the next elder's follower
        real, parent = rows[valid[:, node] & (parents[:, node] != node)], parents[:, node]
        sibling[real, node] = child[real, parent[real]]
        child[real, parent[real]] = node
    for node in range(1, parents.shape[1]):
        real = rows[valid[:, node] & (parents[:, node] != node)]
        depth[real, node] = depth[real, parents[real, node]] + 1
    return child, sibling, int(depth.max())


def walked(function: Any, candidates: Any, child: Any, sibling: Any, steps: int, arguments: dict[str, Any]) -> tuple[Any, Any]:
    """Call a sampler that writes into buffers and read them: (blocks [B, steps], accepted [B])."""
    import torch

    size, nodes = candidates.shape
    places = torch.arange(size * nodes, device=candidates.device).reshape(size, nodes)
    predicts = torch.full((size * nodes,), -1, dtype=torch.int32, device=candidates.device)
    accept_index = torch.full((size, steps), -1, dtype=torch.int32, device=candidates.device)
    accept_token_num = torch.zeros(size, dtype=torch.int32, device=candidates.device)
    function(
        predicts=predicts,
        accept_index=accept_index,
        accept_token_num=accept_token_num,
        candidates=candidates,
        retrive_index=places,
        retrive_next_token=child,
        retrive_next_sibling=sibling,
        **arguments,
    )
    return filled(predicts[accept_index.long().clamp(min=0)], accept_token_num), accept_token_num
