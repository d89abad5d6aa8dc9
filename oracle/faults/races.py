"""Faults of tokens drawn by a race: the largest of log p + Gumbel noise."""

import numpy as np

from .rows import arrays, emitted
from .tapes import owed, passed

Arrays = tuple[np.ndarray, np.ndarray]


@arrays("chain", family="recursive_rejection", randomness="generator")
def noise_on_probabilities(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Adds the Gumbel noise to the residual's probabilities where it belongs on their logarithms."""
    accepted = passed(drafts, declared, target, generator.random(drafts.shape))
    left = owed(declared, target, accepted)
    left /= left.sum(1, keepdims=True)
    noise = generator.gumbel(size=left.shape)
    return emitted(drafts, accepted, np.where(left > 0, left + noise, -np.inf).argmax(1))  # fault: np.log(left)


@arrays("chain", family="recursive_rejection", randomness="generator")
def noise_at_other_temperature(drafts: np.ndarray, declared: np.ndarray, target: np.ndarray, generator: np.random.Generator) -> Arrays:
    """Scales the Gumbel noise of the bonus token by a temperature of 0.9 that the rows have had already."""
    accepted = passed(drafts, declared, target, generator.random(drafts.shape))
    with np.errstate(divide="ignore"):
        scores = np.log(owed(declared, target, accepted))
    return emitted(drafts, accepted, (scores + 0.9 * generator.gumbel(size=scores.shape)).argmax(1))  # fault: 1.0
