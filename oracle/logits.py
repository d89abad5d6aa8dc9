"""What a row of logits means, to far more digits than any implementation has."""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from draftproof.reference.laws import Law

DIGITS = 50


def meaning(row: Sequence[float], form: str) -> Law[int] | None:
    """The law that a row of floats means: its softmax for "logits" and "log_probs", itself normalised for "probs".  None where it means none.

    Exact for probabilities; for logits each weight is exp(logit - largest) to 50 digits, and those that underflow even there are impossible.
    """
    if any(math.isnan(value) or value == math.inf for value in row):
        return None
    if form == "probs":
        return Law.row([Fraction(value) for value in row]) if any(row) and min(row) >= 0 else None
    top = max(row)
    if top == -math.inf:
        return None
    with localcontext() as context:
        context.prec = DIGITS
        return Law.row([Fraction((Decimal(value) - Decimal(top)).exp()) if value > -math.inf else 0 for value in row])
