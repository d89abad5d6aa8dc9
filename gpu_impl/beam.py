"""Best-first plans where a child's factor depends on its path: a beam per depth holds all that a tree of n nodes can use.

A node's score is at most its parent's, so the n best of all prefixes lie among the n best of each depth, and those below the n best of the depth
above.  Equal scores go to the lexicographically smallest tuple of ranks, as in ``ddtree``.
"""
import torch
from torch import Tensor

from .ddtree import DraftTrees
from .drafters import Draft, at_temperature


@torch.no_grad()
def plan_with_head(draft: Draft, nodes: int, temperature: float = 1.0, candidates: int | None = None) -> DraftTrees:
    """The tree of the ``nodes`` most probable prefixes under a draft with a head, its conditionals taken along planned paths.

    ``candidates``: how many tokens of each depth are looked at, those of largest base logit, over which rows are then normalised (default: all of
    them, which is exact and reads nodes x V logits a depth).  A row that is no law (a NaN, a +inf, or all -inf) ends its branch.

    Raises ValueError for a draft without a head, no candidates, or a temperature that is negative or not finite.
    """
    head = draft.head
    if head is None:
        raise ValueError("this draft has no head; plan it with ddtree")
    if candidates is not None and candidates < 1:
        raise ValueError(f"at least one candidate is needed, got {candidates}")
    batch, depths, vocabulary = draft.base.shape
    width = min(vocabulary, candidates or vocabulary)
    beam = _Beam(batch, nodes, depths, draft.base.device)
    state = head.start(draft.anchor).unsqueeze(1)  # [B, W, S]
    for depth in range(depths):
        favoured = draft.base[:, depth].topk(width).indices.sort(1).values  # by token, so that ties go to the smaller one
        tokens = favoured.unsqueeze(1).expand(-1, state.shape[1], -1)
        bias = head.bias(state.flatten(0, 1), tokens.flatten(0, 1)).view(tokens.shape)
        row = at_temperature(draft.base[:, depth].gather(1, favoured).unsqueeze(1).double() + bias.double(), temperature)
        factors, order = row.log_softmax(-1).nan_to_num(nan=-torch.inf, neginf=-torch.inf).sort(dim=-1, descending=True, stable=True)
        above, token = beam.grow(factors, tokens.gather(2, order))
        carried = state.gather(1, above.unsqueeze(2).expand(-1, -1, state.shape[2]))
        state = head.step(carried.flatten(0, 1), token.flatten()).view(*token.shape, state.shape[2])
    return beam.trees()


def plan_by_acceptance(acceptance: Tensor, nodes: int) -> DraftTrees:
    """A plan by our own score: the product of the chances that draw j is reached and accepted at each depth, say as measured in earlier rounds.

    acceptance [B, L, K]: of draw j at depth i, after its elders were rejected; rows are made non-increasing in j.  The trees have no planned tokens
    (they are all 0).  Not from the paper: see the reference's ``slot_acceptance`` for why path scores over-branch.  A NaN or a negative is no chance.

    Raises ValueError unless acceptance is [B, L, K].
    """
    if acceptance.dim() != 3:
        raise ValueError(f"acceptance must be [B, L, K], got {list(acceptance.shape)}")
    batch, depths, _ = acceptance.shape
    beam = _Beam(batch, nodes, depths, acceptance.device)
    factors = acceptance.double().nan_to_num(nan=0.0).clamp(min=0).cummin(-1).values.log()
    for depth in range(depths):
        row = factors[:, depth].unsqueeze(1).expand(-1, beam.width, -1)
        beam.grow(row, torch.zeros_like(row, dtype=torch.int64))
    return beam.trees()


class _Beam:
    """The best prefixes of each depth, in lexicographic order of their rank tuples."""

    def __init__(self, batch: int, nodes: int, depths: int, device: torch.device):
        self.nodes, self.depths = max(nodes, 0), depths
        self.scores = torch.zeros(batch, 1, dtype=torch.float64, device=device)
        self.ranks = torch.full((batch, 1, depths), -1, dtype=torch.int64, device=device)
        self.levels: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []  # scores, parents' place in the level above, tokens, ranks

    @property
    def width(self) -> int:
        return self.scores.shape[1]

    def grow(self, factors: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Go one depth down by log factors [B, W, K]; returns the place of each new prefix's parent [B, W'] and its token [B, W']."""
        children = factors.shape[2]
        scores = (self.scores.unsqueeze(2) + factors).flatten(1)
        best = scores.sort(dim=1, descending=True, stable=True).indices[:, : self.nodes].sort(1).values  # lexicographic again
        above, rank = best // children, best % children
        self.scores, token = scores.gather(1, best), tokens.flatten(1).gather(1, best)
        self.ranks = self.ranks.gather(1, above.unsqueeze(2).expand(-1, -1, self.depths)).clone()
        self.ranks[:, :, len(self.levels)] = rank
        self.levels.append((self.scores, above, token, self.ranks))
        return above, token

    def trees(self) -> DraftTrees:
        """The best of all depths."""
        batch, device = len(self.scores), self.scores.device
        columns = [torch.zeros(batch, 1, dtype=torch.int64, device=device)]
        scores = torch.cat([columns[0].double(), *(level[0] for level in self.levels)], 1)  # place 0 is the root
        tokens = torch.cat([*columns, *(level[2] for level in self.levels)], 1)
        root = torch.full((batch, 1, self.depths), -1, dtype=torch.int64, device=device)
        ranks = torch.cat([root, *(level[3] for level in self.levels)], 1)
        sizes, parents = [1], columns
        for _, above, _, _ in self.levels:
            parents.append(above + (sum(sizes) - sizes[-1]))
            sizes.append(above.shape[1])
        parent = torch.cat(parents, 1)
        depth = torch.repeat_interleave(torch.tensor(sizes)).to(device).expand(batch, -1)

        order = torch.arange(scores.shape[1], device=device).repeat(batch, 1)
        for key in (*ranks.unbind(2)[::-1], -scores):  # least significant first
            order = order.gather(1, key.gather(1, order).sort(dim=1, stable=True).indices)
        order = order[:, : 1 + self.nodes]
        place = torch.zeros_like(parent).scatter_(1, order, torch.arange(order.shape[1], device=device).expand_as(order))
        valid = scores.gather(1, order) > -torch.inf
        index = torch.arange(order.shape[1], device=device)
        return DraftTrees(
            tokens=tokens.gather(1, order).where(valid, 0),
            parents=place.gather(1, parent.gather(1, order)).where(valid, index),
            valid=valid,
            depth=depth.gather(1, order).where(valid, 0),
            scores=scores.gather(1, order),
        )
