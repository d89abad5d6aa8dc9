"""Accept/reject steps over symbolic rows p and q, as the verifiers take them; every function returns expressions of one region."""

from collections.abc import Sequence

import sympy

from .regions import Expression, Impossible, Region

Row = Sequence[Expression]


def accepted_mass(region: Region, p: Row, q: Row) -> list[Expression]:
    """min(p(x), q(x)): the mass with which a draft from q is token x and is accepted.

    Raises Impossible where p >= q everywhere, hence p = q: the branch with p <= q everywhere has it too.
    """
    kept = [region.least(a, b) for a, b in zip(p, q, strict=True)]
    if kept == list(q) != list(p):
        raise Impossible
    return kept


def residual(region: Region, p: Row, q: Row) -> list[Expression]:
    """(p - q)_+ normalised.  Raises Impossible where it vanishes."""
    left = [a if 0 in (a, b) else region.positive_part(a - b) for a, b in zip(p, q, strict=True)]
    total = sympy.cancel(sum(left))
    if total == 0:
        raise Impossible
    return [sympy.cancel(weight / total) for weight in left]


def off(q: Row, token: int) -> list[Expression]:
    """q conditioned on avoiding one token."""
    return [sympy.Integer(0) if x == token else weight / (1 - q[token]) for x, weight in enumerate(q)]


def one_step(region: Region, p: Row, q: Row, renormalise: bool = True) -> list[Expression]:
    """Law of the first token that speculative sampling emits.  Without ``renormalise``: a rejected draft is replaced by a draw from p itself."""
    kept = accepted_mass(region, p, q)
    if sympy.cancel(1 - sum(kept)) == 0:
        return kept  # p = q
    replacement = residual(region, p, q) if renormalise else p
    return [k + (1 - sum(kept)) * r for k, r in zip(kept, replacement, strict=True)]


def two_without_replacement(region: Region, p: Row, q: Row, conditioned: bool = True) -> tuple[list[Expression], Expression]:
    """Law of the first token emitted with two drafts, the second from q off the first, and the acceptance.

    Without ``conditioned`` the second draft is declared with q itself although it is drawn from q off the first.
    """
    tokens = range(len(p))
    kept = accepted_mass(region, p, q)
    law, accepted = list(kept), sum(kept)
    if sympy.cancel(1 - accepted) == 0:
        return law, accepted
    left = residual(region, p, q)
    for first in tokens:
        rejected = sympy.cancel(q[first] - kept[first])
        if rejected == 0:
            continue
        drawn = off(q, first)
        declared = drawn if conditioned else q
        again = [mass if mass == 0 else mass * drawn[x] / declared[x] for x, mass in enumerate(accepted_mass(region, left, declared))]
        missed = sympy.cancel(1 - sum(again))
        bonus = residual(region, left, declared) if missed != 0 else again
        law = [mass + rejected * (share + missed * last) for mass, share, last in zip(law, again, bonus, strict=True)]
        accepted += rejected * sum(again)
    return law, accepted
