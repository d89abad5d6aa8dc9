"""``draftproof vectors``: what verifiers must do, as JSON for any language."""

import argparse
import json
from pathlib import Path
from typing import Any

from .common import complain, write

WRONG = 1
MOST_LINES = 20
"""Vectors that are said to be wrong one by one."""


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "vectors",
        help="export or verify language-neutral test vectors",
        description="Write vectors (instances with exact laws; trees with uniforms and the block that must come out), or check a file of them.",
        epilog="exit codes: 0 written, or every vector is right; 1 some are wrong; 2 usage error or no file of vectors",
    )
    command.add_argument("action", choices=("export", "verify"))
    command.add_argument("file", metavar="FILE", nargs="?", type=Path, help="verify: the file; export: where to write (default: standard output)")
    command.add_argument("--instance", action="append", metavar="FILE", help="export: for this instance (file or catalogue name); may be repeated")
    command.add_argument("--family", action="append", metavar="NAME", help="export: for this family; may be repeated")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    return _export(options) if options.action == "export" else _verify(options)


def _export(options: argparse.Namespace) -> int:
    from draftproof.oracle.catalogue import catalogue
    from draftproof.oracle.tasks import UsageError, instance_named
    from draftproof.oracle.vectors import export
    from draftproof.reference.models import MissingRow
    from draftproof.reference.verifiers import FAMILIES, family

    if options.file and not options.file.resolve().parent.is_dir():
        return complain(f"cannot write {options.file}: no folder {options.file.resolve().parent}")
    try:
        instances = [instance_named(name) for name in dict.fromkeys(options.instance)] if options.instance else catalogue()
        families = {family(name).name: family(name) for name in options.family or FAMILIES}  # by whichever of its names
        vectors = export(instances, families.values())
    except (UsageError, MissingRow, ValueError) as error:
        return complain(str(error))
    text = json.dumps(vectors, indent=1) + "\n"
    if options.file is None:
        print(text, end="")
        return 0
    write(options.file, text)
    print(f"{options.file}: {len(vectors['laws'])} laws, {len(vectors['tapes'])} tapes")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from draftproof.oracle.vectors import VectorError, load, mistakes

    if options.file is None:
        return complain("which file is to be verified?")
    if options.instance or options.family:
        return complain("--instance and --family are for export")
    try:
        vectors = load(options.file)
        wrong = list(mistakes(vectors))
    except VectorError as error:
        return complain(str(error))
    for line in wrong[:MOST_LINES]:
        print(line)
    if len(wrong) > MOST_LINES:
        print(f"... and {len(wrong) - MOST_LINES} more")
    print(f"{options.file}: {len(vectors['laws'])} laws and {len(vectors['tapes'])} tapes, {len(wrong)} wrong")
    return WRONG if wrong else 0
