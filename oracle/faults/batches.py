"""Verifiers that are right row by row and wrong as calls: what they answer depends on the batch, its buffers, earlier calls or hidden state.

Each row has the target's law, so these are caught by the verdict *invariance*; ``BATCH_FAULTS`` says by which part of it.
"""

from itertools import count
from typing import Any

import numpy as np

from ..subjects import Subject
from .rows import arrays, emitted, inverse_cdf
from .tapes import owed, passed

Arrays = tuple[np.ndarray, np.ndarray]
TAKES_UNIFORMS: dict[str, Any] = {"family": "recursive_rejection", "randomness": "uniforms", "uniforms_dtype": "float64", "layout": "draftproof"}


def verified(drafts: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """The right answer: column i + 1 tests draft i and column 0 draws the bonus token."""
    laws = np.eye(target.shape[2])[drafts] if declared is None else declared
    accepted = passed(drafts, laws, target, uniforms[:, 1:])
    return emitted(drafts, accepted, inverse_cdf(owed(laws, target, accepted), uniforms[:, 0]))


def along_chain(tokens: np.ndarray, declared: np.ndarray | None, target: np.ndarray, uniforms: np.ndarray, lengths: np.ndarray) -> Arrays:
    """The same for chains as trees, request b with ``lengths[b]`` drafts: one after the last is rejected, and leaves the target as it is."""
    laws = np.eye(target.shape[2])[tokens] if declared is None else declared.copy()
    laws[np.arange(tokens.shape[1]) > lengths[:, None]] = 0.0
    accepted = np.minimum(passed(tokens[:, 1:], laws[:, 1:], target, uniforms[:, 1:]), lengths)
    return emitted(tokens[:, 1:], accepted, inverse_cdf(owed(laws[:, 1:], target, accepted), uniforms[:, 0]))


@arrays("chain", **TAKES_UNIFORMS)
def uniforms_of_next_row(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Reads the uniforms one row further down."""
    return verified(drafts, declared, target, np.roll(uniforms, 1, 0))  # fault: uniforms


@arrays("chain", **TAKES_UNIFORMS)
def one_row_of_uniforms(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Uses the first row's uniforms for the whole batch: every row is right, and all of them are the same draw."""
    return verified(drafts, declared, target, np.broadcast_to(uniforms[:1], uniforms.shape))  # fault: uniforms


@arrays("chain", **TAKES_UNIFORMS)
def order_not_restored(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Sorts the rows by their first draft and forgets to put the answers back."""
    order = np.argsort(drafts[:, 0], kind="stable")
    return verified(drafts[order], None if declared is None else declared[order], target[order], uniforms[order])  # fault: inverse order


@arrays("chain", **TAKES_UNIFORMS)
def single_row_shortcut(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Has a path for batches of one that reads the uniforms backwards."""
    return verified(drafts, declared, target, uniforms[:, ::-1] if len(drafts) == 1 else uniforms)  # fault: uniforms


@arrays("chain", **TAKES_UNIFORMS)
def scaled_by_batch(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Scales all rows by the largest number of the batch: one NaN, and every row is NaN."""
    scale = target.max()  # fault: target.max(2, keepdims=True)
    return verified(drafts, None if declared is None else declared / scale, target / scale, uniforms)


@arrays("chain", **TAKES_UNIFORMS)
def turned_at_every_call(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, uniforms: np.ndarray) -> Arrays:
    """Shifts the uniforms by a counter that it keeps between calls."""
    return verified(drafts, declared, target, (uniforms + 0.37 * next(CALLS)) % 1.0)  # fault: uniforms


CALLS = count()


@arrays("tree", **TAKES_UNIFORMS)
def bonus_of_last_column(
    tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray, declared: np.ndarray, uniforms: np.ndarray
) -> Arrays:
    """Draws the bonus token with the last column, which is a padded node's where there is padding."""
    mixed = np.roll(uniforms, 1, 1)  # fault: uniforms
    return along_chain(tokens, declared, target, mixed, valid.sum(1) - 1)


@arrays("tree", **TAKES_UNIFORMS)
def padding_summed(
    tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray, declared: np.ndarray, uniforms: np.ndarray
) -> Arrays:
    """Normalises with the sum over all nodes, padding masked by a product with 0: NaN stays NaN."""
    total = (target * valid[..., None]).sum((1, 2), keepdims=True) / valid.sum(1)[:, None, None]  # fault: np.where(valid[..., None], target, 0)
    return along_chain(tokens, declared, target / total, uniforms, valid.sum(1) - 1)


@arrays("chain", family="recursive_rejection", randomness="seeds")
def bonus_of_global_generator(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, seeds: np.ndarray) -> Arrays:
    """Draws the tests from the request's seed and the bonus token from the global generator, which differs from rank to rank."""
    uniforms = _seeded(seeds, drafts.shape[1] + 1)
    uniforms[:, 0] = np.random.random(len(seeds))  # fault: left as it is
    return verified(drafts, declared, target, uniforms)


@arrays("chain", family="recursive_rejection", randomness="seeds")
def seed_and_slot(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, seeds: np.ndarray) -> Arrays:
    """Mixes the slot of the batch into the request's seed."""
    return verified(drafts, declared, target, _seeded(seeds + np.arange(len(seeds)), drafts.shape[1] + 1))  # fault: seeds


@arrays("chain", family="recursive_rejection", randomness="seeds")
def seed_and_width(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, seeds: np.ndarray) -> Arrays:
    """Mixes the width of the rows into the request's seed."""
    return verified(drafts, declared, target, _seeded(seeds + target.shape[2], drafts.shape[1] + 1))  # fault: seeds


@arrays("chain", family="recursive_rejection", randomness="generator")
def seeds_itself(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Makes a generator of its own at every call, always from the same seed."""
    own = np.random.default_rng(0)  # fault: generator
    return verified(drafts, declared, target, own.random((len(drafts), drafts.shape[1] + 1)))


@arrays("chain", family="recursive_rejection")
def reseeds_global_generator(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Arrays:
    """Seeds numpy's global generator at every call."""
    np.random.seed(0)  # fault: nothing
    return verified(drafts, declared, target, np.random.random((len(drafts), drafts.shape[1] + 1)))


@arrays("chain", family="recursive_rejection", randomness="generator")
def pairs_share_noise(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Draws uniforms for every other row, and repeats them for its neighbour."""
    size, columns = len(drafts), drafts.shape[1] + 1
    return verified(drafts, declared, target, generator.random((size // 2 + 1, columns)).repeat(2, 0)[:size])  # fault: random((size, columns))


@arrays("chain", family="recursive_rejection", randomness="generator")
def noise_of_row_in_block(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Draws uniforms for a block of 96 rows, and indexes them with the row's place in its block: rows 96 apart share them."""
    size, columns = len(drafts), drafts.shape[1] + 1
    return verified(drafts, declared, target, generator.random((96, columns))[np.arange(size) % 96])  # fault: random((size, columns))


@arrays("chain", family="recursive_rejection")
def generator_in_turns(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Arrays:
    """Takes the seed of each call from a ring of three: every third call draws the same numbers."""
    own = np.random.default_rng(next(TURNS) % 3)  # fault: next(TURNS)
    return verified(drafts, declared, target, own.random((len(drafts), drafts.shape[1] + 1)))


TURNS = count()


class Kept:
    """Noise of the last call, and whether it is to be used once more."""

    noise: np.ndarray | None = None


@arrays("chain", family="recursive_rejection")
def noise_mirrored(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray) -> Arrays:
    """Saves every other draw of uniforms: takes 1 - u of the call before, as antithetic sampling does."""
    shape = len(drafts), drafts.shape[1] + 1
    if Kept.noise is not None and Kept.noise.shape == shape:
        uniforms, Kept.noise = 1 - Kept.noise, None  # fault: np.random.random(shape)
    else:
        uniforms = Kept.noise = np.random.random(shape)
    return verified(drafts, declared, target, uniforms)


@arrays("tree", family="recursive_rejection", randomness="generator")
def bonus_row_of_shortest(
    tokens: np.ndarray, parents: np.ndarray, valid: np.ndarray, target: np.ndarray, declared: np.ndarray, generator: np.random.Generator
) -> Arrays:
    """Takes the bonus row from where the shortest request of the batch ends."""
    lengths = valid.sum(1) - 1
    rows = target.copy()
    rows[np.arange(len(rows)), lengths] = target[:, lengths.min()]  # fault: nothing
    return along_chain(tokens, declared, rows, generator.random(tokens.shape), lengths)


def _seeded(seeds: np.ndarray, columns: int) -> np.ndarray:
    return np.array([np.random.default_rng(seed).random(columns) for seed in seeds])


BATCH_FAULTS: tuple[tuple[Subject, str], ...] = (
    (uniforms_of_next_row, "permutation"),
    (one_row_of_uniforms, "neighbours"),
    (order_not_restored, "permutation"),
    (single_row_shortcut, "batch size"),
    (scaled_by_batch, "NaN neighbours"),
    (turned_at_every_call, "replay"),
    (bonus_of_last_column, "padding"),
    (padding_summed, "NaN padding"),
    (bonus_of_global_generator, "global generators"),
    (seed_and_slot, "permutation"),
    (seed_and_width, "wider vocabulary"),
    (seeds_itself, "new draws"),
    (reseeds_global_generator, "new draws"),
    (pairs_share_noise, "independent rows"),
    (noise_of_row_in_block, "independent rows"),
    (noise_mirrored, "independent calls"),
    (generator_in_turns, "independent calls"),
    (bonus_row_of_shortest, "neighbours"),
)
"""Each with the part of the invariance verdict that sees it."""
