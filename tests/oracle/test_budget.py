import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof.cli import main
from draftproof.oracle.budget import BudgetInstance, budget, budget_instances, equal_marginals, judge_rule, losing_gains, unimodality
from draftproof.oracle.budget_file import BudgetFileError, load, parse
from draftproof.oracle.builders import BudgetRule, budget_rule, choose
from draftproof.oracle.faults.builders import chosen_size
from draftproof.oracle.marginal_instances import named_instance
from draftproof.oracle.subjects import SubjectError
from draftproof.oracle.tree_subjects import judge, ours
from draftproof.reference.budgets import RoundCost, caddtree, full_scan, throughput
from draftproof.reference.rational import rational


def rule(call: Callable[..., Any], **more: Any) -> BudgetRule:
    return BudgetRule(call, "planted", framework="numpy", dtype="float32", batched=False, **more)


def test_the_plain_rule_conforms_and_its_limits_are_noted() -> None:
    report = judge_rule(rule(chosen_size))
    assert report.outcome == "conform", [verdict.message for verdict in report.verdicts]
    noted = {verdict.instance: verdict.notes[0] for verdict in report.verdicts if verdict.notes}
    assert set(noted) == {"cliff", "tiles"} and "not convex, for which it makes no claim" in noted["cliff"]


def test_a_scan_is_right_for_any_cost_and_greedy_may_not_claim_that() -> None:
    report = judge_rule(rule(partial(chosen_size, fault="scans all"), any_cost=True))
    assert report.outcome == "conform" and not any(verdict.notes for verdict in report.verdicts)
    bad = [verdict.instance for verdict in judge_rule(rule(chosen_size, any_cost=True)).verdicts if verdict.outcome == "nonconform"]
    assert bad == ["cliff", "tiles"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_ours_conform(dtype: str) -> None:
    pytest.importorskip("torch")
    for subject in ours(dtype)[1:]:
        report = judge(subject)
        assert report.outcome == "conform", report.as_dict()


FAULTS = {
    "goes on where NaN is": {"broken"},
    "goes on at equality": {"plateau", "plateau-late"},
    "runs to the cap": {"kinked", "root-only"},
    "stops at the first small gain": {"steady"},
    "drops the node that was accepted last": {"drafter-counts"},
    "forgets the bonus token": {"bonus"},
    "forgets the drafter": {"drafter-counts"},
    "counts the drafter twice": {"drafter-counts"},
    "drafter in other units": {"drafter-counts"},
    "charges n nodes as n query tokens": {"query-tokens"},
    "charges n nodes as n + 2 query tokens": {"query-tokens"},
    "the first node is free": {"root-only"},
    "ignores the verify cost": {"steady", "kinked"},
    "gains added in bfloat16": {"steady"},
    "gains added in float16": {"steady"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault: str) -> None:
    report = judge_rule(rule(partial(chosen_size, fault=fault)))
    bad = {verdict.instance for verdict in report.verdicts if verdict.outcome == "nonconform"}
    assert not report.errors and FAULTS[fault] & bad, (fault, bad, report.errors)


def test_a_rule_with_a_cost_table_of_its_own_is_judged_by_it() -> None:
    own = (1, [1, 2, 3, 4, 5, 6])

    def fixed(logits: np.ndarray, draft: float, verify: np.ndarray) -> int:
        return chosen_size(logits, 1.0, np.array(own[1], dtype=float))

    instance = BudgetInstance("kinked", "", named_instance("two-depths"), 9, [30] * 9)
    assert budget(rule(fixed, cost=own), instance).outcome == "conform"
    assert budget(rule(fixed), instance).outcome == "nonconform", "by our table it is wrong"


def test_impossible_sizes_and_nonsense() -> None:
    instance = budget_instances()[0]
    verdict = budget(rule(lambda logits, draft, verify: 99), instance)
    assert verdict.outcome == "nonconform" and "99 nodes where 0 to 4 are possible" in verdict.message
    assert judge_rule(rule(lambda logits, draft, verify: 1.5)).outcome == "error"
    assert judge_rule(rule(lambda logits, draft, verify: None)).outcome == "error"
    with pytest.raises(SubjectError, match="not \\[2\\] integers"):
        choose(BudgetRule(lambda logits, draft, verify: [1], "short", framework="numpy"), np.zeros((2, 1, 2)), 1.0, [1.0])
    with pytest.raises(SubjectError, match="a budget of shape \\[2\\], not one integer"):
        choose(rule(lambda logits, draft, verify: [0, 1]), np.zeros((2, 1, 2)), 1.0, [1.0])


@pytest.mark.parametrize("batched", [True, False])
def test_a_rule_that_overwrites_its_cost_table(batched: bool) -> None:
    def call(logits: np.ndarray, draft: float, verify: np.ndarray) -> Any:
        verify[:] = 1
        return np.zeros(len(logits), dtype=int) if batched else 0

    verdict = budget(BudgetRule(call, "overwrites", framework="numpy", batched=batched), budget_instances()[2])
    assert verdict.outcome == "nonconform" and verdict.message == "overwrites the cost table it is given"


def test_unimodality() -> None:
    gains = [rational("3/4")] * 3
    convex = unimodality("a", gains, RoundCost(1, [1, 2, 3, 9]))
    assert convex.outcome == "conform" and convex.details["unimodal"] and convex.details["convex"]
    two_peaks = unimodality("b", gains, RoundCost(1, [1, 3, 3, 3]))
    assert two_peaks.outcome == "nonconform" and two_peaks.details["loss"] == "5/13"
    assert "node 1 costs 2 more and node 2 only 0" in two_peaks.message and "greedy stops at 0 nodes where 3 are best" in two_peaks.message


def test_a_cost_that_is_not_convex_is_shown_to_mislead_even_where_it_does_not() -> None:
    cost = RoundCost(1, [1, 3, 4, 5])
    verdict = unimodality("c", [rational("1/10"), rational("1/20"), rational("1/30")], cost)
    assert verdict.outcome == "inconclusive" and "but it would lose" in verdict.message
    witness = verdict.details["witness"]
    problem = parse({"marginals": witness["marginals"], "cost": {"draft": 1, "verify": [1, 3, 4, 5]}, "nodes": witness["nodes"]})
    assert cost.verify == problem.cost.verify
    assert problem.answer()["greedy"] != problem.answer()["optimum"] and problem.answer()["loss"] != "0"


def test_witnesses_lose() -> None:
    import random

    rng, found = random.Random(0), 0
    for _ in range(300):
        verify = [rng.randint(1, 9) for _ in range(7)]
        cost = RoundCost(2, verify)
        gains = losing_gains(cost, 6)
        if gains is None:
            continue
        found += 1
        assert not cost.convex_up_to(6) and len(set(gains)) == 1 and 0 < gains[0] <= 1
        curve = throughput(gains, cost)
        assert curve[caddtree(gains, cost)] < max(curve) == curve[full_scan(gains, cost)]
        realised = parse({"marginals": equal_marginals(gains[0], len(gains)), "cost": {"draft": 2, "verify": verify}, "nodes": len(gains)})
        assert realised.gains() == gains
    assert found > 100
    assert losing_gains(RoundCost(1, [1, 2, 3, 5]), 3) is None


EXAMPLE = {"marginals": [["3/4", "1/4"], [1, 0], [1, 0]], "cost": {"draft": "1", "verify": ["1", "3", "3", "3"]}, "nodes": 3}


def written(tmp_path: Path, source: Any) -> str:
    path = tmp_path / "budget.json"
    path.write_text(source if isinstance(source, str) else json.dumps(source))
    return str(path)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", written(tmp_path, EXAMPLE), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "curve": ["1/2", "7/16", "5/8", "13/16"], "greedy": 0, "optimum": 3, "unimodal": False, "convex": False, "loss": "5/13"
    }  # fmt: skip


def test_text_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xml.etree import ElementTree

    picture = tmp_path / "out.svg"
    assert main(["budget", written(tmp_path, EXAMPLE), "--plot", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "<- greedy stops" in said and "loses 5/13" in said and "the cost is not convex" in said and "  0 0 0" in said
    root = ElementTree.fromstring(picture.read_text())
    words = "".join(root.itertext())
    assert "best: 3 nodes" in words and "greedy stops: 0" in words and "The best tree: 3 nodes" in words
    for wrong in ("out.bmp", "out", "no/out.svg"):
        assert main(["budget", written(tmp_path, EXAMPLE), "--plot", str(tmp_path / wrong)]) == 2
    (tmp_path / "folder.svg").mkdir()
    assert main(["budget", written(tmp_path, EXAMPLE), "--plot", str(tmp_path / "folder.svg")]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["budget.json", "folder.svg", "out.svg"], "no half files"


def test_png(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    picture = tmp_path / "out.PNG"
    assert main(["budget", written(tmp_path, EXAMPLE), "--plot", str(picture)]) == 0
    with image.open(picture) as drawn:
        assert drawn.format == "PNG" and drawn.size[0] == 1280 and len(drawn.getcolors(1 << 20)) > 10


def test_numbers_that_no_float_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    huge = {**EXAMPLE, "cost": {"draft": "1e999", "verify": ["1e999", "3e999", "3e999"]}}
    assert main(["budget", written(tmp_path, huge)]) == 0
    said = capsys.readouterr().out
    assert "5e-1000" in said and "costs 2e+999 more" in said
    assert main(["budget", written(tmp_path, huge), "--plot", str(tmp_path / "out.svg")]) == 2
    assert "choose another unit of time" in capsys.readouterr().err
    tiny = {**EXAMPLE, "marginals": [["1e-999", 1]], "cost": {"draft": 0, "verify": ["1e-999"]}}
    assert main(["budget", written(tmp_path, tiny)]) == 0 and "2e+999" in capsys.readouterr().out


def test_candidates_are_prefixes_of_positive_mass() -> None:
    answer = parse({"marginals": [[1, 0], [1, 1]], "cost": {"draft": 1, "verify": [2]}, "nodes": 9}).answer()
    notes = answer.pop("notes")
    assert answer == {"curve": ["1/3", "2/3", "5/6", "1"], "greedy": 3, "optimum": 3, "unimodal": True, "convex": True, "loss": "0"}
    assert notes == [
        'row 2 of "marginals" adds up to 2, and is divided by that',
        '"verify" of "cost" ends at 0 nodes of 9: every size is taken to cost the same',
    ]
    assert parse({"marginals": [], "cost": {"draft": 1, "verify": [2]}, "nodes": 9}).answer()["curve"] == ["1/3"]
    assert parse({"marginals": [[1]], "cost": {"draft": 0, "verify": [2, 3]}, "nodes": 0}).answer()["curve"] == ["1/2"]


def test_a_shorter_table_is_extended_with_its_last_slope() -> None:
    problem = parse({"marginals": [[1, 1, 1, 1]], "cost": {"draft": 1, "verify": ["0.5", "0.75"]}, "nodes": 4})
    assert [str(problem.cost(n)) for n in range(5)] == ["3/2", "7/4", "2", "9/4", "5/2"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"marginals": 3}, '"marginals" must be a list'),
        ({"marginals": [[]]}, 'row 1 of "marginals" must be a list of weights'),
        ({"marginals": [[1], [0, 0]]}, 'row 2 of "marginals": a law needs at least one positive weight'),
        ({"marginals": [[1, -1]]}, "negative"),
        ({"marginals": [[1, "x"]]}, "weight of 1 is not a number: 'x'"),
        ({"marginals": [[True, 1]]}, "weight of 0 is not a number: True"),
        ({"marginals": [["1/0"]]}, "'1/0' is not a finite number"),
        ({"nodes": -1}, '"nodes" must be an integer from 0'),
        ({"nodes": 10**9}, '"nodes" must be an integer from 0'),
        ({"nodes": "3"}, '"nodes" must be an integer from 0'),
        ({"marginals": [[1], "ab"]}, 'row 2 of "marginals" must be a list of weights, not \'ab\''),
        ({"marginal": [[1]]}, "unknown key 'marginal' in a budget file; did you mean 'marginals'? known: marginals, cost, nodes, name, note"),
        ({"cost": {"draft": 1, "verify": [1], "verfy": [2]}}, "unknown key 'verfy' in \"cost\"; did you mean 'verify'? known: draft, verify"),
        ({"cost": 3}, '"cost" must be a JSON object, not 3'),
        ({"cost": None}, '"cost" is missing'),
        ({"cost": {"draft": 1}}, '"verify" of "cost" must be a list'),
        ({"cost": {"draft": 1, "verify": []}}, "at least one entry"),
        ({"cost": {"draft": "nan", "verify": [1]}}, "\"draft\" of \"cost\" is not a number: 'nan'"),
        ({"cost": {"draft": 1, "verify": ["1/2", "-1/2"]}}, "2 nodes would cost -1/2, which is not positive"),
        ({"cost": {"verify": [1]}}, '"draft" of "cost" is not a number: None'),
        ({"cost": {"draft": 1, "verify": [1, [2]]}}, 'entry 1 of "verify" of "cost" is not a number: [2]'),
    ],
)
def test_bad_files_are_named(change: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", written(tmp_path, {**EXAMPLE, **change})]) == 2
    assert said in capsys.readouterr().err


def test_files_that_are_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = json.dumps(EXAMPLE).replace('"nodes": 3', '"nodes": 3, "nodes": 2')
    with pytest.raises(BudgetFileError, match="'nodes' appears twice"):
        load(written(tmp_path, twice))
    for text in ("", "[", "[]", '{"marginals": [[NaN]]}', "\x00", "[" * 100_000):
        with pytest.raises(BudgetFileError):
            load(written(tmp_path, text))
    with pytest.raises(BudgetFileError, match="No such file"):
        load(tmp_path / "missing.json")


ENGINE = """
import os, sys, time

def verify(tokens):
    print("noise")
    sum(range(2000 * tokens))

def broken(tokens):
    raise MemoryError("full")

def leaves(tokens):
    sys.exit(0)

def dies(tokens):
    os._exit(0)

def hangs(tokens):
    time.sleep(1000)

number = 3
"""


def test_profile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    where = f"{tmp_path}/engine.py"
    quick = ["--nodes", "6", "--step", "2", "--repeats", "3", "--warmups", "1", "--draft", "0.001"]
    assert main(["budget", "profile", f"{where}:verify", *quick]) == 0
    table = json.loads(capfd.readouterr().out)
    assert table["draft"] == "0.001" and len(table["verify"]) == 7 and all(float(entry) > 0 for entry in table["verify"])
    assert main(["budget", "profile", f"{where}:verify", *quick, "--fit"]) == 0
    fitted = [float(entry) for entry in json.loads(capfd.readouterr().out)["verify"]]
    assert min(np.diff(fitted, 2)) > -1e-7 * max(fitted), "convex, up to printing"
    assert parse({**EXAMPLE, "cost": table}).answer()["curve"]


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("broken", "MemoryError: full"),
        ("leaves", "leaves(1) ended the process, with exit status 0"),
        pytest.param("dies", "dies(1) ended the process, with exit status 0", marks=pytest.mark.slow),
        pytest.param("hangs", "hangs(1) did not come back within the time limit of 1 s", marks=pytest.mark.slow),
        ("number", "engine.py:number is not callable"),
        ("missing", "has no 'missing'"),
    ],
)
def test_profiling_what_does_not_work(subject: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    assert main(["budget", "profile", f"{tmp_path}/engine.py:{subject}", "--nodes", "1", "--time-limit", "1"]) == 2
    found = capfd.readouterr()
    assert said in found.err and not found.out


@pytest.mark.parametrize(
    "options",
    [
        ["--draft", "nan"],
        ["--draft", "inf"],
        ["--draft=-1"],
        ["--draft", "1/0"],
        ["--draft", "1_0"],
        ["--nodes=-1"],
        ["--nodes", "x"],
        ["--step", "0"],
        ["--repeats", "0"],
        ["--time-limit", "0"],
        ["--time-limit", "nan"],
    ],
)
def test_options_that_make_no_sense(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["budget", "profile", "math:sqrt", *options])
    assert left.value.code == 2 and "Traceback" not in capsys.readouterr().err


def test_options_of_another_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, EXAMPLE)
    drawn, stepped = ["profile", "math:sqrt", "--plot", "a.svg"], ["check", "gpu_impl", "--step", "2"]
    for arguments in ([file, "--fit"], [file, "--nodes", "3"], [file, "more"], drawn, stepped):
        assert main(["budget", *arguments]) == 2, arguments
    assert main(["budget", "profile"]) == main(["budget", "check"]) == 2
    assert "--fit is not for budget FILE" in capsys.readouterr().err


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "from draftproof.oracle.faults.builders import chosen_size, grow\n"
        "from draftproof.oracle.builders import budget_rule, builder\n"
        "@builder(framework='numpy', batched=False)\ndef tree(logits, nodes):\n    return grow(logits, nodes)\n"
        "@builder(framework='numpy', batched=False)\ndef bad(logits, nodes):\n    return grow(logits, nodes, 'one node too many')\n"
        "@budget_rule(framework='numpy', batched=False)\ndef size(logits, draft, verify):\n    return chosen_size(logits, draft, verify)\n"
    )
    (tmp_path / "planted.py").write_text(source)
    assert main(["budget", "check", f"{tmp_path}/planted.py:tree"]) == 0
    assert main(["budget", "check", f"{tmp_path}/planted.py:size"]) == 0
    assert "conform" in capsys.readouterr().out
    assert main(["budget", "check", f"{tmp_path}/planted.py:bad"]) == 1
    assert "besides the root" in capsys.readouterr().out
    assert main(["budget", "check", f"{tmp_path}/planted.py:bad", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["outcome"] == "nonconform"
    assert main(["budget", "check", f"{tmp_path}/planted.py:grow"]) == 2
    assert main(["budget", "check", "nothing"]) == 2


def test_a_witness_that_would_not_fit_is_left_out() -> None:
    """A draft cost of 2^31 asks for a row of some 4e9 tokens."""
    problem = parse({"marginals": [[1, 1, 1], ["3/5", "2/5"]], "cost": {"draft": 2**31, "verify": ["2", "2", 3, 3.25]}, "nodes": 3})
    found = unimodality("file", problem.gains(), problem.cost)
    assert "if 3 nodes added" in found.message and "witness" not in found.details


HOSTILE = """
import os, sys, time
import numpy as np
from draftproof.oracle.builders import budget_rule, builder

@builder(framework="numpy")
def dies(logits, nodes):
    os._exit(0)

@budget_rule(framework="numpy")
def leaves(logits, draft, verify):
    sys.exit(0)

@budget_rule(framework="numpy")
def hangs(logits, draft, verify):
    while True:
        pass

@builder(framework="numpy")
def stuck(logits, nodes):
    np.zeros((1500, 1500)) @ np.zeros((1500, 1500))
    time.sleep(1000)

@budget_rule(framework="numpy")
def zero(logits, draft, verify):
    print("noise")
    return np.zeros(len(logits), dtype=int)
"""


@pytest.mark.parametrize(
    ("subject", "code", "said"),
    [
        ("dies", 2, "error on two-depths: ended the process, with exit status 0"),
        ("leaves", 2, "error on plateau: raised SystemExit: 0"),
        ("hangs", 2, "error on plateau: did not come back within the time limit of 1 s; nothing more is asked of it"),
        pytest.param("stuck", 2, "error on two-depths: did not come back within the time limit of 1 s", marks=pytest.mark.slow),
        ("zero", 1, "it chooses 0 nodes where"),
    ],
)
def test_subjects_that_crash_or_hang_never_pass(subject: str, code: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE)
    assert main(["budget", "check", f"{tmp_path}/hostile.py:{subject}", "--time-limit", "1"]) == code
    found = capfd.readouterr()
    assert said in found.out and "noise" not in found.out


def test_declaring_a_rule() -> None:
    @budget_rule(framework="numpy", batched=False, any_cost=True)
    def scan(logits: np.ndarray, draft: float, verify: np.ndarray) -> int:
        return chosen_size(logits, draft, verify, "scans all")

    assert judge_rule(scan, budget_instances()[:3]).outcome == "conform"
