"""Write the tables of docs/speed.md from the newest recorded runs: the page shows what benchmarks/history holds, and a test compares them.

    python benchmarks/speed_page.py
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, HISTORY = ROOT / "docs" / "speed.md", ROOT / "benchmarks" / "history" / "verifiers.jsonl"
BLOCK = re.compile(r"(<!-- recorded: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
LARGEST = "8 x 256 x 151936 tree"
Times = dict[str, dict[str, Any]]


def newest(shape: str, threads: int, history: Path = HISTORY) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last run that has the shape on so many threads, and its result.  Raises KeyError if there is none."""
    for line in reversed(history.read_text(encoding="utf-8").splitlines()):
        run = json.loads(line)
        for result in run["results"]:
            if result["shape"] == shape and run["threads"] == threads:
                return run, result
    raise KeyError(f"no recorded run of {shape} on {threads} threads")


def large(threads: int) -> str:
    """Against one softmax of the rows read, and against the peers, at 8 x 64 x 151,936."""
    found = [newest(f"8 x 64 x 151936 {tree}", threads) for tree in ("chain", "tree")]
    lines = [said(found), "", "| verifier | " + " | ".join(
        f"rows read, {tree} | over one softmax | predraw walk | sibling loop" for tree in ("chain", "tree")) + " |", "|" + "---|" * 9]
    both: list[Times] = [result["ms"] for _, result in found]
    for name in both[0]:
        cells = [name]
        for times in both:
            own, others = times[name], times[name]["rivals"]
            cells += [f"{own['rows']:.0f}", f"{own['ms'] / own['softmax']:.1f}", f"{others['predraw walk'] / own['ms']:.0f}x",
                      f"{others['sibling loop'] / own['ms']:.1f}x"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def one() -> str:
    """Batch 1: milliseconds, and how many times longer the fastest peer takes."""
    shapes = [f"1 x 64 x {vocabulary} {tree}" for vocabulary in (32_000, 151_936) for tree in ("chain", "tree")]
    found = [newest(shape, 1) for shape in shapes]
    lines = [said(found), "", "| ms | " + " | ".join(shapes) + " |", "|" + "---|" * (1 + len(shapes))]
    for name in found[0][1]["ms"]:
        rows = [result["ms"][name] for _, result in found]
        cells = [f"{row['ms']:.1f} ({min(row['rivals'].values()) / row['ms']:.1f}x)" for row in rows]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def every() -> str:
    """All shapes of the newest run of ``--all``: milliseconds, and how many times longer the fastest peer takes."""
    runs = [run for run in map(json.loads, HISTORY.read_text(encoding="utf-8").splitlines()) if run.get("all")]
    found = [(runs[-1], result) for result in runs[-1]["results"]]
    names = list(found[0][1]["ms"])
    lines = [said(found, [newest(LARGEST, 1)]), "", "| | " + " | ".join(names) + " |", "|" + "---|" * (1 + len(names))]
    for _, result in found:
        cells = [f"{row['ms']:.1f} ({min(row['rivals'].values()) / row['ms']:.1f}x)" for row in result["ms"].values()]
        lines.append(f"| {result['shape']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def said(found: list[tuple[dict[str, Any], dict[str, Any]]], largest: list[tuple[dict[str, Any], dict[str, Any]]] | None = None) -> str:
    """Of a table what else was recorded; peak memory from ``largest``, a run by itself."""
    run, threads = found[0][0], found[0][0]["threads"]
    peak = max(row["peak GiB"] for _, result in largest or found for row in result["ms"].values())
    walk = [row["rivals"]["predraw walk"] / 1e3 for _, result in found for row in result["ms"].values()]
    clock = "processor time" if threads == 1 else "by the clock"
    return (f"Recorded {run['when']}, torch {run['torch']}, {threads} thread{'s' * (threads > 1)}, {clock}, load {run['load']}; "
            f"peak memory of ours {peak:.1f} GiB, logits included; the predraw walk took {min(walk):.2g} to {max(walk):.2g} s.")


BLOCKS = {"one_thread": lambda: large(1), "two_threads": lambda: large(2), "batch_one": one, "every_shape": every}


def filled(page: str) -> str:
    """The page with its recorded blocks as they should be."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
