"""Executors: wherever the items of a run are judged, and whatever happens to a worker, the report is the same."""

import importlib
import pickle
import random
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from draftproof.cli import main
from draftproof.oracle import SubjectError, check, workers
from draftproof.oracle.executors import executor
from draftproof.oracle.run import Job

FAULT = "draftproof.oracle.faults.chains:residual_is_target"
NAMES = ["chain-one-draft", "chain-argmax-draft", "chain-block", "chain-opposed", "chain-disjoint"]

ENGINE = """
import os, random, time
from draftproof.oracle import chain

@chain(framework="numpy", batched=False)
def first_row(drafts, declared, target):
    return [[random.choices(range(target.shape[2]), target[0, 0])[0]] + [-1] * drafts.shape[1]], [0]

@chain(framework="numpy", batched=False)
def awkward(drafts, declared, target):
    if target.shape[2] == 4:
        if drafts.shape[1] == 2:
            os.abort()
        if target[0, 0, 3] == 0:
            raise KeyboardInterrupt
        time.sleep(100)
    return first_row(drafts, declared, target)

@chain(framework="numpy", batched=False)
def sticks(drafts, declared, target):
    while target.shape[2] == 4:
        try:
            time.sleep(100)
        except BaseException:
            pass
    return first_row(drafts, declared, target)
"""


@pytest.fixture
def engine(tmp_path: Path) -> str:
    (tmp_path / "engine_of_runs.py").write_text(ENGINE)
    return f"{tmp_path}/engine_of_runs.py"


class Later(Executor):
    """Runs what it is given in this thread, in random order, some of it twice."""

    def __init__(self, seed: int):
        self._rng, self._waiting = random.Random(seed), list[tuple[Future[Any], Callable[[], Any]]]()

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, lambda: function(*arguments, **named)))
        threading.Timer(0.05, self._go).start()
        return future

    def _go(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._rng.shuffle(waiting)
        for future, call in waiting:
            if future.set_running_or_notify_cancel():
                call() if self._rng.random() < 0.5 else None
                future.set_result(call())


def test_order_and_retries_do_not_matter() -> None:
    here = check(FAULT, NAMES[:3])
    assert here.outcome == "nonconform"
    assert check(FAULT, NAMES[:3], executor=Later(1)).to_json() == here.to_json()


@pytest.mark.slow
def test_processes_and_subjects_that_are_callables(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(engine).parent)
    verify = importlib.import_module("engine_of_runs").first_row
    here = check(verify, NAMES[:3]).to_json()
    with executor("processes", 2) as two, ProcessPoolExecutor(1) as pool:  # another one's processes start ours
        assert check(verify, NAMES[:3], executor=two).to_json() == check(verify, NAMES[:3], executor=pool).to_json() == here


def test_dask() -> None:
    """A local cluster of two workers."""
    here = check(FAULT, NAMES[:3])
    with executor("dask", 2) as two:
        assert check(FAULT, NAMES[:3], executor=two).to_json() == here.to_json()


def test_a_worker_that_dies_or_hangs_costs_its_item(engine: str) -> None:
    """And the third of them ends its subject, as without an executor."""
    names = [*NAMES[:4], "chain-pairs", "chain-disjoint", "chain-equal"]
    with ThreadPoolExecutor(1) as one:
        report = check(f"{engine}:awkward", names, executor=one, time_limit=4.0)
    assert [(error.instance, error.message) for error in report.errors] == [
        ("chain-block", "crashed: the process died of SIGABRT"),
        ("chain-opposed", "did not come back within the time limit of 4 s"),
        ("chain-disjoint", "raised KeyboardInterrupt"),
    ]
    assert list(dict.fromkeys(one.instance for one in report.verdicts)) == ["chain-one-draft", "chain-argmax-draft", "chain-pairs"]


@pytest.mark.slow
def test_a_worker_that_cannot_be_interrupted(engine: str) -> None:
    with ThreadPoolExecutor(2) as two:
        report = check(f"{engine}:sticks", NAMES[:3], executor=two, time_limit=4.0)
    message = "did not come back within the time limit of 4 s and could not be interrupted; it was ended"
    assert [(error.instance, error.message) for error in report.errors] == [("chain-block", message)]
    assert list(dict.fromkeys(one.instance for one in report.verdicts)) == ["chain-one-draft", "chain-argmax-draft"]


def test_somebody_else_killed_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once is not the subject's doing."""
    honest, kills = workers.Worker.send, [1]

    def send(self: Any, message: Any) -> None:
        if message in kills:
            kills.remove(message)
            self._process.kill()
            self._process.join()
        honest(self, message)

    monkeypatch.setattr(workers.Worker, "send", send)
    with ThreadPoolExecutor(1) as one:
        assert check(FAULT, NAMES[:3], executor=one).to_json() == check(FAULT, NAMES[:3]).to_json()
    assert not kills


def test_fail_fast(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["chain-equal", "chain-one-draft", "chain-block"]
    report = check(FAULT, names, fail_fast=True)
    assert list(dict.fromkeys(one.instance for one in report.verdicts)) == names[:2]
    assert main(["check", FAULT, *(word for name in names for word in ("--instance", name)), "-x"]) == 1
    assert "not judged   1 instance not tried: stopped at the first nonconform instance\n" in capsys.readouterr().out
    assert [(one.instance, one.message) for one in report.not_judged] == [(names[2], "not tried: stopped at the first nonconform instance")]


def test_a_subject_that_cannot_be_sent() -> None:
    with executor("processes", 1) as one:
        with pytest.raises(ValueError, match="cannot be sent to another process .*: name it as module:callable"):
            check(lambda drafts, declared, target: None, NAMES, executor=one)
        with pytest.raises(SubjectError, match="cannot import nowhere"):
            check("nowhere:verify", NAMES, executor=one)
        with pytest.raises(ValueError, match="no lift 'up'"):
            check(FAULT, lifts=["up"], executor=one)


def test_an_executor_that_loses_items() -> None:
    class Loses(Executor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            if function is workers.listing:
                future.set_result(arguments[0].plan()[1])
            else:
                future.set_exception(RuntimeError("the machine is gone"))
            return future

    report = check(FAULT, NAMES, executor=Loses())
    assert [one.message for one in report.errors] == ["was lost by the executor: RuntimeError: the machine is gone"] * 3
    assert report.exit_code == 2


def test_a_job_keeps_its_instances_when_it_travels() -> None:
    job = Job.of(FAULT, NAMES, {"time_limit": 3.0})
    other = pickle.loads(pickle.dumps(job))
    assert other.sources == job.sources and other.id == job.id and other.time_limit == 3.0
    assert other.plan()[0].names == job.plan()[0].names == [(FAULT, name) for name in NAMES]
