"""``draftproof instances``: the catalogue, and instances drawn as text."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .common import complain

if TYPE_CHECKING:
    from draftproof.reference.instances import Instance


def add(commands: Any) -> None:
    """Put the command on the parser."""
    what = "List the catalogue, or draw one instance: its draft tree, the law every draft comes from, and the target's law after it."
    command = commands.add_parser("instances", help="list and draw the catalogue", description=what)
    command.add_argument("name", nargs="?", metavar="NAME", help="draw this instance (of the catalogue, or a file)")
    command.add_argument("--json", action="store_true", help="print the instance as a file, or the catalogue as a list of them")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.catalogue import catalogue
    from draftproof.oracle.tasks import UsageError, instance_named
    from draftproof.reference.models import MissingRow

    if options.name:
        try:
            instance = instance_named(options.name)
            print(json.dumps(instance.source) if options.json else "\n".join(drawing(instance)))
        except UsageError as error:
            return complain(str(error))
        except MissingRow as missing:
            return complain(f"{options.name}: {missing}")
        return 0
    if options.json:
        print(json.dumps([instance.source for instance in catalogue()], indent=1))
        return 0
    for instance in catalogue():
        print(f"{instance.name:<34} {''.join(instance.source['kinds']):<6} {instance.source['note']}")
    return 0


def drawing(instance: "Instance") -> Iterator[str]:
    """In the letters that the terminal has.  Raises MissingRow."""
    from draftproof.oracle.tree_drawing import UNICODE, drawn

    try:
        "".join(UNICODE).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return drawn(instance, unicode=False)
    return drawn(instance)
