"""``draftproof budget``: how many draft nodes pay, and is a tree builder or budget rule right?"""

import argparse
import json
from pathlib import Path
from typing import Any

from .common import EPILOG, Progress, complain, positive, short, write

DESCRIPTION = """\
draftproof budget FILE                     the best number of draft nodes for marginals and costs, exactly
draftproof budget profile module:callable  measure callable(query_tokens), and print a cost table
draftproof budget check SUBJECT            judge a tree builder or budget rule (declared with @builder or @budget_rule), or gpu_impl
"""

PROFILE: dict[str, Any] = {"nodes": 64, "step": 1, "repeats": 20, "warmups": 5, "draft": "0", "fit": False}
"""Options of profile alone, and what they are when not given."""


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "budget",
        help="the best number of draft nodes; judge tree builders and budget rules; measure costs",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("what", metavar="FILE | profile | check", help="a budget file, or what to do")
    command.add_argument("subject", nargs="?", help="module:callable or path/file.py:callable, for profile and check")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--plot", type=Path, metavar="OUT", help="FILE: draw the curve and the tree, as OUT.svg or OUT.png (which needs pillow)")
    command.add_argument("--nodes", type=count, help="profile: largest tree (default 64 nodes, 65 query tokens)")
    command.add_argument("--step", type=positive_count, help="profile: nodes between measurements (default 1)")
    command.add_argument("--repeats", type=positive_count, help="profile: measurements per size, of which the median counts (default 20)")
    command.add_argument("--warmups", type=count, help="profile: calls before them (default 5)")
    command.add_argument("--draft", type=seconds, metavar="SECONDS", help="profile: cost of a drafter pass, copied into the table (default 0)")
    command.add_argument("--fit", action="store_true", default=None, help="profile: print the nearest convex table instead of the measurements")
    command.add_argument("--time-limit", type=positive, metavar="SECONDS", help="check: per instance; profile: per size (default 120)")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    what = options.what if options.what in ("profile", "check") else "FILE"
    if what == "FILE" and options.subject is not None:
        return complain(f"unexpected {options.subject!r} after the file {options.what}")
    if what != "FILE" and options.subject is None:
        return complain(f"budget {what} needs a subject: module:callable")
    foreign = {"FILE": [*PROFILE, "time_limit"], "profile": ["plot"], "check": [*PROFILE, "plot"]}[what]
    if given := [name for name in foreign if getattr(options, name) is not None]:
        return complain(f"--{given[0].replace('_', '-')} is not for budget {what}")
    return {"FILE": _file, "profile": _profile, "check": _check}[what](options)


def _file(options: argparse.Namespace) -> int:
    from draftproof.oracle.budget_file import BudgetFileError, load

    try:
        problem = load(options.what)
    except BudgetFileError as error:
        return complain(str(error))
    if options.plot is not None:
        from draftproof.oracle.budget_drawing import draw
        from draftproof.oracle.drawing import DrawingError, rendered

        try:
            write(options.plot, rendered(draw(problem), options.plot.suffix))
        except DrawingError as error:
            return complain(f"cannot draw {options.plot}: {error}")
        except OSError as error:
            return complain(f"cannot write {options.plot}: {error.strerror or error}")
    answer = problem.answer()
    print(json.dumps(answer) if options.json else _described(problem, answer))
    return 0


def _described(problem: Any, answer: dict[str, Any]) -> str:
    from draftproof.oracle.budget import unimodality

    added, cost, best = problem.gains(), problem.cost, answer["optimum"]
    tokens, lines = 1 + sum(added[:best], 0 * cost(0)), [f"{'nodes':>5}  {'adds':<13} {'cost':<13} tokens / time"]
    marks = {answer["greedy"]: "  <- greedy stops", best: "  <- best" if best != answer["greedy"] else "  <- best, and where greedy stops"}
    shown = set(range(12)) | {n for mark in marks for n in range(mark - 2, mark + 3)} | {len(added)}
    for n, rate in enumerate(answer["curve"]):
        if n in shown:
            gain = short(str(added[n - 1])) if n else "(bonus) 1"
            lines.append(f"{n:>5}  {gain:<13} {short(str(cost(n))):<13} {short(rate)}{marks.get(n, '')}")
        elif n - 1 in shown:
            lines.append("  ...")
    lines += ["", f"best: {best} nodes, {short(str(tokens))} tokens a round, {short(answer['curve'][best])} tokens per unit of time"]
    if answer["greedy"] != best:
        lines.append(f"stopping at the first node that does not pay gives {answer['greedy']} and loses {short(answer['loss'])}")
    lines.append(unimodality("file", added, cost).message)
    lines += [f"note: {note}" for note in problem.notes]
    lines += ["", "the tree, best first:", *(f"  {' '.join(map(str, path))}" for path in problem.tree(best)[:20])]
    return "\n".join(lines + (["  ..."] if best > 20 else []))


def _profile(options: argparse.Namespace) -> int:
    from draftproof.oracle.budget_tasks import profile_task
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.reference.budgets.convex_fit import FitError, convex_fit

    chosen = {name: default if getattr(options, name) is None else getattr(options, name) for name, default in PROFILE.items()}
    sizes = list(range(0, chosen["nodes"] + 1, chosen["step"]))
    work = {"spec": options.subject, "sizes": sizes, "warmups": chosen["warmups"], "repeats": chosen["repeats"]}
    measured, size = list[float](), 0
    try:
        with Progress(options.json) as progress:
            for kind, message in supervised(profile_task, work, options.time_limit or 120.0):
                if kind == "fatal":
                    return complain(message)
                if kind == "at":
                    size = message
                    progress.show(f"{options.subject}({size + 1})", len(measured), len(sizes))
                else:
                    measured.append(message)
        table = [float(value) for value in convex_fit(sizes, measured)] if chosen["fit"] else _between(sizes, measured)
    except WorkerLost as lost:
        return complain(f"{options.subject}({size + 1}) {lost}")
    except FitError as error:
        return complain(str(error))
    print(json.dumps({"draft": chosen["draft"], "verify": [f"{value:.9g}" for value in table]}))
    return 0


def _between(sizes: list[int], measured: list[float]) -> list[float]:
    """Measured values, and a line between them where sizes were skipped."""
    import numpy as np

    return [float(value) for value in np.interp(range(sizes[-1] + 1), sizes, measured)]


def _check(options: argparse.Namespace) -> int:
    from draftproof.oracle.budget_tasks import check_task
    from draftproof.oracle.report import Failure, Report
    from draftproof.oracle.supervise import WorkerLost, supervised

    limit = options.time_limit or 120.0
    report, at = Report(settings={"time_limit": limit}), f"{options.subject} on "
    try:
        with Progress(options.json) as progress:
            for kind, message in supervised(check_task, {"spec": options.subject, "time_limit": limit}, limit):
                if kind == "fatal":
                    return complain(message)
                if kind == "at":
                    at = message[0]
                    progress.show(*message)
                else:
                    (report.errors if isinstance(message, Failure) else report.verdicts).append(message)
    except KeyboardInterrupt:
        print("\n".join(_lines(report.of(subject)) for subject in report.subjects))
        raise
    except WorkerLost as lost:
        subject, _, instance = at.partition(" on ")
        report.errors.append(Failure(subject, instance, str(lost)))
    parts = [report.of(subject) for subject in report.subjects]
    print(json.dumps([part.as_dict() for part in parts], indent=1) if options.json else "\n".join(map(_lines, parts)))
    return report.exit_code


def _lines(report: Any) -> str:
    lines = [f"{report.outcome:<12} {report.subjects[0]}   {len(report.verdicts)} instances judged"]
    for verdict in report.verdicts:
        if verdict.outcome != "conform":
            lines.append(f"  {verdict.verdict} on {verdict.instance}: {verdict.message}")
        lines += [f"  note on {verdict.instance}: {note}" for note in verdict.notes]
    lines += [f"  error{f' on {error.instance}' if error.instance else ''}: {error.message}" for error in report.errors]
    return "\n".join(lines)


def count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def positive_count(text: str) -> int:
    value = count(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is not positive")
    return value


def seconds(text: str) -> str:
    """As it is spelled, since it goes into the table."""
    from draftproof.reference.exact_json import number
    from draftproof.reference.rational import rational

    try:
        if rational(number(text, "it")) < 0:
            raise argparse.ArgumentTypeError(f"{text} is negative")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    return text
