"""Faults of training losses in batched torch code.  torch is imported when a loss runs, not before.

What it should be: with P(v) the target probability of the path to v and rho(v) the chance to leave the tree there, w = P rho, detached, and the loss
- sum over nodes besides the root of w(v) log q_{d(v)}(v_last), over the number of those nodes in the batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..objectives import objective

Tensor: TypeAlias = Any

__all__ = ["TRAINING_FAULTS", "TrainingFault"]


def served(target: Tensor, temperature: float = 1.0) -> Tensor:
    """Target rows [B, N, V] from logits."""
    return (target.double() / temperature).softmax(-1)


def inner(valid: Tensor) -> Tensor:
    """The nodes that count: not the root, not padding."""
    there = valid.clone()
    there[:, 0] = False
    return there


def edges(tokens: Tensor, parents: Tensor, valid: Tensor, rows: Tensor) -> Tensor:
    """p(token of v | parent of v) [B, N], 1 at the root, 0 at padding."""
    here = at(rows, parents, tokens) * valid
    here[:, 0] = 1.0
    return here


def at(rows: Tensor, row: Tensor, tokens: Tensor) -> Tensor:
    """rows[b, row[b, v], tokens[b, v]] [B, N]."""
    import torch

    return rows[torch.arange(len(rows))[:, None], row, tokens]


def reach(parents: Tensor, edge: Tensor) -> Tensor:
    """P(v): the product of the edges on the path to v; parents come first."""
    import torch

    found = [edge[:, 0]]
    for v in range(1, edge.shape[1]):
        above = torch.stack([*found, edge[:, v]], 1).gather(1, parents[:, v : v + 1])[:, 0]
        found.append(torch.where(parents[:, v] == v, edge[:, v], above * edge[:, v]))
    return torch.stack(found, 1)


def leave(parents: Tensor, valid: Tensor, edge: Tensor) -> Tensor:
    """rho(v): 1 minus the children's probabilities."""
    import torch

    return 1 - torch.zeros_like(edge).scatter_add(1, parents, edge * inner(valid))


def depth_of(parents: Tensor, valid: Tensor) -> Tensor:
    """d(v), 0 at the root and at padding."""
    import torch

    depth = torch.zeros_like(parents)
    for v in range(1, parents.shape[1]):
        depth[:, v] = torch.where(valid[:, v], depth.gather(1, parents[:, v : v + 1])[:, 0] + 1, 0)
    return depth


def scores(logits: Tensor, tokens: Tensor, row: Tensor) -> Tensor:
    """log q_{row + 1}(token of v) [B, N]."""
    return at(logits.log_softmax(-1), row, tokens)


def credited(weights: Tensor, logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor) -> Tensor:
    """- sum of weights times log q over the nodes besides the root."""
    depth = depth_of(parents, valid)
    return -(weights * scores(logits, tokens, (depth - 1).clamp(min=0)))[inner(valid)].sum()


def count(valid: Tensor) -> int:
    """Nodes besides the roots, at least 1."""
    return max(int(inner(valid).sum()), 1)


def exits(tokens: Tensor, parents: Tensor, valid: Tensor, rows: Tensor) -> Tensor:
    """w(v) [B, N]."""
    edge = edges(tokens, parents, valid, rows)
    return (reach(parents, edge) * leave(parents, valid, edge)).detach()


@objective
def weights_not_detached(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Lets the gradient flow through the weights into the target's rows."""
    rows = served(target)
    edge = edges(tokens, parents, valid, rows)
    weights = reach(parents, edge) * leave(parents, valid, edge)  # fault: .detach()
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective
def floor_in_reach_only(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Puts a floor of 1/50 under the probabilities along a path, not under those that are taken off rho: the weights sum to more than one."""
    rows = served(target.detach())
    edge = edges(tokens, parents, valid, rows)
    weights = reach(parents, edge.clamp(min=0.02) * valid) * leave(parents, valid, edge)  # fault: edge
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective
def roots_in_denominator(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Divides by the number of nodes with the roots among them."""
    weights = exits(tokens, parents, valid, served(target))
    return credited(weights, logits, tokens, parents, valid) / valid.sum()  # fault: count(valid)


@objective
def padding_in_denominator(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Divides by the number of slots, padding among them."""
    weights = exits(tokens, parents, valid, served(target))
    return credited(weights, logits, tokens, parents, valid) / valid[:, 1:].numel()  # fault: count(valid)


@objective
def root_credits_last_row(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Credits the root too, at depth 0 - 1: the last row of the draft."""
    weights = exits(tokens, parents, valid, served(target))
    rows = depth_of(parents, valid) - 1
    return -(weights * scores(logits, tokens, rows))[valid].sum() / count(valid)  # fault: [inner(valid)]


@objective
def padding_credited(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Takes padding for leaves at the root: one that repeats token 0 has its probability as weight."""
    import torch

    everywhere = torch.ones_like(valid)
    below = torch.where(valid, parents, 0)  # fault: both; padding hangs nowhere
    edge = edges(tokens, below, everywhere, served(target.detach()))
    weights = reach(below, edge) * leave(parents, valid, edge)
    return credited(weights, logits, tokens, below, everywhere) / count(valid)


@objective(temperature=0.6)
def target_at_temperature_one(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by the target at temperature 1 while it is served at 0.6."""
    weights = exits(tokens, parents, valid, served(target))  # fault: served(target, 0.6)
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective(top_p=0.8)
def target_without_top_p(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by the whole target while it is served with top-p 0.8."""
    weights = exits(tokens, parents, valid, served(target))  # fault: tokens beyond top-p taken out
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective
def prefix_weights(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by P(v), as the released recipes do, and says it is the exit weight."""
    weights = reach(parents, edges(tokens, parents, valid, served(target.detach())))  # fault: * leave(...)
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective
def weights_of_draft(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by where the draft's own paths leave the tree."""
    import torch

    row = depth_of(parents, valid).clamp(max=logits.shape[1] - 1)
    draft = logits.detach().double().softmax(-1)
    rows = draft[torch.arange(len(draft))[:, None], row]
    weights = exits(tokens, parents, valid, rows)  # fault: served(target)
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective
def edges_of_own_row(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Reads the probability of a node from its own row of the target, not from its parent's."""
    import torch

    rows = served(target.detach())
    edge = edges(tokens, torch.arange(parents.shape[1]).expand_as(parents), valid, rows)  # fault: parents
    weights = reach(parents, edge) * leave(parents, valid, edge)
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective
def row_of_depth(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Takes row d for a node at depth d, as for a drafter whose rows start at the anchor: shifted by one."""
    weights = exits(tokens, parents, valid, served(target))
    row = depth_of(parents, valid).clamp(max=logits.shape[1] - 1)  # fault: depth - 1
    return -(weights * scores(logits, tokens, row))[inner(valid)].sum() / count(valid)


@objective
def requests_averaged(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Averages over each tree, then over the batch: nodes of small trees count more."""
    weights = exits(tokens, parents, valid, served(target))
    each = inner(valid).sum(1, keepdim=True).clamp(min=1)
    return credited(weights / each, logits, tokens, parents, valid) / len(valid)  # fault: weights, count(valid)


@objective
def weights_normalised(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Divides the weights by their sum: how much leaves at the root no longer matters."""
    weights = exits(tokens, parents, valid, served(target))
    whole = (weights * inner(valid)).sum().clamp(min=1e-30)
    return credited(weights, logits, tokens, parents, valid) / whole  # fault: count(valid)


@objective
def mean_over_nothing(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Divides by the number of nodes where there are none: NaN."""
    weights = exits(tokens, parents, valid, served(target))
    return credited(weights, logits, tokens, parents, valid) / inner(valid).sum()  # fault: count(valid)


@objective
def gradient_of_scores_only(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the right loss and its gradient without the normaliser's: tokens that are not credited are never pushed down."""
    import torch

    weights = exits(tokens, parents, valid, served(target)) * inner(valid) / count(valid)
    gradient = torch.zeros_like(logits)  # fault: W_d softmax(z_d)
    row = (depth_of(parents, valid) - 1).clamp(min=0)
    gradient.index_put_((torch.arange(len(logits))[:, None].expand_as(row), row, tokens), -weights.to(logits.dtype), accumulate=True)
    return credited(weights, logits, tokens, parents, valid), gradient


Score = Callable[[Tensor, Tensor, Tensor], Tensor]


def passed(
    tokens: Tensor,
    parents: Tensor,
    valid: Tensor,
    context: Tensor,
    score: Score,
    kept: int | None = None,
    causal: bool = False,
    by_index: bool = False,
) -> Tensor:
    """Target rows [B, N, V] from one pass over context and tree; ``kept``: the last so many tokens of the context only."""
    import torch

    text = context if kept is None else context[:, -kept:]
    before, nodes, depth = text.shape[1] - 1, tokens.shape[1], depth_of(parents, valid)
    sees = torch.eye(nodes, dtype=torch.bool).repeat(len(tokens), 1, 1)
    for v in range(1, nodes):
        above = sees[torch.arange(len(tokens)), parents[:, v]] & (parents[:, v] != v)[:, None]
        sees[:, v] |= above
    if causal:
        sees = torch.ones(nodes, nodes, dtype=torch.bool).tril().repeat(len(tokens), 1, 1)
    mask = torch.zeros(len(tokens), before + nodes, before + nodes, dtype=torch.bool)
    mask[:, :before, :before] = torch.ones(before, before, dtype=torch.bool).tril()
    mask[:, before:, :before], mask[:, before:, before:] = True, sees
    places = torch.arange(nodes).expand_as(depth) if by_index else depth
    positions = torch.cat((torch.arange(before).expand(len(tokens), -1), before + places), 1)
    tree = torch.cat((text[:, -1:], tokens[:, 1:]), 1)
    return score(torch.cat((text[:, :-1], tree), 1), positions, mask)[:, before:]


def exit_after_pass(rows: Tensor, logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor) -> Tensor:
    """The loss from target rows that were scored here."""
    return credited(exits(tokens, parents, valid, served(rows)), logits, tokens, parents, valid) / count(valid)


@objective(scores=True)
def context_truncated(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, context: Tensor, score: Score) -> Tensor:
    """Scores the tree after the last tokens of the context only, as the released recipes do after 64."""
    return exit_after_pass(passed(tokens, parents, valid, context, score, kept=4), logits, tokens, parents, valid)  # fault: kept


@objective(scores=True)
def siblings_seen(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, context: Tensor, score: Score) -> Tensor:
    """Scores the tree with a causal mask: every node sees all that are listed before it."""
    return exit_after_pass(passed(tokens, parents, valid, context, score, causal=True), logits, tokens, parents, valid)  # fault: causal


@objective(scores=True)
def positions_by_index(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, context: Tensor, score: Score) -> Tensor:
    """Gives nodes the positions in which they are listed, not those of their depths."""
    return exit_after_pass(passed(tokens, parents, valid, context, score, by_index=True), logits, tokens, parents, valid)  # fault: by_index


@dataclass(frozen=True)
class TrainingFault:
    """One planted fault: the loss, the instance where it shows, and words of the message that rejects it."""

    call: Callable[..., Any]
    instance: str
    said: str

    @property
    def name(self) -> str:
        return self.call.__name__

    @property
    def what(self) -> str:
        """What it does, in one sentence."""
        return (self.call.__doc__ or "").strip()


def _faults(table: Mapping[Callable[..., Any], tuple[str, str]]) -> tuple[TrainingFault, ...]:
    return tuple(TrainingFault(call, instance, said) for call, (instance, said) in table.items())


TRAINING_FAULTS = _faults(
    {
        weights_not_detached: ("training-worked-example", "the weights are not detached"),
        floor_in_reach_only: ("training-rare-nodes", "the loss is another one"),
        roots_in_denominator: ("training-worked-example", "roots counted among the nodes"),
        padding_in_denominator: ("training-ragged", "padding counted among the nodes"),
        root_credits_last_row: ("training-root-exit", "the loss is another one"),
        padding_credited: ("training-ragged", "the loss is another one"),
        target_at_temperature_one: ("training-worked-example", "the target as its rows say, not as it is served"),
        target_without_top_p: ("training-ragged", "the target as its rows say, not as it is served"),
        prefix_weights: ("training-lock-in", "prefix weights in place of exit ones"),
        weights_of_draft: ("training-worked-example", "a part that moves with the logits is detached"),
        edges_of_own_row: ("training-worked-example", "the loss is another one"),
        row_of_depth: ("training-worked-example", "the loss is another one"),
        requests_averaged: ("training-ragged", "requests averaged one by one"),
        weights_normalised: ("training-root-exit", "weights divided by their sum"),
        mean_over_nothing: ("training-no-nodes", "a loss of nan"),
        gradient_of_scores_only: ("training-worked-example", "differentiated wrongly"),
        context_truncated: ("training-worked-example", "the loss is another one"),
        siblings_seen: ("training-rare-nodes", "the loss is another one"),
        positions_by_index: ("training-rare-nodes", "the loss is another one"),
    }
)
