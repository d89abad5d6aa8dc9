"""``draftproof league``: every verifier an instance admits, against the ceiling."""

import argparse
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import SUBJECT_HELP, Progress, complain, decimal, positive, seed, write

if TYPE_CHECKING:
    from fractions import Fraction

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
    command.add_argument("--time-limit", type=positive, default=120.0, metavar="SECONDS", help="per verifier and per ceiling (default 120)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--plot", type=Path, metavar="OUT", help="draw the means as bars: OUT.svg, or OUT.png (which needs pillow)")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    if bool(options.instances) == bool(options.random):
        return complain("give instances, or a --random family")
    if options.plot and options.plot.suffix.lower() not in (".svg", ".png"):
        return complain(f"cannot draw {options.plot}: give a file name that ends in .svg or .png")
    if options.plot and not options.plot.resolve().parent.is_dir():
        return complain(f"cannot write {options.plot}: no folder {options.plot.resolve().parent}")
    from draftproof.oracle.league import generated, means, played
    from draftproof.oracle.tasks import UsageError, instance_named

    try:
        instances = list(generated(*options.random)) if options.random else [instance_named(name) for name in options.instances]
        standings: list[Standing] = []
        with Progress(options.quiet) as progress:
            progress.show(instances[0].name, 0, len(instances))
            for one in played(instances, options.subject, options.seed, options.time_limit):
                standings.append(one)
                progress.show(one.instance, len(standings), len(instances))
    except UsageError as error:
        return complain(str(error))
    overall = means(standings)
    if options.plot:
        from draftproof.oracle.drawing import DrawingError, rendered
        from draftproof.oracle.league_drawing import draw

        try:
            write(options.plot, rendered(draw(overall), options.plot.suffix))
        except (DrawingError, OSError) as error:
            return complain(f"cannot draw {options.plot}: {error}")
    if options.json:
        shown = [] if options.random else [one.as_dict() for one in standings]
        incomplete = [{"instance": one.instance, "no_ceiling": one.top.reason, "late": list(one.late)} for one in standings if _incomplete(one)]
        print(json.dumps({"instances": shown, "means": [mean.as_dict() for mean in overall], "incomplete": incomplete}))
    else:
        tables = [] if options.random else [_one(standing) for standing in standings]
        several = overall if options.random else [mean for mean in overall if sum(one.scheme == mean.scheme for one in standings) > 1]
        notes = [line for one in standings if options.random and _incomplete(one) for line in _notes(one)]
        print("\n\n".join([*tables, *_means(several), *(["\n".join(notes)] if notes else [])]))
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
    """The table of one instance."""
    ceiling, gap = standing.top.ceiling, standing.top.gap
    within = f" (known to within {decimal(str(gap))})" if gap else ""
    exact = "" if ceiling is None or len(str(ceiling)) > 20 or ceiling.denominator == 1 else f"{ceiling} = "
    known = "no certified ceiling" if ceiling is None else f"ceiling {exact}{float(ceiling):.6f}{within}"
    left_out = [f"  left out, with too many draft trees to replay: {', '.join(standing.left_out)}"] if standing.left_out else []
    rows = _lines("E[L]", [(row, row.remark) for row in standing.rows], [ceiling] * len(standing.rows)) if standing.rows else []
    return "\n".join([f"{standing.instance}: {_drafting(standing.scheme)}, {known}", *rows, *left_out, *(f"  {note}" for note in _notes(standing))])


def _incomplete(standing: "Standing") -> bool:
    return standing.top.ceiling is None or bool(standing.late)


def _notes(standing: "Standing") -> list[str]:
    """What is missing, and why."""
    late = [f"{standing.instance}: not done within the time limit: {', '.join(standing.late)}"] if standing.late else []
    return [*late, *([f"{standing.instance}: no certified ceiling, {standing.top.reason}"] if standing.top.ceiling is None else [])]


def _means(means: "Sequence[Mean]") -> list[str]:
    """A table for each way of drafting."""
    out: list[str] = []
    for scheme, group in groupby(means, key=lambda mean: mean.scheme):
        rows = list(group)
        count = max(mean.instances for mean in rows)
        ceiling = next(mean.ceiling for mean in rows if mean.instances == count)
        known = "no mean ceiling" if ceiling is None else f"mean ceiling {float(ceiling):.6f}"
        title = f"{_drafting(scheme)}, {count} instance{'s' * (count > 1)}, {known}"
        remarks = [(mean, mean.remark if mean.instances == count else f"on {mean.instances} of {count}") for mean in rows]
        out.append("\n".join([title, *_lines("mean E[L]", remarks, [mean.ceiling for mean in rows])]))
    return out


def _drafting(scheme: str) -> str:
    return f"{scheme.replace('_', ' ')} drafting"


def _lines(length: str, rows: "Sequence[tuple[Row | Mean, str]]", ceilings: "Sequence[Fraction | None]") -> list[str]:
    """A header and one line a verifier; eighty columns hold it."""
    from draftproof.oracle.league import shortened

    names = [shortened(row.verifier) for row, _ in rows]
    width = max(map(len, names))
    return [
        f"  {'':<{width}}  {length:>9}  {'of ceiling':>10}  lossless",
        *(
            f"  {name:<{width}}  {float(row.length):9.6f}  {_share(row, ceiling):>10}  {_lossless(row):<11}  {remark}".rstrip()
            for name, (row, remark), ceiling in zip(names, rows, ceilings, strict=True)
        ),
    ]


def _share(row: "Row | Mean", ceiling: "Fraction | None") -> str:
    return "-" if ceiling is None else f"{float(row.length / ceiling):.2%}"


def _lossless(row: "Row | Mean") -> str:
    return {True: "yes", None: "undecided", False: f"NO, TV {row.distance:.2g}"}[row.lossless]
