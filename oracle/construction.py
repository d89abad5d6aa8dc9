"""The verdict *construction*: is this the best draft tree of its budget?

A tree is right when it is a tree (prefix-closed, parents first, siblings distinct), has exactly min(budget, prefixes of positive mass) nodes besides
the root, lists them best first, and covers as much as any tree of its size, for the law of the bits that were handed over.  Trees of growing
budgets must be nested, and neither a permuted vocabulary, a constant added to logits nor other rows of a batch may matter.
Which of equal masses is taken is nobody's business.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from draftproof.reference.budgets import ddtree, gains
from draftproof.reference.budgets.truncation import heaviest_excluded, mass
from draftproof.reference.drafting import ranked
from draftproof.reference.laws import Law
from draftproof.reference.models import Prefix, marginal, spell
from draftproof.reference.rational import fraction

from .builders import Answer, Builder, Overwrote, build, taker_of
from .items import Item, Observe, Plan, Record
from .marginal_instances import MarginalInstance, Variant, marginal_instances, variants
from .report import Report
from .verdicts import Verdict

TOLERANCE = 1e-6
"""Coverage that a tree may lack: float32 implementations cannot tell nearer masses apart."""

ORDER_SLACK = Fraction(1, 10**5)
"""Share by which a node may outweigh the one before it, for the same reason."""


class Fault(Exception):
    """What is wrong with a tree; ``deficit`` is the coverage it lacks, where that is what is wrong."""

    def __init__(self, message: str, deficit: Fraction = Fraction(0)):
        super().__init__(message)
        self.deficit = deficit


def judge_builder(
    subject: "Builder | Callable[..., Any]",
    instances: Iterable[MarginalInstance] | None = None,
    tolerance: float = TOLERANCE,
    *,
    time_limit: float = 120.0,
    observe: Observe | None = None,
    record: Record | None = None,
) -> Report:
    """Judge a tree builder on ``instances`` (default all): a verdict *construction* on each, or an error where it could not be called.

    ``time_limit``: seconds per instance.  ``observe`` and ``record`` follow the run, as in ``check``.
    """
    one = taker_of(subject, Builder)
    assert isinstance(one, Builder)

    def verdicts(instance: MarginalInstance) -> list[Verdict]:
        return [construction(one, instance, tolerance)]

    items = [Item(one.name, each.name, partial(verdicts, each)) for each in (marginal_instances() if instances is None else instances)]
    return Plan(items, {"tolerance": tolerance, "time_limit": time_limit}, time_limit).run(observe, record)


def construction(subject: Builder, instance: MarginalInstance, tolerance: float = TOLERANCE) -> Verdict:
    """The verdict on one instance, over all its budgets."""
    worst, budgets = Fraction(0), sorted(instance.budgets)

    def verdict(outcome: str, number: Fraction, message: str) -> Verdict:
        effort = f"{len(budgets)} budgets"
        return Verdict(subject.name, instance.name, "construction", outcome, "compare", float(number), tolerance, message, effort)

    try:
        shown, limit = variants(subject, instance), Fraction(tolerance)
        best = [_best(one, budgets[-1]) for one in shown]
        smaller: list[_Tree] | None = None
        for nodes in budgets:
            answers = _built(subject, shown, nodes)
            trees = [_judged(subject, *row, nodes, limit) for row in zip(answers, shown, best, strict=True)]
            worst = max([worst, *(tree.deficit for tree in trees)])
            if smaller is not None:
                _require_nested(smaller, trees, shown)
            smaller = trees
        alone = replace(shown[0], name="alone in its batch, ")
        _judged(subject, _built(subject, [alone], budgets[-1])[0], alone, best[0], budgets[-1], limit)
    except (Fault, Overwrote) as fault:
        return verdict("nonconform", getattr(fault, "deficit", Fraction(0)), str(fault))
    return verdict("conform", worst, "best trees of their budgets")


@dataclass(frozen=True)
class _Tree:
    paths: list[Prefix]
    masses: list[Fraction]
    deficit: Fraction


def _built(subject: Builder, shown: Sequence[Variant], nodes: int) -> list[Answer]:
    return build(subject, np.stack([one.values for one in shown]), nodes)


def _best(shown: Variant, nodes: int) -> list[Fraction]:
    """What the nodes of the best tree add."""
    return [fraction(gain) for gain in gains(marginal(shown.laws), len(shown.laws), nodes)]


def _judged(subject: Builder, answer: Answer, shown: Variant, best: list[Fraction], nodes: int, tolerance: Fraction) -> _Tree:
    """The tree of one answer; ``best`` as of ``_best``, for so many nodes or more.  Raises Fault, saying for which variant and budget."""
    try:
        paths = paths_of(answer, len(shown.laws), shown.values.shape[1])
        _require_mask_and_depth(answer, paths)
        masses = [fraction(mass(shown.laws, path)) for path in paths]
        return _Tree(paths, masses, _require_best(subject, paths, masses, shown.laws, best[:nodes], nodes, tolerance))
    except Fault as fault:
        raise Fault(f"{shown.name}with {nodes} nodes {fault}", fault.deficit) from None


def paths_of(answer: Answer, depth: int, vocabulary: int) -> list[Prefix]:
    """The prefix of every node besides the root, in index order.  Raises Fault for anything that is not a tree of these dimensions."""
    if not answer.valid[0]:
        raise Fault("the root is not valid")
    path: dict[int, Prefix] = {0: ()}
    for node in np.flatnonzero(answer.valid)[1:].tolist():
        token, parent = int(answer.tokens[node]), int(answer.parents[node])
        if parent not in path:
            raise Fault(f"node {node} has parent {parent}, which is not an earlier valid node")
        if not 0 <= token < vocabulary:
            raise Fault(f"node {node} has token {token}, outside 0..{vocabulary - 1}")
        longer = (*path[parent], token)
        if longer in path.values():
            raise Fault(f'node {node} repeats the prefix "{spell(longer)}"')
        if len(longer) > depth:
            raise Fault(f'node {node} is at depth {len(longer)}, where there is no law to draft from (prefix "{spell(longer)}")')
        path[node] = longer
    return list(path.values())[1:]


def _require_best(
    subject: Builder,
    paths: list[Prefix],
    masses: list[Fraction],
    laws: Sequence[Law[int]],
    best: list[Fraction],
    nodes: int,
    tolerance: Fraction,
) -> Fraction:
    """Budget, coverage and order.  Returns the coverage that lacks; raises Fault when that is too much."""
    for path, weight in zip(paths, masses, strict=True):
        if not weight:
            raise Fault(f'the impossible prefix "{spell(path)}" is a node')
    deficit = sum(best, Fraction(0)) - sum(masses, Fraction(0))
    if len(paths) != len(best):
        why = "asked for" if len(best) == nodes else "possible"
        raise Fault(f"the tree has {len(paths)} besides the root; {len(best)} are {why}", max(deficit, Fraction(0)))
    if deficit > tolerance:
        raise Fault(_missing(subject, paths, masses, laws, best), deficit)
    for before, after in zip(range(len(masses)), range(1, len(masses)), strict=False):
        if masses[after] > masses[before] * (1 + ORDER_SLACK):
            heavier, lighter = spell(paths[after]), spell(paths[before])
            weights = f"{_number(masses[after])} after {_number(masses[before])}"
            raise Fault(f'nodes are not listed best first: "{heavier}" comes after "{lighter}", mass {weights}')
    return deficit


def _missing(subject: Builder, paths: list[Prefix], masses: list[Fraction], laws: Sequence[Law[int]], best: list[Fraction]) -> str:
    """Which node should not be there, which prefix should, and whether looking at too few tokens explains it."""
    least = min(range(len(paths)), key=masses.__getitem__)
    lacking = next(path for path in ddtree(marginal(laws), len(laws), len(paths)) if path not in set(paths))
    said = (
        f'the tree covers {_number(sum(masses))} where {_number(sum(best))} is possible: "{spell(lacking)}" of mass {_number(mass(laws, lacking))} '
        f'is left out and "{spell(paths[least])}" of mass {_number(masses[least])} is in'
    )
    used = 1 + max(_rank(laws, path) for path in paths)
    width = subject.width or (used if _rank(laws, lacking) >= used else None)
    if width is not None and width < min(len(paths), len(laws[0])):
        outside = heaviest_excluded(laws, width)
        said += f"; {width} tokens of each depth are looked at, and prefixes of mass up to {_number(outside)} need others"
    return said


def _rank(laws: Sequence[Law[int]], path: Prefix) -> int:
    """The worst rank that the prefix uses at any depth, from 0."""
    return max(ranked(laws[depth]).index(token) for depth, token in enumerate(path))


def _require_nested(smaller: list[_Tree], larger: list[_Tree], shown: Sequence[Variant]) -> None:
    """A node may go when the budget grows only for another of the same mass, which is then the least."""
    for small, large, one in zip(smaller, larger, shown, strict=True):
        kept, least = set(large.paths), min(large.masses, default=Fraction(0))
        for path, weight in zip(small.paths, small.masses, strict=True):
            if path not in kept and abs(weight - least) > least * ORDER_SLACK:
                few, more = len(small.paths), len(large.paths)
                raise Fault(f'{one.name}trees are not nested: "{spell(path)}" is in the tree of {few} nodes and not in that of {more}')


def _require_mask_and_depth(answer: Answer, paths: list[Prefix]) -> None:
    """The mask against brute-force ancestors, positions against depths, where the builder returns them."""
    nodes = np.flatnonzero(answer.valid).tolist()
    everyone = dict(zip(nodes, [(), *paths], strict=True))
    for node, path in everyone.items():
        if answer.depth is not None and answer.depth[node] != len(path):
            raise Fault(f"node {node} is at depth {len(path)} and says {answer.depth[node]}")
        if answer.mask is None:
            continue
        for other in range(len(answer.valid)):
            above = everyone.get(other)
            wanted = above is not None and path[: len(above)] == above
            if bool(answer.mask[node, other]) != wanted:
                what = "padding" if above is None else "itself" if other == node else f'"{spell(above)}"'
                raise Fault(f'node {node} ("{spell(path)}") {"does not see" if wanted else "sees"} {what}')


def _number(value: Any) -> str:
    exact = fraction(value)
    return str(exact) if exact.denominator <= 1000 else f"{float(exact):.6g}"
