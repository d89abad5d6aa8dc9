"""The checker of certificates: weak duality, line by line, sharing no code with the solvers.

*One node*: a plan that respects every capacity, and a token set A with  1 + a p(A) - Pr(set inside A) <= the stated optimum <= the plan's total.
*Whole tree*: multipliers lambda >= 0 with  sum_T Q(T) max_{v in T} C(v) <= the stated ceiling  (``tree`` says why that bounds every lossless
verifier), and an acceptance law on every draft tree that respects the growth inequalities and reaches what is stated.  The draft trees are listed
anew from the instance in the certificate.  A certificate that does not prove what it states is rejected, naming the inequality that fails.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import Any

from ..instances import Instance, InstanceError, parse
from ..models import MissingRow
from ..rational import fraction
from ..trees import Slot

Path = tuple[int, ...]

MOST_DRAWS = 5_000_000

_PATH = re.compile(r"([0-9]{1,9}( [0-9]{1,9})*)?")
_NUMBER = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")


class Rejected(ValueError):
    """The certificate does not prove what it states; says which inequality fails."""


def check(certificate: Any) -> str:
    """What the certificate proves, in words.  Raises Rejected."""
    kind = _field(certificate, "kind", str)
    if kind == "one node":
        return check_node(certificate)
    if kind == "whole tree":
        return check_tree(certificate)
    raise Rejected(f"unknown kind of certificate {kind[:40]!r}")


def check_node(certificate: Mapping[str, Any]) -> str:
    """Check the optimum of one node.  Raises Rejected."""
    target = {token: _number(value, "p of", token) for token, value in _path_keys(_field(certificate, "target", dict)).items()}
    sets = {members: _number(value, "D of", members) for members, value in _path_keys(_field(certificate, "sets", dict)).items()}
    capacity, optimum = _stated(certificate, "capacity"), _stated(certificate, "optimum")
    for name, law in (("the target", target), ("the set law", sets)):
        _require(all(weight >= 0 for weight in law.values()) and _total(law.values()) == 1, f"{name} is not a law")
    used, given = {members: list[Fraction]() for members in sets}, {token: list[Fraction]() for token in target}
    for entry in _field(certificate, "plan", list):
        members, mass = _path(_field(entry, "set", str)), _number(_field(entry, "mass", str), "a plan's mass")
        token: Path = (_field(entry, "token", int),)
        if members not in used or token[0] not in members or token not in given:
            raise Rejected(f"plan: token {token[0]} of set {_spell(members)} is not there to give")
        if mass < 0:
            raise Rejected(f"plan: mass {mass} on token {token[0]} of set {_spell(members)} is negative")
        used[members].append(mass)
        given[token].append(mass)
    for members, masses in used.items():
        if (taken := _total(masses)) > sets[members]:
            raise Rejected(f"plan: set {_spell(members)} is used with {taken} > its probability {sets[members]}")
    for token, masses in given.items():
        if (taken := _total(masses)) > (owed := capacity * target[token]):
            raise Rejected(f"plan: token {_spell(token)} is given {taken} > a p = {owed}")
    total = _total(mass for masses in used.values() for mass in masses)
    _require(total >= optimum, f"plan: its total {total} < the stated optimum {optimum}")
    inside = {token for token in _field(certificate, "cut", list) if isinstance(token, int)}
    bound = 1 + capacity * _total(weight for token, weight in target.items() if token[0] in inside)
    bound -= _total(weight for members, weight in sets.items() if inside.issuperset(members))
    _require(bound <= optimum, f"cut: 1 + a p(A) - Pr(set inside A) = {bound} > the stated optimum {optimum}")
    return f"no lossless rule goes on with probability above {optimum}, and a plan reaches it"


def check_tree(certificate: Mapping[str, Any]) -> str:
    """Check the ceiling of a whole instance.  Raises Rejected."""
    try:
        instance = parse(_field(certificate, "instance", dict))
        trees: dict[frozenset[Path], Fraction] = {}
        for number, (paths, probability) in enumerate(_trees(instance, instance.topology, ())):
            _require(number < MOST_DRAWS, f"instance: more than {MOST_DRAWS} ways to draw a tree are not listed")
            trees[paths] = trees.get(paths, Fraction(0)) + probability
        nodes = sorted({path for paths in trees for path in paths}, key=lambda path: (len(path), path))
        step = {path: fraction(instance.target(path[:-1])[path[-1]]) for path in nodes if path}
    except (InstanceError, MissingRow) as error:
        raise Rejected(f"instance: {error}") from None
    ceiling, reached, gap = (_stated(certificate, name) for name in ("ceiling", "reached", "gap"))
    _check_bound(certificate, trees, nodes, step, ceiling)
    _check_reached(certificate, trees, nodes, step, reached)
    _require(ceiling - reached <= gap, f"gap: {ceiling} - {reached} > the stated gap {gap}")
    return f"no lossless verifier has E[L] above {ceiling}, and one has at least {reached}"


def _check_bound(
    certificate: Mapping[str, Any], trees: Mapping[frozenset[Path], Fraction], nodes: list[Path], step: Mapping[Path, Fraction], ceiling: Fraction
) -> None:
    multiplier = dict.fromkeys(step, Fraction(0))
    for path, value in _path_keys(_field(certificate, "multipliers", dict)).items():
        _require(path in multiplier, f"multipliers: no draft tree has the path {_spell(path)}")
        multiplier[path] = _number(value, "multiplier", path)
        _require(multiplier[path] >= 0, f"multipliers: {_spell(path)} has {value} < 0")
    worth: dict[Path, Fraction] = {}
    for path in nodes:
        below = (value * step[child] for child, value in multiplier.items() if child[:-1] == path)
        gain = 1 - multiplier.get(path, Fraction(0)) + sum(below, Fraction(0))
        worth[path] = gain + worth[path[:-1]] if path else gain
    bound = sum((probability * max(map(worth.__getitem__, paths)) for paths, probability in trees.items()), Fraction(0))
    _require(bound <= ceiling, f"multipliers: sum_T Q(T) max_v C(v) = {bound} > the stated ceiling {ceiling}")


def _check_reached(
    certificate: Mapping[str, Any], trees: Mapping[frozenset[Path], Fraction], nodes: list[Path], step: Mapping[Path, Fraction], reached: Fraction
) -> None:
    accepted, seen = dict.fromkeys(nodes, Fraction(0)), set[frozenset[Path]]()
    for entry in _field(certificate, "acceptance", list):
        paths = frozenset([(), *(_path(path) for path in _field(entry, "tree", list))])
        _require(paths in trees and paths not in seen, f"acceptance: {_named(paths)} is not a draft tree of the instance, or listed twice")
        seen.add(paths)
        total = Fraction(0)
        for path, value in _path_keys(_field(entry, "accepted", dict)).items():
            mass = _number(value, "acceptance of", path)
            _require(path in paths and mass >= 0, f"acceptance: {value} of node {_spell(path)} in {_named(paths)} is negative or not in the tree")
            total += mass
            for depth in range(len(path) + 1):
                accepted[path[:depth]] += trees[paths] * mass
        _require(total == 1, f"acceptance: the nodes of {_named(paths)} are accepted with {total}, not 1, in total")
    for paths in trees:
        _require(paths in seen, f"acceptance: {_named(paths)} is missing")
    for path, share in step.items():
        most = accepted[path[:-1]] * share
        _require(accepted[path] <= most, f"growth: f({_spell(path)}) = {accepted[path]} > f({_spell(path[:-1])}) p = {most}")
    total = sum(accepted.values(), Fraction(0))
    _require(total >= reached, f"acceptance: sum_u f(u) = {total} < the stated {reached}")


def _trees(instance: Instance, slot: Slot, path: Path) -> Iterator[tuple[frozenset[Path], Fraction]]:
    """Every way to draw the tree from ``path`` down, with its probability: children one by one, each with all there is below it."""

    def siblings(elders: Path) -> Iterator[tuple[frozenset[Path], Fraction]]:
        law = instance.scheme(slot, path, elders) if len(elders) < len(slot) else None
        if law is None:
            yield frozenset([path]), Fraction(1)
            return
        for token, weight in law.items():
            for younger, rest in siblings((*elders, token)):
                for below, inside in subtrees(len(elders), token):
                    yield younger | below, fraction(weight) * rest * inside

    def subtrees(rank: int, token: int) -> list[tuple[frozenset[Path], Fraction]]:
        if (rank, token) not in drawn:
            merged: dict[frozenset[Path], Fraction] = {}
            for below, inside in _trees(instance, slot[rank], (*path, token)):
                merged[below] = merged.get(below, Fraction(0)) + inside
            drawn[rank, token] = list(merged.items())
        return drawn[rank, token]

    drawn: dict[tuple[int, int], list[tuple[frozenset[Path], Fraction]]] = {}
    return siblings(())


def _total(numbers: Iterable[Fraction]) -> Fraction:
    """Their sum, over one common denominator: a thousand gcds fewer."""
    listed = list(numbers)
    unit = lcm(*(number.denominator for number in listed))
    return Fraction(sum(number.numerator * (unit // number.denominator) for number in listed), unit)


def _require(holds: bool, inequality: str) -> None:
    if not holds:
        raise Rejected(inequality)


def _field(entry: Any, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Rejected(f'the certificate is malformed: "{name}" is missing or not a {kind.__name__}')
    return value


def _stated(certificate: Mapping[str, Any], name: str) -> Fraction:
    return _number(_field(certificate, name, str), f'"{name}"')


def _number(text: Any, what: str, path: Path | None = None) -> Fraction:
    if isinstance(text, str) and _NUMBER.fullmatch(text):
        numerator, _, denominator = text.partition("/")
        if int(denominator or 1):
            return Fraction(int(numerator), int(denominator or 1))
    raise Rejected(f"the certificate is malformed: {what if path is None else f'{what} {_spell(path)}'} is not an exact number")


def _path(text: Any) -> Path:
    if not isinstance(text, str) or not _PATH.fullmatch(text):
        raise Rejected("the certificate is malformed: a path is not a string of tokens")
    return tuple(map(int, text.split()))


def _path_keys(entries: Mapping[str, Any]) -> dict[Path, Any]:
    return {_path(key): value for key, value in entries.items()}


def _spell(path: Path) -> str:
    return '"' + " ".join(map(str, path)) + '"'


def _named(paths: frozenset[Path]) -> str:
    return "tree {" + ", ".join(_spell(path) for path in sorted(paths) if path) + "}"
