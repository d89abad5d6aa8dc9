"""``draftproof report``: what other commands wrote as JSON, as a page, as JUnit XML, and for GitHub Actions."""

import argparse
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import complain, write

if TYPE_CHECKING:
    from draftproof.oracle.page.results import Results
    from draftproof.oracle.report import Report

DESCRIPTION = """\
Write what was found so that people, or continuous integration, can read it. FILEs are what these commands wrote, any number of them:
  draftproof check SUBJECT --json FILE
  draftproof league ... --json > FILE
  draftproof budget FILE --json > FILE
docs/report.md explains what the page shows.
"""

EPILOG = "exit codes: 0 written, 2 a FILE that is none, or cannot be written; the verdicts decide the exit code of check, not of this"


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "report",
        help="write what was found as an HTML page, as JUnit XML, as annotations",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("files", metavar="FILE", nargs="+", type=Path, help="JSON written by check, league or budget")
    outputs(command)
    command.set_defaults(run=run)


def outputs(command: argparse.ArgumentParser) -> None:
    """The options that say what is written, which check has as well."""
    command.add_argument("--html", type=Path, metavar="OUT", help="one HTML page that needs nothing else")
    command.add_argument("--junit", type=Path, metavar="OUT", help="JUnit XML: a case for each subject, instance and verdict")
    command.add_argument("--github", action="store_true", help="print annotations for GitHub Actions, and add to its step summary")


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.page.results import ResultError, load

    if not (options.html or options.junit or options.github):
        return complain("say what to write: --html OUT, --junit OUT or --github")
    if (unwritable := no_folder(options)) is not None:
        return complain(unwritable)
    try:
        results = load(options.files)
    except ResultError as error:
        return complain(str(error))
    if (options.junit or options.github) and not results.runs:
        return complain("--junit and --github are for reports of check, and there is none")
    try:
        write_files(results, options)
        if options.github:
            annotate(results.report)
    except OSError as error:
        return complain(f"cannot write {error.filename}: {error.strerror or error}")
    return 0


def no_folder(options: argparse.Namespace) -> str | None:
    """What cannot be written for want of a folder: to be found out before hours of work."""
    for out in filter(None, (getattr(options, "json", None), options.html, options.junit)):
        if not out.resolve().parent.is_dir():
            return f"cannot write {out}: no folder {out.resolve().parent}"
    return None


def write_files(results: "Results", options: argparse.Namespace) -> None:
    """Write the files that ``options`` ask for.  Raises OSError."""
    if options.html:
        from draftproof.oracle.page import page

        write(options.html, page(results))
    if options.junit:
        from draftproof.oracle.junit import junit

        write(options.junit, junit(results.report))


def annotate(report: "Report") -> None:
    """Print annotations, and add to the summary of the step where there is one.  Raises OSError."""
    from draftproof.oracle.annotations import annotations, summary

    print("\n".join(annotations(report)), flush=True)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(summary(report))


@contextmanager
def shielded(github: bool) -> Iterator[None]:
    """Whatever a subject prints meanwhile is no workflow command, should it look like one."""
    token = secrets.token_hex(16)
    if github:
        print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        if github:
            print(f"::{token}::", flush=True)
