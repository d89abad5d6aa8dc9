"""K-SEQ (SpecTr, arXiv 2310.15141): k independent drafts from q, tested one after the other against one thinned target.

Draft x is accepted with probability min(1, p(x) / (rho q(x))).  With beta = sum_x min(q(x), p(x) / rho) the first accepted draft is x with
probability min(q(x), p(x) / rho) (1 - (1 - beta)^k) / beta, which must not exceed p(x).  It does not when

    1 - (1 - beta)^k <= rho beta,     that is, for every rho >= rho*,

and then what p still owes is the law of the bonus token.  rho* is irrational in general, so the default is the next multiple of 2^-40.

Proved in proofs/rocq/K_seq.v: k_seq_exact, rho_upward.
"""

from functools import lru_cache

from ..chance import Chance
from ..laws import ONE, ZERO, Law
from ..models import Model
from ..rational import Rational, rational
from ..trees import DraftNode
from .descent import Level, Stop
from .peek import peek

STEP = rational(1) / (1 << 40)


def k_seq_with(rho: Rational | None = None) -> Level:
    """The rule with a fixed ``rho``; None: the smallest multiple of 2^-40 that is lossless, node by node.

    The level raises ValueError where the siblings do not share one declared law, or where ``rho`` is below rho*.
    """

    def level(target: Model, node: DraftNode, chance: Chance) -> DraftNode | Stop:
        p, laws = target(node.path), [child.declared for child in peek(node)]
        if not laws:
            return Stop(bonus=p)
        q = laws[0]
        if q is None or any(law != q for law in laws):
            raise ValueError("k_seq needs siblings that are drawn independently from one law")
        divisor = smallest_rho(p, q, len(laws)) if rho is None else rho
        kept, total = thinned(p, q, divisor)
        if not _owes(total, len(laws), divisor):
            raise ValueError(f"rho = {divisor} accepts more than the target owes; the smallest that does not is {smallest_rho(p, q, len(laws))}")
        for child in node.children():
            if chance.flip(min(ONE, p[child.token] / (divisor * q[child.token])), at=child):
                return child
        gain = sum(((1 - total) ** draft for draft in range(len(laws))), ZERO)  # (1 - (1 - beta)^k) / beta
        return Stop(bonus=Law({token: weight - kept[token] * gain for token, weight in p.items()}))

    return level


k_seq = k_seq_with()
"""One level: the first draft that passes its test, else stop with what is owed as the law of the bonus token."""


def thinned(p: Law[int], q: Law[int], rho: Rational) -> tuple[dict[int, Rational], Rational]:
    """min(q(x), p(x) / rho) for the tokens of p, and their total beta."""
    kept = {token: min(q[token], weight / rho) for token, weight in p.items()}
    return kept, sum(kept.values(), ZERO)


@lru_cache(maxsize=1 << 14)
def smallest_rho(p: Law[int], q: Law[int], drafts: int) -> Rational:
    """rho* rounded up to a multiple of 2^-40.  It lies between 1 and k; bisection finds it since rho beta grows with rho and beta shrinks."""
    low, high = 1 << 40, drafts << 40
    while low < high:
        middle = (low + high) // 2
        if _owes(thinned(p, q, middle * STEP)[1], drafts, middle * STEP):
            high = middle
        else:
            low = middle + 1
    return low * STEP


def _owes(beta: Rational, drafts: int, rho: Rational) -> bool:
    return 1 - (1 - beta) ** drafts <= rho * beta
