"""Instance files: a small vocabulary, a target, a draft model and a drafting scheme, as JSON that says everything exactly.

``{"vocabulary": 3, "target": {"": [2, 3, 4], "0": [1, 1, 3]}, "draft": {...}, "drafting": {"scheme": "greedy", "children": [2, 2]}}``

A row is a list of non-negative weights (integers, decimals or strings such as "3/8"), normalised exactly; a key is a prefix, its tokens separated by
one space.  ``children`` is the number of siblings at each depth.  A fixed tree lists its paths: ``{"scheme": "fixed", "tree": ["0", "0 1", "2"]}``.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import drafting
from .laws import Law
from .models import Model, Prefix, spell, table
from .trees import Scheme, Slot, uniform_topology

SCHEMES: dict[str, Callable[[Model], Scheme]] = {
    "chain": drafting.chain,
    "with_replacement": drafting.with_replacement,
    "without_replacement": drafting.without_replacement,
    "top_k": drafting.top_k,
    "greedy": drafting.greedy,
}
"""Schemes that take a draft model and ``children``; "fixed" takes a tree instead."""

DETERMINISTIC = ("top_k", "fixed")
"""Schemes whose declared laws are all one-hot."""

MAX_NODES = 4096

_TOKEN = re.compile(r"0|[1-9][0-9]{0,8}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,200}(/[0-9]{1,200})?|([0-9]{1,50}\.?[0-9]{0,50}|\.[0-9]{1,50})([eE][+-]?[0-9]{1,3})?)")  # no bombs


class InstanceError(ValueError):
    """An instance that cannot be used, with what is wrong and where."""


@dataclass(frozen=True)
class Instance:
    """One exact instance.  ``source`` is the JSON object it was read from."""

    vocabulary: int
    target: Model
    topology: Slot
    scheme: Scheme
    scheme_name: str
    name: str = "instance"
    source: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def depth(self) -> int:
        return _depth(self.topology)

    @property
    def is_chain(self) -> bool:
        slot = self.topology
        while len(slot) == 1:
            slot = slot[0]
        return not slot and bool(self.topology)

    @property
    def deterministic(self) -> bool:
        return self.scheme_name in DETERMINISTIC


def load(path: str | Path) -> Instance:
    """Read an instance file.  Raises InstanceError when it is not one, naming the file and the entry."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        source = json.loads(text, parse_constant=_no_constant, parse_float=str, object_pairs_hook=_no_repeats)  # "0.1" stays 1/10
    except OSError as error:
        raise InstanceError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InstanceError(f"{path}: not JSON: {error}") from None
    try:
        return parse(source, name=Path(path).stem)
    except InstanceError as error:
        raise InstanceError(f"{path}: {error}") from None


def parse(source: Any, name: str = "instance") -> Instance:
    """An instance from the JSON object.  Raises InstanceError naming the offending entry."""
    source = _object(source, "an instance")
    vocabulary = source.get("vocabulary")
    if not isinstance(vocabulary, int) or isinstance(vocabulary, bool) or vocabulary < 1:
        raise InstanceError(f'"vocabulary" must be a positive integer, not {vocabulary!r}')
    target = _model(source, "target", vocabulary)
    plan = _object(source.get("drafting"), '"drafting"')
    scheme_name = plan.get("scheme")
    if scheme_name == "fixed":
        topology, scheme = _fixed(plan.get("tree"), vocabulary)
    elif isinstance(scheme_name, str) and scheme_name in SCHEMES:
        topology = _topology(scheme_name, plan)
        scheme = SCHEMES[scheme_name](_model(source, "draft", vocabulary))
    else:
        raise InstanceError(f'unknown scheme {scheme_name!r} in "drafting"; known: {", ".join([*SCHEMES, "fixed"])}')
    return Instance(vocabulary, target, topology, scheme, scheme_name, str(source.get("name", name)), source)


def _topology(scheme: str, plan: Mapping[str, Any]) -> Slot:
    children = plan.get("children")
    counts = isinstance(children, list) and all(isinstance(count, int) and not isinstance(count, bool) for count in children)
    if not counts or not children or min(children) < 1:
        raise InstanceError(f'"children" must list a positive number of siblings for each depth, not {children!r}')
    if scheme == "chain" and max(children) > 1:
        raise InstanceError(f'a chain has one child at each depth, "children" is {children!r}')
    nodes = width = 1
    for count in children:
        width *= count
        nodes += width
        if nodes > MAX_NODES:
            raise InstanceError(f'"children" {children!r} makes a tree of more than {MAX_NODES} nodes')
    return uniform_topology(children)


def _fixed(paths: Any, vocabulary: int) -> tuple[Slot, Scheme]:
    if not isinstance(paths, list):
        raise InstanceError('a fixed scheme needs "tree": a list of paths')
    if len(paths) > MAX_NODES:
        raise InstanceError(f'"tree" has more than {MAX_NODES} nodes')
    try:
        return drafting.fixed([_prefix(path, vocabulary, '"tree"') for path in paths])
    except InstanceError:
        raise
    except ValueError as error:
        raise InstanceError(str(error)) from None


def _model(source: Mapping[str, Any], key: str, vocabulary: int) -> Model:
    rows = {}
    for spelled, weights in _object(source.get(key), f'"{key}"').items():
        prefix = _prefix(spelled, vocabulary, f'a key of "{key}"')
        where = f'row "{spell(prefix)}" of "{key}"'
        if not isinstance(weights, list) or len(weights) != vocabulary:
            given = f"{len(weights)} entries" if isinstance(weights, list) else repr(weights)
            raise InstanceError(f"{where} must list {vocabulary} weights, not {given}")
        for weight in weights:
            if isinstance(weight, bool) or not isinstance(weight, int | float | str) or not _NUMBER.fullmatch(str(weight)):
                raise InstanceError(f"{where} has an entry that is not a number: {str(weight)[:80]!r}")
        try:
            rows[prefix] = Law.row(map(str, weights))
        except ValueError as error:
            raise InstanceError(f"{where}: {error}") from None
    return table(rows, name=key)


def _prefix(spelled: Any, vocabulary: int, where: str) -> Prefix:
    if not isinstance(spelled, str):
        raise InstanceError(f"{where} must be a string of tokens, not {spelled!r}")
    tokens = spelled.split(" ") if spelled else []
    for token in tokens:
        if not _TOKEN.fullmatch(token) or int(token) >= vocabulary:
            raise InstanceError(f'{where}: "{spelled}" has {token!r}, not a token below {vocabulary}')
    return tuple(map(int, tokens))


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InstanceError(f"{what} must be a JSON object, not {value!r}" if value is not None else f"{what} is missing")
    return value


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} appears twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _depth(slot: Slot) -> int:
    return 1 + max(map(_depth, slot)) if slot else 0
