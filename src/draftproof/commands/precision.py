"""``draftproof precision``: what floating point makes of a verifier's law, with no sampling error."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from .common import EPILOG, SUBJECT_HELP, Progress, complain, positive, seed, tolerance, write

DESCRIPTION = """\
Is the law of a verifier that takes its uniforms within the tolerance at every uniform there is?  Sweeps all 2^24 of them through one decision after
the other on small instances, against the exact reference, and finds the law of the bonus token at a full vocabulary by bisection.  Takes minutes.
"""


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser("precision", help="what floating point makes of a verifier's law", description=DESCRIPTION, epilog=EPILOG)
    command.add_argument("subject", metavar="SUBJECT", help=SUBJECT_HELP)
    command.add_argument("--instance", action="append", metavar="FILE", help="sweep on this instance (file or catalogue name); may be repeated")
    command.add_argument("--bits", type=int, default=24, help="sweep 2^BITS uniforms (default 24: all there are of float32)")
    command.add_argument("--vocabulary", type=int, default=151_936, help="of the bonus token's law (default 151936), 0 for none")
    command.add_argument("--tokens", type=int, default=128, help="tokens looked at there, by mass and as many by number (default 128)")
    command.add_argument("--tolerance", type=tolerance, default=1e-6, help="largest total variation that conforms (default 1e-6)")
    command.add_argument("--seed", type=seed, default=0, help="of the rows and of the tokens looked at (default 0)")
    limit = "for each instance (default 3600); what is not done by then is inconclusive"
    command.add_argument("--time-limit", type=positive, default=3600.0, metavar="SECONDS", help=limit)
    command.add_argument("--strict", action="store_true", help="boundary events, and differences at a uniform that is itself a threshold, count")
    command.add_argument("--json", type=Path, metavar="OUT", help="write the report to this file")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.precision import GRACE, Settings, precision_task
    from draftproof.oracle.report import Failure, Report
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import UsageError, instance_named

    if options.json and not options.json.resolve().parent.is_dir():
        return complain(f"cannot write {options.json}: no folder {options.json.resolve().parent}")
    settings = {each.name: getattr(options, each.name) for each in fields(Settings)}
    try:
        Settings(**settings)
        sources = None if options.instance is None else [{**one.source, "name": one.name} for one in map(instance_named, options.instance)]
    except (UsageError, ValueError) as error:
        return complain(str(error))
    work, report = {"spec": options.subject, "instances": sources, "settings": settings}, Report(settings=settings)
    try:
        with Progress(options.quiet) as progress:
            for kind, found in supervised(precision_task, work, options.time_limit + GRACE):
                if kind == "fatal":
                    return complain(found)
                if kind == "progress":
                    progress.show(*found)
                elif kind == "found":
                    report.put(found)
                else:
                    report = found
    except WorkerLost as lost:
        report.put(Failure(options.subject, "", str(lost)))  # beside what was found before
    if options.json:
        write(options.json, report.to_json() + "\n")
    print(report)
    if report.outcome == "error" and not report.errors:
        return complain("nothing was judged: see above why" if report.not_judged else "nothing was judged: no instance suits this subject")
    return report.exit_code
