"""``draftproof prove``: the claims, the theorem behind each, and whether all of it holds."""

import argparse
from typing import Any

from .common import complain

DESCRIPTION = """\
draftproof prove           list the theorems and check the ledger against their sources
draftproof prove NAME      what is claimed about a verifier, a theorem or a Python function, in words
draftproof prove --build   build the proofs first (needs coqc and MathComp), and compare the golden vectors they print
"""


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "prove",
        help="the theorems behind the verifiers",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit codes: 0 every claim holds, 1 some do not, 2 cannot build or no such name",
    )
    command.add_argument("name", nargs="?", help="a verifier, a theorem or a Python function")
    command.add_argument("--build", action="store_true", help="build the proofs first")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.proofs.build import BuildError, build
    from draftproof.proofs.ledger import Claim, LedgerError, Places, claims, faults
    from draftproof.reference.exact_json import nearest
    from draftproof.reference.verifiers import FAMILIES, family

    places = Places()
    wrong: list[str] = []
    try:
        ledger = claims()
        if options.build:
            wrong += build(places.rocq)
    except (BuildError, LedgerError) as error:
        return complain(str(error))
    if options.name:
        try:
            name = family(options.name).name
        except ValueError:
            name = options.name
        chosen = [claim for claim in ledger if name in (claim.theorem, *claim.families, claim.function, claim.function.split(":")[-1])]
        if not chosen:
            names = [one for claim in ledger for one in (claim.theorem, *claim.families, claim.function.split(":")[-1]) if one]
            close = nearest(options.name, dict.fromkeys(names))
            return complain(f"nothing is claimed about {options.name!r}{close or ';'} draftproof prove lists all")
        print("\n\n".join(map(_in_full, chosen)))
        return 0

    def row(claim: Claim) -> str:
        return f"{claim.status:<8}{claim.theorem or '-':<40}{claim.file or '-':<24}{claim.function or ' '.join(claim.families)}"

    print("\n".join([f"{'':<8}{'theorem':<40}{'file':<24}backs", *map(row, ledger)]))
    wrong += faults(ledger, FAMILIES, places)
    if places.checkout is None:
        print("\nthe tests are not installed: not looked for")
    proved, missing = (sum(claim.status == status for claim in ledger) for status in ("proved", "open"))
    if wrong:
        print("\n" + "\n".join(f"FAULT: {fault}" for fault in wrong))
        return 1
    print(f"\n{proved} theorems, closed under the global context" + (f"; {missing} claims open" if missing else ""))
    return 0


def _in_full(claim: Any) -> str:
    if claim.status == "open":
        return f"open: {claim.says}"
    lines = [f"{claim.theorem} ({claim.file})", f"  {claim.says}", f"  assuming {claim.assumes}"]
    return "\n".join([*lines, f"  backs {claim.function}, tested by {claim.test}"])
