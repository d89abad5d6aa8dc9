"""Where a subject comes from and what it runs on: for reports that are read elsewhere and later."""

import inspect
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .subjects import Subject

PACKAGES = ("numpy", "scipy", "cvxpy", "python-flint", "torch", "triton", "transformers")
"""Those whose version may matter to a verdict; the ones that are installed are listed."""

DECLARED = ("shape", "family", "rows", "dtype", "framework", "device", "randomness", "batched", "claims")
"""What is said of a subject."""


@cache
def environment() -> dict[str, Any]:
    """Versions and platform, without importing anything heavy."""
    installed = dict[str, str]()
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"python": python, "platform": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count(), "packages": installed}


def about(subject: Subject) -> dict[str, Any]:
    """What ``subject`` declares, the device behind its name, and the file (relative where it is below the current folder) and line of its code."""
    declared = {key: getattr(subject, key) for key in DECLARED if hasattr(subject, key)}
    where = _place(subject.call)
    card = _card(str(declared.get("device", "cpu")))
    return {**{key: value for key, value in declared.items() if value is not None}, **({"card": card} if card else {}), **where}


def _place(call: Any) -> dict[str, Any]:
    """Nothing for what has no code of its own, such as a command in another language."""
    code = getattr(inspect.unwrap(call), "__code__", None)
    if code is None or getattr(call, "out_of_process", False) or not Path(code.co_filename).is_file():
        return {}
    path = Path(code.co_filename).resolve()
    here = Path.cwd()
    return {"file": str(path.relative_to(here) if path.is_relative_to(here) else path), "line": code.co_firstlineno}


def _card(device: str) -> str:
    """The name of a CUDA device, where torch sees it."""
    if not device.startswith("cuda"):
        return ""
    try:
        import torch

        return str(torch.cuda.get_device_name(device))
    except Exception:  # no torch, no such device, no driver: the verdicts say so
        return ""
