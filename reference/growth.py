"""What lossless means, as a finite list of equalities: the growth identity.

For the law m of a block (a non-empty token string) put R(s) = Pr(block has prefix s) and n(s) = Pr(block strictly extends s), n(empty) = 1.
Emitting the block and continuing with the target gives the target's law, for every horizon, exactly when

    R(s a) = n(s) p(a|s)      for every prefix s and token a.

Inside its block an exact verifier can only extend with the target's conditionals; its one freedom is when to stop.  (Lemma 1 in the appendix of
the exit-law mathematics; for the classical single-draft case see arXiv 2211.17192, appendix A.1.)
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .laws import ZERO, Law
from .models import Model, Prefix
from .rational import Rational

Block = tuple[int, ...]
BlockLaw = Law[Block] | Mapping[Block, Rational]


@dataclass(frozen=True)
class Violation:
    """A broken growth equality: after ``prefix``, given that the block goes on, ``token`` comes with probability ``emitted``.

    ``mass`` is |R(s a) - n(s) p(a|s)|, the size of the break in the block law.
    """

    prefix: Prefix
    token: int
    emitted: Rational
    should_be: Rational
    mass: Rational


def extensions(blocks: BlockLaw) -> dict[Prefix, dict[int, Rational]]:
    """R(s a) for every prefix s that some block strictly extends, keyed by s, then a; prefixes short first, then by token."""
    grown: defaultdict[Prefix, defaultdict[int, Rational]] = defaultdict(lambda: defaultdict(lambda: ZERO))
    for block, probability in blocks.items():
        for length in range(len(block)):
            grown[block[:length]][block[length]] += probability
    return {prefix: dict(sorted(grown[prefix].items())) for prefix in sorted(grown, key=lambda s: (len(s), s))}


def violations(blocks: BlockLaw, target: Model, tolerance: Rational | int = 0) -> Iterator[Violation]:
    """Broken equalities of mass above ``tolerance``: shortest prefix first, then lexicographically, then by token."""
    for prefix, tokens in extensions(blocks).items():
        extended = sum(tokens.values(), ZERO) if prefix else ZERO + 1
        row = target(prefix)
        for token in sorted({*tokens, *row}):
            emitted, owed = tokens.get(token, ZERO), extended * row[token]
            if abs(emitted - owed) > tolerance:
                yield Violation(prefix, token, emitted / extended, row[token], abs(emitted - owed))


def total_variation(blocks: BlockLaw, target: Model) -> Rational:
    """Total variation between the completed law (block, then target) and the target, over strings as long as the longest block.

    It is the same for every longer horizon.  Missing mass (blocks that sum to less than one) counts as emitted by no string.
    """
    grown = extensions(blocks)

    def difference(prefix: Prefix, completed: Rational, owed: Rational) -> Rational:
        """Sum over strings z extending ``prefix`` of |completed law - target law|, ``completed`` from blocks that ended before."""
        if prefix not in grown:  # everything from here on is continued by the target
            return abs(completed - owed)
        tokens, row, total = grown[prefix], target(prefix), ZERO
        for token in sorted({*tokens, *row}):
            longer, after = (*prefix, token), tokens.get(token, ZERO)
            ended = after - sum(grown[longer].values(), ZERO) if longer in grown else after
            total += difference(longer, completed * row[token] + ended, owed * row[token])
        return total

    missing = 1 - sum((probability for _, probability in blocks.items()), ZERO)
    return (difference((), ZERO, ZERO + 1) + abs(missing)) / 2


def expected_length(blocks: BlockLaw) -> Rational:
    """E[L], the bonus token included."""
    return sum((len(block) * probability for block, probability in blocks.items()), ZERO)


def stopped_outside(blocks: BlockLaw, target: Model) -> dict[Prefix, Rational]:
    """Blocks whose tokens the target cannot emit, by the shortest impossible prefix, with their mass."""
    impossible: defaultdict[Prefix, Rational] = defaultdict(lambda: ZERO)
    for block, probability in blocks.items():
        for length in range(len(block)):
            if not target(block[:length])[block[length]]:
                impossible[block[: length + 1]] += probability
                break
    return dict(impossible)
