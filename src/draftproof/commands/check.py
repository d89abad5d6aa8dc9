"""``draftproof check``: judge a verifier."""

import argparse
from pathlib import Path
from typing import Any

from .common import EPILOG, SUBJECT_HELP, Progress, complain, positive, probability, seed, tolerance, write


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser("check", help="judge a verifier", description="Judge a verifier on the catalogue of instances.", epilog=EPILOG)
    command.add_argument("subject", metavar="SUBJECT", nargs="?", help=SUBJECT_HELP)
    command.add_argument("--command", metavar="CMD", help="judge this program, in any language, that speaks JSON lines (docs/protocol.md)")
    command.add_argument("--transcript", type=Path, metavar="OUT", help="with --command: append every line exchanged to this file")
    command.add_argument("--instance", action="append", metavar="FILE", help="judge on this instance (file or catalogue name); may be repeated")
    lift = 'judge on instances lifted to real sizes: a name, several joined by +, "all", or "list"; may be repeated'
    command.add_argument("--lift", action="append", metavar="NAME", help=lift)
    command.add_argument("--alpha", type=probability, default=1e-6, help="false-positive bound of sampling for the whole run (default 1e-6)")
    command.add_argument("--tolerance", type=tolerance, help="largest total variation that conforms (default by way of reading: 1e-6, 2e-5, 2e-2)")
    command.add_argument("--way", choices=("enumerate", "integrate", "sample"), help="insist on one way of reading (default: the strongest)")
    command.add_argument("--seed", type=seed, default=0, help="seed of everything sampled (default 0)")
    limit = "per instance (default 120); a subject stuck in native code is ended 10 s later"
    command.add_argument("--time-limit", type=positive, default=120.0, metavar="SECONDS", help=limit)
    command.add_argument("--strict", action="store_true", help="count boundary events of mass at most 2^-23")
    command.add_argument("--json", type=Path, metavar="OUT", help="write the report to this file")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.report import Failure, Report
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import UsageError, check_task, instance_named

    if "list" in (options.lift or ()):
        return list_lifts()
    if (options.subject is None) == (options.command is None):
        return complain("give a SUBJECT or a --command, one of them")
    if options.command is not None:
        options.subject = f"command:{options.command}"
    if options.transcript and not options.subject.startswith("command:"):
        return complain("--transcript is for a --command")
    if options.json and not options.json.resolve().parent.is_dir():
        return complain(f"cannot write {options.json}: no folder {options.json.resolve().parent}")
    try:
        sources = None if options.instance is None else [_source(instance_named(name)) for name in options.instance]
    except UsageError as error:
        return complain(str(error))
    settings = {key: getattr(options, key) for key in ("way", "alpha", "tolerance", "seed", "time_limit", "strict")}
    settings |= {} if options.lift is None else {"lifts": options.lift}
    report, at = Report(settings=settings), f"{options.subject} on "
    try:
        with Progress(options.quiet) as progress:
            work = {"spec": options.subject, "sources": sources, "transcript": options.transcript, **settings}
            for kind, message in supervised(check_task, work, options.time_limit):
                if kind == "fatal":
                    return complain(message)
                if kind == "at":
                    at = message[0]
                    progress.show(*message)
                else:
                    report.put(message)
    except KeyboardInterrupt:
        print(report)
        raise
    except WorkerLost as lost:
        subject, _, instance = at.partition(" on ")
        report.errors.append(Failure(subject, instance, str(lost)))
    finally:
        if options.json:
            write(options.json, report.to_json() + "\n")
    print(report)
    if report.outcome == "error" and not report.errors:
        return complain("nothing was judged: no instance suits this subject")
    return report.exit_code


def list_lifts() -> int:
    """Print every lift with a line about it."""
    from draftproof.oracle.lifts import LIFTS

    for lift in LIFTS:
        print(f"{lift.name:<16} {lift.about}{' (not in all)' if lift.large else ''}")
    return 0


def _source(instance: Any) -> dict[str, Any]:
    return {**instance.source, "name": instance.name}
