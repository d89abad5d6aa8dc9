"""Kernels compiled ahead of time, for a card that need not be there, and what they take of it.

    python -m draftproof.gpu_impl.kernels.ahead [--json] [KERNEL ...]
"""
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from . import use
from .exits import exits_kernel
from .greedy_transport import greedy_transport_kernel
from .k_seq import k_seq_kernel
from .predraw_follow import predraw_follow_kernel
from .recursive_rejection import recursive_rejection_kernel
from .select import select_kernel
from .sibling_masses import sibling_masses_kernel
from .top_tokens import merge_tops_kernel, tile_tops_kernel
from .traversal import traversal_kernel
from .tree_exit import tree_exit_kernel
from .univer import univer_kernel

KERNELS = {
    "predraw_follow": predraw_follow_kernel,
    "tree_exit": tree_exit_kernel,
    "recursive_rejection": recursive_rejection_kernel,
    "sibling_masses": sibling_masses_kernel,
    "traversal": traversal_kernel,
    "exits": exits_kernel,
    "univer": univer_kernel,
    "greedy_transport": greedy_transport_kernel,
    "k_seq": k_seq_kernel,
    "k_seq_point": k_seq_kernel,
    "select": select_kernel,
    "tile_tops": tile_tops_kernel,
    "merge_tops": merge_tops_kernel,
}
CONSTANTS = {"BLOCK": use.BLOCK, "BLOCKS": 128, "NODES": 64, "FRONTIER": 128, "TILE": use.BLOCK, "KEPT": 256}
KINDS = {"logits": "bf16", "probabilities": "fp32"}
OF_LOGITS = ("select", "tile_tops", "merge_tops")  # which never see probabilities
POINTS = ("k_seq_point",)  # with nothing declared
INTEGERS = ("tokens", "parents", "blocks", "accepted", "names", "depth", "rank", "parent", "keys")
SINGLES = ("tops", "highest", "gone_tops", "logits", "values")
SIZES = ("nodes", "vocabulary", "parts", "width", "wanted", "depths", "kept")


class Resources(NamedTuple):
    """Of one compiled kernel: registers a thread, bytes a thread spilled to or kept in local memory, bytes of shared memory."""

    registers: int
    local: int
    shared: int


def compiled(name: str, capability: int, logits: bool = True, dtype: str = "bf16") -> Resources:
    """Compile a kernel for sm_<capability>, at full vocabulary.  Raises what Triton raises, RuntimeError if the binary cannot be read."""
    kernel: Any = KERNELS[name]
    signature, constants = {}, {}
    for argument in inspect.signature(kernel.fn).parameters:
        if argument.isupper():
            signature[argument] = "constexpr"
            constants[argument] = logits if "LOGITS" in argument else name in POINTS if argument == "POINT" else CONSTANTS[argument]
        else:
            signature[argument] = _type(argument, dtype)
    options = {"num_warps": use.WARPS, "maxnreg": use.REGISTERS}
    found = triton.compile(ASTSource(kernel, signature, constexprs=constants), target=GPUTarget("cuda", capability, 32), options=options)
    return resources(found.asm["cubin"])


def _type(argument: str, dtype: str) -> str:
    if argument in ("target", "declared"):
        return f"*{dtype}"
    if argument in INTEGERS:
        return "*i64"
    if argument in SIZES:
        return "i32"
    if argument.startswith("stride") or argument in ("declared_batch", "declared_node"):
        return "i64"
    if argument in ("cold", "cold_declared"):
        return "fp32"
    return {"valid": "*i1", "kids": "*i32", "gones": "*i32"}.get(argument, "*fp32" if argument in SINGLES else "*fp64")


def resources(binary: bytes) -> Resources:
    """Read from a cubin by NVIDIA's cuobjdump, which comes with Triton."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(binary)
        told = subprocess.run([tool, "--dump-resource-usage", file], capture_output=True, text=True, check=True).stdout
    numbers = dict(re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", told))
    if len(numbers) != 4:
        raise RuntimeError(f"cuobjdump said nothing about resources: {told!r}")
    return Resources(int(numbers["REG"]), int(numbers["STACK"]) + int(numbers["LOCAL"]), int(numbers["SHARED"]))


def _row(wanted: tuple[str, int, str]) -> tuple[Any, ...]:
    name, capability, kind = wanted
    return *wanted, *compiled(name, capability, kind == "logits", KINDS[kind])


def main() -> None:
    """The named kernels, or all, for sm_80 and sm_90, on bfloat16 logits and on float32 probabilities; exit status 1 if one spills."""
    names = [name for name in sys.argv[1:] if name != "--json"] or list(KERNELS)
    wanted = [
        (name, capability, kind) for name in names for capability in (80, 90) for kind in KINDS if kind == "logits" or name not in OF_LOGITS
    ]
    if len(wanted) > 8:  # else the processes take longer to start
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            table = list(pool.map(_row, wanted))
    else:
        table = list(map(_row, wanted))
    if "--json" in sys.argv[1:]:
        print(json.dumps(table))
    else:
        for name, capability, kind, registers, local, shared in table:
            print(f"{name:<24} sm_{capability}  {kind:<14} {registers:>4} registers  {local:>4} bytes spilled  {shared:>6} bytes shared")
    sys.exit(any(row[4] for row in table))


if __name__ == "__main__":
    main()
