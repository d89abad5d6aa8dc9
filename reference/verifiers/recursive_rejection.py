"""Recursive rejection: test the siblings in draw order, each against what its elders left of the target.

On a chain: token-level speculative sampling (arXiv 2211.17192, 2302.01318).  Siblings drawn with replacement: SpecInfer's multi-round
rejection (RRS, arXiv 2305.09781).  Without replacement, each declared law conditioned off its elders: RRSw (arXiv 2402.14160, 2402.12374).
One-hot declared laws: follow child x with probability p(x), the rule of the EAGLE line.

One test keeps the mass min(r(x), f(x)) of every token x, f the current residual and r the declared law, and rejects with mass
m = sum_x (f(x) - r(x))_+; f' = (f - r)_+ / m is what is still owed, so kept mass + m f' = f exactly.

Proved in proofs/rocq/Recursive_rejection.v: recursive_rejection_exact.
"""

from ..chance import Chance
from ..laws import ONE
from ..models import Model
from ..trees import DraftNode
from .descent import Stop


def recursive_rejection(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
    """One level: the first sibling that passes its test, else stop with the last residual as the law of the bonus token."""
    residual = target(node.path)
    for child in node.children():
        assert child.declared is not None
        if chance.flip(min(ONE, residual[child.token] / child.declared[child.token]), at=child):
            return child
        _, left = residual.excess(child.declared)
        assert left is not None, "a token is rejected only where the residual exceeds the declared law somewhere"
        residual = left
    return Stop(bonus=residual)
