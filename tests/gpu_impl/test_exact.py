"""The yardstick itself: the exact programs are lossless over the drafts' own randomness, and as good as published."""
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import pytest

from .exact import (
    Block,
    ExactTree,
    Law,
    Program,
    law,
    normalise,
    predraw_follow,
    recursive_rejection,
    traversal,
    tree_exit,
)

Declare = Callable[[Block, Sequence[int]], Law]  # path of the parent, elder siblings -> law of the next sibling


def target(path: Block) -> Law:
    """A different law after every path; one token is impossible after some."""
    return normalise([Fraction((5 + 3 * t + 7 * sum(path) + 2 * len(path) * t * t) % 8) for t in range(3)])


def draft(path: Block) -> Law:
    return normalise([Fraction(1 + (2 * t + 5 * len(path) + sum(path)) % 4) for t in range(3)])


def with_replacement(path: Block, elders: Sequence[int]) -> Law:
    return draft(path)


def without_replacement(path: Block, elders: Sequence[int]) -> Law:
    return normalise([Fraction(0) if t in elders else x for t, x in enumerate(draft(path))])


def drawn_trees(parents: list[int], draw: Declare, declare: Declare) -> Iterator[tuple[Fraction, ExactTree]]:
    """Every way to draw the tokens of a topology by `draw`, with its probability and the rows `declare` says."""

    def grow(tree: ExactTree, probability: Fraction) -> Iterator[tuple[Fraction, ExactTree]]:
        node = len(tree.tokens)
        if node == len(parents):
            yield probability, tree
            return
        path = tree.path(parents[node])
        elders = [tree.tokens[i] for i in range(1, node) if parents[i] == parents[node]]
        assert tree.declared is not None
        for token, weight in enumerate(draw(path, elders)):
            if weight:
                grown = ExactTree(
                    [*tree.tokens, token],
                    parents[: node + 1],
                    [*tree.target, target((*path, token))],
                    [*tree.declared, declare(path, elders)],
                )
                yield from grow(grown, probability * weight)

    yield from grow(ExactTree([0], [0], [target(())], [draft(())]), Fraction(1))


def growth_errors(blocks: dict[Block, Fraction]) -> list[str]:
    """Where R(sa) = n(s) p(a|s) fails; none iff the block law is lossless."""
    reach: dict[Block, Fraction] = {}
    for block, mass in blocks.items():
        for end in range(1, len(block) + 1):
            reach[block[:end]] = reach.get(block[:end], Fraction(0)) + mass
    inner = {(): Fraction(1)} | {s: r - blocks.get(s, Fraction(0)) for s, r in reach.items()}
    return [
        f"{s} then {a}"
        for s, n in inner.items()
        for a, p in enumerate(target(s))
        if reach.get((*s, a), Fraction(0)) != n * p
    ]


def marginal(program: Program, parents: list[int], draw: Declare, declare: Declare) -> dict[Block, Fraction]:
    total: dict[Block, Fraction] = {}
    for probability, tree in drawn_trees(parents, draw, declare):
        for block, mass in law(program, tree).items():
            total[block] = total.get(block, Fraction(0)) + probability * mass
    return total


TOPOLOGIES = [[0, 0, 1], [0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 1, 1]]


@pytest.mark.parametrize("parents", TOPOLOGIES)
@pytest.mark.parametrize("scheme", [with_replacement, without_replacement])
@pytest.mark.parametrize("program", [predraw_follow, tree_exit, recursive_rejection, traversal])
def test_lossless(program: Program, scheme: Declare, parents: list[int]) -> None:
    assert growth_errors(marginal(program, parents, scheme, scheme)) == []


@pytest.mark.parametrize("program", [recursive_rejection, traversal])
def test_wrong_declared_law_is_not_lossless(program: Program) -> None:
    assert growth_errors(marginal(program, [0, 0, 0], without_replacement, with_replacement))


def test_tree_exit_has_the_law_of_predraw_follow() -> None:
    for _, tree in drawn_trees([0, 0, 0, 1], with_replacement, with_replacement):
        assert law(tree_exit, tree) == law(predraw_follow, tree)


@pytest.mark.parametrize(("program", "accepted"), [(recursive_rejection, "0.960"), (traversal, "1.030")])
def test_mean_accepted_tokens_of_a_known_chain(program: Program, accepted: str) -> None:
    p, q = [Fraction(x, 10) for x in (4, 3, 2, 1)], [Fraction(x, 10) for x in (1, 2, 3, 4)]
    mean = sum(
        q[x] * q[y] * mass * (len(block) - 1)
        for x in range(4)
        for y in range(4)
        for block, mass in law(program, ExactTree([0, x, y], [0, 0, 1], [p, p, p], [q, q, q])).items()
    )
    assert mean == Fraction(accepted)
