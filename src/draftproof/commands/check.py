"""``draftproof check``: judge a verifier."""

import argparse
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

from .common import EPILOG, SUBJECT_HELP, Progress, complain, count, positive, probability, seed, show, tolerance, write
from .report import annotate, no_folder, outputs, shielded, write_files

SETTINGS: dict[str, Any] = {
    **{"way": None, "alpha": 1e-6, "tolerance": None, "seed": 0, "time_limit": 120.0, "strict": False},
    **{"tier": "standard", "lifts": None},
}
"""What a run is judged under when nothing else is said, here or in the log that it goes on with."""


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser("check", help="judge a verifier", description="Judge a verifier on the catalogue of instances.", epilog=EPILOG)
    command.add_argument("subject", metavar="SUBJECT", nargs="?", help=SUBJECT_HELP)
    command.add_argument("--command", metavar="CMD", help="judge this program, in any language, that speaks JSON lines (docs/protocol.md)")
    command.add_argument("--transcript", type=Path, metavar="OUT", help="with --command: append every line exchanged to this file")
    command.add_argument("--instance", action="append", metavar="FILE", help="judge on this instance (file or catalogue name); may be repeated")
    lift = 'judge on instances lifted to real sizes: a name, several joined by +, "all", or "list"; may be repeated'
    command.add_argument("--lift", action="append", dest="lifts", metavar="NAME", default=SUPPRESS, help=lift)
    command.add_argument("--tier", choices=("smoke", "standard"), default=SUPPRESS, help="smoke: one instance for each kind of fault")
    command.add_argument("--alpha", type=probability, default=SUPPRESS, help="false-positive bound of sampling for the whole run (default 1e-6)")
    distance = "largest total variation that conforms (default by way of reading: 1e-6, 2e-5, 2e-2)"
    command.add_argument("--tolerance", type=tolerance, default=SUPPRESS, help=distance)
    ways = ("enumerate", "integrate", "sample")
    command.add_argument("--way", choices=ways, default=SUPPRESS, help="insist on one way of reading (default: the strongest)")
    command.add_argument("--seed", type=seed, default=SUPPRESS, help="seed of everything sampled (default 0)")
    limit = "per instance (default 120); a subject stuck in native code is ended 10 s later"
    command.add_argument("--time-limit", type=positive, default=SUPPRESS, metavar="SECONDS", help=limit)
    command.add_argument("--strict", action="store_true", default=SUPPRESS, help="count boundary events of mass at most 2^-23")
    command.add_argument("-x", "--fail-fast", action="store_true", help="stop at the first instance that is nonconform")
    command.add_argument("--log", type=Path, metavar="FILE", help="append what is judged to this log, and skip what is judged there (docs/runs.md)")
    command.add_argument("--resume", type=Path, metavar="FILE", help="go on with the run of this log; its subject and settings need not be repeated")
    command.add_argument("--jobs", type=count, default=1, metavar="N", help="judge so many instances at once (default 1)")
    where = "processes of this machine (default), or a Dask cluster: that of DASK_SCHEDULER_ADDRESS, else a local one"
    command.add_argument("--executor", choices=("processes", "dask"), default="processes", help=where)
    less = "after a failure, look for the smallest instance that still fails, for this many seconds (default 10), and print it"
    command.add_argument("--shrink", type=positive, nargs="?", const=10.0, metavar="SECONDS", help=less)
    command.add_argument("--json", type=Path, metavar="OUT", help="write the report to this file")
    outputs(command)
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    if (unwritable := no_folder(options)) is not None:
        return complain(unwritable)
    options.report = None
    with shielded(options.github):
        code = judge(options)
    if options.report is not None and options.github:
        annotate(options.report)
    return code


def judge(options: argparse.Namespace) -> int:
    """Judge, print and write."""
    from draftproof.oracle.executors import executor
    from draftproof.oracle.run import Job, Run
    from draftproof.oracle.subjects import SubjectError
    from draftproof.oracle.tasks import UsageError, instance_named

    if "list" in (getattr(options, "lifts", None) or ()):
        return list_lifts()
    if options.command is not None and options.subject is not None:
        return complain("give a SUBJECT or a --command, one of them")
    if options.command is not None:
        options.subject = f"command:{options.command}"
    try:
        instances = None if options.instance is None else [instance_named(name) for name in options.instance]
        if options.resume is not None:
            instances = resumed(options, instances)
    except (UsageError, ValueError, OSError) as error:
        return complain(unreadable(error))
    if options.subject is None:
        return complain("give a SUBJECT or a --command, one of them")
    if options.transcript and (not options.subject.startswith("command:") or options.executor != "processes" or options.jobs > 1):
        return complain("--transcript is for a --command, one instance at a time")
    settings = {key: getattr(options, key, default) for key, default in SETTINGS.items()}
    vars(options).update(settings)
    job = Job.of(options.subject, instances, settings, options.transcript)
    try:
        with executor(options.executor, options.jobs) as pool, Progress(options.quiet) as progress:
            going = Run(job, options.log, pool, options.fail_fast)
            try:
                going.go(progress.show, failures_to(progress))
            except KeyboardInterrupt:
                show(str(going.report()))
                raise
            finally:
                if going.began:
                    options.report = going.report()
                    keep(options)
    except (SubjectError, ValueError, OSError) as error:
        return complain(unreadable(error))
    report = options.report
    show(str(report))
    if report.outcome == "error" and not report.errors:
        return complain("nothing was judged: no instance suits this subject")
    if options.shrink is not None:
        show_smallest(report, job.sources, options)
        keep(options)
    return int(report.exit_code)


def keep(options: argparse.Namespace) -> None:
    """Write what was judged so far where ``options`` say.  Raises OSError."""
    if options.json:
        write(options.json, options.report.to_json() + "\n")
    if options.html or options.junit:
        from draftproof.oracle.page.results import of

        write_files(of(options.report), options)


def resumed(options: argparse.Namespace, instances: Any) -> Any:
    """Take what was not given, the subject among it, from the log to go on with; returns the instances.  Raises ValueError, OSError."""
    from draftproof.oracle.run_log import header_of
    from draftproof.reference.instances import parse

    if options.log is not None:
        raise ValueError("--resume FILE goes on with a log and keeps it; --log FILE, with the same command, does too: give one of them")
    options.log, header = options.resume, header_of(options.resume)
    options.subject = options.subject or header["subject"]
    for key in SETTINGS:
        if not hasattr(options, key):
            setattr(options, key, header["settings"][key])
    if instances is None and header["instances"] is not None:
        return [parse(source, name=source["name"]) for source in header["instances"]]
    return instances


def failures_to(progress: Progress) -> Any:
    """Says, while the run goes on, what fails and where first; how is in the report, once."""
    said = set[tuple[str, str, str]]()

    def record(one: Any) -> None:
        outcome, kind = getattr(one, "outcome", "error"), getattr(one, "verdict", "")
        if outcome in ("conform", "not judged") or type(one).__name__ == "NotJudged" or (one.subject, outcome, kind) in said:
            return
        said.add((one.subject, outcome, kind))
        progress.say(f"{outcome}   {one.subject}   {f'{kind}, ' if kind else ''}first on {one.instance}")

    return record


def unreadable(error: Exception) -> str:
    """What an error says, with the file that could not be read or written."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


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
            for kind, found in supervised(shrink_task, work, options.time_limit + options.shrink):
                if kind == "shrunk":
                    found, smallest = found
                    report.shrunk.append(smallest)
                print(found)
        except WorkerLost as lost:
            print(f"not shrunk: {subject}: {lost}")


def list_lifts() -> int:
    """Print every lift with a line about it."""
    from draftproof.oracle.lifts import LIFTS

    for lift in LIFTS:
        print(f"{lift.name:<16} {lift.about}{' (not in all)' if lift.large else ''}")
    return 0
