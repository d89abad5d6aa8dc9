"""``draftproof ceiling``: the most any lossless verifier can have on one instance, with a certificate."""

import argparse
import json
from pathlib import Path
from typing import Any

from .common import complain, decimal, short, write

REJECTED = 1


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "ceiling",
        help="the most any lossless verifier can accept",
        description="Print the largest expected block length (bonus included) that any lossless verifier can have on one instance, proved exactly: "
        "a verifier above the ceiling is lossy, and some lossless verifier is at most the gap below it.",
        epilog="exit codes: 0 proved, 1 a checked certificate is rejected, 2 usage error",
    )
    command.add_argument("instance", metavar="FILE", nargs="?", help="instance file, or the name of an instance in the catalogue")
    command.add_argument("--certificate", type=Path, metavar="OUT", help="write the proof to this file")
    command.add_argument("--check", type=Path, metavar="OUT", help="check a certificate that was written before (for this instance, if one is given)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    if options.check:
        return complain("--check reads a certificate, --certificate writes one: give one of them") if options.certificate else _check(options)
    if not options.instance:
        return complain("give an instance, or a certificate to --check")
    if options.certificate and not options.certificate.resolve().parent.is_dir():
        return complain(f"cannot write {options.certificate}: no folder {options.certificate.resolve().parent}")
    from draftproof.oracle.tasks import UsageError, instance_named
    from draftproof.reference.models import MissingRow
    from draftproof.reference.transport.exact_simplex import ceiling_of
    from draftproof.reference.transport.record import whole_tree
    from draftproof.reference.transport.tree import SolverFailed, TooManyTrees, problem_of

    try:
        instance = instance_named(options.instance)
        problem = problem_of(instance.target, instance.topology, instance.scheme)
        found = ceiling_of(problem)
    except (UsageError, MissingRow, TooManyTrees, SolverFailed) as error:
        return complain(f"{options.instance}: {error}")
    if options.certificate:
        write(options.certificate, json.dumps(whole_tree(instance, found)) + "\n")
    exact = {"ceiling": str(found.ceiling), "gap": str(found.gap), "reached": str(found.reached)}
    answer = {"instance": instance.name, **exact, "trees": len(problem.trees)}
    print(json.dumps(answer) if options.json else _described(answer))
    return 0


def _described(answer: dict[str, Any]) -> str:
    ceiling = f"{answer['ceiling']} = {decimal(answer['ceiling'])}" if len(answer["ceiling"]) <= 40 else short(answer["ceiling"])
    how = "some lossless verifier reaches it" if answer["gap"] == "0" else f"some lossless verifier is within {decimal(answer['gap'])} of it"
    return f"{answer['instance']}: no lossless verifier has E[L] above {ceiling}, and {how} (draft trees: {answer['trees']})"


def _check(options: argparse.Namespace) -> int:
    from draftproof.oracle.tasks import UsageError, instance_named
    from draftproof.reference.transport.certificate import Rejected, check

    try:
        certificate = json.loads(options.check.read_text(encoding="utf-8"))
        instance = instance_named(options.instance) if options.instance else None
    except (OSError, ValueError, RecursionError) as error:
        return complain(f"{options.check}: {getattr(error, 'strerror', None) or error}")
    except UsageError as error:
        return complain(str(error))
    try:
        proved = check(certificate)
        if instance is not None and certificate.get("instance") != {**instance.source, "name": instance.name}:
            raise Rejected(f"it is about another instance than {instance.name}")
    except Rejected as rejected:
        print(json.dumps({"accepted": False, "reason": str(rejected)}) if options.json else f"rejected: {rejected}")
        return REJECTED
    print(json.dumps({"accepted": True, "proved": proved}) if options.json else f"accepted: {proved}")
    return 0
