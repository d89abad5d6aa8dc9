"""The catalogue: small, asymmetric instances, each made for a kind of fault that degenerate test inputs hide.

Kinds: A residual, B acceptance ratio, C shared randomness, D sampling parameters, E greedy and ties, F tree structure and order, G boundaries,
H batch and rows, I bonus token, K declared law, L acceptance, M lossy options, N cuts that look at what they cut, O lossless although it looks wrong.
J (endings) takes several rounds: see ``engine``.  Most faults of published engines are large
but vanish where rows repeat, the vocabulary has two tokens, or one token only is under-drafted; see each instance's note.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from draftproof.reference.exact_json import nearest
from draftproof.reference.instances import Instance, InstanceError, load, parse
from draftproof.reference.models import Prefix, random_model, spell

from .subjects import Subject

Row = Sequence[Any]
Rows = Sequence[Row] | Mapping[str, Row]


@cache
def catalogue() -> tuple[Instance, ...]:
    """All instances, chains first, each group from small to large."""
    return tuple(parse(entry, name=entry["name"]) for entry in (*_chains(), *_trees()))


def find(name: str) -> Instance:
    """The catalogue's instance of that name.  Raises KeyError with the known names."""
    for instance in catalogue():
        if instance.name == name:
            return instance
    raise KeyError(f"no instance {name!r} in the catalogue; known: {', '.join(instance.name for instance in catalogue())}")


def named(name: str) -> Instance:
    """An instance of the catalogue or in a file, under the name it was asked for by.  Raises InstanceError."""
    known = {instance.name: instance for instance in catalogue()}
    if name not in known and not any(mark in name for mark in "./\\") and not os.path.exists(name):
        close = nearest(name, known)
        raise InstanceError(f"{name}: no such file, nor is it in the catalogue{close or ';'} draftproof instances lists the catalogue")
    return known.get(name) or replace(load(name), name=name)


def suits(subject: Subject, instance: Instance) -> bool:
    """Whether the instance can be put to a subject of this shape and family."""
    reference = subject.reference
    return (subject.shape == "tree" or instance.is_chain) and (reference is None or reference.admits(instance))


TIERS = ("smoke", "standard")


def suiting(subject: Subject, tier: str = "standard") -> list[Instance]:
    """The instances that suit the subject: all of them, or for the smoke tier the first of every kind of fault.

    To one that takes trees the smoke tier puts trees, the first of every kind and of every drafting scheme: chains would not show what goes wrong
    between siblings.  Raises ValueError for another tier.
    """
    if tier not in TIERS:
        raise ValueError(f"tier must be one of {', '.join(TIERS)}, not {tier!r}")
    suited = [instance for instance in catalogue() if suits(subject, instance)]
    if tier == "standard":
        return suited
    by_worth = sorted(suited, key=lambda instance: instance.is_chain) if subject.shape == "tree" else suited
    first = {kind: instance.name for instance in reversed(by_worth) for kind in instance.source["kinds"]}
    if subject.shape == "tree":
        first |= {instance.scheme_name: instance.name for instance in reversed(by_worth)}
    return [instance for instance in suited if instance.name in first.values()]


def _entry(name: str, kinds: str, note: str, target: Rows, draft: Rows | None, scheme: str, children: Sequence[int]) -> dict[str, Any]:
    size, depth = len(_first(target)), len(children)
    entry: dict[str, Any] = {"name": name, "kinds": list(kinds), "note": note, "vocabulary": size, "target": _table(target, size, depth + 1)}
    if draft is not None:
        entry["draft"] = _table(draft, size, depth)
    entry["drafting"] = {"scheme": scheme, "children": list(children)}
    return entry


def _fixed(name: str, kinds: str, note: str, target: Rows, tree: Sequence[str]) -> dict[str, Any]:
    size, depth = len(_first(target)), max(len(path.split()) for path in tree)
    rows = _table(target, size, depth + 1)
    drafting = {"scheme": "fixed", "tree": list(tree)}
    return {"name": name, "kinds": list(kinds), "note": note, "vocabulary": size, "target": rows, "drafting": drafting}


def _planned(name: str, kinds: str, note: str, seed: int, zeros: float, **drafting: Any) -> dict[str, Any]:
    """A tree over three tokens, two deep, planned best-first on draft rows that all differ."""
    rows = {"vocabulary": 3, "target": _varied(seed, 3, 3, zeros / 2), "draft": _varied(seed + 1, 3, 2, zeros)}
    return {"name": name, "kinds": list(kinds), "note": note, **rows, "drafting": {**drafting, "depth": 2}}


def _first(rows: Rows) -> Row:
    return rows[""] if isinstance(rows, Mapping) else rows[0]


def _table(rows: Rows, size: int, depth: int) -> dict[str, Row]:
    """Rows given per prefix, or per position (the last one repeated), as a row for every prefix shorter than ``depth``."""
    if isinstance(rows, Mapping):
        return dict(rows)
    prefixes = (prefix for length in range(depth) for prefix in product(range(size), repeat=length))
    return {spell(prefix): list(rows[min(len(prefix), len(rows) - 1)]) for prefix in prefixes}


def _varied(seed: int, size: int, depth: int, zeros: float = 0.0) -> dict[str, Row]:
    """A different row for every prefix shorter than ``depth``, small integer weights."""
    model = random_model(seed, size, zeros)
    rows: dict[str, Row] = {}
    for length in range(depth):
        for prefix in product(range(size), repeat=length):
            law = model(Prefix(prefix))
            rows[spell(prefix)] = [str(law[token]) for token in range(size)]
    return rows


def _chains() -> list[dict[str, Any]]:
    p1, q1 = [5, 3, 2], [2, 3, 5]
    one, two, three = [1], [1, 1], [1, 1, 1]
    return [
        _entry(
            "chain-one-draft",
            "AB",
            "two tokens over-drafted or under-drafted by different amounts: residual and ratio faults",
            [p1],
            [q1],
            "chain",
            one,
        ),
        _entry("chain-argmax-draft", "BK", "deterministic draft: must be treated as one-hot, not as its softmax", [p1], [q1], "top_k", one),
        _entry(
            "chain-two-residual-tokens",
            "C",
            "the same uniform for the test and the residual is exact unless two residual tokens share it",
            [[15, 15, 35, 35]],
            [[45, 45, 5, 5]],
            "chain",
            one,
        ),
        _entry(
            "chain-two-residual-tokens-first",
            "C",
            "its mirror image: the residual tokens come first in the inverse CDF",
            [[4, 4, 1, 1]],
            [[1, 1, 4, 4]],
            "chain",
            one,
        ),
        _entry("chain-opposed", "CA", "target and draft opposed, all four weights different", [[45, 25, 20, 10]], [[10, 20, 15, 55]], "chain", one),
        _entry(
            "chain-rows-by-position",
            "AHI",
            "every position has its own rows: a residual or bonus taken from row 0 is invisible with equal rows",
            [[5, 3, 2], [2, 2, 6], [1, 8, 1]],
            [[2, 3, 5], [6, 2, 2]],
            "chain",
            two,
        ),
        _entry(
            "chain-truncated-draft",
            "DKB",
            "drafted from a truncated, renormalised law: a ratio with the raw law accepts too much",
            [["3/8", "5/8", 0, 0]],
            [["4/7", "3/7", 0, 0]],
            "chain",
            one,
        ),
        _fixed("chain-ngram", "BK", "a prompt-lookup draft: accept with p(d), then anything but d", [[6, 3, 1], [1, 2, 7]], ["0"]),
        _entry(
            "chain-zero-target",
            "G",
            "drafts the target cannot emit, last token among them: u = 0 and CDF run-off",
            [[0, 2, 3, 0], [3, 0, 2, 0]],
            [[3, 1, 1, 4], [1, 2, 1, 2]],
            "chain",
            two,
        ),
        _entry("chain-pairs", "C", "independent positions: one uniform for both leaves every marginal right", [p1], [q1], "chain", two),
        _entry(
            "chain-block",
            "ACL",
            "block verification's own residual: the token residual under the block test leaves first token and E[L] right",
            [[4, 3, 2, 1]],
            [[1, 2, 3, 4]],
            "chain",
            two,
        ),
        _entry("chain-block-sharp", "ACL", "the same at larger deviation", [[7, 7, 4, 2]], [[1, 5, 6, 8]], "chain", two),
        _entry(
            "chain-equal",
            "GO",
            "draft = target: the first reject has no residual at all",
            [[5, 3, 2], [1, 4, 5], [2, 7, 1]],
            [[5, 3, 2], [1, 4, 5]],
            "chain",
            two,
        ),
        _entry(
            "chain-disjoint",
            "AG",
            "disjoint supports: always rejected, residual = target",
            [[3, 2, 0, 0], [0, 1, 2, 0]],
            [[0, 0, 2, 1]],
            "chain",
            one,
        ),
        _entry(
            "chain-greedy-target",
            "E",
            "one-hot target rows, as at temperature 0",
            [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
            [[2, 5, 3], [6, 3, 1]],
            "chain",
            two,
        ),
        _entry("chain-sharp-draft", "GB", "the draft is almost certain of a token the target dislikes", [[1, 60, 39]], [[997, 2, 1]], "chain", one),
        _entry("chain-ties", "DE", "tied tokens at the cut of top-k and at the argmax", [[4, 3, 3, 0], [2, 4, 4, 1]], [[3, 3, 2, 2]], "chain", one),
        _entry(
            "chain-lossy-options",
            "M",
            "every threshold that engines offer accepts a token here that the target owes less of",
            [[9, 6, 4, 1]],
            [[2, 5, 5, 8]],
            "chain",
            one,
        ),
        _entry(
            "chain-confidence",
            "N",
            "drafts that either model finds unlikely: a chain cut at their own probability is biased",
            [[1, 4, 5], [3, 3, 1]],
            [[6, 3, 1], [1, 5, 2]],
            "chain",
            two,
        ),
        _entry("chain-two-tokens", "O", "V = 2: residuals are point masses", _varied(11, 2, 4), _varied(12, 2, 3), "chain", three),
        _entry("chain-three-drafts", "ABCHI", "three drafts, every prefix its own row", _varied(21, 3, 4), _varied(22, 3, 3), "chain", three),
        _entry(
            "chain-three-drafts-zeros", "GHI", "the same with zeros on both sides", _varied(23, 3, 4, 0.3), _varied(24, 3, 3, 0.3), "chain", three
        ),
    ]


def _trees() -> list[dict[str, Any]]:
    p, q = [4, 3, 2, 1], [1, 2, 3, 4]
    return [
        _fixed(
            "tree-worked-example",
            "IF",
            "V = 2, exits at three of four nodes; E[L] = 121/50",
            {"": [7, 3], "0": [3, 2], "0 0": [1, 3], "1": [1, 1], "0 1": [1, 2], "1 0": [2, 1], "1 1": [1, 4]},
            ["0", "0 0", "1"],
        ),
        _fixed(
            "tree-fixed-kids", "KB", "deterministic children: a ratio with a dense draft law accepts too much", [[0, 6, 3, 1, 10]], ["1", "2", "3"]
        ),
        _entry("tree-siblings-with-replacement", "AK", "two independent siblings, often equal", [p], [q], "with_replacement", [2]),
        _entry("tree-siblings", "AFK", "two siblings without replacement: draw order and renormalisation", [p], [q], "without_replacement", [2]),
        _entry("tree-siblings-three", "AF", "three siblings, the residual updated twice", [[1, 5, 2, 4]], [[4, 2, 5, 1]], "without_replacement", [3]),
        _entry(
            "tree-duplicates", "FK", "a peaked draft drawn three times: duplicates are the rule", [[2, 5, 3]], [[7, 2, 1]], "with_replacement", [3]
        ),
        _entry(
            "tree-exhausted",
            "FG",
            "more slots than the draft's support: the tree is ragged",
            [[2, 3, 0, 5]],
            [[3, 0, 2, 0]],
            "without_replacement",
            [3],
        ),
        _entry("tree-top-two", "KI", "the two best tokens, deterministic, twice", _varied(31, 4, 3), _varied(32, 4, 2), "top_k", [2, 2]),
        _entry(
            "tree-covered",
            "GI",
            "children cover the target's support: the node can never be the exit",
            [[3, 2, 0, 0], [1, 0, 4, 0], [2, 1, 3, 1]],
            [[5, 4, 2, 1], [3, 1, 5, 2]],
            "top_k",
            [2, 2],
        ),
        _entry("tree-greedy", "KA", "best token fixed, one sampled beside it", [[4, 1, 3, 2]], [[2, 3, 1, 4]], "greedy", [2]),
        _entry("tree-greedy-three", "KA", "two fixed, one sampled", [[1, 4, 2, 5, 3]], [[5, 3, 1, 2, 4]], "greedy", [3]),
        _fixed(
            "tree-ragged",
            "F",
            "ragged depths, one-child chains, siblings not in token order",
            _varied(33, 3, 4),
            ["2", "0", "2 1", "0 0", "0 2", "2 1 0"],
        ),
        _entry(
            "tree-ragged-by-draw",
            "FHK",
            "how many children a node has depends on the token drawn: padding in some rows of a batch and not in others",
            {"": [2, 3, 4], "0": [3, 1, 2], "1": [1, 5, 1], "2": [2, 2, 3]} | {f"{a} {b}": [1 + a, 2 + b, 3] for a in range(3) for b in range(3)},
            {"": [3, 1, 2], "0": [0, 1, 0], "1": [4, 1, 2], "2": [1, 0, 3]},
            "without_replacement",
            [1, 2],
        ),
        _fixed(
            "tree-dead-branch", "GF", "a whole branch the target cannot enter", [[0, 3, 2], [4, 0, 1], [1, 2, 2]], ["0", "1", "0 1", "1 0", "1 1"]
        ),
        _entry(
            "tree-two-levels",
            "ACFHI",
            "two levels without replacement, every row different",
            _varied(35, 3, 3),
            _varied(36, 3, 2),
            "without_replacement",
            [2, 1],
        ),
        _entry("tree-two-levels-zeros", "FGI", "the same with zeros", _varied(37, 3, 3, 0.3), _varied(38, 3, 2, 0.3), "without_replacement", [2, 2]),
        _entry(
            "tree-two-levels-with-replacement",
            "AF",
            "independent siblings over two levels",
            _varied(39, 3, 3),
            _varied(40, 3, 2),
            "with_replacement",
            [2, 1],
        ),
        _entry("tree-two-levels-greedy", "AFK", "fixed and sampled siblings over two levels", _varied(41, 3, 3), _varied(42, 3, 2), "greedy", [2, 2]),
        _entry(
            "tree-greedy-best-last",
            "FL",
            "the sampled sibling promises more than the fixed one before it, in an order that must not look at the draws below",
            _varied(263, 3, 3),
            _varied(1263, 3, 2),
            "greedy",
            [2, 1],
        ),
        _entry(
            "tree-chain-below", "FI", "a sampled chain below two siblings", _varied(43, 2, 4), _varied(44, 2, 3), "without_replacement", [2, 1, 1]
        ),
        _planned("tree-planned", "KF", "a DDTree tree keeps its planned tokens: one-hot, whoever planned", 45, 0.0, scheme="best_first", nodes=4),
        _planned(
            "tree-replay",
            "AFK",
            "a frozen plan drawn anew: its shape is the plan's, each declared law that of the parent really drawn",
            45,
            0.0,
            scheme="replay",
            nodes=4,
            sampler="without_replacement",
            exhaust="drop",
        ),
        _planned(
            "tree-replay-exhausted",
            "FGK",
            "the parent really drawn has fewer tokens than the planned one had: the slot left is filled uniformly, and declared so",
            47,
            0.3,
            scheme="replay",
            nodes=5,
            sampler="without_replacement",
            exhaust="uniform",
        ),
    ]
