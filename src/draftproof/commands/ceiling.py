"""``draftproof ceiling``: the most any lossless verifier can have on one instance, with a certificate."""

import argparse
import json
from pathlib import Path
from typing import Any

from .common import complain, decimal, positive, write

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
    command.add_argument("--time-limit", type=positive, default=600.0, metavar="SECONDS", help="give up after this long (default 600)")
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
    from draftproof.oracle.ceilings import ceiling_task
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import UsageError, instance_named

    try:
        instance = instance_named(options.instance)
    except UsageError as error:
        return complain(str(error))
    try:
        for kind, message in supervised(ceiling_task, {"source": {**instance.source, "name": instance.name}}, options.time_limit):
            if kind == "fatal":
                return complain(f"{instance.name}: {message}")
            certificate, trees = message
    except WorkerLost as lost:
        return complain(f"{instance.name}: {lost}")
    if options.certificate:
        write(options.certificate, json.dumps(certificate) + "\n")
    answer = {"instance": instance.name, **{name: certificate[name] for name in ("ceiling", "gap", "reached")}, "trees": trees}
    print(json.dumps(answer) if options.json else _described(answer))
    return 0


def _described(answer: dict[str, Any]) -> str:
    exact = answer["ceiling"]
    ceiling = exact if "/" not in exact else f"{exact} = {decimal(exact)}" if len(exact) <= 40 else decimal(exact)
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
