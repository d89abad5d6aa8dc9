"""Executors by name: where the items of a run are judged."""

import importlib
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

EXECUTORS = ("processes", "dask")


@contextmanager
def executor(name: str, jobs: int) -> Iterator[Executor]:
    """``processes``: ``jobs`` threads, each of which keeps a process (see ``workers``).  ``dask``: the cluster of the scheduler that the environment
    variable DASK_SCHEDULER_ADDRESS names, else one of ``jobs`` workers on this machine.

    Raises ValueError when it is not installed or does not answer.
    """
    if name == "processes":
        with ThreadPoolExecutor(jobs) as pool:
            yield pool
        return
    try:
        dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    except ImportError:
        raise ValueError("the executor dask needs pip install 'draftproof[dask]'") from None
    cluster = {} if dask.config.get("scheduler-address", None) else {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    try:
        client: Any = distributed.Client(**cluster)
    except (OSError, ValueError) as error:
        raise ValueError(f"the executor dask cannot be had: {error}") from None
    with client:
        yield client.get_executor(pure=False)
