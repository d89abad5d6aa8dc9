"""Instance files: a small vocabulary, a target, a draft model and a drafting scheme, as JSON that says everything exactly.

``{"vocabulary": 3, "target": {"": [2, 3, 4], "0": [1, 1, 3]}, "draft": {...}, "drafting": {"scheme": "greedy", "children": [2, 2]}}``

A row is a list of non-negative weights (integers, decimals or strings such as "3/8"), normalised exactly; a key is a prefix, its tokens separated by
one space.  ``children`` is the number of siblings at each depth.  A fixed tree lists its paths: ``{"scheme": "fixed", "tree": ["0", "0 1", "2"]}``.
A planned tree grows best-first on the draft rows, at most ``nodes`` nodes and ``depth`` deep: ``{"scheme": "best_first", "nodes": 4, "depth": 2}``
keeps the planned tokens, ``{"scheme": "replay", "nodes": 4, "depth": 2, "sampler": "without_replacement", "exhaust": "drop"}`` draws new ones.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import drafting
from .exact_json import FormatError, among, as_object, known_keys, number, read, shown
from .laws import Law
from .models import MissingRow, Model, Prefix, spell, table
from .planning import best_first, freeze, plan
from .replay import replay
from .trees import Scheme, Slot, uniform_topology

SCHEMES: dict[str, Callable[[Model], Scheme]] = {
    "chain": drafting.chain,
    "with_replacement": drafting.with_replacement,
    "without_replacement": drafting.without_replacement,
    "top_k": drafting.top_k,
    "greedy": drafting.greedy,
}
"""Schemes that take a draft model and ``children``."""

OTHER_SCHEMES = ("fixed", "best_first", "replay")
"""Schemes that make their own topology."""

DRAWS = {
    "chain": "with_replacement",
    "with_replacement": "with_replacement",
    "without_replacement": "without_replacement",
    "top_k": "fixed",
    "fixed": "fixed",
    "best_first": "fixed",
    "greedy": "greedy",
}
"""Scheme -> how siblings are drawn; replay's sampler says it for itself."""

KEYS = ("vocabulary", "target", "draft", "drafting", "name", "note", "kinds")
"""What an instance may say; ``note`` and ``kinds`` are for people."""

MAX_VOCABULARY = 10**9
MAX_NODES = 4096
MAX_DEPTH = 100
"""Trees are walked by recursion: far enough from the interpreter's limit."""

_TOKEN = re.compile(r"0|[1-9][0-9]{0,8}")


class InstanceError(FormatError):
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
    def draws(self) -> str:
        """How siblings are drawn, whatever makes the topology: with_replacement, without_replacement, greedy (fixed but the last), fixed, mixed."""
        if self.scheme_name != "replay":
            return DRAWS[self.scheme_name]
        rule = self.source["drafting"]
        several = rule["sampler"] == "greedy" and rule["exhaust"] == "uniform"  # elder siblings may be fills, which are drawn
        return "mixed" if several else str(rule["sampler"])

    @property
    def deterministic(self) -> bool:
        """Whether every declared law is one-hot."""
        return self.draws == "fixed"


def load(path: str | Path) -> Instance:
    """Read an instance file.  Raises InstanceError when it is not one, naming the file and the entry."""
    try:
        return parse(read(path), name=Path(path).stem)
    except FormatError as error:
        raise InstanceError(f"{path}: {error}") from None


def parse(source: Any, name: str = "instance") -> Instance:
    """An instance from the JSON object.  Raises InstanceError naming the offending entry."""
    try:
        return _parsed(source, name)
    except FormatError as error:
        raise InstanceError(str(error)) from None


def _parsed(source: Any, name: str) -> Instance:
    source = as_object(source, "an instance")
    known_keys(source, KEYS, "an instance")
    if not isinstance(name := source.get("name", name), str):
        raise InstanceError(f'"name" must be a string, not {shown(name)}')
    if not isinstance(source.get("note", ""), str):
        raise InstanceError(f'"note" must be a string, not {shown(source["note"])}')
    if not isinstance(kinds := source.get("kinds", []), list) or not all(isinstance(kind, str) for kind in kinds):
        raise InstanceError(f'"kinds" must be a list of strings, not {shown(kinds)}')
    vocabulary = source.get("vocabulary")
    if not isinstance(vocabulary, int) or isinstance(vocabulary, bool) or not 1 <= vocabulary <= MAX_VOCABULARY:
        raise InstanceError(f'"vocabulary" must be a positive integer up to {MAX_VOCABULARY}, not {shown(vocabulary)}')
    target = _model(source, "target", vocabulary)
    drafted = as_object(source.get("drafting"), '"drafting"')
    scheme_name = drafted.get("scheme")
    if scheme_name == "fixed":
        known_keys(drafted, ("scheme", "tree"), '"drafting"')
        topology, scheme = _fixed(drafted.get("tree"), vocabulary)
        if "draft" in source:  # not needed, and not to be wrong
            _model(source, "draft", vocabulary)
    elif scheme_name in ("best_first", "replay"):
        more = ("sampler", "exhaust") if scheme_name == "replay" else ()
        known_keys(drafted, ("scheme", "nodes", "depth", *more), '"drafting"')
        topology, scheme = _planned(drafted, _model(source, "draft", vocabulary), vocabulary)
    elif isinstance(scheme_name, str) and scheme_name in SCHEMES:
        known_keys(drafted, ("scheme", "children"), '"drafting"')
        topology = _topology(scheme_name, drafted)
        scheme = SCHEMES[scheme_name](_model(source, "draft", vocabulary))
    else:
        raise InstanceError(f'unknown scheme {shown(scheme_name)} in "drafting"{among(scheme_name, [*SCHEMES, *OTHER_SCHEMES])}')
    return Instance(vocabulary, target, topology, scheme, scheme_name, name, source)


def _topology(scheme: str, drafted: Mapping[str, Any]) -> Slot:
    children = drafted.get("children")
    counts = isinstance(children, list) and all(isinstance(count, int) and not isinstance(count, bool) for count in children)
    if not counts or not children or min(children) < 1:
        raise InstanceError(f'"children" must list a positive number of siblings for each depth, not {shown(children)}')
    if scheme == "chain" and max(children) > 1:
        raise InstanceError(f'a chain has one child at each depth, "children" is {shown(children)}')
    if len(children) > MAX_DEPTH:
        raise InstanceError(f'"children" makes a tree deeper than {MAX_DEPTH}')
    nodes = width = 1
    for count in children:
        width *= count
        nodes += width
        if nodes > MAX_NODES:
            raise InstanceError(f'"children" {shown(children)} makes a tree of more than {MAX_NODES} nodes')
    return uniform_topology(children)


def _planned(drafted: Mapping[str, Any], draft: Model, vocabulary: int) -> tuple[Slot, Scheme]:
    nodes, depth = (_limit(drafted, key, largest) for key, largest in (("nodes", MAX_NODES), ("depth", MAX_DEPTH)))
    try:
        if drafted["scheme"] == "best_first":
            return best_first(draft, nodes, depth)
        scheme = replay(draft, vocabulary, _text(drafted, "sampler"), _text(drafted, "exhaust"))
        return freeze(plan(draft, nodes, depth)), scheme
    except MissingRow as missing:
        raise InstanceError(f"{drafted['scheme']} needs a row that is missing: {missing}") from None
    except ValueError as error:
        raise InstanceError(str(error)) from None


def _limit(drafted: Mapping[str, Any], key: str, largest: int) -> int:
    limit = drafted.get(key)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= largest:
        raise InstanceError(f'"{key}" must be an integer in 0..{largest}, not {shown(limit)}')
    return limit


def _text(drafted: Mapping[str, Any], key: str) -> str:
    text = drafted.get(key)
    if not isinstance(text, str):
        raise InstanceError(f'"{key}" must be a string, not {shown(text)}')
    return text


def _fixed(paths: Any, vocabulary: int) -> tuple[Slot, Scheme]:
    if not isinstance(paths, list):
        raise InstanceError('a fixed scheme needs "tree": a list of paths')
    if len(paths) > MAX_NODES:
        raise InstanceError(f'"tree" has more than {MAX_NODES} nodes')
    prefixes = [_prefix(path, vocabulary, '"tree"') for path in paths]
    if max(map(len, prefixes), default=0) > MAX_DEPTH:
        raise InstanceError(f'"tree" is deeper than {MAX_DEPTH}')
    try:
        return drafting.fixed(prefixes)
    except ValueError as error:
        raise InstanceError(str(error)) from None


def _model(source: Mapping[str, Any], key: str, vocabulary: int) -> Model:
    rows = {}
    for spelled, weights in as_object(source.get(key), f'"{key}"').items():
        prefix = _prefix(spelled, vocabulary, f'a key of "{key}"')
        where = f'row "{spell(prefix)}" of "{key}"'
        if not isinstance(weights, list) or len(weights) != vocabulary:
            given = f"{len(weights)} entries" if isinstance(weights, list) else shown(weights)
            raise InstanceError(f"{where} must list {vocabulary} weights, not {given}")
        try:
            rows[prefix] = Law.row([number(weight, f"weight of {token}") for token, weight in enumerate(weights)])
        except ValueError as error:
            raise InstanceError(f"{where}: {error}") from None
    return table(rows, name=key)


def _prefix(spelled: Any, vocabulary: int, where: str) -> Prefix:
    if not isinstance(spelled, str):
        raise InstanceError(f"{where} must be a string of tokens, not {shown(spelled)}")
    tokens = spelled.split(" ") if spelled else []
    for token in tokens:
        if not _TOKEN.fullmatch(token) or int(token) >= vocabulary:
            raise InstanceError(f"{where}: {shown(spelled)} has {shown(token)}, not a token below {vocabulary}")
    return tuple(map(int, tokens))


def _depth(slot: Slot) -> int:
    return 1 + max(map(_depth, slot)) if slot else 0
