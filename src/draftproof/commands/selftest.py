"""``draftproof selftest``: judge the oracle itself, on planted faults and on controls."""

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import EPILOG, Progress, complain, seed, write

if TYPE_CHECKING:
    from draftproof.oracle.selftest import Finding, Selftest


def add(commands: Any) -> None:
    """Put the command on the parser."""
    what = "Judge every planted fault in every way of reading, and every control; anything that is not as stated beforehand fails."
    command = commands.add_parser("selftest", help="judge the oracle: planted faults and controls", description=what, epilog=EPILOG)
    tiers = "smoke: one fault of each kind and family, under a minute; standard (default): all, minutes"
    command.add_argument("--tier", choices=("smoke", "standard"), default="standard", help=tiers)
    command.add_argument("--workers", type=_workers, default=os.cpu_count() or 1, help="processes (default: one a core)")
    command.add_argument("--seed", type=seed, default=0, help="seed of everything sampled (default 0)")
    command.add_argument("--json", type=Path, metavar="OUT", help="write everything found to this file")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=run)


def _workers(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1024:
        raise argparse.ArgumentTypeError(f"{text} is not a number of processes")
    return value


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    import json

    from draftproof import __version__
    from draftproof.oracle import selftest

    if options.json and not options.json.resolve().parent.is_dir():
        return complain(f"cannot write {options.json}: no folder {options.json.resolve().parent}")
    start = time.monotonic()
    with Progress(options.quiet) as progress:
        result = selftest.run(options.tier, options.workers, options.seed, progress.show)
    seconds = time.monotonic() - start
    if options.json:
        write(options.json, json.dumps({"draftproof": __version__, "seconds": seconds, **result.as_dict()}, indent=1) + "\n")
    _print(result, seconds)
    return 0 if result.outcome == "conform" else 1


def _print(result: "Selftest", seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    from draftproof.oracle import selftest
    from draftproof.oracle.faults import WAYS

    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # as in the log of a build: columns whole
    shown = Table(title="planted faults, by kind", title_justify="left")
    for column in ("kind", "faults", *WAYS, "blocks", "seconds", "ratio"):
        shown.add_column(column, justify="left" if column in WAYS else "right")
    kinds = sorted({finding.kind for finding in result.faults})
    for kind in [*kinds, None]:
        mine = [finding for finding in result.faults if kind in (None, finding.kind)]
        ways = [_caught([finding for finding in mine if finding.way == way]) for way in WAYS]
        blocks = _middle([finding.blocks for finding in mine if finding.found == "caught"])
        ratio = _middle([finding.ratio for finding in mine])
        shown.add_row(
            kind or "all",
            str(len({finding.name for finding in mine})),
            *ways,
            "" if blocks is None else f"{blocks:.0f}",
            f"{sum(finding.seconds for finding in mine):.1f}",
            "" if ratio is None else f"{ratio:.2f}",
            end_section=kind == kinds[-1],
        )
    console.print(shown)
    said = "caught of those that the way can read; blocks: median of the sampled runs that caught, which look from 4096 on; ratio: see below"
    console.print(said, style="dim", soft_wrap=True)
    faults, caught = len({finding.name for finding in result.faults}), [finding for finding in result.faults if finding.found == "caught"]
    console.print(f"mutation score: {float(result.score):.1%} of {faults} faults are caught ({len(caught)} times, over all ways)", highlight=False)
    if result.ratio is not None:
        count = sum(finding.ratio is not None for finding in result.faults)
        said = f"the e-process takes {result.ratio:.2f} times the blocks of a sequential test that knows the fault (median of {count} faults"
        console.print(f"{said}, alpha {selftest.ALPHA:g} / 3 for either)", highlight=False, soft_wrap=True)
    wrong = sum(not finding.as_said for finding in result.controls)
    controls = len({finding.name for finding in result.controls})
    console.print(f"controls: {controls} lossless rules that look wrong, judged {len(result.controls)} times, {wrong} rejected", highlight=False)
    took = f"; {result.seconds:.0f} s of processor time"
    for line in selftest.lines(result):
        console.print(f"NOT as said: {line}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{'as said' if result.outcome == 'conform' else 'NOT as said'}, {seconds:.0f} s, tier {result.tier}{took}", highlight=False)


def _caught(findings: "list[Finding]") -> str:
    readable = [finding for finding in findings if finding.said != "unreadable"]
    if not readable:
        return "-"
    below = sum(finding.found == "below resolution" for finding in readable)
    caught = sum(finding.found == "caught" for finding in readable)
    return f"{caught} of {len(readable)}" + (f", {below} below" if below else "")


def _middle(values: list[Any]) -> float | None:
    from statistics import median

    known = [value for value in values if value is not None]
    return float(median(known)) if known else None
