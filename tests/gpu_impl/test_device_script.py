"""The script for machines with a GPU: what it does without one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "device.py"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "ignore", str(SCRIPT), *arguments], env=os.environ | environment, capture_output=True, text=True,
                          timeout=600)


@pytest.mark.slow
def test_dry_run_goes_through_the_kernels(tmp_path: Path) -> None:
    done = run("--dry", "--out", str(tmp_path / "device.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    (shares,) = json.loads((tmp_path / "device.json").read_text())["agreement"].values()
    assert set(shares.values()) == {1.0} and len(shares) == 8


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_is_no_pass(tmp_path: Path) -> None:
    done = run("--out", str(tmp_path / "device.json"))
    assert done.returncode == 2 and "no CUDA device" in done.stderr and not (tmp_path / "device.json").exists()
