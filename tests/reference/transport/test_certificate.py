"""The checker: it accepts what is proved, names what is not, and shares no code with the solvers."""

import ast
import copy
import json
import random
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from draftproof.reference.rational import fraction
from draftproof.reference.transport import certificate as checker
from draftproof.reference.transport.candidates import set_law
from draftproof.reference.transport.certificate import Rejected, check
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.node import optimum
from draftproof.reference.transport.record import one_node, whole_tree
from draftproof.reference.transport.tree import problem_of

from .instances import SCHEMES, instance, random_nodes


def tree_certificate(seed: int = 3, scheme: str = "without_replacement", vocabulary: int = 3) -> dict[str, Any]:
    given = instance(seed, scheme, vocabulary, 2, 2)
    return dict(json.loads(json.dumps(whole_tree(given, ceiling_of(problem_of(given.target, given.topology, given.scheme))))))


TREE = tree_certificate()
NODE = next(
    one_node(node.p, set_law(node.draws), node.capacity, optimum(node.p, set_law(node.draws), node.capacity))
    for node in random_nodes(200, seed=9)
    if len(set_law(node.draws)) > 3 and node.capacity not in (0, 1) and len(optimum(node.p, set_law(node.draws), node.capacity).plan) > 3
)


def damaged(certificate: dict[str, Any], *changes: tuple[tuple[Any, ...], Any]) -> dict[str, Any]:
    """The certificate with the entries at these places replaced."""
    copied = copy.deepcopy(certificate)
    for place, value in changes:
        inner = copied
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value(inner[place[-1]]) if callable(value) else value
    return copied


def less(number: str) -> str:
    return str(Fraction(number) - Fraction(1, 1000))


def more(number: str) -> str:
    return str(Fraction(number) + Fraction(1, 1000))


def test_it_shares_no_code_with_the_solvers() -> None:
    """It knows instances, models and numbers; none of the modules that solve."""
    source = Path(checker.__file__).read_text(encoding="utf-8")
    imported = {(node.level, node.module) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert {module for level, module in imported if level} == {"instances", "models", "rational", "trees"}
    assert {node.names[0].name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import)} == {"re"}
    assert "tree_law" not in source and "populate" not in source


@pytest.mark.parametrize("scheme", [*SCHEMES, "chain"])
def test_what_is_proved_is_accepted(scheme: str) -> None:
    given = instance(5, scheme, 3, *([1, 1] if scheme == "chain" else [2, 2]), zeros=0.3)
    found = ceiling_of(problem_of(given.target, given.topology, given.scheme))
    assert str(found.ceiling) in check(whole_tree(given, found))


first, second = list(TREE["multipliers"])[:2]


@pytest.mark.parametrize(
    ("changes", "inequality"),
    [
        ([(("ceiling",), less)], "multipliers: sum_T Q(T) max_v C(v) = {ceiling} > the stated ceiling"),
        ([(("ceiling",), more)], "gap: .* > the stated gap 0"),
        ([(("ceiling",), less), (("reached",), less)], "multipliers: sum_T Q(T) max_v C(v) = {ceiling} > the stated ceiling"),
        ([(("multipliers", first), "-1/7")], f'multipliers: "{first}" has -1/7 < 0'),
        ([(("multipliers", first), more)], "multipliers: sum_T Q(T) max_v C(v) = .* > the stated ceiling {ceiling}"),
        ([(("multipliers", second), less)], "multipliers: sum_T Q(T) max_v C(v) = .* > the stated ceiling {ceiling}"),
        ([(("multipliers",), {})], "multipliers: sum_T Q(T) max_v C(v) = 3 > the stated ceiling {ceiling}"),
        ([(("multipliers", "7"), "1")], 'multipliers: no draft tree has the path "7"'),
        ([(("reached",), more)], "acceptance: sum_u f(u) = {ceiling} < the stated"),
        ([(("reached",), less)], "gap: .* > the stated gap 0"),
        ([(("gap",), "-1")], "gap: .* > the stated gap -1"),
        ([(("acceptance", 0, "accepted"), {"": "1/2"})], "acceptance: the nodes of tree {.*} are accepted with 1/2, not 1, in total"),
        ([(("acceptance", 0, "accepted"), {"": "3/2", "0": "-1/2"})], 'acceptance: -1/2 of node "0" in tree {.*} is negative or not in the tree'),
        ([(("acceptance", 0, "accepted"), {"2 2 2": "1"})], 'acceptance: 1 of node "2 2 2" in tree'),
        ([(("acceptance",), lambda entries: entries[1:])], "acceptance: tree {.*} is missing"),
        ([(("acceptance",), lambda entries: [*entries, entries[0]])], "acceptance: tree {.*} is not a draft tree of the instance, or listed twice"),
        ([(("acceptance", 0, "tree"), ["0"])], 'acceptance: tree {"0"} is not a draft tree'),
        ([(("instance", "target", ""), [8, 1, 1])], "multipliers: sum_T|growth|gap|acceptance"),
        ([(("instance", "drafting", "scheme"), "with_replacement")], "multipliers: sum_T|acceptance: tree|no draft tree"),
        ([(("instance", "target"), {})], "instance: target has no row"),
        ([(("instance",), {})], "instance: "),
        ([(("kind",), "whole forest")], "unknown kind of certificate 'whole forest'"),
        ([(("ceiling",), "1e99")], 'the certificate is malformed: "ceiling" is not an exact number'),
        ([(("ceiling",), "1/0")], 'the certificate is malformed: "ceiling" is not an exact number'),
        ([(("ceiling",), "1/00")], 'the certificate is malformed: "ceiling" is not an exact number'),
        ([(("multipliers", first), "x")], f'the certificate is malformed: multiplier "{first}" is not an exact number'),
        ([(("ceiling",), 3)], 'the certificate is malformed: "ceiling" is missing or not a str'),
        ([(("multipliers", "0 x"), "1")], "the certificate is malformed: a path is not a string of tokens"),
        ([(("acceptance", 0), 5)], 'the certificate is malformed: "tree" is missing'),
    ],
)
def test_damage_is_named(changes: list[tuple[tuple[Any, ...], Any]], inequality: str) -> None:
    wanted = inequality.replace("(", r"\(").replace(")", r"\)").replace("{ceiling}", TREE["ceiling"]).replace("{", r"\{").replace("}", r"\}")
    with pytest.raises(Rejected, match=wanted):
        check(damaged(TREE, *changes))


def test_everything_accepted_at_the_leaves_breaks_growth() -> None:
    leaves = [{**entry, "accepted": {max(entry["tree"], key=len): "1"}} for entry in TREE["acceptance"]]
    with pytest.raises(Rejected, match=r'growth: f\(".*"\) = .* > f\(".*"\) p = '):
        check(damaged(TREE, (("acceptance",), leaves), (("reached",), "1"), (("gap",), "9")))


def test_weaker_statements_are_still_proved() -> None:
    """A higher ceiling with the gap it has; a lower reached value; multipliers that are worse but good enough."""
    assert check(damaged(TREE, (("ceiling",), more), (("gap",), "1/1000")))
    assert check(damaged(TREE, (("reached",), less), (("gap",), "1/1000")))
    assert check(damaged(TREE, (("multipliers", first), more), (("ceiling",), more), (("gap",), "1/1000")))


@pytest.mark.parametrize(
    ("changes", "inequality"),
    [
        ([(("optimum",), less)], r"cut: 1 \+ a p\(A\) - Pr\(set inside A\) = .* > the stated optimum"),
        ([(("optimum",), more)], "plan: its total .* < the stated optimum"),
        ([(("cut",), lambda cut: [token for token in range(6) if token not in cut])], "cut: .* > the stated optimum"),
        ([(("plan", 0, "mass"), lambda mass: str(Fraction(mass) + 1))], "plan: set .* is used with .* > its probability"),
        ([(("plan", 0, "mass"), "-1")], "plan: mass -1 on token .* is negative"),
        ([(("plan",), lambda plan: plan[1:])], "plan: its total .* < the stated optimum"),
        ([(("plan", 0, "token"), 77)], "plan: token 77 of set .* is not there to give"),
        ([(("capacity",), "1/1000")], "plan: token .* is given .* > a p ="),
        ([(("sets",), {"0": "1/2"})], "the set law is not a law"),
        ([(("target",), {"0": "2", "1": "-1"})], "the target is not a law"),
        ([(("plan", 0, "token"), "0")], 'the certificate is malformed: "token" is missing or not a int'),
    ],
)
def test_damage_at_one_node_is_named(changes: list[tuple[tuple[Any, ...], Any]], inequality: str) -> None:
    assert check(NODE)
    with pytest.raises(Rejected, match=inequality):
        check(damaged(NODE, *changes))


@pytest.mark.parametrize("nonsense", [None, [], 3, "whole tree", {}, {"kind": ["whole tree"]}, {"kind": "whole tree"}, {"kind": "one node"}])
def test_nonsense_is_rejected(nonsense: Any) -> None:
    with pytest.raises(Rejected, match="malformed"):
        check(nonsense)


def numbers(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of all exact numbers of a certificate, those of its instance left out."""
    if isinstance(value, dict):
        return [found for key, inner in value.items() if key not in ("instance", "kind", "tree", "set") for found in numbers(inner, (*place, key))]
    if isinstance(value, list):
        return [found for key, inner in enumerate(value) for found in numbers(inner, (*place, key))]
    return [place] if isinstance(value, str) else []


@pytest.mark.parametrize("scheme", ["without_replacement", "greedy"])
def test_no_damage_gets_a_false_ceiling_accepted(scheme: str) -> None:
    """Any one number changed, and the ceiling sometimes lowered too: what is accepted is never below the optimum, nor is the gap understated."""
    certificate = tree_certificate(4, scheme)
    best, rng, rejected = Fraction(certificate["ceiling"]), random.Random(0), 0
    for place in rng.choices(numbers(certificate), k=150):
        changed = damaged(certificate, (place, rng.choice([less, more, "0", "1/2", lambda number: str(-Fraction(number))])))
        if rng.random() < 0.3:
            changed["ceiling"] = less(changed["ceiling"])
        try:
            check(changed)
        except Rejected:
            rejected += 1
        else:
            assert Fraction(changed["ceiling"]) >= best >= Fraction(changed["ceiling"]) - Fraction(changed["gap"])
    assert rejected > 75


def test_no_damage_gets_a_false_optimum_accepted() -> None:
    rng = random.Random(1)
    for node in random_nodes(60, seed=11):
        found = optimum(node.p, set_law(node.draws), node.capacity)
        certificate = one_node(node.p, set_law(node.draws), node.capacity, found)
        places = [place for place in numbers(certificate) if place[0] in ("optimum", "plan")]
        for place in rng.choices(places, k=4):
            changed = damaged(certificate, (place, rng.choice([less, more])))
            try:
                check(changed)
            except Rejected:
                continue
            assert Fraction(changed["optimum"]) == fraction(found.value)


LONG = "1/" + "9" * 3000, "1/" + "7" * 2999 + "3"
"""Their sum has more digits than Python prints."""


@pytest.mark.parametrize(
    ("certificate", "changes", "inequality"),
    [
        (TREE, [(("multipliers", first), LONG[0]), (("multipliers", second), LONG[1])], "multipliers: sum_T .* = about .* > the stated ceiling"),
        (
            TREE,
            [(("acceptance", 0, "accepted"), {"": LONG[0], min(TREE["acceptance"][0]["tree"]): LONG[1]})],
            "are accepted with about .*e-3000, not 1",
        ),
        (TREE, [(("reached",), LONG[0]), (("gap",), LONG[1])], "gap: .* - about 1.*e-3000 > the stated gap about"),
        (NODE, [(("capacity",), LONG[0]), (("optimum",), LONG[1])], "plan: token .* is given .* > a p = about"),
        (NODE, [(("plan", 0, "mass"), LONG[0]), (("plan", 1, "mass"), LONG[1])], "plan: its total about .* < the stated optimum"),
    ],
)
def test_numbers_too_long_to_print_are_said_all_the_same(
    certificate: dict[str, Any], changes: list[tuple[tuple[Any, ...], Any]], inequality: str
) -> None:
    with pytest.raises(Rejected, match=inequality) as rejected:
        check(damaged(certificate, *changes))
    assert len(str(rejected.value)) < 2000


@pytest.mark.parametrize(("scheme", "children"), [("with_replacement", [3, 2]), ("without_replacement", [8]), ("chain", [1] * 4)])
def test_an_instance_with_too_many_trees_is_not_waited_for(scheme: str, children: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted while they are listed, those below a node included."""
    monkeypatch.setattr(checker, "MOST_DRAWS", 2000)
    rows = {" ".join(map(str, path)): [1] * 9 for depth in range(len(children)) for path in product(range(9), repeat=depth)}
    source = {"vocabulary": 9, "target": rows, "draft": rows, "drafting": {"scheme": scheme, "children": children}}
    with pytest.raises(Rejected, match="more than 2000 ways to draw a tree are not listed"):
        check(damaged(TREE, (("instance",), source)))
