"""``draftproof explain``: what a kind of fault is, who had it, and what shows it."""

import argparse
import importlib
import inspect
import json
import os
import shlex
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .common import complain

if TYPE_CHECKING:
    from draftproof.oracle.kinds import Kind
    from draftproof.reference.verifiers import Family


def add(commands: Any) -> None:
    """Put the command on the parser."""
    what = "What a kind of fault is, how it looks, which engines had it, and the instances and planted faults made for it."
    what += " Or what one instance of the catalogue, one planted fault or one control is for, or what a verifier is."
    command = commands.add_parser("explain", help="explain a kind of fault, an instance, a planted fault, a control or a verifier", description=what)
    command.add_argument("kind", nargs="?", metavar="KIND | NAME", help="a letter, A to O (default: list them), or a name")
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
        return _named(options.kind, options.json)
    if options.json:
        print(json.dumps(_as_dict(found), indent=1))
    else:
        print("\n".join(_lines(found)))
    return 0


def _named(name: str, as_json: bool) -> int:
    """An instance, a planted fault, a control or a verifier."""
    from draftproof.oracle.catalogue import catalogue
    from draftproof.oracle.controls import CONTROLS
    from draftproof.oracle.faults import FAULTS
    from draftproof.oracle.kinds import KINDS
    from draftproof.reference.exact_json import nearest
    from draftproof.reference.verifiers import ALIASES, FAMILIES

    from .instances import drawing

    said: dict[str, Any]
    lines = list[str]()
    if (instance := next((one for one in catalogue() if one.name == name), None)) is not None:
        said = {"instance": name, "kinds": instance.source["kinds"], "what": instance.source["note"], "source": instance.source}
        lines = [*drawing(instance), ""]
    elif (fault := next((one for one in FAULTS if name in (one.name, one.subject.name)), None)) is not None:
        said = {"fault": fault.name, "kinds": [fault.kind], "what": fault.what, "subject": fault.subject.name, "instance": fault.instance}
        lines = [f"planted fault {fault.name}", *_wrapped(fault.what), f"  shows on {fault.instance}", f"  subject: {fault.subject.name}", ""]
    elif (control := next((one for one in CONTROLS if name in (one.name, one.subject.name)), None)) is not None:
        said = {"control": control.name, "kinds": ["O"], "what": control.what, "why": control.why, "subject": control.subject.name}
        lines = [f"control {control.name}: lossless", *_wrapped(control.what), *_wrapped(control.why), ""]
    elif (rule := _verifier(name)) is not None:
        about = inspect.getdoc(importlib.import_module(f"draftproof.reference.verifiers.{rule.name}")) or ""
        said = {"verifier": rule.name, "also": _aliases(rule), "kinds": [], "what": about, "draws": rule.draws}
        lines = list(_of_verifier(rule, about))
    elif os.path.isfile(name):
        return complain(f"{name} is a file: draftproof instances {shlex.quote(name)} draws an instance file")
    else:
        names = [*(one.name for one in catalogue()), *(one.name for one in FAULTS), *(one.name for one in CONTROLS), *FAMILIES, *ALIASES]
        what = f"no kind {name!r}; known: {', '.join(KINDS)}; nor is it an instance, a planted fault, a control or a verifier"
        return complain(f"{what}{nearest(name, names) or ';'} draftproof instances lists instances")
    lines += [f"kind {letter}: {KINDS[letter].name} (draftproof explain {letter})" for letter in said["kinds"]]
    print(json.dumps(said) if as_json else "\n".join(lines))
    return 0


def _verifier(name: str) -> "Family | None":
    from draftproof.reference.verifiers import family

    try:
        return family(name)
    except ValueError:
        return None


def _aliases(rule: "Family") -> list[str]:
    from draftproof.reference.verifiers import ALIASES

    return [alias for alias, name in ALIASES.items() if name == rule.name]


def _of_verifier(rule: "Family", about: str) -> Iterator[str]:
    from draftproof.oracle.catalogue import catalogue

    also = _aliases(rule)
    yield f"verifier {rule.name}{f', also called {chr(44).join(also)}' if also else ''}"
    yield from (f"  {line}".rstrip() for line in about.split("\n"))
    admitted = [instance.name for instance in catalogue() if rule.admits(instance)]
    yield f"  made for: {'any drafting' if rule.draws is None else 'chains, and siblings drawn ' + ' or '.join(rule.draws)}"
    yield f"  its code: reference/verifiers/{rule.name}.py; what is proved about it: draftproof prove {rule.name}"
    yield f"  its exact law: draftproof law {admitted[0]} --verifier {rule.name} (or on {len(admitted) - 1} more instances of draftproof instances)"
    yield f"  to judge a verifier that claims to be it: draftproof check SUBJECT@{rule.name}"


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
    yield "instances made for it (draftproof instances NAME draws one)" if made["instances"] else several
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
