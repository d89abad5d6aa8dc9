"""Instance files: what is read, and an error that names the entry for everything else."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.instances import MAX_DEPTH, MAX_NODES, Instance, InstanceError, load, parse
from draftproof.reference.laws import Law
from draftproof.reference.models import MissingRow
from draftproof.reference.trees import uniform_topology
from draftproof.reference.verifiers import family

from .instances import ANY_SCHEME

GOOD: dict[str, Any] = {
    "vocabulary": 3,
    "target": {"": [2, 3, 4], "0": [1, 1, 3], "1": ["1/2", "0.25", 1], "2": [0, 0, 1], "0 1": [1, 1, 1]},
    "draft": {"": [1, 1, 1], "0": [3, 2, 1], "1": [1, 0, 0], "2": [1, 2, 3]},
    "drafting": {"scheme": "greedy", "children": [2, 1]},
}
FIXED = {**GOOD, "drafting": {"scheme": "fixed", "tree": ["0", "0 1", "2"]}}
PLANNED = {**GOOD, "drafting": {"scheme": "replay", "nodes": 3, "depth": 2, "sampler": "without_replacement", "exhaust": "drop"}}


def changed(path: str, value: Any, base: dict[str, Any] = GOOD) -> dict[str, Any]:
    """``base`` with the entry at ``path`` ("/"-separated) replaced, or removed when ``value`` is Ellipsis."""
    copy: dict[str, Any] = json.loads(json.dumps(base))
    at, (*above, last) = copy, path.split("/")
    for key in above:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return copy


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "case.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_what_is_read() -> None:
    instance = parse(GOOD, name="given")
    assert (instance.vocabulary, instance.scheme_name, instance.name, instance.depth) == (3, "greedy", "given", 2)
    assert instance.topology == uniform_topology((2, 1))
    assert instance.target((1,)) == Law.row([2, 1, 4])
    assert instance.scheme(((), ()), (0,), ()) == Law.point(0)
    assert not instance.deterministic and not instance.is_chain
    assert parse({**GOOD, "name": "own"}).name == "own"


def test_fixed_tree() -> None:
    instance = parse(FIXED)
    assert instance.topology == (((),), ()) and instance.depth == 2 and instance.deterministic
    assert parse(changed("drafting/tree", [], FIXED)).depth == 0
    assert parse(changed("draft", ..., FIXED)).topology == instance.topology


@pytest.mark.parametrize(("scheme", "children", "chain"), [("chain", [1, 1], True), ("top_k", [1], True), ("with_replacement", [2], False)])
def test_chains(scheme: str, children: list[int], chain: bool) -> None:
    assert parse({**GOOD, "drafting": {"scheme": scheme, "children": children}}).is_chain == chain


def test_decimals_are_exact(tmp_path: Path) -> None:
    """0.1 is one tenth, from a file and from Python."""
    rows = '"target": {"": [0.1, 1e-1, ".8"]}, "draft": {"": [1e2, 1E+2, 8e2]}'
    instance = load(written(tmp_path, f'{{"vocabulary": 3, {rows}, "drafting": {{"scheme": "chain", "children": [1]}}}}'))
    assert instance.name == "case"
    assert instance.target(()) == instance.scheme(((),), (), ()) == Law.row([1, 1, 8])
    assert parse(changed("target/", [0.1, 0.1, 0.8])).target(()) == Law.row([1, 1, 8])


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]

ERRORS = [
    (None, "an instance is missing"),
    ([GOOD], "an instance must be a JSON object"),
    (DEEP, "an instance must be a JSON object"),
    (changed("name", 3), '"name" must be a string, not 3'),
    (changed("name", DEEP), '"name" must be a string'),
    (changed("vocabulary", ...), '"vocabulary" must be a positive integer up to 1000000000, not None'),
    (changed("vocabulary", 0), '"vocabulary" must be a positive integer up to 1000000000, not 0'),
    (changed("vocabulary", True), '"vocabulary" must be .*, not True'),
    (changed("vocabulary", 3.0), '"vocabulary" must be .*, not 3.0'),
    (changed("vocabulary", "3"), "\"vocabulary\" must be .*, not '3'"),
    (changed("vocabulary", 10**4000), '"vocabulary" must be'),
    ({**GOOD, "vocabulary": 10**5000}, '"vocabulary" must be .*, not a very long number'),
    (changed("vocabulary", 4), 'row "" of "target" must list 4 weights, not 3 entries'),
    (changed("target", ...), '"target" is missing'),
    (changed("target", [[1, 1, 1]]), '"target" must be a JSON object'),
    (changed("draft", ...), '"draft" is missing'),
    (changed("draft", 7), '"draft" must be a JSON object, not 7'),
    (changed("target/0", [1, 2]), 'row "0" of "target" must list 3 weights, not 2 entries'),
    (changed("draft/1", {"0": 1}), 'row "1" of "draft" must list 3 weights, not {\'0\': 1}'),
    (changed("draft/1", None), 'row "1" of "draft" must list 3 weights, not None'),
    (changed("target/0 1", [1, -2, 1]), 'row "0 1" of "target": weight of 1 is negative: -2'),
    (changed("target/0 1", [1, "-2/3", 1]), 'row "0 1" of "target": weight of 1 is negative: -2/3'),
    (changed("target/0", [0, 0, 0]), 'row "0" of "target": a law needs at least one positive weight'),
    (changed("target/0", [1, 1, float("nan")]), 'row "0" of "target": weight of 2 is not a number: nan'),
    (changed("target/0", [1, 1, float("inf")]), 'row "0" of "target": weight of 2 is not a number: inf'),
    (changed("target/0", [1, None, 1]), 'row "0" of "target": weight of 1 is not a number: None'),
    (changed("target/0", [True, 1, 1]), 'row "0" of "target": weight of 0 is not a number: True'),
    (changed("target/0", [[1], 1, 1]), r'row "0" of "target": weight of 0 is not a number: \[1\]'),
    (changed("target/0", [DEEP, 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", ["", 1, 1]), "row \"0\" of \"target\": weight of 0 is not a number: ''"),
    (changed("target/0", ["1/0", 1, 1]), 'row "0" of "target": weight of 0: .*1/0.* is not a finite number'),
    (changed("target/0", ["1/2/3", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", ["1_000", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", [" 1", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", ["1\n", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", ["\u0663", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", ["1e1000000000", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", ["1e-99999999", 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    (changed("target/0", [10**300, 1, 1]), 'row "0" of "target": weight of 0 is not a number'),
    ({**GOOD, "target": {"": [10**5000, 1, 1]}}, 'row "" of "target"'),
    (changed("target/3", [1, 1, 1]), "a key of \"target\": '3' has '3', not a token below 3"),
    (changed("target/00", [1, 1, 1]), "a key of \"target\": '00' has '00', not a token below 3"),
    (changed("target/-1", [1, 1, 1]), "a key of \"target\": '-1' has '-1', not a token"),
    (changed("target/+1", [1, 1, 1]), "has '\\+1', not a token"),
    (changed("target/1  0", [1, 1, 1]), "'1  0' has '', not a token"),
    (changed("target/ ", [1, 1, 1]), "' ' has '', not a token"),
    (changed("target/0 1 ", [1, 1, 1]), "'0 1 ' has '', not a token"),
    (changed("target/0,1", [1, 1, 1]), "'0,1' has '0,1', not a token"),
    (changed("target/a", [1, 1, 1]), "'a' has 'a', not a token"),
    (changed("target/\ud800", [1, 1, 1]), r"has '\\ud800', not a token"),
    (changed("target/\u0661", [1, 1, 1]), "not a token"),
    (changed("target/" + "9" * 5000, [1, 1, 1]), "not a token"),
    ({**GOOD, "tragets": 3}, "unknown key 'tragets' in an instance; did you mean 'target'\\? known: vocabulary, .*, note, kinds"),
    ({**GOOD, 3: 3, "x" * 5000: 1}, "unknown key 3, 'xxxx.*' in an instance"),
    (changed("drafting/child", [1]), "unknown key 'child' in \"drafting\"; did you mean 'children'\\? known: scheme, children"),
    (changed("drafting/nodes", 3), "unknown key 'nodes' in \"drafting\"; known: scheme, children"),
    (changed("drafting/children", [1], FIXED), "unknown key 'children' in \"drafting\"; known: scheme, tree"),
    (changed("drafting/children", [1], PLANNED), "unknown key 'children' in \"drafting\"; known: scheme, nodes, depth, sampler, exhaust"),
    (
        {**GOOD, "drafting": {"scheme": "best_first", "nodes": 3, "depth": 2, "sampler": "without_replacement"}},
        "unknown key 'sampler' in \"drafting\"; known: scheme, nodes, depth$",
    ),
    (changed("draft/0", [1, 2], FIXED), 'row "0" of "draft" must list 3 weights'),
    (changed("drafting", ...), '"drafting" is missing'),
    (changed("drafting", "greedy"), "\"drafting\" must be a JSON object, not 'greedy'"),
    (changed("drafting/scheme", ...), 'unknown scheme None in "drafting"; known: chain, .*fixed'),
    (changed("drafting/scheme", "greddy"), "unknown scheme 'greddy' in \"drafting\"; did you mean 'greedy'\\? known: chain, .*, fixed"),
    (changed("drafting/scheme", ["greedy"]), r"unknown scheme \['greedy'\]"),
    (changed("drafting/scheme", DEEP), "unknown scheme"),
    (changed("drafting/children", ...), '"children" must list a positive number of siblings for each depth, not None'),
    (changed("drafting/children", []), r'"children" must list .*, not \[\]'),
    (changed("drafting/children", 2), '"children" must list .*, not 2'),
    (changed("drafting/children", [2, 0]), r'"children" must list .*, not \[2, 0\]'),
    (changed("drafting/children", [2, -1]), '"children" must list'),
    (changed("drafting/children", [2, 1.0]), '"children" must list'),
    (changed("drafting/children", [True]), '"children" must list'),
    (changed("drafting/children", [[2]]), '"children" must list'),
    (changed("drafting/children", DEEP), '"children" must list'),
    (changed("drafting", {"scheme": "chain", "children": [1, 2]}), r'a chain has one child at each depth, "children" is \[1, 2\]'),
    (changed("drafting/children", [16, 16, 16]), r'"children" \[16, 16, 16\] makes a tree of more than 4096 nodes'),
    (changed("drafting/children", [10**4000]), "makes a tree of more than 4096 nodes"),
    (changed("drafting/children", [1] * 1000), '"children" makes a tree deeper than 100'),
    (changed("drafting/tree", ..., FIXED), 'a fixed scheme needs "tree": a list of paths'),
    (changed("drafting/tree", "0", FIXED), 'a fixed scheme needs "tree": a list of paths'),
    (changed("drafting/tree", ["0", "0"], FIXED), 'tree lists "0" twice'),
    (changed("drafting/tree", ["0", "1 2"], FIXED), 'tree has "1 2" but not its parent "1"'),
    (changed("drafting/tree", ["0", ""], FIXED), "tree lists the root"),
    (changed("drafting/tree", ["0", "5"], FIXED), "\"tree\": '5' has '5', not a token below 3"),
    (changed("drafting/tree", ["0", 1], FIXED), '"tree" must be a string of tokens, not 1'),
    (changed("drafting/tree", ["0", ["0", "1"]], FIXED), '"tree" must be a string of tokens'),
    (changed("drafting/tree", [" ".join("0" * n) for n in range(1, 1000)], FIXED), '"tree" is deeper than 100'),
    (changed("drafting/tree", ["0"] * 5000, FIXED), '"tree" has more than 4096 nodes'),
    (changed("drafting/nodes", ..., PLANNED), '"nodes" must be an integer in 0..4096, not None'),
    (changed("drafting/nodes", True, PLANNED), '"nodes" must be an integer in 0..4096, not True'),
    (changed("drafting/nodes", 4097, PLANNED), '"nodes" must be an integer in 0..4096, not 4097'),
    (changed("drafting/depth", -1, PLANNED), '"depth" must be an integer in 0..100, not -1'),
    (changed("drafting/sampler", ..., PLANNED), '"sampler" must be a string, not None'),
    (changed("drafting/sampler", "gumbel", PLANNED), "gumbel"),
    (changed("drafting/exhaust", "fill", PLANNED), "fill"),
    (changed("draft/", ..., PLANNED), 'replay needs a row that is missing: draft has no row for prefix ""'),
]


@pytest.mark.parametrize(("source", "message"), ERRORS, ids=range(len(ERRORS)))
def test_every_error_names_the_entry(source: Any, message: str) -> None:
    with pytest.raises(InstanceError, match=message) as error:
        parse(source)
    assert len(str(error.value)) < 300
    str(error.value).encode()  # can be printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: Expecting value"),
        ("{", "not JSON"),
        ("{'vocabulary': 3}", "not JSON"),
        (b"\xff\xfe\x00", "not JSON: .*utf-8"),
        (b"\xef\xbb\xbf{}", '"vocabulary" must be a positive integer'),
        ("[" * 100_000 + "]" * 100_000, "not JSON|must be a JSON object"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "not JSON|must be"),
        ('{"vocabulary": ' + "9" * 10_000 + "}", "not JSON: Exceeds the limit|must be"),
        ('{"vocabulary": 1, "vocabulary": 2}', "key 'vocabulary' appears twice"),
        ('{"vocabulary": 1, "target": {"": [1], "": [1]}}', "key '' appears twice"),
        ('{"vocabulary": 1, "target": {"0": [1], "\\u0030": [1]}}', "key '0' appears twice"),
        ('{"vocabulary": 1, "target": {"": [NaN]}}', "row \"\" of \"target\": weight of 0 is not a number: 'NaN'"),
        ('{"vocabulary": 1, "target": {"": [-Infinity]}}', "weight of 0 is not a number: '-Infinity'"),
        ('{"vocabulary": 1, "target": {"": [1e999999]}}', "weight of 0 is not a number: '1e999999'"),
        ('{"vocabulary": 1.0}', '"vocabulary" must be'),
        ("null", "an instance is missing"),
    ],
    ids=range(16),
)
def test_every_error_names_the_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InstanceError, match="absent.json: No such file"):
        load(tmp_path / "absent.json")
    with pytest.raises(InstanceError, match="Is a directory|Permission denied"):
        load(tmp_path)


def test_any_depth_of_nesting_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """Near the interpreter's limit some values can be parsed and not be printed."""
    for depth in [*range(880, 1010, 3), 5000, 20_000]:
        for nested in ("[" * depth + "]" * depth, '{"drafting":' * depth + "0" + "}" * depth):
            for key in ("name", "vocabulary", "target"):
                with pytest.raises(InstanceError):
                    load(written(tmp_path, f'{{"{key}": {nested}}}'))


def test_missing_row_is_named_when_it_is_needed() -> None:
    instance = parse(changed("target/1", ...))
    with pytest.raises(MissingRow, match='target has no row for prefix "1"'):
        block_law(family("token"), instance.target, instance.topology, instance.scheme)
    instance = parse(changed("draft/0", ...))
    with pytest.raises(MissingRow, match='draft has no row for prefix "0"'):
        block_law(family("token"), instance.target, instance.topology, instance.scheme)


def test_the_largest_trees_can_be_evaluated() -> None:
    """Depth and size at their limits, by every verifier."""
    line = {"vocabulary": 1, "drafting": {"scheme": "fixed", "tree": [" ".join("0" * n) for n in range(1, MAX_DEPTH + 1)]}}
    prefixes = [" ".join("0" * n) for n in range(MAX_DEPTH + 1)]
    rows = {"target": {prefix: [1] for prefix in prefixes}, "draft": {prefix: [1] for prefix in prefixes}}
    chain = {"vocabulary": 1, "drafting": {"scheme": "chain", "children": [1] * MAX_DEPTH}}
    for source in (line, chain):
        instance = parse({**source, **rows})
        assert instance.depth == MAX_DEPTH
        for name in ANY_SCHEME:
            law = block_law(family(name), instance.target, instance.topology, instance.scheme)
            assert expected_length(law) == MAX_DEPTH + 1 and total_variation(law, instance.target) == 0
    wide = {"vocabulary": 1, **rows, "drafting": {"scheme": "with_replacement", "children": [MAX_NODES - 1]}}
    instance = parse(wide)
    assert expected_length(block_law(family("token"), instance.target, instance.topology, instance.scheme)) == 2


# Whatever JSON there is, it is an instance or an InstanceError.

SCALARS = st.none() | st.booleans() | st.integers(-3, 5) | st.integers() | st.floats() | st.text(max_size=5)
SPELLINGS = ["", "0", "1", "0 1", "00", "2", "0  1", "3/8", "1e5", "-1", "nan", "chain", "greedy", "fixed", "top_k", "tree", "children"]
JSON = st.recursive(
    SCALARS | st.sampled_from(SPELLINGS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*GOOD, *GOOD["target"], *SPELLINGS]), inner, max_size=4),
    max_leaves=12,
)
PLACES = ["vocabulary", "name", "target", "target/", "target/0", "target/new", "draft", "draft/", "drafting"]
PLACES += [f"drafting/{key}" for key in ("scheme", "children", "tree", "nodes", "depth", "sampler", "exhaust")]


def read(source: Any) -> Instance | None:
    try:
        instance = parse(source)
    except InstanceError as error:
        assert str(error)
        return None
    try:
        assert total_variation(block_law(family("token"), instance.target, instance.topology, instance.scheme), instance.target) == 0
    except MissingRow as error:
        assert "has no row for prefix" in str(error)
    return instance


@given(JSON)
@settings(max_examples=60, deadline=None)
def test_any_json(source: Any) -> None:
    read(source)


@given(st.sampled_from(PLACES), JSON, st.sampled_from([GOOD, FIXED, PLANNED]))
@settings(max_examples=250, deadline=None)
def test_a_good_instance_with_any_entry_replaced(place: str, value: Any, base: dict[str, Any]) -> None:
    read(changed(place, value, base))


def test_random_bytes_in_a_file(tmp_path: Path) -> None:
    """A good file with a few characters replaced, dropped or doubled."""
    rng = random.Random(0)
    good = json.dumps(GOOD).encode()
    read_again = 0
    for _ in range(400):
        text = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text[at : at + 1] = rng.choice([b"", bytes([text[at]]) * 2, bytes([rng.randrange(256)]), b"9", b'"', b"-"])
        try:
            load(written(tmp_path, bytes(text)))
            read_again += 1
        except InstanceError as error:
            assert str(tmp_path) in str(error)
    assert 0 < read_again < 400


@pytest.mark.parametrize(
    ("drafting", "draws", "admitted"),
    [
        ({"scheme": "top_k", "children": [2]}, "fixed", {"univer", "greedy_transport"}),
        ({"scheme": "best_first", "nodes": 3, "depth": 2}, "fixed", {"univer", "greedy_transport"}),
        ({"scheme": "fixed", "tree": ["0", "1"]}, "fixed", {"univer", "greedy_transport"}),
        ({"scheme": "greedy", "children": [2]}, "greedy", {"univer", "greedy_transport"}),
        ({"scheme": "with_replacement", "children": [2]}, "with_replacement", {"k_seq"}),
        ({"scheme": "without_replacement", "children": [2]}, "without_replacement", set()),
        ({"scheme": "replay", "nodes": 3, "depth": 1, "sampler": "greedy", "exhaust": "drop"}, "greedy", {"univer", "greedy_transport"}),
        ({"scheme": "replay", "nodes": 3, "depth": 1, "sampler": "greedy", "exhaust": "one_hot"}, "greedy", {"univer", "greedy_transport"}),
        ({"scheme": "replay", "nodes": 3, "depth": 1, "sampler": "greedy", "exhaust": "uniform"}, "mixed", set()),
        ({"scheme": "replay", "nodes": 3, "depth": 1, "sampler": "with_replacement", "exhaust": "drop"}, "with_replacement", {"k_seq"}),
        ({"scheme": "replay", "nodes": 3, "depth": 1, "sampler": "without_replacement", "exhaust": "drop"}, "without_replacement", set()),
    ],
)
def test_rules_go_by_how_siblings_are_drawn_not_by_the_name_of_a_scheme(drafting: dict[str, Any], draws: str, admitted: set[str]) -> None:
    instance = parse({**GOOD, "target": {key: [1, 2, 3] for key in ("", "0", "1", "2", "0 0", "0 1", "0 2")}, "drafting": drafting})
    assert instance.draws == draws and instance.deterministic == (draws == "fixed") and not instance.is_chain
    assert {name for name in ("univer", "greedy_transport", "k_seq") if family(name).admits(instance)} == admitted
    if drafting.get("depth") == 1 or "children" in drafting:  # what is admitted is lossless
        for name in admitted:
            law = block_law(family(name), instance.target, instance.topology, instance.scheme)
            assert total_variation(law, instance.target) == 0
