"""The pytest plugin, in runs of pytest of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from draftproof import suite
from draftproof.oracle.faults import chains

pytest_plugins = ["pytester"]

RIGHT = """
import random
import draftproof

@draftproof.conformance(tier="smoke", shape="chain", framework="numpy", batched=False)
def test_one_token():
    def verify(drafts, declared, target):
        return [random.choices(range(target.shape[2]), target[0, 0]) + [-1] * drafts.shape[1]], [0]
    return verify
"""

WRONG = """
import draftproof

@draftproof.conformance(tier="smoke")
def test_fault():
    return "draftproof.oracle.faults.chains:residual_is_target"

def test_another():
    pass
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """In a process of its own: numpy cannot be imported anew."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rx", *arguments)


def test_a_test_for_each_instance_and_verdict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RIGHT)
    result = run(pytester, "-v")
    result.stdout.fnmatch_lines(["*test_one_token[[]chain-one-draft-exactness[]] PASSED*"])
    counted = result.parseoutcomes()
    assert set(counted) == {"passed"} and counted["passed"] % len(suite.VERDICTS) == 0 and counted["passed"] >= 15


def test_a_failure_explains_itself_and_can_be_listed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WRONG)
    result = run(pytester, "-k", "chain-one-draft or another")
    result.assert_outcomes(failed=1, passed=len(suite.VERDICTS))
    text = result.stdout.str()
    name = "draftproof.oracle.faults.chains:residual_is_target"
    once = "nonconform: at the root the next token should be 0 with probability 0.5; it is 0.35; total variation 0.15"
    again = f"see it again: draftproof law chain-one-draft --subject {name}"
    smaller = f"the smallest that still fails: draftproof check {name} --instance chain-one-draft --shrink"
    for said in (once, f"exactness of {name} on chain-one-draft, read by enumerate", "what the instance is for: ", again, smaller):
        assert text.count(said) == 1, said
    assert text.count("it is 0.35") == text.count("total variation") == 1
    assert "suite.py" not in text
    listed = "\n".join(f"{name}[chain-one-draft-exactness]  # issue 12" for name in ("test_fault", "test_fualt", "test_gone"))
    known = f"# faults that are known\n\n{listed}\n"
    pytester.makefile(".txt", known=known, all="test_fault*\n")
    pytester.makeini("[pytest]\ndraftproof_xfails = known.txt\n")
    result = run(pytester, "-k", "chain-one-draft")
    counted = result.parseoutcomes()
    assert (counted["xfailed"], counted["passed"], "failed" in counted) == (1, len(suite.VERDICTS) - 1, False)
    result.stdout.fnmatch_lines(["*known.txt lists test_fualt*no conformance test here; did you mean test_fault[[]chain-one-draft-exactness[]][?]*"])
    result.stdout.fnmatch_lines(["*known.txt lists test_gone[[]chain-one-draft-exactness[]], which is no conformance test*", "*issue 12*"])
    counted = run(pytester, "-k", "chain-one-draft", "--draftproof-xfails", "all.txt").parseoutcomes()
    assert (counted["xfailed"], counted["failed"]) == (1, len(suite.VERDICTS) - 1)  # a listed test that passes: the list is out of date
    assert run(pytester, "--draftproof-xfails", "missing.txt").ret == pytest.ExitCode.USAGE_ERROR
    (pytester.path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    assert run(pytester, "--draftproof-xfails", "binary.txt").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 'no_such_engine:verify'", "cannot import no_such_engine"),
        ("return 'gpu_impl'", "gpu_impl names"),
        ("raise RuntimeError('no licence')", "no licence"),
        ("return 3", "3 is not callable"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("import pytest; pytest.importorskip('no_such_engine')", "Skipped: could not import 'no_such_engine'"),
        ("return type('Shy', (), {'__repr__': lambda self: 1 / 0})()", "<Shy that cannot be printed> is not callable"),
    ],
)
def test_what_cannot_be_judged_never_passes(pytester: pytest.Pytester, body: str, said: str) -> None:
    pytester.makepyfile(f"import draftproof\n\n@draftproof.conformance()\ndef test_engine():\n    {body}\n\ndef test_other(): ...\n")
    result = run(pytester)
    result.assert_outcomes(failed=1, passed=1)
    assert said in result.stdout.str()


def test_an_engine_that_is_not_there_costs_its_own_test_which_may_be_listed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import draftproof\n\n@draftproof.conformance()\ndef test_engine():\n    return 'flashinfer'\n\ndef test_other(): ...\n")
    (pytester.path / "known.txt").write_text("test_engine?subject?  # no GPU here\n")
    result = run(pytester)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*flashinfer is not installed here*"])
    run(pytester, "--draftproof-xfails", "known.txt").assert_outcomes(xfailed=1, passed=1)


def test_inconclusive_and_error_fail() -> None:
    settings = {"way": "sample", "time_limit": 9.0, "tolerance": 1e-9}
    judged = suite.Conformance(lambda: chains.stops_at_once, "smoke", 1e-6, settings, {})
    complaint = judged.complaint("chain-one-draft", "exactness", "test_x.py::test_x[chain-one-draft-exactness]")
    assert complaint is not None and complaint.startswith("inconclusive: ") and complaint.count("total variation") == 1
    assert complaint.endswith(" --way sample")  # nothing smaller is promised where nothing is known to fail
    judged = suite.Conformance(lambda: chains.always_accepts, "smoke", 1e-6, {}, {"randomness": "generator"})
    complaint = judged.complaint("chain-one-draft", "support", "test_x.py::test_x[chain-one-draft-support]")
    assert complaint is not None and complaint.startswith("error: ") and complaint.count("unexpected keyword argument 'generator'") == 1
    assert complaint.endswith("  see it again: python -m pytest 'test_x.py::test_x[chain-one-draft-support]'")  # no command line declares that


def test_a_verifier_beside_its_test_is_spelled_as_the_command_line_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest puts the folder of the test on the path, ``draftproof`` does not."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "beside.py").write_text("def verify(drafts, declared, target):\n    return [[0, -1]], [0]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "tests"))
    import beside  # type: ignore[import-not-found]

    assert suite.Conformance(lambda: beside.verify, "smoke", 1e-6, {}, {"family": "token"}).spelled == "tests/beside.py:verify@token"
    assert suite.Conformance(lambda: lambda drafts, declared, target: None, "smoke", 1e-6, {}, {}).spelled is None
    packaged = "draftproof.oracle.faults.chains:always_accepts"
    assert suite.Conformance(lambda: packaged, "smoke", 1e-6, {}, {}).spelled == packaged
    sys.modules.pop("beside")


def test_under_xdist(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WRONG)
    result = run(pytester, "-n", "2", "--dist", "loadgroup", "-k", "chain-one-draft or chain-block or another")
    result.assert_outcomes(failed=2, passed=2 * len(suite.VERDICTS) - 1)


def test_without_xdist_no_mark_is_unknown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WRONG)
    result = run(pytester, "-p", "no:xdist", "--strict-markers", "-W", "error", "-k", "chain-one-draft or another")
    result.assert_outcomes(failed=1, passed=len(suite.VERDICTS))


BADLY_DECLARED = """
import draftproof
import pytest

@draftproof.conformance(tier="gigantic")
def test_tier():
    return "draftproof.oracle.faults.chains:residual_is_target"

@draftproof.conformance(alpha=0)
def test_alpha():
    pass

@draftproof.conformance(way="guess")
def test_way():
    pass

@draftproof.conformance(seed=-1)
def test_seed():
    pass

@pytest.mark.parametrize("z", [1, 2])
@draftproof.conformance()
def test_parametrized():
    pass

@draftproof.conformance(famly="token")
def test_field():
    return lambda drafts, declared, target: None

@draftproof.conformance()
def test_import():
    import nowhere

class TestEngine:
    @draftproof.conformance()
    def test_method(self):
        pass

def test_another():
    pass
"""


def test_a_wrong_declaration_is_one_test_that_fails(pytester: pytest.Pytester) -> None:
    """The other tests of the file run."""
    pytester.makepyfile(BADLY_DECLARED)
    result = run(pytester)
    result.assert_outcomes(failed=8, passed=1)
    text = result.stdout.str()
    for said in (
        "ValueError: tier must be one of smoke, standard, not 'gigantic'",
        "ValueError: alpha must be in (0, 1), not 0",
        "ValueError: way must be one of enumerate, integrate, sample, not 'guess'",
        "ValueError: the seed must be an integer, 0 or above, not -1",
        "parametrize does not go with conformance",
        "unexpected keyword argument 'famly'",
        "ModuleNotFoundError: No module named 'nowhere'",
        "TestEngine.test_method: conformance decorates functions, not methods: move it out of its class",
        "test_import[subject]",
    ):
        assert said in text, said
    assert "Traceback" not in text and "suite.py" not in text


def test_an_idle_plugin_imports_nothing_heavy() -> None:
    program = "import sys, draftproof.pytest_plugin; print(*{'numpy', 'torch', 'scipy', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == ""
