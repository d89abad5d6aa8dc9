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
    command.add_argument("--tier", choices=("smoke", "standard"), default="standard", help="smoke: one instance for each kind of fault")
    command.add_argument("--alpha", type=probability, default=1e-6, help="false-positive bound of sampling for the whole run (default 1e-6)")
    command.add_argument("--tolerance", type=tolerance, help="largest total variation that conforms (default by way of reading: 1e-6, 2e-5, 2e-2)")
    command.add_argument("--way", choices=("enumerate", "integrate", "sample"), help="insist on one way of reading (default: the strongest)")
    command.add_argument("--seed", type=seed, default=0, help="seed of everything sampled (default 0)")
    limit = "per instance (default 120); a subject stuck in native code is ended 10 s later"
    command.add_argument("--time-limit", type=positive, default=120.0, metavar="SECONDS", help=limit)
    command.add_argument("--strict", action="store_true", help="count boundary events of mass at most 2^-23")
    less = "after a failure, look for the smallest instance that still fails, for this many seconds (default 10), and print it"
    command.add_argument("--shrink", type=positive, nargs="?", const=10.0, metavar="SECONDS", help=less)
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
    settings = {key: getattr(options, key) for key in ("way", "alpha", "tolerance", "seed", "time_limit", "strict", "tier")}
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
    if options.shrink is not None:
        show_smallest(report, sources, options)
    return report.exit_code


def show_smallest(report: Any, sources: list[dict[str, Any]] | None, options: argparse.Namespace) -> None:
    """Shrink and print the first failure of every subject; why not, where it cannot be shrunk."""
    from draftproof.oracle.shrink import VERDICTS, shrink_task
    from draftproof.oracle.supervise import WorkerLost, supervised

    for subject in report.subjects:
        wrong = [one for one in report.of(subject).verdicts if one.outcome == "nonconform"]
        failed = [one for one in wrong if one.verdict in VERDICTS]
        if not failed:
            if wrong:
                print(f"\nnot shrunk: {subject}: there is no instance behind the verdict {wrong[0].verdict}")
            continue
        first = min(failed, key=lambda one: VERDICTS.index(one.verdict))
        source = next((one for one in sources or () if one["name"] == first.instance.partition(" lifted by ")[0]), None)
        work = {key: getattr(options, key) for key in ("tolerance", "strict", "alpha", "seed")}
        work |= {"spec": options.subject, "source": source, "failed": first, "seconds": options.shrink}
        print()
        try:
            for _, text in supervised(shrink_task, work, options.time_limit + options.shrink):
                print(text)
        except WorkerLost as lost:
            print(f"not shrunk: {subject}: {lost}")


def list_lifts() -> int:
    """Print every lift with a line about it."""
    from draftproof.oracle.lifts import LIFTS

    for lift in LIFTS:
        print(f"{lift.name:<16} {lift.about}{' (not in all)' if lift.large else ''}")
    return 0


def _source(instance: Any) -> dict[str, Any]:
    return {**instance.source, "name": instance.name}
