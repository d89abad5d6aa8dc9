"""What a batch means once it is handed over, the exact gradient of an objective on it, and the gradients of known mistakes."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import log

import numpy as np

from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import Model, Prefix, table
from draftproof.reference.rational import Rational, fraction, rational
from draftproof.reference.training import WEIGHTINGS, Context, Credit, distillation, gradient, smoothed_coverage, swap_ranking, tree_credit
from draftproof.reference.training.credit import scaled, total
from draftproof.reference.training.smoothed import candidates
from draftproof.reference.trees import level_order

from .logits import meaning
from .objectives import Objective
from .rounding import _kept, round_to
from .toy_target import after
from .training_instances import TrainingInstance

PADDED, BITS = 2, 64
"""Columns of padding beyond the largest tree; bits of a probability."""


class Handed:
    """The arrays of an instance in the subject's dtype (as float64 values), and the contexts that those bits mean.

    logits [B, L, V], tokens, parents [B, N] int64, valid [B, N] bool, target [B, N, V]; padding holds a row of the target's form that is not the
    target's, token 0, and itself as parent.  ``served``: the contexts have the target as it is served, else as its rows say.
    """

    def __init__(self, subject: Objective, instance: TrainingInstance, served: bool = True):
        self.subject, self.instance, self.served = subject, instance, served
        vocabulary, trees = instance.vocabulary, [[node.path for node in level_order(one.root)] for one in instance.contexts]
        batch, width = len(trees), max(map(len, trees)) + PADDED
        self.tokens = np.zeros((batch, width), dtype=np.int64)
        self.parents = np.tile(np.arange(width), (batch, 1))
        self.valid = np.zeros((batch, width), dtype=bool)
        garbage = self.row(Law.row(range(1, vocabulary + 1)))
        self.target = np.tile(garbage, (batch, width, 1))
        self.logits = np.array([[self._logits(row) for row in one.draft] for one in instance.contexts])
        self.contexts = []
        for request, (one, paths) in enumerate(zip(instance.contexts, trees, strict=True)):
            model = after(instance.histories[request], vocabulary) if subject.scores else one.target
            rows: dict[Prefix, Law[int]] = {}
            for node, path in enumerate(paths):
                self.valid[request, node] = True
                if path:
                    self.tokens[request, node], self.parents[request, node] = path[-1], paths.index(path[:-1])
                if len(path) < len(one.draft) or subject.scores or self._known(model, path):
                    self.target[request, node] = self.row(model(path))
                rows[path] = self._law(self.target[request, node])
            draft = [_meant(values, "logits") for values in self.logits[request].tolist()]
            self.contexts.append(Context(table(rows, "target"), draft, one.root))

    def row(self, law: Law[int]) -> np.ndarray:
        """A law in the form and dtype of the target's rows."""
        weights = [float(law[token]) for token in range(self.instance.vocabulary)]
        return round_to(np.array(weights) if self.subject.rows == "probs" else _logs(weights), self.subject.dtype)

    def _logits(self, law: Law[int]) -> np.ndarray:
        return round_to(_logs([float(law[token]) for token in range(self.instance.vocabulary)]), self.subject.dtype)

    def _law(self, row: np.ndarray) -> Law[int]:
        subject = self.subject
        law = _meant((row / subject.temperature if self.served and subject.temperature else row).tolist(), subject.rows)
        if not self.served or (subject.top_k is None and subject.top_p is None):
            return law
        return Law.row(_kept([float(law[token]) for token in range(len(row))], subject.top_k, subject.top_p))

    @staticmethod
    def _known(model: Model, path: Prefix) -> bool:
        """Leaves at the horizon need no row: nothing hangs below them."""
        try:
            model(path)
        except KeyError:
            return False
        return True


def gradient_of(objective: str, handed: Handed) -> tuple[np.ndarray, float]:
    """The exact gradient [B, L, V] as floats, and the largest credit of a row."""
    return _gradient(_credits(objective, handed), handed)


def mistakes(objective: str, handed: Handed) -> Iterator[tuple[str, np.ndarray]]:
    """(what went wrong, the gradient that it gives)."""
    for other in WEIGHTINGS:
        if objective in WEIGHTINGS and other != objective:
            yield f"{other} weights in place of {objective} ones", _gradient(_credits(other, handed), handed)[0]
    right = _credits(objective, handed)
    batch, width = handed.tokens.shape
    nodes = sum(len(level_order(one.root)) - 1 for one in handed.contexts)
    if objective in WEIGHTINGS and nodes:
        for name, count in {
            "roots counted among the nodes": nodes + batch,
            "padding counted among the nodes": batch * (width - 1),
            "roots and padding counted among the nodes": batch * width,
            "a sum over nodes per request, not over the number of nodes": batch,
            "a sum, not over the number of nodes": 1,
        }.items():
            yield name, _gradient([scaled(one, rational(nodes) / count) for one in right], handed)[0]
        sizes = [len(level_order(one.root)) - 1 for one in handed.contexts]
        alone = [scaled(one, rational(nodes) / max(size, 1) / batch) for one, size in zip(right, sizes, strict=True)]
        yield "requests averaged one by one", _gradient(alone, handed)[0]
        whole = sum((total(one) for one in right), ZERO)
        if whole:
            yield "weights divided by their sum", _gradient([scaled(one, 1 / whole) for one in right], handed)[0]
    if (handed.subject.temperature, handed.subject.top_k, handed.subject.top_p) != (None, None, None):
        unserved = Handed(handed.subject, handed.instance, served=False)
        yield "the target as its rows say, not as it is served", gradient_of(objective, unserved)[0]


def _credits(objective: str, handed: Handed) -> Sequence[Credit]:
    vocabulary, sharpness = handed.instance.vocabulary, round(1 / handed.subject.tau)
    others: dict[str, Callable[[], Sequence[Credit]]] = {
        "distillation": lambda: distillation(handed.contexts),
        "swaps": lambda: swap_ranking(handed.contexts, vocabulary, sharpness),
        "coverage": lambda: _smoothed(handed.contexts, vocabulary, sharpness),
    }
    return others[objective]() if objective in others else tree_credit(handed.contexts, WEIGHTINGS[objective])


def _smoothed(contexts: Sequence[Context], vocabulary: int, sharpness: int) -> Sequence[Credit]:
    """At levels that give every tree its own number of nodes, to 1e-15; where all fits there is nothing to credit."""
    levels = [_level(one, vocabulary, sharpness) for one in contexts]
    chosen = [place for place, level in enumerate(levels) if level is not None]
    found = smoothed_coverage([contexts[place] for place in chosen], vocabulary, [level for level in levels if level is not None], sharpness)
    credits: list[Credit] = [{} for _ in contexts]
    for place, credit in zip(chosen, found, strict=True):
        credits[place] = scaled(credit, rational(len(chosen)) / len(contexts))
    return credits


def _level(context: Context, vocabulary: int, sharpness: int) -> Rational | None:
    from scipy.optimize import brentq

    masses = [float(context.mass(path)) ** sharpness for path in candidates(context, vocabulary)]
    nodes = len(level_order(context.root)) - 1
    if not 0 < nodes < len(masses):
        return None
    low, high = log(min(masses)) - 60, log(max(masses)) + 60
    found = brentq(lambda level: sum(mass / (mass + np.exp(level)) for mass in masses) - nodes, low, high, xtol=1e-15, rtol=1e-15)
    return rational(float(np.exp(found / sharpness)))


def _gradient(credits: Sequence[Credit], handed: Handed) -> tuple[np.ndarray, float]:
    vocabulary = handed.instance.vocabulary
    rows = [gradient(credit, one.draft, vocabulary) for credit, one in zip(credits, handed.contexts, strict=True)]
    exact = np.array([[[float(fraction(entry)) for entry in row] for row in rows_of] for rows_of in rows])
    depths = handed.logits.shape[1]
    return exact, max((abs(float(fraction(total(one, depth)))) for one in credits for depth in range(1, depths + 1)), default=0.0)


def _meant(row: Sequence[float], form: str) -> Law[int]:
    """The law of a row, each weight to 64 bits: eleven more than an implementation has, and short enough for sums of hundreds of products."""
    law = meaning(row, form)
    assert law is not None
    return Law((token, _shortened(fraction(weight))) for token, weight in law.items())


def _shortened(weight: Fraction) -> Fraction:
    shift = BITS - (weight.numerator.bit_length() - weight.denominator.bit_length())
    return Fraction(round(weight * Fraction(2) ** shift)) / Fraction(2) ** shift


def _logs(weights: Sequence[float]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        found: np.ndarray = np.log(np.array(weights))
    return found
