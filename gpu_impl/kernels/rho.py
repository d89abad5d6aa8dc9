"""K-SEQ's rho: the smallest multiple of 2^-40 with 1 - (1 - beta)^k <= rho beta, where rho beta is the total of min(p, rho q).

From below, by tangents: where p <= rho q a token counts p from there on, and elsewhere rho q at least until then, so the sums
over both sorts of tokens bound rho beta for larger rho from above, and what is not enough by the bound is not enough.  (At a
given rho the slack is a convex function of beta that is 0 at 0, so that a beta below one that is not enough is not either.)  A
midpoint of the bracket goes along in the same pass, so that no row takes more passes than bisection would; most take a few.
"""
import triton
import triton.language as tl

from .rows import weights

GRID = tl.constexpr(2.0**-40)
ROUNDING = tl.constexpr(2.0**-44)  # of beta, a sum over the vocabulary


@triton.jit
def real(rho):
    """Of multiples of 2^-40; the product of an integer and a number would be float32."""
    return rho.to(tl.float64) * GRID


@triton.jit
def both_rows(row, other, tokens, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit,
              LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, POINT: tl.constexpr):
    """p and q of tokens [BLOCK]; POINT: q has all its mass on token ``name``."""
    p = weights(row, tokens, vocabulary, top, cold, LOGITS) * unit
    if POINT:
        q = (tokens == name).to(tl.float64)
    else:
        q = weights(other, tokens, vocabulary, other_top, other_cold, DECLARED_LOGITS) * other_unit
    return p, q


@triton.jit
def shared(row, other, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit, rho, middle,
           LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, POINT: tl.constexpr, BLOCK: tl.constexpr):
    """The total of p where p <= rho q, of q elsewhere, and of min(p, middle q)."""
    all_p = tl.full([], 0.0, tl.float64)
    all_q = tl.full([], 0.0, tl.float64)
    both = tl.full([], 0.0, tl.float64)
    for block in range(tl.cdiv(vocabulary, BLOCK)):
        p, q = both_rows(row, other, block * BLOCK + tl.arange(0, BLOCK), name, vocabulary, top, other_top, cold, other_cold, unit, other_unit,
                         LOGITS, DECLARED_LOGITS, POINT)
        smaller = p <= rho * q
        all_p += tl.sum(tl.where(smaller, p, 0.0))
        all_q += tl.sum(tl.where(smaller, 0.0, q))
        both += tl.sum(tl.minimum(p, middle * q))
    return all_p, all_q, both


@triton.jit
def slack(both, rho, drafts):
    """rho beta - 1 + (1 - beta)^k, of ``both`` = rho beta; not negative: rho is enough."""
    power = tl.full([], 1.0, tl.float64)
    factor = 1.0 - both / rho
    left = drafts
    while left > 0:
        if left % 2 == 1:
            power *= factor
        factor *= factor
        left = left // 2
    return both - (1.0 - power) + ROUNDING


@triton.jit
def smallest_rho(row, other, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit, low, high, drafts,
                 LOGITS: tl.constexpr, DECLARED_LOGITS: tl.constexpr, POINT: tl.constexpr, BLOCK: tl.constexpr):
    """In multiples of 2^-40, between ``low`` and ``high``, which is known to be enough."""
    while low < high:
        middle = (low + high) // 2
        all_p, all_q, both = shared(row, other, name, vocabulary, top, other_top, cold, other_cold, unit, other_unit, real(low), real(middle),
                                    LOGITS, DECLARED_LOGITS, POINT, BLOCK)
        if slack(all_p + real(low) * all_q, real(low), drafts) >= 0:
            high = low
        else:
            above = high  # the first that is enough by the bound lies in (low, above]
            low += 1
            while low < above:
                between = (low + above) // 2
                if slack(all_p + real(between) * all_q, real(between), drafts) >= 0:
                    above = between
                else:
                    low = between + 1
            if slack(both, real(middle), drafts) >= 0:
                high = middle
            else:
                low = tl.maximum(low, middle + 1)
            low = tl.minimum(low, high)
    return low
