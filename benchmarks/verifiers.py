"""Our verifiers beside what people run today, on a CPU, from float32 logits: one table, every number from one run.

    python benchmarks/verifiers.py [--batch 1 8] [--nodes 16 64] [--vocabulary 32000 151936] [--tree chain tree] [--only NAME ...]
                                   [--threads 1] [--repeats 5] [--all] [--record] [--history FILE]

Contenders take turns, with new uniforms each turn; times are medians in milliseconds of processor time (the clock's, on an idle machine, with
one thread), since a busy machine stretches the clock's unevenly; with several threads by the clock: leave the machine alone then.
For each of our verifiers: "rows" is how many rows of
logits it read (median), "floor" reads as many once, "softmax" is one softmax of each, a row at a time, into memory already there.
"given lse": the drafter hands over the logsumexp of its rows.
Shapes whose logits take more than 3.5 GiB are left out, and said so.  "peak" is the process's peak memory over our calls, logits included.
--all: batch 1, 8, 64 and nodes 16, 64, 256.  --record appends the run to the history; every run is compared with the last one there.
"""

import argparse
import gc
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from speed_cases import Case, Shape, greedy_drafts, make
from speed_peers import peers

from draftproof import gpu_impl
from draftproof.gpu_impl import LogitRows
from draftproof.gpu_impl.rowwise import trees

GIVEN = " given lse"
NAMES = ("predraw_follow", "tree_exit", "recursive_rejection", "traversal", f"traversal{GIVEN}", "k_seq", "greedy_transport", "univer",
         f"univer{GIVEN}")
GREEDY = ("greedy_transport", "univer", f"univer{GIVEN}")  # their drafts are drawn otherwise
LIMIT = 7 << 29
WORSE = 1.5  # a ratio that has grown by this much is pointed out
HISTORY = Path(__file__).parent / "history" / "verifiers.jsonl"
COLD = torch.zeros(1 << 24)
Call = Callable[[], Any]


def ours(name: str, case: Case) -> Call:
    verifier = getattr(gpu_impl, name.removesuffix(GIVEN))
    target, declared = LogitRows(case.target), LogitRows(case.draft, logsumexp=case.logsumexp if name.endswith(GIVEN) else None)
    return lambda: verifier(*case.tree, target, declared)


def rows_read(call: Call, turn: int) -> list[torch.Tensor]:
    """The rows of logits that a call of this turn reads, in order."""
    found = []
    torch.manual_seed(turn)

    def spy(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(rows: Any, batch: int, node: int, *token: int) -> Any:
            found.append(rows.logits[batch, node])
            return original(rows, batch, node, *token)

        return read

    with patch.object(trees, "read", spy(trees.read)), patch.object(trees, "mass", spy(trees.mass)), \
            patch.object(trees, "alone", spy(trees.alone)):
        call()
    return found


def clock(call: Call, turn: int = 0) -> float:
    torch.manual_seed(turn)
    COLD.add_(1)  # whoever comes next finds the logits in memory, not in the cache
    now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = now()
    call()
    return (now() - start) * 1e3


def floors(rows: list[torch.Tensor]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """One read, and one softmax, of each of these rows."""
    out = torch.empty_like(rows[0])
    return lambda: [row.amax() for row in rows], lambda: [torch.softmax(row, -1, out=out) for row in rows]


def measure(case: Case, names: list[str], rivals: dict[str, Callable[[Case], Any]], repeats: int) -> dict[str, dict[str, Any]]:
    """Every contender in turn, ``repeats`` times; a rival slower than two seconds only once."""
    calls = {name: ours(name, case) for name in names}
    reset_peak()
    read = {name: [rows_read(call, turn) for turn in range(repeats)] for name, call in calls.items()}  # warms up, too
    most = peak()
    times: dict[str, list[float]] = {}
    for turn in range(repeats):
        for name, call in calls.items():
            times.setdefault(name, []).append(clock(call, turn))
            floor, softmax = floors(read[name][turn])
            times.setdefault(f"{name} floor", []).append(clock(floor))
            times.setdefault(f"{name} softmax", []).append(clock(softmax))
        for name, rival in rivals.items():
            if not (turn and times[name][0] > 2000):
                times.setdefault(name, []).append(clock(partial(rival, case), turn))
    median = {name: statistics.median(found) for name, found in times.items()}
    return {
        name: {"ms": median[name], "rows": statistics.median(map(len, read[name])), "floor": median[f"{name} floor"],
               "softmax": median[f"{name} softmax"], "rivals": {rival: median[rival] for rival in rivals},
               "peak GiB": most}
        for name in names
    }


def run(shape: Shape, names: list[str], repeats: int) -> dict[str, Any]:
    """One shape: the verifiers of sampled drafts, then those of greedy drafts on theirs; the rivals on both."""
    gc.collect()  # the shape before is out of memory
    case = make(shape)
    found = measure(case, [name for name in names if name not in GREEDY], peers(shape.tree), repeats)
    if greedy := [name for name in names if name in GREEDY]:
        found |= measure(greedy_drafts(case), greedy, peers(shape.tree), repeats)
    return {"shape": str(shape), "ms": found}


def reset_peak() -> None:
    """Where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        pass


def peak() -> float:
    """Peak memory of this process, in GiB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / (1 << 20)
    return float("nan")


def ratios(result: dict[str, Any]) -> dict[str, float]:
    """Ours over one softmax of the rows read: what is compared between runs."""
    return {f"{result['shape']} {name}": row["ms"] / row["softmax"] for name, row in result["ms"].items() if "softmax" in row}


def show(result: dict[str, Any]) -> None:
    print(f"\n{result['shape']}   peak {max(row['peak GiB'] for row in result['ms'].values()):.2f} GiB")
    shown: dict[str, float] = {}
    for name, row in result["ms"].items():
        if row["rivals"] != shown:  # greedy drafts are others
            shown = row["rivals"]
            print("  " + "   ".join(f"{rival} {ms:.1f} ms" for rival, ms in shown.items()))
            print(f"  {'':<22} {'ms':>8} {'rows':>6} {'floor':>8} {'softmax':>8} {'x floor':>8} {'x softmax':>9}  "
                  + "  ".join(f"{rival:>14}" for rival in shown))
        ms = row["ms"]
        gains = "  ".join(f"{rival / ms:13.1f}x" for rival in shown.values())
        print(f"  {name:<22} {ms:8.2f} {row['rows']:6.0f} {row['floor']:8.2f} {row['softmax']:8.2f} {ms / row['floor']:8.1f} "
              f"{ms / row['softmax']:9.2f}  {gains}", flush=True)


def compare(results: list[dict[str, Any]], history: Path) -> None:
    """Against the last recorded run that has the same shape, on as many threads."""
    before: dict[str, float] = {}
    for line in history.read_text(encoding="utf-8").splitlines() if history.exists() else []:
        if (run := json.loads(line))["threads"] == torch.get_num_threads():
            for result in run["results"]:
                before |= ratios(result)
    now = {key: ratio for result in results for key, ratio in ratios(result).items()}
    worse = {key: ratio for key, ratio in now.items() if key in before and ratio > WORSE * before[key]}
    known = len(now.keys() & before.keys())
    print(f"\n{known} of {len(now)} ratios to softmax were recorded before; {len(worse)} have grown by more than {WORSE} times")
    for key, ratio in worse.items():
        print(f"  {key}: {ratio:.2f}, was {before[key]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--nodes", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[32_000, 151_936])
    parser.add_argument("--tree", nargs="+", choices=("chain", "tree"), default=["chain", "tree"])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--all", action="store_true", help="batch 1, 8, 64 and nodes 16, 64, 256")
    parser.add_argument("--record", action="store_true", help="append this run to the history")
    parser.add_argument("--history", type=Path, default=HISTORY)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    batches, nodes = ([1, 8, 64], [16, 64, 256]) if options.all else (options.batch, options.nodes)
    shapes = [Shape(b, n, v, tree) for v in options.vocabulary for b in batches for n in nodes for tree in options.tree]
    results, left_out, load = [], [], f"{os.getloadavg()[0]:.1f}"
    for shape in shapes:
        if shape.bytes > LIMIT:
            left_out.append(shape)
            continue
        results.append(run(shape, options.only, options.repeats))
        show(results[-1])
    for shape in left_out:
        print(f"left out: {shape}, whose target and draft logits take {shape.bytes / (1 << 30):.1f} GiB, more than {LIMIT / (1 << 30)}")
    compare(results, options.history)
    if options.record:
        options.history.parent.mkdir(parents=True, exist_ok=True)
        machine = {"processor": platform.processor() or platform.machine(), "torch": torch.__version__, "threads": options.threads,
                   "load": f"{load} to {os.getloadavg()[0]:.1f}"}
        with options.history.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"when": time.strftime("%Y-%m-%d"), "all": options.all, **machine, "results": results}) + "\n")


if __name__ == "__main__":
    main()
