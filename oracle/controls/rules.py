"""Lossless rules that have been taken for faults, each a whole verifier."""

import random
from collections.abc import Sequence

import numpy as np

from ..faults.blocks import positions
from ..faults.rows import Row, Sibling, arrays, by_level, emitted, excess, inverse_cdf, normalised, on_chain, pick
from ..faults.tapes import owed, passed

Arrays = tuple[np.ndarray, np.ndarray]


@on_chain(family="predraw_follow")
def accepts_equal_draws(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts a draft when the target's own draw equals it, however the draft was chosen."""
    block = list[int]()
    for x, p in zip(drafts, target, strict=False):
        block.append(pick(p))
        if block[-1] != x:
            return block
    return [*block, pick(target[-1])]


@by_level(family="recursive_rejection")
def fixed_children_zeroed(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Tests children that were not sampled with q = 1, and takes a rejected one off the target row."""
    for child in siblings:
        if random.random() < p[child.token]:
            return child
        p = normalised([0.0 if token == child.token else weight for token, weight in enumerate(p)])
    return pick(p)


@arrays(
    "chain",
    family="traversal",
    claims=("lossless", "optimal_on_chains"),
    randomness="uniforms",
    uniforms_dtype="float64",
    layout="draftproof",
)
def block_rescues_later_positions(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Accepts a later position after an earlier one has failed its test: that is block verification."""
    laws = np.eye(target.shape[2])[drafts] if declared is None else declared
    accepted, law = np.zeros(len(drafts), dtype=np.int64), target[:, 0]
    for i, a, p, q in positions(drafts, laws, target):
        left = np.maximum(a * p - q, 0.0)
        mass = left.sum(1, keepdims=True)
        passes = (uniforms[:, i, None] * (mass + 1 - a) < mass) | (i == 0)
        accepted, law = np.where(passes[:, 0], i, accepted), np.where(passes & (mass > 0), left, law)
    return emitted(drafts, accepted, inverse_cdf(law, uniforms[:, 0]))


@arrays("chain", family="recursive_rejection", randomness="generator", rows_per_draft=64)
def many_rows_one_draft(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Verifies one sampled draft in 64 rows of a batch: each row has the right law, but the rows are not independent."""
    accepted = passed(drafts, declared, target, generator.random(drafts.shape))
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), generator.random(len(drafts))))


@on_chain()
def last_draft_dropped(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Never looks at the last draft: a cut that does not depend on the token it cuts."""
    for i, x in enumerate(drafts[:-1]):
        p, q = target[i], declared[i]
        if random.random() * q[x] >= p[x]:
            return [*drafts[:i], pick(excess(p, q))]
    return [*drafts[:-1], pick(target[-2])]


@by_level()
def stops_at_random(p: Row, siblings: Sequence[Sibling]) -> Sibling | int:
    """Stops with probability one half before it looks at any sibling: the growth identity leaves that to the verifier."""
    for child in siblings if random.random() < 0.5 else ():
        if random.random() * child.declared[child.token] < p[child.token]:
            return child
        p = normalised(excess(p, child.declared))
    return pick(p)


@on_chain(claims=("lossy",))
def typical_acceptance(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts every draft to which the target gives at least a quarter: lossy, and declared to be."""
    for i, x in enumerate(drafts):
        if target[i][x] < 0.25:
            return [*drafts[:i], pick(target[i])]
    return [*drafts, pick(target[-1])]


@on_chain()
def capped_ratio_with_its_residual(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Accepts with at most 0.95, and draws from the target less what it accepted: any acceptance below the ratio has its residual."""
    for i, x in enumerate(drafts):
        p, q = target[i], declared[i]
        taken = [min(0.95 * b, a) for a, b in zip(p, q, strict=True)]
        if random.random() * q[x] >= taken[x]:
            return [*drafts[:i], pick(excess(p, taken))]
    return [*drafts, pick(target[-1])]


@on_chain()
def cut_after_the_fact(drafts: list[int], declared: list[Row], target: list[Row]) -> list[int]:
    """Verifies all drafts, keeps one at most, and draws the next token anew: a length cap inside the block."""
    accepted = 0
    for x, p, q in zip(drafts, target, declared, strict=False):
        if random.random() * q[x] >= p[x]:
            break
        accepted += 1
    if accepted == 0:
        return [pick(excess(target[0], declared[0]))]
    return [drafts[0], pick(target[1])]


@arrays("chain", family="recursive_rejection", randomness="generator")
def race_of_exponentials(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Draws the residual token as the winner of a race of exponentials: no CDF, no sum, and no uniform."""
    accepted = passed(drafts, declared, target, generator.random(drafts.shape))
    left = owed(declared, target, accepted)
    with np.errstate(divide="ignore"):
        return emitted(drafts, accepted, (generator.exponential(size=left.shape) / left).argmin(1))


@arrays("chain", family="recursive_rejection", randomness="seeds")
def one_seed_counted_on(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, seeds: np.ndarray) -> Arrays:
    """Takes all random numbers of a request from one seed: position by position they are other numbers of the stream."""
    uniforms = np.array([np.random.default_rng(seed).random(drafts.shape[1] + 1) for seed in seeds])
    accepted = passed(drafts, declared, target, uniforms[:, :-1])
    return emitted(drafts, accepted, inverse_cdf(owed(declared, target, accepted), uniforms[:, -1]))
