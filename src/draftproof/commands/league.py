"""``draftproof league``: every verifier an instance admits, against the ceiling."""

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import SUBJECT_HELP, Progress, complain, decimal, positive, seed, short, write

if TYPE_CHECKING:
    from draftproof.oracle.league import Mean, Row, Standing

MOST_ROWS = 100_000
"""Rows of a generated model: V + V^2 + ... beyond this are a mistake."""


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "league",
        help="compare the verifiers an instance admits",
        description="Exact E[L] of every reference verifier that the instances admit, its share of the certified ceiling, lossless or not.",
    )
    command.add_argument("instances", metavar="FILE", nargs="*", help="instance files, or names of instances in the catalogue")
    command.add_argument("--random", type=_family, metavar="V,k,depth,seed,count", help="random targets and drafts instead, drafted by every scheme")
    command.add_argument("--subject", action="append", default=[], metavar="SUBJECT", help=f"add a row: {SUBJECT_HELP}")
    command.add_argument("--seed", type=seed, default=0, help="seed of a subject that has to be sampled (default 0)")
    command.add_argument("--time-limit", type=positive, default=120.0, metavar="SECONDS", help="per instance (default 120)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--plot", type=Path, metavar="OUT.svg", help="write a bar chart of the means")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    if bool(options.instances) == bool(options.random):
        return complain("give instances, or a --random family")
    if options.plot and options.plot.suffix != ".svg":
        return complain(f"{options.plot}: plots are written as .svg")
    if options.plot and not options.plot.resolve().parent.is_dir():
        return complain(f"cannot write {options.plot}: no folder {options.plot.resolve().parent}")
    from draftproof.oracle.league import generated, league_task, means
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import UsageError, instance_named

    try:
        instances = list(generated(*options.random)) if options.random else [instance_named(name) for name in options.instances]
        sources = [{**instance.source, "name": instance.name} for instance in instances]
        arguments = {"sources": sources, "subjects": options.subject, "seed": options.seed, "time_limit": options.time_limit}
        standings: list[Standing] = []
        with Progress(options.quiet) as progress:
            progress.show(instances[0].name, 0, len(instances))
            for kind, message in supervised(league_task, arguments, options.time_limit):
                if kind == "fatal":
                    return complain(message)
                standings.append(message)
                progress.show(message.instance, len(standings), len(instances))
    except (UsageError, WorkerLost) as error:
        return complain(str(error))
    overall = means(standings)
    if options.plot:
        from draftproof.oracle.league_drawing import draw

        write(options.plot, draw(overall).svg())
    if options.json:
        shown = [] if options.random else [one.as_dict() for one in standings]
        print(json.dumps({"instances": shown, "means": [mean.as_dict() for mean in overall]}))
    elif options.random or len(standings) > 1:
        print(_table(overall))
    else:
        print(_one(standings[0]))
    return 0


def _family(text: str) -> tuple[int, ...]:
    try:
        vocabulary, children, depth, start, count = (int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not V,k,depth,seed,count: five numbers") from None
    if min(vocabulary, children, depth, count) < 1 or vocabulary > 1000 or depth > 20 or vocabulary ** (depth + 1) > MOST_ROWS:
        raise argparse.ArgumentTypeError(f"{text!r}: V, k, depth and count must be positive and V^(depth + 1) at most {MOST_ROWS}")
    return vocabulary, children, depth, start, count


def _one(standing: "Standing") -> str:
    gap = "" if standing.gap == 0 else f" (known to within {decimal(str(standing.gap))})"
    title = f"{standing.instance}: {standing.scheme} drafting, ceiling {short(str(standing.ceiling))} = {float(standing.ceiling):.6f}{gap}"
    return "\n".join([title, *_lines((row, standing.ceiling) for row in standing.rows)])


def _table(means: "Sequence[Mean]") -> str:
    out: list[str] = []
    for scheme, group in groupby(means, key=lambda mean: mean.scheme):
        rows = list(group)
        count = max(mean.instances for mean in rows)
        title = f"{scheme} drafting, {count} instance{'s' * (count > 1)}, mean ceiling {float(rows[0].ceiling):.6f}"
        out += [title, *_lines((mean, mean.ceiling) for mean in rows), ""]
    return "\n".join(out).rstrip()


def _lines(rows: "Iterable[tuple[Row | Mean, Any]]") -> list[str]:
    """One line a verifier: mean block length, share of the ceiling, lossless or not, remark."""
    listed = list(rows)
    width = max(len(row.verifier) for row, _ in listed)
    verdict = {True: "lossless", False: "NOT lossless", None: "not decided"}
    return [
        f"  {row.verifier:<{width}}  {float(row.length):.6f}  {float(row.length / ceiling):8.2%}  {verdict[row.lossless]:<12}  {row.remark}".rstrip()
        for row, ceiling in listed
    ]
