"""The real command line, each run a process: exit codes, readable complaints, reports that survive what a subject does."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from draftproof.cli import main

SUBJECTS = '''
import os, random, signal, sys, time

def answer(drafts, target):
    blocks = [[random.choices(range(target.shape[2]), row)[0]] + [-1] * drafts.shape[1] for row in target[:, 0].tolist()]
    return blocks, [0] * len(blocks)

def declare(**declares):
    return lambda function: setattr(function, "__draftproof__", {"shape": "chain", "framework": "numpy", "dtype": "float64", **declares}) or function

@declare()
def lossless(drafts, declared, target):
    """One token a round."""
    return answer(drafts, target)

@declare()
def accepts_all(drafts, declared, target):
    last = [random.choices(range(target.shape[2]), row)[0] for row in target[:, -1].tolist()]
    return [[*row, token] for row, token in zip(drafts.tolist(), last)], [drafts.shape[1]] * len(last)

@declare()
def chatty(drafts, declared, target):
    print("loading weights ...")
    os.write(1, b"{ banner of a solver\\n")
    return answer(drafts, target)

@declare()
def leaves(drafts, declared, target):
    if target.shape[2] == 4:
        os._exit(7)
    return answer(drafts, target)

@declare()
def slow_on_four(drafts, declared, target):
    if target.shape[2] == 4:
        print("four tokens", file=sys.stderr, flush=True)
        time.sleep(100)
    return answer(drafts, target)

@declare()
def surrogates(drafts, declared, target):
    raise ValueError("no file \\udcff\\ud800")

@declare()
def real_time_signal(drafts, declared, target):
    os.kill(os.getpid(), 40)

@declare()
def dies(drafts, declared, target):
    os.kill(os.getpid(), signal.SIGSEGV)

@declare()
def hangs(drafts, declared, target):
    while True:
        try:
            time.sleep(100)
        except Exception:
            pass

@declare()
def strange(drafts, declared, target):
    return None
'''


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    (folder / "engine.py").write_text(SUBJECTS)
    (folder / "broken.py").write_text("import a_module_that_is_not_there\n")
    (folder / "tiny.json").write_text(
        json.dumps(
            {
                "vocabulary": 2,
                "target": {"": [1, 3], "0": [2, 1], "1": [1, 1]},
                "draft": {"": [1, 1]},
                "drafting": {"scheme": "chain", "children": [1]},
            }
        )
    )
    return folder


def cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "draftproof.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_conform(here: Path) -> None:
    done = cli(here, "check", "engine:lossless", "--instance", "chain-one-draft", "--instance", "tiny.json", "--json", "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("conform      engine:lossless\n")
    report = json.loads((here / "out.json").read_text())
    assert report["outcome"] == "conform" and report["settings"]["alpha"] == 1e-6
    assert {verdict["instance"] for verdict in report["verdicts"]} == {"chain-one-draft", "tiny.json"}


def test_nonconform_and_the_command_it_prints(here: Path) -> None:
    done = cli(here, "check", "engine.py:accepts_all@token", "--instance", "tiny.json")
    assert done.returncode == 1
    sentence = "at the root the next token should be 0 with probability 0.25; it is 0.5"
    assert sentence in done.stdout
    commands = {line.partition("see it again: ")[2] for line in done.stdout.splitlines() if "see it again" in line}
    assert commands == {"draftproof law tiny.json --subject engine.py:accepts_all@token"}
    again = cli(here, *shlex.split(commands.pop())[1:])
    assert again.returncode == 0 and sentence in again.stdout and "NOT lossless, total variation 0.25, E[L] = 2" in again.stdout


def test_inconclusive(here: Path) -> None:
    done = cli(here, "check", "engine:lossless", "--instance", "tiny.json", "--way", "sample", "--tolerance", "1e-6", "--time-limit", "3")
    assert done.returncode == 3
    assert "more blocks or more time are needed" in done.stdout
    assert "see it again: draftproof law tiny.json --subject engine:lossless --way sample" in done.stdout


def test_what_a_subject_prints_stays_out_of_the_json(here: Path) -> None:
    done = cli(here, "law", "tiny.json", "--subject", "engine:chatty", "--json")
    assert done.returncode == 0 and "banner of a solver" in done.stderr
    law = json.loads(done.stdout)
    assert law["exact"] is True and law["verifier"] == "engine:chatty" and law["expected_length"] == "1"
    assert law["blocks"] == [{"tokens": [0], "accepted": 0, "probability": "1/4"}, {"tokens": [1], "accepted": 0, "probability": "3/4"}]


def test_a_message_that_is_no_text(here: Path) -> None:
    """File names may hold bytes that are not UTF-8: the report is written and printed all the same."""
    done = cli(here, "check", "engine:surrogates", "--instance", "tiny.json", "--json", "odd.json")
    assert done.returncode == 2 and r"no file \udcff\ud800" in done.stdout and "Traceback" not in done.stderr
    assert "no file \udcff\ud800" in json.loads((here / "odd.json").read_text())["errors"][0]["message"]


def test_interrupted_from_the_keyboard(here: Path) -> None:
    """What was judged is printed and written."""
    names = ["--instance", "chain-one-draft", "--instance", "chain-block"]
    command = [sys.executable, "-m", "draftproof.cli", "check", "engine:slow_on_four", *names, "--json", "cut.json"]
    running = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None and running.stderr.readline() == "four tokens\n"
    running.send_signal(signal.SIGINT)
    said, complaint = running.communicate(timeout=60)
    assert (running.returncode, complaint) == (130, "interrupted\n")
    assert said.startswith("error        engine:slow_on_four\n  support      1 conform")
    assert "interrupted: 1 of 2 instances were judged; a run with --log FILE is gone on with by draftproof check --resume FILE" in said
    written = json.loads((here / "cut.json").read_text())
    assert len(written["verdicts"]) == 4 and written["outcome"] == "error"  # never a pass, whoever reads it later


def test_a_subject_that_ends_the_process(here: Path) -> None:
    names = ["--instance", "chain-one-draft", "--instance", "chain-block", "--instance", "chain-pairs"]
    done = cli(here, "check", "engine:leaves", *names, "--json", "left.json")
    assert done.returncode == 2
    assert "error        instance chain-block: ended the process, with exit status 7" in done.stdout
    report = json.loads((here / "left.json").read_text())  # nothing else is lost
    assert {verdict["instance"] for verdict in report["verdicts"]} == {"chain-one-draft", "chain-pairs"}
    assert report["errors"][0]["instance"] == "chain-block" and report["outcome"] == "error"


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("engine:dies", "instance tiny.json: crashed: the process died of SIGSEGV"),
        ("engine:real_time_signal", "instance tiny.json: crashed: the process died of signal 40"),
        ("engine:hangs", "instance tiny.json: did not come back within the time limit of 1 s"),
        ("engine:strange", "returned None, not a pair (blocks, accepted)"),
    ],
)
def test_subjects_that_cannot_be_judged(here: Path, subject: str, said: str) -> None:
    done = cli(here, "check", subject, "--instance", "tiny.json", "--time-limit", "1", "--json", "bad.json")
    assert done.returncode == 2 and said in done.stdout
    assert json.loads((here / "bad.json").read_text())["errors"][0]["subject"] == subject


def test_law_of_a_subject_that_cannot_be_judged(here: Path) -> None:
    done = cli(here, "law", "tiny.json", "--subject", "engine:strange", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "draftproof: engine:strange on instance tiny.json: always returned None, not a pair (blocks, accepted)\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "broken:verify"], "cannot import broken: ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        (["check", "engine:lossless@blok"], "engine:lossless@blok: unknown verifier 'blok'; did you mean 'block'? known: predraw_follow"),
        (["law", "nowhere.json", "--subject", "engine:lossless"], "nowhere.json: No such file or directory"),
    ],
)
def test_usage_errors(here: Path, arguments: list[str], said: str) -> None:
    done = cli(here, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"draftproof: {said}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        "vectors export vectors.json --family token --instance chain-one-draft",
        "vectors export --family token --instance chain-one-draft vectors.json",
        "vectors --family token export --instance chain-one-draft vectors.json",
        "budget check no_such:builder --time-limit 9 --json",
        "budget check --time-limit 9 no_such:builder --json",
        "budget --time-limit 9 check --json no_such:builder",
    ],
)
def test_options_stand_anywhere(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = main(words.split()), capsys.readouterr()
    if words.startswith("vectors"):
        assert (code, said.out, said.err) == (0, "vectors.json: 1 laws, 10 tapes\n", "")
    else:
        assert code == 2 and said.err.startswith("draftproof: cannot import no_such: ")


@pytest.mark.parametrize("words", ["vectors export --famly token", "check gpu_impl another", "budget check --bogus 3 subject"])
def test_what_is_unknown_is_refused_under_the_usage_of_its_command(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    said, command = capsys.readouterr().err, words.split()[0]
    assert said.startswith(f"usage: draftproof {command} ") and f"\ndraftproof {command}: error: unrecognized arguments: " in said


def test_devices_pipes_and_links_are_written_to_and_not_replaced(here: Path, tmp_path: Path) -> None:
    """The planted fault would be what a whole file usually wants: another file, moved to where the old one was."""
    arguments = "check", "engine.py:lossless", "--instance", "chain-one-draft", "--json"
    pipe, real, link, read = tmp_path / "pipe", tmp_path / "real.json", tmp_path / "link.json", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert cli(here, *arguments, str(pipe)).returncode == 0
    reader.join(10)
    assert json.loads(read[0])["outcome"] == "conform" and pipe.is_fifo()
    real.write_text("old")
    link.symlink_to(real)
    assert cli(here, *arguments, str(link)).returncode == 0
    assert link.is_symlink() and json.loads(real.read_text())["outcome"] == "conform"
    assert not list(tmp_path.glob("*.part"))
    full = cli(here, *arguments, "/dev/full")
    assert (full.returncode, full.stderr.splitlines()[-1]) == (2, "draftproof: /dev/full: No space left on device")
    assert Path("/dev/full").is_char_device()


def test_a_full_standard_output_is_an_error(here: Path) -> None:
    command = [sys.executable, "-m", "draftproof.cli", "check", "engine.py:lossless", "--instance", "chain-one-draft"]
    with open("/dev/full", "w") as full:
        run = subprocess.run(command, cwd=here, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (2, "draftproof: standard output: No space left on device\n")
