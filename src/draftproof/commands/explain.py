"""``draftproof explain``: what a kind of fault is, who had it, and what shows it."""

import argparse
import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .common import complain

if TYPE_CHECKING:
    from draftproof.oracle.kinds import Kind


def add(commands: Any) -> None:
    """Put the command on the parser."""
    what = "What a kind of fault is, how it looks, which engines had it, and the instances and planted faults made for it."
    command = commands.add_parser("explain", help="explain a kind of fault", description=what)
    command.add_argument("kind", nargs="?", metavar="KIND", help="a letter, A to O (default: list them)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.kinds import KINDS

    if options.kind is None:
        if options.json:
            print(json.dumps([_as_dict(kind) for kind in KINDS.values()], indent=1))
        else:
            for kind in KINDS.values():
                print(f"{kind.letter}   {kind.name:<42} {kind.what}")
        return 0
    found = KINDS.get(options.kind.upper())
    if found is None:
        return complain(f"no kind {options.kind!r}; known: {', '.join(KINDS)}")
    if options.json:
        print(json.dumps(_as_dict(found), indent=1))
    else:
        print("\n".join(_lines(found)))
    return 0


def _made_for(kind: "Kind") -> dict[str, Any]:
    from draftproof.oracle.catalogue import catalogue
    from draftproof.oracle.controls import CONTROLS
    from draftproof.oracle.faults import FAULTS

    planted = [
        {"name": fault.name, "subject": fault.subject.name, "instance": fault.instance, "total_variation": fault.total_variation, "what": fault.what}
        for fault in FAULTS
        if fault.kind == kind.letter
    ]
    if kind.letter == "O":
        planted = [
            {"name": control.name, "subject": control.subject.name, "instance": control.instances[0], "what": control.what, "why": control.why}
            for control in CONTROLS
        ]
    instances = {instance.name: instance.source["note"] for instance in catalogue() if kind.letter in instance.source["kinds"]}
    return {"controls" if kind.letter == "O" else "faults": planted, "instances": instances}


def _as_dict(kind: "Kind") -> dict[str, Any]:
    reports = [{"repository": report.repository, "links": report.links, "what": report.what} for report in kind.reports]
    shown = {"kind": kind.letter, "name": kind.name, "what": kind.what, "looks": kind.looks, "verdicts": list(kind.verdicts), "reports": reports}
    return {**shown, **_made_for(kind)}


def _lines(kind: "Kind") -> Iterator[str]:
    made = _made_for(kind)
    yield f"kind {kind.letter}: {kind.name}"
    yield from _wrapped(kind.what)
    yield ""
    yield "how it looks"
    yield from _wrapped(kind.looks)
    if kind.verdicts:
        yield f"  seen by the verdict{'s' * (len(kind.verdicts) > 1)} {', '.join(kind.verdicts)}"
    if kind.reports:
        yield ""
        yield "who reported it"
        for report in kind.reports:
            yield f"  {report.repository}: {report.what}"
            yield from (f"    {link}" for link in report.links)
    yield ""
    several = "no single round shows it: generators are judged for it, over several"
    yield "instances made for it (draftproof instances NAME prints one)" if made["instances"] else several
    yield from (f"  {name:<34} {note}" for name, note in made["instances"].items())
    planted = made.get("faults") or made.get("controls") or []
    yield ""
    yield "controls" if kind.letter == "O" else "planted faults (draftproof selftest judges them)"
    for entry in planted:
        distance = f"   TV {entry['total_variation']}" if entry.get("total_variation") not in (None, "0") else ""
        yield f"  {entry['name']} on {entry['instance']}{distance}"
        yield from _wrapped(entry.get("what", ""), "    ")


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 110, initial_indent=indent, subsequent_indent=indent)
