"""The run log: a run can be stopped at any moment and goes on; a log of anything else is refused; a damaged one is not believed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from draftproof.cli import main
from draftproof.oracle import Report, check, run_log
from draftproof.oracle.run_log import RunLogError, header_of
from draftproof.oracle.run_log import run_log as opened

FAULT = "draftproof.oracle.faults.chains:residual_is_target"
NAMES = ["chain-one-draft", "chain-argmax-draft", "chain-block", "chain-opposed"]


def logged(path: Path, **settings: Any) -> Report:
    return check(FAULT, NAMES, log=path, **settings)


def test_goes_on_from_any_byte(tmp_path: Path) -> None:
    """Cut anywhere, the log loses at most the line that was cut, and the run ends with the very same report and, but for seconds, the same log."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    report = logged(whole).to_json()
    content = whole.read_bytes()
    assert content.count(b"\n") == 5
    ends = [place + 1 for place, byte in enumerate(content) if byte == 10]
    for size in (5, ends[0] - 1, ends[0] + 1, ends[2] - 1, ends[3] + 40, ends[4]):
        cut.write_bytes(content[:size])
        judged: list[str] = []
        assert logged(cut, observe=lambda name, *_: judged.append(name)).to_json() == report  # noqa: B023
        kept = max(sum(end <= size for end in ends) - 1, 0)
        assert len(judged) == 4 - kept
        again = cut.read_bytes()
        assert again[: ends[kept]] == content[: ends[kept]] and timeless(again) == timeless(content)


def timeless(content: bytes) -> list[dict[str, Any]]:
    """The lines, but for how long each took, and the sums over that."""
    return [{key: value for key, value in json.loads(line).items() if key not in ("seconds", "sum")} for line in content.splitlines()]


def test_seconds_come_from_the_log_and_are_in_no_report(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first = logged(path)
    assert set(first.seconds) == {(one.subject, one.instance, one.verdict) for one in first.verdicts} and all(first.seconds.values())
    again = logged(path)
    assert again.seconds == first.seconds and again.to_json() == first.to_json() and "seconds" not in first.to_json()
    header, line, *_ = path.read_bytes().splitlines(keepends=True)
    read = {key: value for key, value in json.loads(line).items() if key != "sum"}
    assert read["seconds"]["exactness"] == first.seconds[FAULT, NAMES[0], "exactness"]
    last = json.loads(header)["sum"]
    for odd in ({**read, "seconds": ["1"]}, {**read, "seconds": {"exactness": "long"}}, {**read, "seconds": {"exactness": None}}):
        path.write_bytes(header + run_log.summed(odd, last)[0])
        with pytest.raises(RunLogError, match="not what a work item of this run found"):
            logged(path)
    path.write_bytes(header + run_log.summed({key: value for key, value in read.items() if key != "seconds"}, last)[0])
    assert logged(path).to_json() == first.to_json()  # an older log has none


@pytest.mark.parametrize("byte", [b"x", b"\0", b"\n", b"\r", b""])
def test_damage_in_the_middle_is_an_error(byte: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log"
    logged(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for number in (2, 3):
        line = lines[number - 1]
        path.write_bytes(b"".join([*lines[: number - 1], line[:60] + byte + line[61:], *lines[number:]]))
        with pytest.raises(RunLogError, match=f"line {number} is damaged"):
            logged(path)


def test_lines_in_another_order_or_of_another_log_are_damage(tmp_path: Path) -> None:
    path, other = tmp_path / "log", tmp_path / "other"
    logged(path)
    logged(other, seed=1)
    mine, theirs = (each.read_bytes().splitlines(keepends=True) for each in (path, other))
    for lines in ([mine[0], mine[2], mine[1]], [mine[0], theirs[1], mine[2]], [mine[0], *mine[2:]]):
        path.write_bytes(b"".join(lines))
        with pytest.raises(RunLogError, match="line 2 is damaged"):
            logged(path)


def test_the_log_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "log"
    engine = tmp_path / "engine.py"
    engine.write_text("def verify(drafts, declared, target):\n    return None\n")
    check(f"{engine}:verify", NAMES[:1], log=path)
    cases: list[tuple[str, list[str], dict[str, Any], str]] = [
        (f"{engine}:verify", NAMES[:1], {"alpha": 1e-3}, r"its alpha is 1e-06, not 0\.001"),
        (f"{engine}:verify", NAMES[:1], {"time_limit": 3.0}, r"its time limit is 120\.0, not 3\.0"),
        (f"{engine}:verify", NAMES[:1], {"strict": True}, "its strict is false, not true"),
        (f"{engine}:verify", NAMES[:2], {}, "it judges other instances"),
        (FAULT, NAMES[:1], {}, f'its subject is ".*engine.py:verify", not "{FAULT}"'),
    ]
    before = path.read_bytes()
    for subject, names, settings, said in cases:
        with pytest.raises(RunLogError, match=said):
            check(subject, names, log=path, **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("draftproof.oracle.run.__version__", "9")
        with pytest.raises(RunLogError, match=r'its draftproof is "0\.1\.0", not "9"'):
            check(f"{engine}:verify", NAMES[:1], log=path)
    engine.write_text("def verify(drafts, declared, target):\n    return 0\n")
    with pytest.raises(RunLogError, match="the subject's source has changed since"):
        check(f"{engine}:verify", NAMES[:1], log=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["import os\n", "{}", '{"draftproof": 1}\n', "\n", "{"])
def test_a_file_that_is_no_log_is_left_alone(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert main(["check", FAULT, "--instance", NAMES[0], "--resume" if content == "{" else "--log", str(path)]) == 2
    said = capsys.readouterr().err
    assert ("is not a run log" in said or "no run was begun" in said) and said.count("\n") == 1
    assert path.read_text() == content


def test_two_runs_do_not_write_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    logged(path)
    with opened(path, {key: value for key, value in header_of(path).items() if key != "draftproof_run"}):
        with pytest.raises(RunLogError, match="is being written by another run"):
            logged(path)


def test_a_log_of_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    logged(path)
    monkeypatch.setattr(run_log, "VERSION", 2)
    with pytest.raises(RunLogError, match="is a run log of format 1; this is 2"):
        header_of(path)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", FAULT, "--instance", NAMES[0], "--instance", NAMES[2], "--alpha", "1e-5", "--log", "log", "--json", "a.json"]) == 1
    first = capsys.readouterr()
    assert first.err == f"draftproof: nonconform   {FAULT}   exactness, first on {NAMES[0]}\n"
    content = Path("log").read_bytes()
    Path("log").write_bytes(content[:-7])
    assert main(["check", "--resume", "log", "--json", "b.json"]) == 1
    assert capsys.readouterr().out == first.out
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes() and timeless(Path("log").read_bytes()) == timeless(content)
    for more, said in (
        (["--alpha", "1e-6"], "log is the log of another run: its alpha is 1e-05, not 1e-06"),
        ([FAULT.replace("is_target", "of_first_row")], "its subject is"),
        (["--log", "log"], "give one of them"),
    ):
        assert main(["check", *more, "--resume", "log"]) == 2
        found = capsys.readouterr()
        assert said in found.err and found.out == "" and found.err.count("\n") == 1
    assert main(["check", "--resume", "nowhere"]) == 2
    assert capsys.readouterr().err == "draftproof: nowhere: No such file or directory\n"


SLOW_ENGINE = """
import time
from draftproof.oracle.faults import chains

def verify(drafts, declared, target):
    time.sleep(0.002)
    return chains.residual_is_target.call(drafts, declared, target)

verify.__draftproof__ = {"shape": "chain", "framework": "numpy", "batched": False, "family": "token"}
"""


def children(pid: int) -> list[int]:
    found = list[int]()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found


def killed_at_random(folder: Path, kills: int, jobs: int) -> None:
    """kill -9 of the run and of its workers, which comes first by chance, ``kills`` times; what the log held stays in it."""
    (folder / "engine.py").write_text(SLOW_ENGINE)
    names = [word for name in NAMES[:3] for word in ("--instance", name)]
    command = [sys.executable, "-m", "draftproof.cli", "check", "engine:verify", "--quiet", "--jobs", str(jobs), *names]

    def ran(*more: str) -> None:
        done = subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1 and done.stderr == "", done.stderr

    start = time.monotonic()
    ran("--json", "whole.json")
    took, log, rng = time.monotonic() - start, folder / "log", random.Random(7)
    for _ in range(kills):
        before = log.read_bytes() if log.exists() else b""
        whole = before[: before.rfind(b"\n") + 1]
        running = subprocess.Popen([*command, "--log", "log"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        time.sleep(rng.uniform(0.3, 0.9) * took)
        victims = [running.pid, *(children(running.pid) if running.poll() is None else [])]
        for victim in rng.sample(victims, len(victims)):
            if running.poll() is None or victim != running.pid:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        running.communicate(timeout=60)
        assert log.exists() is False or log.read_bytes().startswith(whole)
    ran("--log", "log", "--json", "resumed.json")
    assert (folder / "resumed.json").read_bytes() == (folder / "whole.json").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_killed_twice(tmp_path: Path) -> None:
    killed_at_random(tmp_path, 2, jobs=1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_ten_times(jobs: int, tmp_path: Path) -> None:
    killed_at_random(tmp_path, 10, jobs)


def test_every_line_is_json_and_holds_what_docs_say(tmp_path: Path) -> None:
    path = tmp_path / "log"
    logged(path)
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert list(header) == ["draftproof_run", "draftproof", "subject", "source", "settings", "instances", "items", "sum"]
    assert all(list(line) == ["item", "subject", "instance", "verdicts", "errors", "not_judged", "seconds", "sum"] for line in lines)
    assert [line["instance"] for line in lines] == NAMES == [instance for _, instance in header["items"]]
    docs = (Path(__file__).parents[2] / "docs" / "runs.md").read_text()
    assert all(f"`{key}`" in docs for key in (*header, *lines[0]))
