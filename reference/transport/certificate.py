"""The checker of certificates: weak duality, line by line, sharing no code with the solvers.

*One node*: a plan that respects every capacity, and a token set A with  1 + a p(A) - Pr(set inside A) <= the stated optimum <= the plan's total.
*Whole tree*: multipliers lambda >= 0 with  sum_T Q(T) max_{v in T} C(v) <= the stated ceiling  (``tree`` says why that bounds every lossless
verifier), and an acceptance law on every draft tree that respects the growth inequalities and reaches what is stated.  The draft trees are listed
anew from the instance in the certificate.  A certificate that does not prove what it states is rejected, naming the inequality that fails.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import count
from math import lcm
from typing import Any

from ..instances import Instance, InstanceError, parse
from ..models import MissingRow
from ..rational import decimal, fraction
from ..trees import Slot

Path = tuple[int, ...]

MOST_DRAWS = 500_000
"""Steps of listing draft trees; beyond them a file that asks for more is not waited for."""

BITS_SHOWN = 1000
"""Numbers up to this long are shown whole."""

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
            raise Rejected(f"plan: mass {_say(mass)} on token {token[0]} of set {_spell(members)} is negative")
        used[members].append(mass)
        given[token].append(mass)
    for members, masses in used.items():
        if (taken := _total(masses)) > sets[members]:
            raise Rejected(f"plan: set {_spell(members)} is used with {_say(taken)} > its probability {_say(sets[members])}")
    for token, masses in given.items():
        if (taken := _total(masses)) > (owed := capacity * target[token]):
            raise Rejected(f"plan: token {_spell(token)} is given {_say(taken)} > a p = {_say(owed)}")
    total = _total(mass for masses in used.values() for mass in masses)
    _require(total >= optimum, f"plan: its total {_say(total)} < the stated optimum {_say(optimum)}")
    inside = {token for token in _field(certificate, "cut", list) if isinstance(token, int)}
    bound = 1 + capacity * _total(weight for token, weight in target.items() if token[0] in inside)
    bound -= _total(weight for members, weight in sets.items() if inside.issuperset(members))
    _require(bound <= optimum, f"cut: 1 + a p(A) - Pr(set inside A) = {_say(bound)} > the stated optimum {_say(optimum)}")
    return f"no lossless rule goes on with probability above {_say(optimum)}, and a plan reaches it"


def check_tree(certificate: Mapping[str, Any]) -> str:
    """Check the ceiling of a whole instance.  Raises Rejected."""
    try:
        instance = parse(_field(certificate, "instance", dict))
        trees = _trees(instance)
        nodes = sorted({path for paths in trees for path in paths}, key=lambda path: (len(path), path))
        step = {path: fraction(instance.target(path[:-1])[path[-1]]) for path in nodes if path}
    except (InstanceError, MissingRow) as error:
        raise Rejected(f"instance: {error}") from None
    ceiling, reached, gap = (_stated(certificate, name) for name in ("ceiling", "reached", "gap"))
    _check_bound(certificate, trees, nodes, step, ceiling)
    _check_reached(certificate, trees, nodes, step, reached)
    _require(ceiling - reached <= gap, f"gap: {_say(ceiling)} - {_say(reached)} > the stated gap {_say(gap)}")
    return f"no lossless verifier has E[L] above {_say(ceiling)}, and one has at least {_say(reached)}"


def _check_bound(
    certificate: Mapping[str, Any], trees: Mapping[frozenset[Path], Fraction], nodes: list[Path], step: Mapping[Path, Fraction], ceiling: Fraction
) -> None:
    multiplier = dict.fromkeys(step, Fraction(0))
    for path, value in _path_keys(_field(certificate, "multipliers", dict)).items():
        _require(path in multiplier, f"multipliers: no draft tree has the path {_spell(path)}")
        multiplier[path] = _number(value, "multiplier", path)
        _require(multiplier[path] >= 0, f"multipliers: {_spell(path)} has {_say(multiplier[path])} < 0")
    below = dict.fromkeys(nodes, Fraction(0))
    for child, value in multiplier.items():
        below[child[:-1]] += value * step[child]
    worth: dict[Path, Fraction] = {}
    for path in nodes:
        gain = 1 - multiplier.get(path, Fraction(0)) + below[path]
        worth[path] = gain + worth[path[:-1]] if path else gain
    bound = sum((probability * max(map(worth.__getitem__, paths)) for paths, probability in trees.items()), Fraction(0))
    _require(bound <= ceiling, f"multipliers: sum_T Q(T) max_v C(v) = {_say(bound)} > the stated ceiling {_say(ceiling)}")


def _check_reached(
    certificate: Mapping[str, Any], trees: Mapping[frozenset[Path], Fraction], nodes: list[Path], step: Mapping[Path, Fraction], reached: Fraction
) -> None:
    accepted, seen = dict.fromkeys(nodes, Fraction(0)), set[frozenset[Path]]()
    for entry in _field(certificate, "acceptance", list):
        paths = frozenset([(), *(_path(path) for path in _field(entry, "tree", list))])
        if paths not in trees or paths in seen:
            raise Rejected(f"acceptance: {_named(paths)} is not a draft tree of the instance, or listed twice")
        seen.add(paths)
        total = Fraction(0)
        for path, value in _path_keys(_field(entry, "accepted", dict)).items():
            mass = _number(value, "acceptance of", path)
            if path not in paths or mass < 0:
                raise Rejected(f"acceptance: {_say(mass)} of node {_spell(path)} in {_named(paths)} is negative or not in the tree")
            total += mass
            for depth in range(len(path) + 1):
                accepted[path[:depth]] += trees[paths] * mass
        if total != 1:
            raise Rejected(f"acceptance: the nodes of {_named(paths)} are accepted with {_say(total)}, not 1, in total")
    if missing := [paths for paths in trees if paths not in seen]:
        raise Rejected(f"acceptance: {_named(missing[0])} is missing")
    for path, share in step.items():
        most = accepted[path[:-1]] * share
        if accepted[path] > most:
            raise Rejected(f"growth: f({_spell(path)}) = {_say(accepted[path])} > f({_spell(path[:-1])}) p = {_say(most)}")
    total = sum(accepted.values(), Fraction(0))
    _require(total >= reached, f"acceptance: sum_u f(u) = {_say(total)} < the stated {_say(reached)}")


def _trees(instance: Instance) -> dict[frozenset[Path], Fraction]:
    """The law of the draft tree: children one by one, each with all there is below it; ways to the same tree are added up as they come."""
    steps = count(1)

    def drawn(slot: Slot, path: Path, elders: Path) -> dict[frozenset[Path], Fraction]:
        """The trees at ``path`` without their eldest children."""
        law = instance.scheme(slot, path, elders) if len(elders) < len(slot) else None
        if law is None:
            return {frozenset([path]): Fraction(1)}
        found: dict[frozenset[Path], Fraction] = {}
        for token, weight in law.items():
            younger = drawn(slot, path, (*elders, token))
            for below, inside in subtrees(slot[len(elders)], (*path, token)).items():
                share = fraction(weight) * inside
                for others, rest in younger.items():
                    if next(steps) > MOST_DRAWS:
                        raise Rejected(f"instance: more than {MOST_DRAWS} ways to draw a tree are not listed")
                    paths = others | below
                    found[paths] = found.get(paths, Fraction(0)) + share * rest
        return found

    known: dict[tuple[Slot, Path], dict[frozenset[Path], Fraction]] = {}

    def subtrees(slot: Slot, path: Path) -> dict[frozenset[Path], Fraction]:
        if (slot, path) not in known:
            known[slot, path] = drawn(slot, path, ())
        return known[slot, path]

    return drawn(instance.topology, (), ())


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


def _say(number: Fraction) -> str:
    """A number in a message; of one that is too long to be read, or for Python to print, the first digits."""
    long = max(number.numerator.bit_length(), number.denominator.bit_length()) > BITS_SHOWN
    return f"about {decimal(number, 17)}" if long else str(number)


def _spell(path: Path) -> str:
    return '"' + " ".join(map(str, path)) + '"'


def _named(paths: frozenset[Path]) -> str:
    return "tree {" + ", ".join(_spell(path) for path in sorted(paths) if path) + "}"
