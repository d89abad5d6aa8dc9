"""``draftproof budget``: how many draft nodes pay, and is a tree builder or budget rule right?"""

import argparse
import json
from pathlib import Path
from typing import Any

from .common import EPILOG, complain, short, write

DESCRIPTION = """\
draftproof budget FILE                     the best number of draft nodes for marginals and costs, exactly
draftproof budget profile module:callable  measure callable(query_tokens), and print a cost table
draftproof budget check SUBJECT            judge a tree builder or budget rule (declared with @builder or @budget_rule), or gpu_impl
"""


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
    command.add_argument("--plot", type=Path, metavar="OUT", help="FILE: draw the curve and the tree to this SVG file")
    command.add_argument("--nodes", type=_count, default=64, help="profile: largest tree (default 64 nodes, 65 query tokens)")
    command.add_argument("--step", type=_count, default=1, help="profile: nodes between measurements (default 1)")
    command.add_argument("--repeats", type=_count, default=20, help="profile: measurements per size, of which the median counts (default 20)")
    command.add_argument("--warmups", type=_count, default=5, help="profile: calls before them (default 5)")
    command.add_argument("--draft", default="0", metavar="SECONDS", help="profile: cost of a drafter pass, copied into the table (default 0)")
    command.add_argument("--fit", action="store_true", help="profile: print the nearest convex table instead of the measurements")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    if options.what in ("profile", "check"):
        if options.subject is None:
            return complain(f"budget {options.what} needs a subject: module:callable")
        return _profile(options) if options.what == "profile" else _check(options)
    if options.subject is not None:
        return complain(f"unexpected {options.subject!r} after the file {options.what}")
    return _file(options)


def _file(options: argparse.Namespace) -> int:
    from draftproof.oracle.budget_file import BudgetFileError, load

    try:
        problem = load(options.what)
    except BudgetFileError as error:
        return complain(str(error))
    if options.plot is not None:
        if options.plot.suffix != ".svg":
            return complain(f"cannot draw {options.plot}: only .svg")
        from draftproof.oracle.budget_drawing import draw

        try:
            write(options.plot, draw(problem).svg())
        except OSError as error:
            return complain(f"cannot write {options.plot}: {error.strerror or error}")
    answer = problem.answer()
    print(json.dumps(answer) if options.json else _described(problem, answer))
    return 0


def _described(problem: Any, answer: dict[str, Any]) -> str:
    from draftproof.oracle.budget import unimodality

    added, cost, best = problem.gains(), problem.cost, answer["optimum"]
    tokens, lines = 1 + sum(added[:best], 0 * cost(0)), [f"{'nodes':>5}  {'adds':<14}{'cost':<14}tokens / time"]
    marks = {answer["greedy"]: "  <- greedy stops", best: "  <- best" if best != answer["greedy"] else "  <- best, and where greedy stops"}
    shown = set(range(12)) | {n for mark in marks for n in range(mark - 2, mark + 3)} | {len(added)}
    for n, rate in enumerate(answer["curve"]):
        if n in shown:
            gain = short(str(added[n - 1])) if n else "(bonus) 1"
            lines.append(f"{n:>5}  {gain:<14}{short(str(cost(n))):<14}{short(rate)}{marks.get(n, '')}")
        elif n - 1 in shown:
            lines.append("  ...")
    lines += ["", f"best: {best} nodes, {short(str(tokens))} tokens a round, {short(answer['curve'][best])} tokens per unit of time"]
    if answer["greedy"] != best:
        lines.append(f"stopping at the first node that does not pay gives {answer['greedy']} and loses {short(answer['loss'])}")
    lines.append(unimodality("file", added, cost).message)
    lines += ["", "the tree, best first:", *(f"  {' '.join(map(str, path))}" for path in problem.tree(best)[:20])]
    return "\n".join(lines + (["  ..."] if best > 20 else []))


def _profile(options: argparse.Namespace) -> int:
    from draftproof.oracle.builders import named
    from draftproof.oracle.subjects import SubjectError
    from draftproof.reference.budgets.convex_fit import FitError, convex_fit
    from draftproof.reference.budgets.profiler import profile

    sizes = list(range(0, options.nodes + 1, max(options.step, 1)))
    try:
        float(options.draft)
        seconds = profile(named(options.subject), sizes, options.warmups, max(options.repeats, 1))
        fitted = [float(value) for value in convex_fit(sizes, seconds)] if options.fit else None
    except (SubjectError, FitError, ValueError) as error:
        return complain(str(error))
    except Exception as error:  # the callable may raise anything
        return complain(f"{options.subject} raised {type(error).__name__}: {error}")
    if fitted is None:
        fitted = _between(sizes, seconds)
    print(json.dumps({"draft": options.draft, "verify": [f"{value:.9g}" for value in fitted]}))
    return 0


def _between(sizes: list[int], seconds: list[float]) -> list[float]:
    """Measured values, and a line between them where sizes were skipped."""
    import numpy as np

    return [float(value) for value in np.interp(range(sizes[-1] + 1), sizes, seconds)]


def _check(options: argparse.Namespace) -> int:
    from draftproof.oracle.report import EXIT_CODES
    from draftproof.oracle.subjects import SubjectError
    from draftproof.oracle.tree_subjects import judge, tree_subjects

    try:
        subjects = tree_subjects(options.subject)
    except SubjectError as error:
        return complain(str(error))
    reports = [judge(subject) for subject in subjects]
    if options.json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    else:
        print("\n".join(line for subject, report in zip(subjects, reports, strict=True) for line in _lines(subject.name, report)))
    worst = next(outcome for outcome in ("error", "nonconform", "inconclusive", "conform") if any(report.outcome == outcome for report in reports))
    return EXIT_CODES[worst]


def _lines(name: str, report: Any) -> list[str]:
    lines = [f"{report.outcome:<12} {name}   {len(report.verdicts)} instances judged"]
    for verdict in report.verdicts:
        if verdict.outcome != "conform":
            lines.append(f"  {verdict.verdict} on {verdict.instance}: {verdict.message}")
        lines += [f"  note on {verdict.instance}: {note}" for note in verdict.notes]
    return lines + [f"  error on {error.instance}: {error.message}" for error in report.errors]


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value
