"""The worker process: its messages come through, its stdout does not, and it may die or hang without harm."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from draftproof.oracle import supervise
from draftproof.oracle.supervise import WorkerLost, signal_name, supervised

WORK = '''
import os, time

def count(send, upto):
    print("noise on stdout")
    for number in range(upto):
        send(number)

def linger(send):
    send(os.getpid())
    time.sleep(100)

def stop(send, how):
    send("before")
    if how == "hang":
        while True:
            try:
                time.sleep(100)
            except BaseException:
                pass
    if how == "raise":
        raise RuntimeError("no")
    os._exit(4) if how == "exit" else os.abort()
'''


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module that a new process can import."""
    folder: Path = tmp_path_factory.mktemp("work")
    (folder / "supervised_work.py").write_text(WORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        import supervised_work

        yield supervised_work


def test_messages(work: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert list(supervised(work.count, {"upto": 3}, 30)) == [0, 1, 2]
    out, err = capfd.readouterr()
    assert out == "" and "noise on stdout" in err


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("exit", "ended the process, with exit status 4"),
        ("abort", "crashed: the process died of SIGABRT"),
        ("raise", "ended the process, with exit status 1"),
        ("hang", "did not come back within the time limit of 0.5 s and could not be interrupted; it was ended"),
    ],
)
def test_lost(work: Any, how: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "GRACE", 5.0)
    start, messages = time.monotonic(), []
    with pytest.raises(WorkerLost) as lost:
        for message in supervised(work.stop, {"how": how}, 0.5):
            messages.append(message)
    assert str(lost.value) == said and messages == ["before"]
    assert time.monotonic() - start < 30


def test_a_worker_does_not_outlive_its_parent(work: Any) -> None:
    """Killed with SIGKILL, the parent cannot clean up."""
    program = "import supervised_work as work; from draftproof.oracle.supervise import supervised\n"
    program += "if __name__ == '__main__':\n    for pid in supervised(work.linger, {}, 100): print(pid, flush=True)\n"
    folder = Path(work.__file__).parent
    (folder / "parent.py").write_text(program)
    parent = subprocess.Popen([sys.executable, folder / "parent.py"], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    os.kill(worker, 0)
    parent.kill()
    parent.wait()
    start = time.monotonic()
    while time.monotonic() - start < 30:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the worker goes on")


def test_every_signal_has_a_name() -> None:
    assert signal_name(11) == "SIGSEGV" and signal_name(40) == "signal 40"
