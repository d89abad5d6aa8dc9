"""``draftproof instances``: the catalogue."""

import argparse
import json
from typing import Any

from .common import complain


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser("instances", help="list the catalogue", description="List the catalogue, or print one instance as a file.")
    command.add_argument("name", nargs="?", help="print this instance as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.catalogue import catalogue, find

    if options.name:
        try:
            print(json.dumps(find(options.name).source))
        except KeyError as error:
            return complain(error.args[0])
        return 0
    for instance in catalogue():
        print(f"{instance.name:<34} {''.join(instance.source['kinds']):<6} {instance.source['note']}")
    return 0
