"""Recursive rejection and traversal as engines get them wrong, in the words of the reference.

A declared probability of 0 is met as floats meet it: the ratio is infinite where the residual has mass, and the test fails where it has none.
"""

import random
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

from draftproof.reference.chance import Chance
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model, Prefix, table
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode, Node
from draftproof.reference.verifiers.descent import Accepted, Verifier

from ..subjects import Subject
from .rows import Sibling, on_tree


class Coins:
    """A chance for ordinary code: every decision is one uniform."""

    def uniform(self) -> float:
        return random.random()

    def flip(self, probability: Any, at: Any = None) -> bool:
        return bool(self.uniform() < float(probability)) if 0 < probability < 1 else bool(probability >= 1)

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        outcomes, total = list(law), 0.0
        if len(outcomes) == 1:
            return outcomes[0]
        u = self.uniform()
        for outcome in outcomes[:-1]:
            total += float(law[outcome])
            if u < total:
                return outcome
        return outcomes[-1]


def program(**declares: Any) -> Callable[[Verifier], Subject]:
    """Decorator: a verifier in the words of the reference as a Subject; the rows it is given are its target and its declared laws."""
    return lambda verify: _read_as_rows(verify, **declares)


def _read_as_rows(verify: Verifier, **declares: Any) -> Subject:
    @on_tree(**declares)
    @wraps(verify)

    def run(root: Sibling) -> list[int]:
        rows: dict[Prefix, Law[int]] = {}

        def node(sibling: Sibling, path: Prefix, declared: Law[int] | None) -> Node:
            rows[path] = law(tuple(sibling.target))
            return Node(path, declared, tuple(node(child, (*path, child.token), law(tuple(child.declared))) for child in sibling.children))

        tree = node(root, (), None)
        answer = verify(table(rows), tree, Coins())
        return [*answer.node.path, Coins().draw(answer.bonus)]

    found: Subject = run
    return found


@lru_cache(maxsize=1 << 16)
def law(row: tuple[float, ...]) -> Law[int]:
    return Law.row(row)


def ratio(wanted: Rational, declared: Rational) -> Rational:
    return min(ONE, wanted / declared) if declared else (ONE if wanted else ZERO)


def top_down(*, bonus_from_target: bool = False, update: bool = True, renormalise: bool = True) -> Verifier:
    """Recursive rejection; each flag away from its default is one fault."""

    def verify(target: Model, root: DraftNode, chance: Chance) -> Accepted:
        node, walking = root, True
        while walking:
            walking = False
            row = target(node.path)
            residual: dict[int, Any] = dict(row.items())
            for child in node.children():
                assert child.declared is not None
                if chance.flip(ratio(residual.get(child.token, ZERO), child.declared[child.token]), at=child):
                    node, walking = child, True
                    break
                left = {token: mass - child.declared[token] for token, mass in residual.items() if mass > child.declared[token]}
                total = sum(left.values(), ZERO)
                if update and total:
                    residual = {token: mass / total for token, mass in left.items()} if renormalise else left
        return Accepted(node, row if bonus_from_target else Law(residual))

    return verify


def bottom_up(*, bonus_from_target: bool = False, residual_with_capacity: bool = True) -> Verifier:
    """Traversal; each flag away from its default is one fault."""

    def visit(target: Model, node: DraftNode, capacity: Rational, chance: Chance) -> Accepted | None:
        row = residual = target(node.path)
        for child in node.children():
            assert child.declared is not None
            share = ratio(capacity * residual[child.token], child.declared[child.token])
            if (accepted := visit(target, child, share, chance)) is not None:
                return accepted
            mass, left = residual.excess(child.declared, capacity if residual_with_capacity else ONE)
            if left is None:
                capacity = ZERO
                break
            residual, capacity = left, mass / (mass + 1 - capacity)
        if not node.path:
            capacity = ONE
        return Accepted(node, row if bonus_from_target else residual) if chance.flip(capacity, at=node) else None

    def verify(target: Model, root: DraftNode, chance: Chance) -> Accepted:
        accepted = visit(target, root, ONE, chance)
        assert accepted is not None
        return accepted

    return verify


def scored_as(read: Callable[[Prefix], Prefix], verify: Verifier) -> Verifier:
    """``verify`` with the target row of every node read from another path."""
    return lambda target, root, chance: verify(lambda path: target(read(path)), root, chance)


SOUND: dict[str, Verifier] = {"recursive_rejection": top_down(), "traversal": bottom_up()}

FAULTY: dict[str, Verifier] = {
    "correction_from_target": top_down(bonus_from_target=True),  # fault 4
    "residual_not_updated": top_down(update=False),  # fault 5
    "residual_not_renormalised": top_down(renormalise=False),  # fault 6
    "rows_of_planned_ids": scored_as(lambda path: (0,) * len(path), top_down()),  # fault 10
    "residual_without_capacity": bottom_up(residual_with_capacity=False),  # fault 17
    "traversal_bonus_from_target": bottom_up(bonus_from_target=True),  # fault 18
}

