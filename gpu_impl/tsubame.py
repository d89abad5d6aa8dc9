"""Tree replay on a frozen topology (Tsubame, arXiv 2609.33652), a batch of rounds on the device, from logits.

    PLAN     grow the most probable prefixes best-first on planned tokens
    FREEZE   keep parents, depths and sibling order; mask and position ids can be prepared from here on
    REPLAY   throw the planned tokens away and draw new ones, slot by slot, recording the law of each
    VERIFY   score the replayed tokens by the target and verify them against the recorded laws

The topology never looks at the replayed tokens, so a round is lossless; and planning, replay and verification must each
have randomness of its own.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor

from .beam import plan_with_head
from .ddtree import DraftTrees, ddtree
from .drafters import Draft, at_temperature, check_temperature
from .lazy_rows import LazyRows
from .recursive_rejection import recursive_rejection
from .replay import Replayed, replay
from .tree_mask import tree_mask


class Verifier(Protocol):
    """Any verifier of this package."""

    def __call__(
        self,
        tokens: Tensor,
        parents: Tensor,
        valid: Tensor,
        target: Tensor,
        declared: Tensor | None = None,
        *,
        uniforms: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]: ...


@dataclass(frozen=True)
class Round:
    """What a round of B requests ends with.

    blocks [B, D+1] int64: accepted tokens and bonus, padded with -1; accepted [B] int64: tokens before the bonus.
    kept [B, D+1] int64: the nodes whose state joins the cache, in order, root first, padded with -1.  The bonus token is
    not among them: it is the next round's root.
    """

    blocks: Tensor
    accepted: Tensor
    kept: Tensor


def plan(draft: Draft, nodes: int, *, temperature: float = 1.0, candidates: int | None = None) -> DraftTrees:
    """PLAN: trees of ``nodes`` slots besides the root; their tokens are planned ones.  ``candidates``: see ``plan_with_head``."""
    if draft.head is not None:
        return plan_with_head(draft, nodes, temperature, candidates)
    return ddtree(at_temperature(draft.base, temperature), nodes)


@torch.no_grad()
def verify(
    replayed: Replayed,
    target: Tensor,
    verifier: Verifier = recursive_rejection,
    *,
    temperature: float = 1.0,
    uniforms: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """VERIFY: target logits [B, N, V] of the replayed tokens -> (blocks, accepted), as the verifier returns them.

    Only the rows that the verifier reads are normalised, in float64.  temperature: of the target; 0 is greedy.

    Raises:
        ValueError: shared lists with a verifier other than recursive_rejection, a target of another shape, or a temperature
            that is negative or not finite.
        TypeError: the target is no tensor.
    """
    check_temperature(temperature)
    if not isinstance(target, Tensor):
        raise TypeError(f"target must be a tensor, got {type(target).__name__}")
    declared = replayed.declared
    tokens = "V" if declared is None else declared.shape[2]
    if target.dim() != 3 or target.shape[:2] != replayed.tokens.shape or (declared is not None and target.shape[2] != tokens):
        raise ValueError(f"target must be {[*replayed.tokens.shape, tokens]}, got {list(target.shape)}")
    if replayed.shared and verifier is not recursive_rejection:
        name = getattr(verifier, "__name__", repr(verifier))
        raise ValueError(
            f"trees drawn from shared lists are for recursive_rejection only, not {name}: nodes of one depth repeat the "
            "same draws, so their declared laws do not hold for a rule that looks at more than one of them"
        )

    def read(batch: Tensor, node: Tensor) -> Tensor:
        return at_temperature(target[batch, node].double(), temperature).softmax(-1)

    batch, nodes, vocabulary = target.shape
    rows = LazyRows((batch, nodes, vocabulary), target.device, read)
    return verifier(
        replayed.tokens,
        replayed.parents,
        replayed.valid,
        cast(Tensor, rows),
        cast("Tensor | None", declared),
        uniforms=uniforms,
        generator=generator,
    )


def kept_nodes(replayed: Replayed, blocks: Tensor, accepted: Tensor) -> Tensor:
    """The nodes of the accepted paths [B, D+1], root first, padded with -1; the eldest where siblings repeat a token."""
    batch, nodes = replayed.tokens.shape
    index = torch.arange(nodes, device=blocks.device)
    wanted = torch.full((batch, nodes), -2, dtype=torch.int64, device=blocks.device)  # no token
    wanted[:, : blocks.shape[1]] = blocks[:, :nodes]
    follows = (index == 0).repeat(batch, 1)
    depth = torch.zeros_like(replayed.tokens)
    for _ in range(blocks.shape[1] - 1):
        below = replayed.valid & (replayed.parents != index)
        depth = (depth.gather(1, replayed.parents) + 1).where(below, 0)
        matches = below & (replayed.tokens == wanted.gather(1, (depth - 1).clamp(min=0)))
        follows = (matches & follows.gather(1, replayed.parents)) | (index == 0)
    last = index.where(follows & (depth == accepted.unsqueeze(1)), nodes).amin(1).clamp(max=nodes - 1)
    kept = torch.full_like(blocks, -1)
    row = torch.arange(batch, device=blocks.device)
    node = last
    for column in range(blocks.shape[1] - 1, -1, -1):
        here = depth[row, node] == column
        kept[:, column] = node.where(here & (accepted >= column), -1)
        node = replayed.parents[row, node].where(here, node)
    return kept


def tsubame(
    draft: Draft,
    score: Callable[[Tensor, Tensor, Tensor], Tensor],
    nodes: int,
    *,
    verifier: Verifier = recursive_rejection,
    plan_temperature: float = 1.0,
    draft_temperature: float = 1.0,
    target_temperature: float = 1.0,
    candidates: int | None = None,
    sampler: str = "without_replacement",
    exhaust: str = "drop",
    shared_lists: bool = False,
    generator: torch.Generator | None = None,
) -> Round:
    """One round for B requests.

    ``score(tokens [B, N], mask [B, N, N], depth [B, N])`` is the target's pass: logits [B, N, V] after every node.  Column
    0 of the tokens is the anchor, position ids are the anchor's + depth, and the mask says which nodes see which, dropped
    slots only themselves (``tree_mask``).  The other arguments are those of ``plan``, ``replay`` and ``verify``; all
    randomness comes from ``generator``, anew for each of them.
    """
    topology = plan(draft, nodes, temperature=plan_temperature, candidates=candidates)
    replayed = replay(
        draft,
        topology,
        temperature=draft_temperature,
        sampler=sampler,
        exhaust=exhaust,
        shared_lists=shared_lists,
        generator=generator,
    )
    index = torch.arange(topology.tokens.shape[1], device=topology.tokens.device)
    mask = tree_mask(replayed.parents.where(replayed.valid, index), topology.depth)
    tokens = replayed.tokens.clone()
    tokens[:, 0] = draft.anchor
    target = score(tokens, mask, topology.depth)
    blocks, accepted = verify(replayed, target, verifier, temperature=target_temperature, generator=generator)
    return Round(blocks, accepted, kept_nodes(replayed, blocks, accepted))
