"""What the instances on which a subject fails have in common that the others have not: a description of what was judged, no diagnosis.

A pattern is told only where it is exact: a property of instances that all failing ones have and none that passed, or that all failing ones share.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb

from draftproof.reference.exact_json import FormatError
from draftproof.reference.instances import Instance, parse
from draftproof.reference.trees import Slot

from .catalogue import catalogue
from .report import LIFTED, Report
from .verdicts import Verdict

MOST_LISTED = 8
"""Instances that a failure names."""

FEW = 4
"""Instances that pass which are named instead, where many fail."""

TESTING = ("recursive_rejection", "traversal", "k_seq")
"""Families that test drafts one by one: of others E[L] does not tell a test from what is drawn after it."""

RARE = 0.02
"""How often what all failing instances have may be chance."""

LEAST = 2
"""Instances on either side that it takes to speak of a pattern."""


def _rows(instance: Instance, model: str) -> list[list[Fraction]]:
    return [[Fraction(str(weight)) for weight in row] for row in instance.source.get(model, {}).values()]


def _widest(slot: Slot) -> int:
    return max([len(slot), *map(_widest, slot)])


def _siblings(instance: Instance, *draws: str) -> bool:
    return _widest(instance.topology) > 1 and (not draws or instance.draws in draws)


def _zeros(instance: Instance, model: str) -> bool:
    return any(weight == 0 for row in _rows(instance, model) for weight in row)


PROPERTIES: Mapping[str, Callable[[Instance], bool]] = {
    "have siblings": _siblings,
    "have siblings drawn without replacement": lambda one: _siblings(one, "without_replacement"),
    "have siblings drawn with replacement": lambda one: _siblings(one, "with_replacement"),
    "have sampled siblings": lambda one: _siblings(one, "without_replacement", "with_replacement"),
    "have one sampled sibling beside fixed ones": lambda one: _siblings(one, "greedy"),
    "have more than two siblings": lambda one: _widest(one.topology) > 2,
    "are chains": lambda one: one.is_chain,
    "have deterministic drafts": lambda one: one.deterministic,
    "have sampled drafts": lambda one: not one.deterministic,
    "are one draft deep": lambda one: one.depth == 1,
    "are more than one draft deep": lambda one: one.depth > 1,
    "are more than two drafts deep": lambda one: one.depth > 2,
    "have a target that excludes tokens": lambda one: _zeros(one, "target"),
    "have a draft that excludes tokens": lambda one: _zeros(one, "draft"),
}
"""Said of several instances; of two that hold alike the first is told."""


def described(part: Report, found: Sequence[Verdict]) -> Iterable[str]:
    """Lines on which instances fail a verdict, ``found``, of all that were judged; where in the block; whether E[L] is right."""
    names = [one.instance for one in found]
    if found[0].outcome != "nonconform":
        yield from [f"not decided on: {listed(names)}"] * (len(names) > 1)
        return
    judged = [one for one in part.verdicts if one.verdict == found[0].verdict]
    passed = [one.instance for one in judged if one.outcome == "conform"]
    share = f"fails on {_share(names, passed, part)}"
    if len(names) > 1 and 0 < len(passed) <= FEW < len(names):
        yield f"{share}; not on {listed(passed)}"
    elif len(names) > 1:
        yield f"{share}: {listed(names)}"
    if found[0].verdict == "exactness" and len(names) >= LEAST:
        yield from _place(part, found) or _accepted(part, names)


def listed(names: Sequence[str]) -> str:
    """As many as can be read."""
    return ", ".join(names[:MOST_LISTED]) + (f" and {len(names) - MOST_LISTED} more, which --json lists" if len(names) > MOST_LISTED else "")


def _share(names: Sequence[str], passed: Sequence[str], part: Report) -> str:
    total = len(names) + len(passed)
    if not passed:
        return f"all {total} instances"
    known = {name: instance for name in (*names, *passed) if (instance := _instance(name, part)) is not None}
    share = f"{len(names)} of {total} instances"
    if len(known) < total or min(len(names), len(passed)) < LEAST:
        return share
    if (exact := _property(known, names, passed)) is not None:
        return f"{share}, all that {exact} and no other"
    if (right := _property(known, passed, names)) is not None:
        return f"{share}, all but those that {right}"
    common = [words for words, holds in PROPERTIES.items() if all(holds(known[name]) for name in names)]
    common = [words for words in common if _telling(sum(PROPERTIES[words](known[name]) for name in known), len(known), len(names))]
    return f"{share}, only such that {common[0]}" if common else share


def _telling(have: int, total: int, failing: int) -> bool:
    """Whether so many of all instances seldom hold all that fail, if these were any."""
    return comb(have, failing) <= RARE * comb(total, failing)


def _property(known: Mapping[str, Instance], has: Sequence[str], lacks: Sequence[str]) -> str | None:
    """What all of ``has`` are and none of ``lacks``."""
    for words, holds in PROPERTIES.items():
        if all(holds(known[name]) for name in has) and not any(holds(known[name]) for name in lacks):
            return words
    return None


def _place(part: Report, found: Sequence[Verdict]) -> list[str]:
    """That nothing is wrong before a path of drafts ends, where that is so on every instance."""
    known = [(_instance(one.instance, part), one.violation) for one in found]
    if all(instance and violation and len(str(violation.get("prefix", "")).split()) in _ends(instance.topology) for instance, violation in known):
        return ["wrong first where the drafts end: rather the bonus token after a path that was accepted to its end than a residual or the test"]
    return []


def _ends(slot: Slot, depth: int = 0) -> set[int]:
    """Depths at which a path of the topology ends."""
    return {depth} if not slot else {end for child in slot for end in _ends(child, depth + 1)}


def _accepted(part: Report, names: Sequence[str]) -> list[str]:
    """Whether E[L] is the reference's where the law is not the target's: the test is then less suspect than what is drawn."""
    if part.about.get(part.verdicts[0].subject, {}).get("family") not in TESTING:
        return []
    lengths = [one for one in part.verdicts if one.verdict == "acceptance" and one.instance in names and one.details.get("reference")]
    wrong = [one for one in lengths if one.outcome != "conform"]
    if len(lengths) < LEAST:
        return []
    if not wrong:
        return ["E[L] is right on all that fail: rather what is drawn, after a rejection or at the end, than the acceptance test"]
    more = sum(one.limit is not None and (one.number or 0.0) > one.limit for one in wrong)
    shallow = any(instance is not None and instance.depth == 1 for instance in (_instance(name, part) for name in names))
    if len(wrong) < len(lengths) or 0 < more < len(wrong) or not shallow:  # deeper ones only: what belongs to another position is as likely
        return []
    how = "large" if more else "small"
    return [f"E[L] is too {how} on all that fail: rather the acceptance test than what is drawn after a rejection"]


def _instance(name: str, part: Report) -> Instance | None:
    name = name.partition(LIFTED)[0]
    if (known := next((one for one in catalogue() if one.name == name), None)) is not None:
        return known
    try:
        return parse(part.instances[name]) if name in part.instances else None
    except FormatError:  # of a report that somebody else wrote
        return None
