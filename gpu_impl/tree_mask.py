"""What the target's verify pass needs to see a tree: who attends to whom."""
import torch
from torch import Tensor


def tree_mask(parents: Tensor, depth: Tensor) -> Tensor:
    """[B, N, N] bool: may query i attend to key j, that is, is j node i itself or an ancestor of it, the root included.

    parents, depth [B, N] int64 as in ``DraftTrees``; padding sees itself only, so that no softmax row is empty.
    Tokens before the root are seen by every node: put that many columns of True in front.
    Position ids are the root's position + depth, not + index.  One step per depth; waits for the device once.
    """
    batch, nodes = parents.shape
    mask = torch.zeros(batch, nodes, nodes, dtype=torch.bool, device=parents.device)
    ancestor = torch.arange(nodes, device=parents.device).repeat(batch, 1)
    seen = torch.ones(batch, nodes, 1, dtype=torch.bool, device=parents.device)
    mask.scatter_(2, ancestor.unsqueeze(2), seen)
    for _ in range(int(depth.amax()) if depth.numel() else 0):
        ancestor = parents.gather(1, ancestor)
        mask.scatter_(2, ancestor.unsqueeze(2), seen)
    return mask
