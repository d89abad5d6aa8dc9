"""Every kernel compiles for cards that are not here, and spills no register; in a process of its own, where Triton does not interpret."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from draftproof.gpu_impl import kernels

ALL = ["predraw_follow", "tree_exit", "recursive_rejection", "sibling_masses", "traversal", "exits", "univer", "greedy_transport", "k_seq",
       "k_seq_point", "select", "tile_tops", "merge_tops"]
COMPILE = "from draftproof.gpu_impl.kernels import ahead, use; use.REGISTERS = {}; print(list(ahead.compiled('select', 90)))"


def python(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"} | {"TRITON_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-W", "ignore", *arguments], env=environment, capture_output=True, text=True, timeout=900)


def assert_no_spills(names: list[str], cache: Path) -> None:
    run = python(cache, "-m", "draftproof.gpu_impl.kernels.ahead", "--json", *names)
    assert run.returncode == 0, run.stdout + run.stderr
    table = json.loads(run.stdout)
    assert {(row[0], row[1]) for row in table} == {(name, capability) for name in names for capability in (80, 90)}
    assert all(0 < registers <= 255 and local == 0 for *_, registers, local, _ in table)


def test_two_small_ones(tmp_path: Path) -> None:
    assert_no_spills(["select", "predraw_follow"], tmp_path)


def test_no_kernel_is_left_out() -> None:
    sources = (file.read_text(encoding="utf-8") for file in Path(kernels.__path__[0]).glob("*.py"))
    assert sorted(name for source in sources for name in re.findall(r"@triton.jit\ndef (\w+)_kernel\(", source)) == sorted(
        name for name in ALL if name != "k_seq_point")


@pytest.mark.slow
def test_all(tmp_path: Path) -> None:
    assert_no_spills(ALL, tmp_path)


def test_spills_are_seen(tmp_path: Path) -> None:
    """The planted fault: too few registers."""
    run = python(tmp_path, "-c", COMPILE.format(32))
    assert run.returncode == 0 and json.loads(run.stdout)[1] > 0, run.stdout + run.stderr
