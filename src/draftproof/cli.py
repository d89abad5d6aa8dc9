"""The command line: ``draftproof check``, ``draftproof law``, ``draftproof instances``."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftproof import __version__

if TYPE_CHECKING:
    from draftproof.oracle.report import Report

USAGE_ERROR = 2

EPILOG = """exit codes: 0 conform, 1 nonconform, 2 usage or subject error (a missing device, engine or reading included), 3 inconclusive"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe; nothing more to say
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="draftproof", description="Is this speculative-decoding verifier lossless, and does it accept what it should?", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"draftproof {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _check_parser(commands)
    _law_parser(commands)
    _instances_parser(commands)
    return parser


SUBJECT_HELP = "module:callable, path/file.py:callable, or a built-in (transformers, gpu_impl); add @family to name the reference it claims to be"


def _check_parser(commands: Any) -> None:
    command = commands.add_parser("check", help="judge a verifier", description="Judge a verifier on the catalogue of instances.", epilog=EPILOG)
    command.add_argument("subject", metavar="SUBJECT", help=SUBJECT_HELP)
    command.add_argument("--instance", action="append", metavar="FILE", help="judge on this instance (file or catalogue name); may be repeated")
    command.add_argument("--alpha", type=_probability, default=1e-6, help="false-positive bound of sampling for the whole run (default 1e-6)")
    command.add_argument("--tolerance", type=_tolerance, help="largest total variation that conforms (default by way of reading: 1e-6, 2e-5, 2e-2)")
    command.add_argument("--way", choices=("enumerate", "integrate", "sample"), help="insist on one way of reading (default: the strongest)")
    command.add_argument("--seed", type=_seed, default=0, help="seed of everything sampled (default 0)")
    command.add_argument("--time-limit", type=_positive, default=120.0, metavar="SECONDS", help="per instance (default 120)")
    command.add_argument("--strict", action="store_true", help="count boundary events of mass at most 2^-23")
    command.add_argument("--json", type=Path, metavar="OUT", help="write the report to this file")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(run=_check)


def _law_parser(commands: Any) -> None:
    command = commands.add_parser(
        "law", help="the law of the emitted block on one instance", description="Print the law of the block that a verifier emits on one instance."
    )
    command.add_argument("instance", metavar="FILE", help="instance file, or the name of an instance in the catalogue")
    who = command.add_mutually_exclusive_group(required=True)
    who.add_argument("--verifier", metavar="NAME", help="a reference: predraw_follow, tree_exit, recursive_rejection, traversal (token, block, tev)")
    who.add_argument("--subject", metavar="SUBJECT", help=SUBJECT_HELP)
    command.add_argument("--way", choices=("enumerate", "integrate", "sample"), help="for a subject: insist on one way of reading")
    command.add_argument("--seed", type=_seed, default=0)
    command.add_argument("--time-limit", type=_positive, default=120.0, metavar="SECONDS")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=_law)


def _instances_parser(commands: Any) -> None:
    command = commands.add_parser("instances", help="list the catalogue", description="List the catalogue, or print one instance as a file.")
    command.add_argument("name", nargs="?", help="print this instance as JSON")
    command.set_defaults(run=_instances)


def _check(options: argparse.Namespace) -> int:
    from draftproof.oracle.report import Failure, Report
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import UsageError, check_task, instance_named

    if options.json and not options.json.resolve().parent.is_dir():
        return _complain(f"cannot write {options.json}: no folder {options.json.resolve().parent}")
    try:
        sources = None if options.instance is None else [_source(instance_named(name)) for name in options.instance]
    except UsageError as error:
        return _complain(str(error))
    settings = {key: getattr(options, key) for key in ("way", "alpha", "tolerance", "seed", "time_limit", "strict")}
    report, at = Report(settings=settings), options.subject
    try:
        with _Progress(options.quiet) as progress:
            for kind, message in supervised(check_task, {"spec": options.subject, "sources": sources, **settings}, options.time_limit):
                if kind == "fatal":
                    return _complain(message)
                if kind == "at":
                    at = message[0]
                    progress.show(*message)
                else:
                    (report.errors if isinstance(message, Failure) else report.verdicts).append(message)
    except WorkerLost as lost:
        subject, _, instance = at.partition(" on ")
        report.errors.append(Failure(subject, instance, str(lost)))
    finally:
        if options.json:
            _write(options.json, report)
    print(report)
    if report.outcome == "error" and not report.errors:
        return _complain("nothing was judged: no instance suits this subject")
    return report.exit_code


def _law(options: argparse.Namespace) -> int:
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import UsageError, law_task, reference_law

    try:
        if options.verifier:
            found = reference_law(options.instance, options.verifier)
        else:
            arguments = {"name": options.instance, "spec": options.subject, "way": options.way, "seed": options.seed}
            task = supervised(law_task, {**arguments, "time_limit": options.time_limit}, options.time_limit)
            kind, answer = next(task, ("fatal", "the subject gave no law"))
            if kind == "fatal":
                return _complain(answer)
            found = answer
    except (UsageError, WorkerLost) as error:
        return _complain(str(error))
    print(json.dumps(found) if options.json else _described(found))
    return 0


def _instances(options: argparse.Namespace) -> int:
    from draftproof.oracle.catalogue import catalogue, find

    if options.name:
        try:
            print(json.dumps(find(options.name).source))
        except KeyError as error:
            return _complain(error.args[0])
        return 0
    for instance in catalogue():
        print(f"{instance.name:<34} {''.join(instance.source['kinds']):<6} {instance.source['note']}")
    return 0


def _source(instance: Any) -> dict[str, Any]:
    return {**instance.source, "name": instance.name}


def _described(found: dict[str, Any]) -> str:
    lossless = {True: "lossless", False: "NOT lossless", None: "not decided"}[found["exact"]]
    out = [f"{found['verifier']}: {lossless}, total variation {_short(found['total_variation'])}, E[L] = {_short(found['expected_length'])}"]
    if "way" in found:
        out.append(f"read by {found['way']}: {found['effort']}")
    if (first := found["first_violation"]) is not None:
        after = f'after "{first["prefix"]}"' if first["prefix"] else "at the root"
        emitted, should = _short(first["emitted"]), _short(first["should_be"])
        out.append(f"{after} the next token should be {first['token']} with probability {should}; it is {emitted}")
    out.append("")
    out += [f"{' '.join(map(str, block['tokens'])):<16} {_short(block['probability'])}" for block in found["blocks"]]
    return "\n".join(out)


def _short(number: str) -> str:
    from fractions import Fraction

    return number if len(number) <= 12 else f"{float(Fraction(number)):.9g}"


def _write(path: Path, report: "Report") -> None:
    """Whole or not at all: a reader never sees half a report."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(report.to_json() + "\n", encoding="utf-8")
    draft.replace(path)


def _complain(message: str) -> int:
    print(f"draftproof: {message}", file=sys.stderr)
    return USAGE_ERROR


class _Progress:
    """One line on a terminal, nothing elsewhere."""

    def __init__(self, quiet: bool):
        self._shown = sys.stderr.isatty() and not quiet
        self._bar: Any = None

    def __enter__(self) -> "_Progress":
        return self

    def show(self, name: str, done: int, total: int) -> None:
        if not self._shown:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(name, total=total)
            self._bar.start()
        self._bar.update(self._task, description=name, completed=done)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _probability(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1)")
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 62:
        raise argparse.ArgumentTypeError(f"{text} is not a seed (0 or above)")
    return value


if __name__ == "__main__":
    sys.exit(main())
