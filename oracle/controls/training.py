"""Training losses that look different and are right."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..faults.training import Score, Tensor, count, credited, depth_of, exit_after_pass, exits, inner, passed, reach, scores, served
from ..faults.training import edges as edges_of
from ..objectives import objective

__all__ = ["TRAINING_CONTROLS"]


@objective
def gathered(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Gathers a log-probability for each node: more memory, the same loss."""
    return credited(exits(tokens, parents, valid, served(target)), logits, tokens, parents, valid) / count(valid)


@objective
def shifted_by_entropy(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Adds the weights' negative entropy, which makes a divergence of it: another number, the same gradient."""
    weights = exits(tokens, parents, valid, served(target))
    constant = (weights * weights.clamp(min=1e-300).log())[inner(valid)].sum()
    return (credited(weights, logits, tokens, parents, valid) + constant) / count(valid)


@objective
def value_taken_off(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """A loss that is always 0 with the right gradient, as straight-through estimators have it: noted, not rejected."""
    loss = credited(exits(tokens, parents, valid, served(target)), logits, tokens, parents, valid) / count(valid)
    return loss - loss.detach()


@objective(objective="prefix")
def prefix_as_declared(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by P(v), and says so."""
    weights = reach(parents, edges_of(tokens, parents, valid, served(target.detach())))
    return credited(weights, logits, tokens, parents, valid) / count(valid)


@objective(objective="prefix")
def whole_paths_by_exit(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """The exit-weighted log-score of whole paths, which the path identity makes the prefix objective."""
    import torch

    weights, depth = exits(tokens, parents, valid, served(target)), depth_of(parents, valid)
    path = scores(logits, tokens, (depth - 1).clamp(min=0)) * inner(valid)
    columns = [path[:, 0]]
    for v in range(1, tokens.shape[1]):
        columns.append(path[:, v] + torch.stack([*columns, 0 * path[:, v]], 1).gather(1, parents[:, v : v + 1])[:, 0])
    return -(weights * torch.stack(columns, 1))[inner(valid)].sum() / count(valid)


@objective(temperature=0.6)
def at_served_temperature(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by the target as it is served."""
    return credited(exits(tokens, parents, valid, served(target, 0.6)), logits, tokens, parents, valid) / count(valid)


@objective(top_k=2)
def at_served_top_k(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    """Weighs by the two tokens that can be served, ties to the smaller one."""
    order = target.detach().sort(dim=-1, descending=True, stable=True).indices
    kept = target.detach().scatter(-1, order[..., 2:], float("-inf"))
    return credited(exits(tokens, parents, valid, served(kept)), logits, tokens, parents, valid) / count(valid)


@objective(scores=True)
def own_pass(logits: Tensor, tokens: Tensor, parents: Tensor, valid: Tensor, context: Tensor, score: Score) -> Tensor:
    """Runs the target itself, over the whole context."""
    return exit_after_pass(passed(tokens, parents, valid, context, score), logits, tokens, parents, valid)


def by_hand(logits: np.ndarray, tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """One request after the other in numpy, with the closed form of the gradient."""
    loss, gradient = 0.0, np.zeros_like(logits)
    nodes = max(int(valid[:, 1:].sum()), 1)
    for b in range(len(logits)):
        mass, depth, stays = {0: 1.0}, {0: 0}, dict.fromkeys(np.flatnonzero(valid[b]).tolist(), 1.0)
        for v in np.flatnonzero(valid[b])[1:].tolist():
            above = int(parents[b, v])
            edge = float(target[b, above, tokens[b, v]])
            mass[v], depth[v], stays[above] = mass[above] * edge, depth[above] + 1, stays[above] - edge
        for v in list(mass)[1:]:
            row, weight = logits[b, depth[v] - 1], mass[v] * stays[v] / nodes
            q = np.exp(row - row.max())
            q /= q.sum()
            loss -= weight * float(np.log(q[tokens[b, v]]))
            gradient[b, depth[v] - 1] += weight * (q - (np.arange(len(row)) == tokens[b, v]))
    return loss, gradient


@objective(framework="numpy", rows="probs")
def in_numpy(logits: np.ndarray, tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """Returns its gradient beside the loss."""
    return by_hand(logits, tokens, parents, valid, target)


@objective(framework="numpy", rows="probs")
def number_alone(logits: np.ndarray, tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray) -> float:
    """Returns a number: differentiated by differences."""
    return by_hand(logits, tokens, parents, valid, target)[0]


TRAINING_CONTROLS: tuple[Callable[..., Any], ...] = (
    gathered,
    shifted_by_entropy,
    value_taken_off,
    prefix_as_declared,
    whole_paths_by_exit,
    at_served_temperature,
    at_served_top_k,
    own_pass,
    in_numpy,
    number_alone,
)
