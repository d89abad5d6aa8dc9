"""Where a block law is off and by how much: at each prefix the law that the next token has, beside the target's.  What reports draw."""

from collections.abc import Mapping
from typing import Any

from draftproof.reference.growth import BlockLaw, extensions
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import Model, Prefix, spell
from draftproof.reference.rational import Rational

MOST_PREFIXES = 12
"""Prefixes that are told apart, those where most is wrong."""

MOST_TOKENS = 12
"""Tokens that are told apart at a prefix, those that matter most; the others are added up under the token None."""


def prefix_laws(blocks: BlockLaw, target: Model, keep: Prefix | None = None) -> list[dict[str, Any]]:
    """``{"prefix", "reached", "off", "tokens": [[token, should_be, emitted], ...]}`` for each prefix that a block extends, short ones first.

    With R and n as in ``reference.growth``: ``reached`` = n(s); ``off`` = 1/2 sum_a |R(s a) - n(s) p(a|s)|, the share of all blocks that goes on
    wrongly right here; ``should_be`` = p(a|s), ``emitted`` = R(s a) / n(s), given that the block goes on.  Floats, rounded from exact numbers.
    Of many prefixes those with the largest ``off`` are kept, and ``keep``.  Raises what ``target`` raises.
    """
    found = [_at(prefix, tokens, target(prefix)) for prefix, tokens in extensions(blocks).items()]
    wrong = sorted(found, key=lambda one: (one[0] != keep, -one[1]["off"]))[:MOST_PREFIXES]
    chosen = {prefix for prefix, _ in wrong}
    return [one for prefix, one in found if prefix in chosen]


def _at(prefix: Prefix, tokens: Mapping[int, Rational], row: Law[int]) -> tuple[Prefix, dict[str, Any]]:
    reached = sum(tokens.values(), ZERO) if prefix else ZERO + 1
    off = sum((abs(tokens.get(token, ZERO) - reached * row[token]) for token in {*tokens, *row}), ZERO) / 2
    laws = {token: (row[token], tokens.get(token, ZERO) / reached) for token in sorted({*tokens, *row})}
    apart = _largest(laws)
    shown: list[list[Any]] = [[token, float(should), float(emitted)] for token, (should, emitted) in laws.items() if token in apart]
    if rest := [pair for token, pair in laws.items() if token not in apart]:
        shown.append([None, float(sum((should for should, _ in rest), ZERO)), float(sum((emitted for _, emitted in rest), ZERO))])
    return prefix, {"prefix": spell(prefix), "reached": float(reached), "off": float(off), "tokens": shown}


def _largest(laws: Mapping[int, tuple[Rational, Rational]]) -> set[int]:
    """Those that are most wrong, and among equals the most probable."""
    order = sorted(laws, key=lambda token: (abs(laws[token][0] - laws[token][1]), max(laws[token])), reverse=True)
    return set(order[:MOST_TOKENS])
