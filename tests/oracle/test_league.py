"""The league: who is in it, what is said of each, as table, JSON and picture."""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from draftproof.cli import main
from draftproof.oracle import league
from draftproof.oracle.catalogue import find
from draftproof.oracle.league import generated, means, random_instance, shortened, standing
from draftproof.oracle.subjects import load
from draftproof.oracle.supervise import WorkerLost
from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length
from draftproof.reference.rational import fraction
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.tree import problem_of
from draftproof.reference.verifiers import FAMILIES, family

CHAINS = "draftproof.oracle.faults.chains"


def test_every_family_that_admits_the_instance_is_in_it() -> None:
    for name in ("chain-block", "tree-greedy", "tree-siblings", "tree-fixed-kids", "tree-siblings-with-replacement"):
        given = find(name)
        found = standing(given)
        assert {row.verifier for row in found.rows} == {rule.name for rule in FAMILIES.values() if rule.admits(given)} and not found.left_out
        assert [row.length for row in found.rows] == sorted((row.length for row in found.rows), reverse=True)
        assert found.top.ceiling == fraction(ceiling_of(problem_of(given.target, given.topology, given.scheme)).ceiling) and found.top.gap == 0
        for row in found.rows:
            law = block_law(family(row.verifier), given.target, given.topology, given.scheme)
            assert row.length == fraction(expected_length(law)) <= found.top.ceiling and row.lossless


def test_rules_that_would_take_too_long_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league, "MOST_REPLAYED", 2)
    found = standing(find("tree-siblings"))
    assert found.left_out == ["tree_exit"] and "tree_exit" not in {row.verifier for row in found.rows}
    assert found.as_dict()["left_out"] == ["tree_exit"]


def test_subjects_stand_beside_the_references() -> None:
    good, bad = load("draftproof.oracle.faults.chains:accepts_at_equality"), load(f"{CHAINS}:always_accepts")
    rows = {row.verifier.rpartition(":")[2]: row for row in standing(find("chain-block"), [*good, *bad]).rows}
    assert rows["always_accepts"].lossless is False and rows["always_accepts"].length == 3 > (standing(find("chain-block")).top.ceiling or 0)
    assert rows["always_accepts"].remark == rows["accepts_at_equality"].remark == "enumerate" and rows["always_accepts"].distance > 0.1
    assert rows["accepts_at_equality"].lossless is True
    assert abs(rows["accepts_at_equality"].length - rows["recursive_rejection"].length) < Fraction(1, 10**6)


def test_means_are_means() -> None:
    given = [random_instance(f"n{seed}", seed, 3, "greedy", [2]) for seed in range(3)]
    standings = [standing(one) for one in given]
    for mean in means(standings):
        rows = [next(row for row in one.rows if row.verifier == mean.verifier) for one in standings]
        assert mean.length == sum(row.length for row in rows) / 3 and mean.ceiling == sum(one.top.ceiling or 0 for one in standings) / 3
        assert (mean.instances, mean.lossless, mean.scheme) == (3, True, "greedy")


def test_one_lossy_instance_makes_a_verifier_lossy() -> None:
    rows = [league.Row("x", Fraction(2), lossless, distance=0.5 * (lossless is False)) for lossless in (True, None, False)]
    made = [league.Standing("i", "chain", league.Top(Fraction(3), Fraction(0)), [row]) for row in rows]
    assert [means(made[:count])[0].lossless for count in (1, 2, 3)] == [True, None, False]
    assert means(made)[0].as_dict()["total_variation"] == 0.5


def test_generated_families() -> None:
    """The same rows whatever the scheme, others for another seed; a chain for one child."""
    found = list(generated(3, 2, 2, 7, 2))
    assert [one.scheme_name for one in found] == [*league.SAMPLED, *league.SAMPLED]
    assert len({json.dumps(dict(one.source["target"])) for one in found[:4]}) == 1 and found[0].source["target"] != found[4].source["target"]
    assert found[0].source["target"] != next(generated(3, 2, 2, 8, 1)).source["target"]
    assert [(one.scheme_name, one.is_chain) for one in generated(3, 1, 2, 7, 2)] == [("chain", True)] * 2


class Lost:
    """In place of a worker process: the task in this one, lost where ``silent`` says."""

    def __init__(self, silent: tuple[str, ...]):
        self.silent = silent

    def __call__(self, task: Callable[..., None], arguments: dict[str, Any], time_limit: float) -> Iterator[Any]:
        sent: list[Any] = []

        def send(message: Any) -> None:
            if sent and sent[-1][0] == "at" and sent[-1][1] in self.silent:
                raise WorkerLost(f"did not come back within {time_limit:g} s")
            sent.append(message)

        return self.until_lost(task, arguments, send, sent)

    def until_lost(self, task: Callable[..., None], arguments: dict[str, Any], send: Callable[[Any], None], sent: list[Any]) -> Iterator[Any]:
        lost = None
        try:
            task(send, **arguments)
        except WorkerLost as error:
            lost = error
        yield from sent
        if lost:
            raise lost


def test_a_ceiling_that_does_not_come_costs_only_itself(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Rows stay, shares are not known; the other instances, and what comes after a slow reference, are not touched."""
    whole = standing(find("tree-siblings"))
    monkeypatch.setattr(league, "supervised", Lost((league.THE_CEILING, "traversal")))
    names = ["tree-siblings", "tree-greedy"]
    found = list(league.played([find(name) for name in names], [], 0, 7.0))
    assert [one.instance for one in found] == names and all(one.top.ceiling is None and one.late == ["traversal"] for one in found)
    assert "did not come back within 7 s" in found[0].top.reason
    assert list(found[0].rows) == [row for row in whole.rows if row.verifier != "traversal"]
    assert run(*names, "--time-limit", "7", "--plot", str(tmp_path / "p.svg")) == 0
    out = capsys.readouterr().out
    assert "tree-siblings: without replacement drafting, no certified ceiling" in out
    assert ["recursive_rejection", "1.764286", "-", "yes"] in [line.split() for line in out.splitlines()]
    assert "  tree-greedy: not done within the time limit: traversal" in out and "  tree-greedy: no certified ceiling, its computation did not" in out
    assert run("--random", "3,2,1,5,1", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert {mean["share"] for mean in said["means"]} == {mean["ceiling"] for mean in said["means"]} == {None}
    assert said["incomplete"][0]["instance"] == "random-0-with_replacement" and "did not come back" in said["incomplete"][0]["no_ceiling"]


def test_means_over_instances_some_of_which_have_no_ceiling() -> None:
    tops = [league.Top(Fraction(3), Fraction(0)), league.Top(reason="too many")]
    mean = means([league.Standing(str(place), "chain", top, [league.Row("x", Fraction(2), True)]) for place, top in enumerate(tops)])[0]
    assert mean.length == 2 and mean.ceiling is None and mean.as_dict()["share"] is None


def test_too_many_trees_cost_only_the_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftproof.reference.transport.exact_simplex.MAX_PATHS", 1)
    found = standing(find("tree-siblings"))
    assert len(found.rows) == 5 and found.top.ceiling is None and "the exact simplex method takes 1" in found.top.reason
    assert found.as_dict()["no_ceiling"] == found.top.reason and found.as_dict()["ceiling"] is None


def test_a_subject_that_does_not_come_back_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(league, "supervised", Lost((f"{CHAINS}:always_accepts",)))
    assert run("chain-block", "--subject", f"{CHAINS}:always_accepts") == 2
    assert "chain-block: " in (error := capsys.readouterr().err) and "always_accepts did not come back" in error


def test_names_are_shortened_from_the_left() -> None:
    assert shortened("/a/b/mine.py:verify") == "mine.py:verify" and shortened("gpu_impl.recursive_rejection") == "gpu_impl.recursive_rejection"
    assert shortened("my_package.my_module.things:a_long_name") == "…y_module.things:a_long_name"


def run(*arguments: str) -> int:
    return main(["league", *arguments, "--quiet"])


def test_table_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("chain-block", "tree-greedy", "--subject", f"{CHAINS}:always_accepts", "--subject", "gpu_impl.recursive_rejection") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "chain-block: chain drafting, ceiling 203/100 = 2.030000" and lines[1].split() == ["E[L]", "of", "ceiling", "lossless"]
    assert lines[2].split()[1:4] == ["3.000000", "147.78%", "NO,"] and max(map(len, lines)) <= 80
    assert ["traversal", "2.030000", "100.00%", "yes"] in [line.split() for line in lines]
    assert not any("mean" in line for line in lines), "means of one instance each are nothing new"


def test_json_and_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("chain-block", "chain-one-draft", "--subject", f"{CHAINS}:always_accepts", "--json", "--plot", str(tmp_path / "p.svg")) == 0
    found = json.loads(capsys.readouterr().out)
    block = found["instances"][0]
    assert (block["instance"], block["ceiling"], block["gap"]) == ("chain-block", "203/100", "0")
    best = next(row for row in block["rows"] if row["verifier"] == "traversal")
    assert (best["exact"], best["share"], best["lossless"]) == ("203/100", 1.0, True)
    assert {mean["instances"] for mean in found["means"]} == {2}
    picture = (tmp_path / "p.svg").read_text()
    assert "always_accepts" in picture and "not lossless" in picture and picture.count("stroke-dasharray") == 1


def test_random_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--random", "3,2,1,5,2") == 0
    out = capsys.readouterr().out
    assert "greedy drafting, 2 instances, mean ceiling" in out and "without replacement drafting, 2 instances" in out and "mean E[L]" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give instances, or a --random family"),
        (["chain-block", "--random", "3,2,1,0,1"], "give instances, or a --random family"),
        (["chain-block", "--plot", "p.gif"], "give a file name that ends in .svg or .png"),
        (["chain-block", "--plot", "nowhere/p.svg"], "no folder"),
        (["nothing-of-the-kind"], "nothing-of-the-kind"),
        (["chain-block", "--subject", "no_such_module:f"], "cannot import no_such_module"),
        (["tree-greedy", "--subject", f"{CHAINS}:always_accepts"], "suits none of these instances: it takes chains, and they are trees; chain-"),
        (["tree-siblings", "--subject", "gpu_impl.k_seq"], "k_seq is not made for without_replacement drafting; "),
    ],
)
def test_bad_requests(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["3,2", "3,2,2,0,x", "3,0,2,0,1", "1000,2,20,0,1"])
def test_bad_families(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--random", text)
    assert ended.value.code == 2 and "--random" in capsys.readouterr().err


def test_what_is_wrong_with_an_instance_is_said_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {"vocabulary": 2, "target": {"": [1, 1]}, "draft": {"": [1, 1]}, "drafting": {"scheme": "chain", "children": [1]}}
    (tmp_path / "holes.json").write_text(json.dumps(rows))
    assert run(str(tmp_path / "holes.json")) == 2
    assert "holes.json: target has no row" in capsys.readouterr().err
