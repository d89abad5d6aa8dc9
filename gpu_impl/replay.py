"""REPLAY of a frozen topology (Tsubame, arXiv 2609.33652) for a batch: slot j of a node is filled by draw j, level by level."""
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from .ddtree import DraftTrees
from .drafters import Draft, at_temperature, check_temperature
from .lazy_rows import LazyRows
from .sampling import read_uniforms
from .sequential import draw_greedily, draw_sequence, gumbel_top
from .trees import Tree, build_tree

CHUNK = 1 << 23  # probabilities held at a time
DROPPED, SAMPLED, ONE_HOT, UNIFORM = range(4)  # what became of a slot
EXHAUSTION = {"drop": DROPPED, "one_hot": ONE_HOT, "uniform": UNIFORM}
SAMPLERS = ("without_replacement", "with_replacement", "greedy")


@dataclass(frozen=True)
class Replayed:
    """A batch of populated trees, in the array convention of ``trees``.

    tokens, parents [B, N] int64, valid [B, N] bool: valid where the slot is live; a dropped slot and its subtree are padding.
    declared: the law of each token, [B, N, V] computed when read; None where tokens were planned (temperature 0): one-hot.
    shared: tokens come from one list per depth, which only recursive_rejection may verify.
    """

    tokens: Tensor
    parents: Tensor
    valid: Tensor
    declared: LazyRows | None
    shared: bool = False


@torch.no_grad()
def replay(
    draft: Draft,
    topology: DraftTrees,
    *,
    temperature: float = 1.0,
    sampler: str = "without_replacement",
    exhaust: str = "drop",
    shared_lists: bool = False,
    gumbel: bool = False,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Replayed:
    """Fill the slots of frozen topologies with draws from the draft laws, and say which law each token came from.

    Siblings are drawn in index order.  A node with more slots than its row has possible tokens exhausts the row (at once,
    where it is no law: a NaN, a +inf, or all -inf): what is left is dropped with its subtrees, filled with the untried token
    of largest logit (declared one-hot), or filled uniformly from the untried tokens.

    Args:
        draft: base logits [B, L, V] and head; rows of a head are those of the replayed path.
        topology: from ``ddtree``, ``plan_with_head`` or ``plan_by_acceptance``.  Its tokens are not looked at, except at
            temperature 0, where sampling would collapse every tree into a chain: they are then kept.
        temperature: of the draft laws; the plan may have another one.
        sampler: without_replacement; with_replacement (duplicates are kept; verifiers update the residual for each); or
            greedy, for ``univer``: the most probable tokens, declared one-hot, and one draw off them, last.
        exhaust: drop, one_hot or uniform.
        shared_lists: one list of draws per depth serves all its nodes; marginal drafts without replacement only.
        gumbel: draw siblings by Gumbel-top-k from ``generator``, a noise vector a node, not by one uniform a slot.
        uniforms: [B, N] in [0, 1), float32 or float64; uniforms[b, v] draws slot v by inverse CDF in token order, column
            0 is not used.  With shared lists the first slot of each depth and rank draws for all.
        generator: draws the uniforms if they are not given.

    Raises:
        ValueError: an unknown sampler or exhaustion rule, choices that do not go together, a temperature that is negative
            or not finite, or a topology of another batch or deeper than the draft.
    """
    _check(draft, sampler, exhaust, shared_lists, gumbel, uniforms)
    check_temperature(temperature)
    if len(topology.tokens) != len(draft.base):
        raise ValueError(f"the topologies are of {len(topology.tokens)} requests, the draft of {len(draft.base)}")
    if temperature == 0:
        return Replayed(topology.tokens, topology.parents, topology.valid, None)
    filling = _Filling(draft, topology, temperature, sampler, EXHAUSTION[exhaust])
    if len(filling.tree.levels) > draft.base.shape[1]:
        raise ValueError(f"the topology is {len(filling.tree.levels)} deep, the draft has {draft.base.shape[1]} positions")
    noise = None
    if not gumbel:
        noise = read_uniforms(uniforms, generator, (len(topology.tokens), topology.tokens.shape[1]), draft.base.device)
    for batch, node in filling.tree.levels:
        filling.fill(batch, node, noise, generator, shared_lists)
    shape = (len(topology.tokens), topology.tokens.shape[1], draft.base.shape[2])
    declared = LazyRows(shape, draft.base.device, filling.declared)
    return Replayed(filling.tokens, topology.parents, filling.kind != DROPPED, declared, shared_lists)


def _check(draft: Draft, sampler: str, exhaust: str, shared_lists: bool, gumbel: bool, uniforms: Tensor | None) -> None:
    if sampler not in SAMPLERS:
        raise ValueError(f"unknown sampler {sampler!r}; known: {', '.join(SAMPLERS)}")
    if exhaust not in EXHAUSTION:
        raise ValueError(f"unknown exhaustion rule {exhaust!r}; known: {', '.join(EXHAUSTION)}")
    if shared_lists and (draft.head is not None or sampler != "without_replacement" or gumbel or exhaust != "drop"):
        raise ValueError("shared lists are for marginal drafts without replacement, with uniforms and exhaustion rule drop")
    if gumbel and (sampler != "without_replacement" or uniforms is not None):
        raise ValueError("Gumbel-top-k draws without replacement, from a generator")


class _Filling:
    """Topologies being filled: a token, what it is, and the head's state for every slot."""

    def __init__(self, draft: Draft, topology: DraftTrees, temperature: float, sampler: str, exhaust: int):
        self.draft, self.temperature, self.exhaust = draft, temperature, exhaust
        self.replace, self.greedy = sampler == "with_replacement", sampler == "greedy"
        self.tree: Tree = build_tree(torch.zeros_like(topology.tokens), topology.parents, topology.valid, 1)
        self.tokens = torch.zeros_like(topology.tokens)
        self.kind = torch.full_like(topology.tokens, DROPPED)
        self.kind[:, 0] = SAMPLED
        self.state: Tensor | None = None
        if draft.head is not None:
            start = draft.head.start(draft.anchor)
            self.state = start.new_zeros(*topology.tokens.shape, start.shape[1])
            self.state[:, 0] = start

    def fill(
        self, batch: Tensor, node: Tensor, noise: Tensor | None, generator: torch.Generator | None, shared: bool
    ) -> None:
        """Draw the children of n nodes of one depth, batch and node [n]."""
        children = self.tree.children[batch, node]  # [n, R]
        counts = (children > 0).sum(1).where(self.kind[batch, node] != DROPPED, 0)
        children = children[:, : int(counts.amax())]
        if noise is None:
            tokens, exhausted = self._by_gumbel(batch, node, counts, children.shape[1], generator)
        elif self.draft.head is not None or self.greedy:
            tokens, exhausted = self._by_node(batch, node, counts, noise[batch.unsqueeze(1), children])
        else:
            tokens, exhausted = self._by_row(batch, node, counts, noise[batch.unsqueeze(1), children], shared)
        kind = (tokens >= 0).long() * SAMPLED
        if self.greedy:
            last = torch.arange(tokens.shape[1], device=batch.device) + 1 == counts.unsqueeze(1)
            kind = kind.where(last | (kind == DROPPED), ONE_HOT)
        if self.exhaust != DROPPED:
            self._refill(batch, node, tokens, kind, exhausted, noise, children, generator)
        real = (children > 0) & (tokens >= 0)
        row, rank = real.nonzero(as_tuple=True)
        where = batch[row], children[row, rank]
        self.tokens[where], self.kind[where] = tokens[row, rank], kind[row, rank]
        if self.state is not None and self.draft.head is not None:
            self.state[where] = self.draft.head.step(self.state[batch[row], node[row]], tokens[row, rank])

    def _law(self, batch: Tensor, node: Tensor) -> Tensor:
        """Draft laws [n, V] of the children of n nodes, float64 for float64 logits and float32 for others; 0 where there is none.

        These very numbers, divided by their sum, are what tokens are drawn from and what is declared.
        """
        law = at_temperature(self._logits(batch, node), self.temperature).softmax(-1)
        law[law[:, 0].isnan()] = 0
        return law

    def _logits(self, batch: Tensor, node: Tensor) -> Tensor:
        state = None if self.state is None else self.state[batch, node]
        return self.draft.logits(batch, self.tree.depth[batch, node], state)

    def _by_row(self, batch: Tensor, node: Tensor, counts: Tensor, noise: Tensor, shared: bool) -> tuple[Tensor, Tensor]:
        """Nodes of one request and depth share a row (marginal drafts): each row is read once."""
        present = torch.bincount(batch, minlength=len(self.tokens)) > 0
        requests, group = present.nonzero(as_tuple=True)[0], (present.cumsum(0) - 1)[batch]
        first = torch.searchsorted(group, torch.arange(len(requests), device=batch.device))
        if shared:
            counts, noise = self._pooled(group, len(requests), counts, noise)
        tokens, exhausted = torch.empty_like(noise, dtype=torch.int64), torch.empty_like(noise, dtype=torch.bool)
        step = max(1, CHUNK // self.draft.base.shape[2])
        ends = [*first[::step].tolist(), len(batch)]  # nodes come request by request
        for start, (low, high) in zip(range(0, len(requests), step), pairwise(ends), strict=True):
            law = self._law(requests[start : start + step], node[first[start : start + step]])
            some = slice(low, high)
            tokens[some], exhausted[some] = draw_sequence(law, group[some] - start, noise[some], counts[some], self.replace)
        return tokens, exhausted

    def _pooled(self, group: Tensor, requests: int, counts: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """For shared lists: every node draws the longest list of its request, by the uniforms of the first node with each rank."""
        longest = counts.new_zeros(requests).scatter_reduce(0, group, counts, "amax")
        index = torch.arange(len(group), device=group.device)
        has = counts.unsqueeze(1) > torch.arange(noise.shape[1], device=group.device)  # [n, R]
        order = index.unsqueeze(1).where(has, len(group))
        first = torch.full((requests, noise.shape[1]), len(group), device=group.device)
        first = first.scatter_reduce(0, group.unsqueeze(1).expand_as(order), order, "amin").clamp(max=len(group) - 1)
        return longest[group], noise.gather(0, first)[group]

    def _by_node(self, batch: Tensor, node: Tensor, counts: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Every node has its own row (drafts with a head), or is treated as if."""
        tokens, exhausted = torch.empty_like(noise, dtype=torch.int64), torch.empty_like(noise, dtype=torch.bool)
        step = max(1, CHUNK // self.draft.base.shape[2])
        for start in range(0, len(batch), step):
            part = slice(start, start + step)
            law = self._law(batch[part], node[part])
            if self.greedy:
                tokens[part], exhausted[part] = draw_greedily(law, noise[part], counts[part])
            else:
                row = torch.arange(len(law), device=batch.device)
                tokens[part], exhausted[part] = draw_sequence(law, row, noise[part], counts[part], self.replace)
        return tokens, exhausted

    def _by_gumbel(
        self, batch: Tensor, node: Tensor, counts: Tensor, width: int, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        tokens = counts.new_empty(len(batch), width)
        step = max(1, CHUNK // self.draft.base.shape[2])
        for start in range(0, len(batch), step):
            part = slice(start, start + step)
            tokens[part] = gumbel_top(self._law(batch[part], node[part]), width, generator)
        wanted = counts.unsqueeze(1) > torch.arange(width, device=counts.device)
        return tokens.where(wanted, -1), wanted & (tokens < 0)

    def _refill(
        self,
        batch: Tensor,
        node: Tensor,
        tokens: Tensor,
        kind: Tensor,
        exhausted: Tensor,
        noise: Tensor | None,
        children: Tensor,
        generator: torch.Generator | None,
    ) -> None:
        """Fill exhausted slots in place, eldest first; there are few."""
        vocabulary = self.draft.base.shape[2]
        for rank in range(min(tokens.shape[1], vocabulary)):
            row = exhausted[:, rank].nonzero(as_tuple=True)[0]
            if not len(row):
                continue
            elders = tokens[row, :rank]
            if self.exhaust == ONE_HOT:
                raw = self._logits(batch[row], node[row])
                raw = raw.nan_to_num(neginf=torch.finfo(raw.dtype).min)
                tokens[row, rank] = raw.scatter_(1, elders, -torch.inf).argmax(1)
            else:
                if noise is None:
                    uniform = read_uniforms(None, generator, (len(row), 1), tokens.device).squeeze(1)
                else:
                    uniform = noise[batch[row], children[row, rank]]
                token = (uniform * (vocabulary - rank)).long()
                for elder in elders.sort(1).values.unbind(1):
                    token = token + (token >= elder)
                tokens[row, rank] = token
            kind[row, rank] = self.exhaust

    def declared(self, batch: Tensor, node: Tensor) -> Tensor:
        """Declared laws [n, V] of n slots, float64; where there is no live slot, a point mass that no verifier looks at."""
        vocabulary = self.draft.base.shape[2]
        law = torch.zeros(len(batch), vocabulary, dtype=torch.float64, device=batch.device)
        kind = self.kind[batch, node].where(node > 0, DROPPED)
        law.scatter_(1, self.tokens[batch, node].unsqueeze(1), 1.0)
        row = (kind == SAMPLED).nonzero(as_tuple=True)[0]
        if len(row):
            drawn = self._law(batch[row], self.tree.parents[batch[row], node[row]]).double()
            law[row] = drawn if self.replace else self._off_elders(drawn, batch[row], node[row])
        row = (kind == UNIFORM).nonzero(as_tuple=True)[0]
        if len(row):
            law[row] = self._off_elders(torch.ones_like(law[row]), batch[row], node[row])
        return law / law.sum(-1, keepdim=True)

    def _off_elders(self, rows: Tensor, batch: Tensor, node: Tensor) -> Tensor:
        """Rows [n, V] with 0 at the tokens of each slot's elder siblings."""
        siblings = self.tree.children[batch, self.tree.parents[batch, node]]  # [n, R]
        elder = torch.arange(siblings.shape[1], device=batch.device) < self.tree.rank[batch, node].unsqueeze(1)
        own = rows.gather(1, self.tokens[batch, node].unsqueeze(1))
        token = self.tokens[batch.unsqueeze(1), siblings].where(elder, self.tokens[batch, node].unsqueeze(1))
        return rows.scatter(1, token, own.where(~elder, 0.0))
