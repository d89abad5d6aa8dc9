"""Language-neutral vectors: what a verifier must do, as JSON that needs nothing of ours to be used (docs/vectors.md, vectors.schema.json).

* **tapes**: a draft tree, its rows, one uniform for each decision, and the block that must come out.  Uniforms lie in the middle of the intervals
  that lead to that block, ``margin`` away from the nearest threshold, so that no rounding changes the answer.
* **laws**: an instance, and the exact law of the block, as fractions and as decimals.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from draftproof import __version__
from draftproof.reference.blocks import block_law, tree_law
from draftproof.reference.exact_json import among
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.instances import Instance, InstanceError, parse
from draftproof.reference.laws import ZERO, Law
from draftproof.reference.models import MissingRow
from draftproof.reference.rational import Rational, fraction, rational
from draftproof.reference.trees import Node, level_order, merged
from draftproof.reference.verifiers import FAMILIES, Family, family

from .readings.bracket import Branch, branches

FORMAT = 1
SCHEMA = Path(__file__).with_name("vectors.schema.json")
TAPES = 12
"""Tapes of one instance and family, spread over its draft trees and their branches."""

MARGIN = 1e-4
WITHIN, BELOW_ONE = 0.999, 1 - 2.0**-53
"""Uniforms are moved by so much of the margin to see that it is one."""
WITHOUT_TAPES = ("univer_transport",)
"""Rules whose plans are not unique: the law of an accepted length is, what one tape gives is not."""


class VectorError(ValueError):
    """A file that holds no vectors; says where it goes wrong."""


def export(instances: Iterable[Instance], families: Iterable[Family] = FAMILIES.values()) -> dict[str, Any]:
    """The vectors of every family on every instance that it is made for."""
    pairs = [(instance, rule) for instance in instances for rule in families if rule.admits(instance)]
    return {
        "draftproof_vectors": FORMAT,
        "made_by": f"draftproof {__version__}",
        "laws": [law_vector(instance, rule) for instance, rule in pairs],
        "tapes": [tape for instance, rule in pairs if rule.name not in WITHOUT_TAPES for tape in tape_vectors(instance, rule)],
    }


def _about(what: str, instance: Instance, rule: Family) -> dict[str, Any]:
    kinds, note = instance.source.get("kinds"), instance.source.get("note")
    about = {"id": f"{what}/{instance.name}/{rule.name}", "family": rule.name}
    return {**about, "kinds": kinds if isinstance(kinds, list) else [], "note": note if isinstance(note, str) else ""}


def law_vector(instance: Instance, rule: Family) -> dict[str, Any]:
    """Exact law, distance to the target and E[L] of one family on one instance."""
    return {**_about("law", instance, rule), "instance": {**instance.source, "name": instance.name}, **_law_of(instance, rule)}


def _law_of(instance: Instance, rule: Family) -> dict[str, Any]:
    law = block_law(rule, instance.target, instance.topology, instance.scheme)
    blocks = [
        {"tokens": list(block), "accepted": len(block) - 1, "probability": _number(mass)}
        for block, mass in sorted(law.items(), key=lambda item: item[0])
        if mass
    ]
    return {
        "total_variation": _number(total_variation(law, instance.target)),
        "expected_length": _number(expected_length(law)),
        "blocks": blocks,
    }


def _number(value: Rational) -> dict[str, Any]:
    return {"fraction": str(fraction(value)), "decimal": float(value)}


def tape_vectors(instance: Instance, rule: Family) -> list[dict[str, Any]]:
    """At most TAPES tapes, each for another branch, on trees far apart in the list of all."""
    trees = tree_law(instance.topology, instance.scheme)
    listed = list(trees if rule.reads_declared else trees.map(merged))
    chosen = listed[:: max(len(listed) // TAPES, 1)][:TAPES]
    found = list[dict[str, Any]]()
    for number, tree in enumerate(chosen):
        possible = [branch for branch in branches(rule, instance.target, tree)[0] if _margin(branch) >= MARGIN]
        share = max(TAPES // len(chosen), 1)
        for branch in possible[:: max(len(possible) // share, 1)][:share]:
            about = _about("tape", instance, rule)
            found.append({**about, "id": f"{about['id']}/{number}/{len(found)}", **_tape(instance, rule, tree, branch)})
    return found


def _margin(branch: Branch) -> float:
    return min((float(decision.high - decision.low) / 2 for decision in branch.decisions), default=0.5)


def _tape(instance: Instance, rule: Family, tree: Node, branch: Branch) -> dict[str, Any]:
    nodes = level_order(tree)
    index = {id(node): place for place, node in enumerate(nodes)}
    parents = [0] * len(nodes)
    for place, node in enumerate(nodes):
        for child in node.children():
            parents[index[id(child)]] = place
    columns = 2 if rule.name == "tree_exit" else len(nodes)
    uniforms = [(0.5 + 0.381966 * column) % 1 for column in range(columns)]  # columns that nothing on this branch reads
    for decision in branch.decisions:
        uniforms[decision.column] = float(decision.low + decision.high) / 2
    size = instance.vocabulary
    declared = [None if node.declared is None else _row(node.declared, size) for node in nodes]
    return {
        "tree": {
            "tokens": [0, *(node.token for node in nodes[1:])],
            "parents": parents,
            "target": [_row(instance.target(node.path), size) for node in nodes],
            "declared": None if instance.deterministic else [[1 / size] * size, *declared[1:]],
        },
        "uniforms": uniforms,
        "margin": _margin(branch),
        "block": list(branch.block),
        "accepted": len(branch.block) - 1,
    }


def _row(law: Law[int], size: int) -> list[float]:
    return [float(law[token]) for token in range(size)]


class _Given:
    """A Chance whose decisions are those of given uniforms: u < probability accepts, draws are by inverse CDF."""

    def __init__(self, uniforms: list[float], columns: Mapping[int, int]):
        self._uniforms, self._columns = [rational(uniform) for uniform in uniforms], columns

    def _uniform(self, at: Any) -> Rational:
        return self._uniforms[1 if at == "exit" else 0 if at == "bonus" else self._columns[id(at)]]

    def flip(self, probability: Rational, at: Any = None) -> bool:
        return bool(self._columns.get(id(at)) == 0 or self._uniform(at) < probability)

    def draw(self, law: Law[Any], at: Any = None) -> Any:
        below, uniform, last = ZERO, self._uniform(at), None
        for outcome, weight in law.items():
            below, last = below + weight, outcome
            if uniform < below:
                break
        return last


def replay(rule: Family, tree: Mapping[str, Any], uniforms: list[float]) -> tuple[int, ...]:
    """The block of the reference on a tree given as arrays.  Raises VectorError for a malformed one."""
    target = [_law(row, f"target row {place}") for place, row in enumerate(tree["target"])]
    tokens, parents, size = tree["tokens"], tree["parents"], len(tree["target"][0])
    if not len(tokens) == len(parents) == len(target) or any(len(row) != size for row in tree["target"]):
        raise VectorError("tokens, parents and target are not of one length")
    if any(not 0 <= token < size for token in tokens) or any(not 0 <= parent < max(node, 1) for node, parent in enumerate(parents)):
        raise VectorError("a token is not in the vocabulary, or a parent does not come before its child")
    declared = tree["declared"]
    if declared is not None and (len(declared) != len(tokens) or any(len(row) != size for row in declared)):
        raise VectorError("declared is not of the shape of target")
    if len(uniforms) < (2 if rule.name == "tree_exit" else len(tokens)):
        raise VectorError(f"{len(uniforms)} uniforms for {len(tokens)} nodes")
    paths: list[tuple[int, ...]] = [()]
    for node in range(1, len(tokens)):
        paths.append((*paths[parents[node]], tokens[node]))
    below: list[list[Node]] = [[] for _ in tokens]
    columns: dict[int, int] = {}
    made = list[Node]()
    for node in reversed(range(len(tokens))):
        law = None if node == 0 else Law.point(tokens[node]) if declared is None else _law(declared[node], f"declared row {node}")
        made.append(Node(paths[node], law, tuple(reversed(below[node]))))
        columns[id(made[-1])] = node
        if node:
            below[parents[node]].append(made[-1])
    rows = {path: law for path, law in zip(paths, target, strict=True)}
    chance = _Given(uniforms, columns)
    answer = rule.verify(lambda prefix: rows[prefix], made[-1], chance)
    return (*answer.node.path, chance.draw(answer.bonus, at="bonus"))


def _law(row: Iterable[float], where: str) -> Law[int]:
    try:
        return Law.row(row)
    except ValueError as error:
        raise VectorError(f"{where}: {error}") from None


def load(path: Path) -> dict[str, Any]:
    """The vectors of a file.  Raises VectorError when it is not one, naming the entry."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    try:
        vectors = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise VectorError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)  # JSON Schema takes 0.0 for one
    wrong = best_match(extend(Draft202012Validator, type_checker=whole)(_schema()).iter_errors(vectors))
    if wrong is not None:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in wrong.absolute_path).lstrip(".")
        message = " ".join(_misspelt(wrong).split())
        raise VectorError(f"{path}: {where or 'the file'}: {message if len(message) <= 200 else message[:197] + '...'}")
    ids = [entry["id"] for entry in (*vectors["laws"], *vectors["tapes"])]
    if len(set(ids)) < len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise VectorError(f"{path}: the id {_brief(twice)} is there twice")
    return dict(vectors)


def _misspelt(wrong: Any) -> str:
    """What is wrong with an entry; of one that has a key which it should not have, that, rather than the key which is then missing."""
    known = list(wrong.schema.get("properties", ())) if wrong.validator in ("required", "additionalProperties") else []
    unknown = [key for key in wrong.instance if key not in known] if known else []
    return f"unknown key {unknown[0]!r}{among(unknown[0], known)}" if unknown else str(wrong.message)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


@cache
def _schema() -> dict[str, Any]:
    return dict(json.loads(SCHEMA.read_text(encoding="utf-8")))


def mistakes(vectors: Mapping[str, Any]) -> Iterator[str]:
    """Every vector that the references disagree with, and how.  Raises VectorError where one cannot be evaluated at all."""
    for entry in vectors["laws"]:
        try:
            rule, instance = family(entry["family"]), parse(entry["instance"], name=entry["id"])
            again = _law_of(instance, rule)
        except (InstanceError, MissingRow, ValueError) as error:
            raise VectorError(f"{entry['id']}: {error}") from None
        for key in again:
            if entry[key] != again[key]:
                yield f"{entry['id']}: {key} is not {_brief(again[key])}"
                break
    for entry in vectors["tapes"]:
        try:
            block = replay(family(entry["family"]), entry["tree"], entry["uniforms"])
            around = [replay(family(entry["family"]), entry["tree"], _moved(entry["uniforms"], way * entry["margin"])) for way in (-WITHIN, WITHIN)]
        except (ValueError, KeyError) as error:
            raise VectorError(f"{entry['id']}: {error}") from None
        if list(block) != entry["block"] or entry["accepted"] != len(block) - 1:
            yield f"{entry['id']}: the block is {list(block)} with accepted = {len(block) - 1}"
        elif around != [block, block]:
            yield f"{entry['id']}: a uniform is nearer to a threshold than its margin of {entry['margin']:g}"


def _moved(uniforms: Sequence[float], by: float) -> list[float]:
    return [min(max(uniform + by, 0.0), BELOW_ONE) for uniform in uniforms]


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
