"""``draftproof law``: the law of the emitted block on one instance."""

import argparse
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .common import SUBJECT_HELP, complain, decimal, positive, seed, short


def add(commands: Any) -> None:
    """Put the command on the parser."""
    command = commands.add_parser(
        "law", help="the law of the emitted block on one instance", description="Print the law of the block that a verifier emits on one instance."
    )
    command.add_argument("instance", metavar="FILE", help="instance file, or the name of an instance in the catalogue")
    who = command.add_mutually_exclusive_group(required=True)
    who.add_argument("--verifier", metavar="NAME", help="a reference, e.g. traversal, or an alias (token, block, tev); a wrong name lists them all")
    who.add_argument("--subject", metavar="SUBJECT", help=SUBJECT_HELP)
    command.add_argument("--way", choices=("enumerate", "integrate", "sample"), help="for a subject: insist on one way of reading")
    command.add_argument("--seed", type=seed, default=0)
    command.add_argument("--time-limit", type=positive, default=120.0, metavar="SECONDS")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry it out."""
    from draftproof.oracle.supervise import WorkerLost, supervised
    from draftproof.oracle.tasks import law_task

    try:
        arguments = {"name": options.instance, "verifier": options.verifier, "spec": options.subject, "way": options.way, "seed": options.seed}
        kind, found = next(supervised(law_task, {**arguments, "time_limit": options.time_limit}, options.time_limit))
        if kind == "fatal":
            return complain(found)
    except WorkerLost as lost:
        return complain(f"{options.verifier or options.subject} on instance {options.instance}: {lost}")
    print(json.dumps(found) if options.json else _described(found))
    return 0


MOST_ROWS = 40
"""Rows of the comparison that are printed; all of them are in the JSON."""


def _beside_target(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The target's law of the next token beside the subject's, worst first."""
    yield f"{'after':<12} {'token':>5}   {'should be':>12} {'is':>12} {'difference':>13}   of all blocks"
    for row in rows[:MOST_ROWS]:
        should, emitted = Fraction(row["should_be"]), Fraction(row["emitted"])
        numbers = f"{float(should):>12.9f} {float(emitted):>12.9f} {float(emitted - should):>+13.3g}   {float(Fraction(row['off'])):+.3g}"
        yield f"{row['prefix'] or 'the root':<12} {row['token']:>5}   {numbers}"
    if len(rows) > MOST_ROWS:
        yield f"and {len(rows) - MOST_ROWS} rows that differ by less (--json has them all)"


def _described(found: dict[str, Any]) -> str:
    shown = decimal if "way" in found else short  # a reference's numbers are exact, a subject's are those of floating point rows
    yes = "not told apart from lossless" if found.get("way") == "sample" else "lossless"
    lossless = {True: yes, False: "NOT lossless", None: "not decided"}[found["exact"]]
    out = [f"{found['verifier']}: {lossless}, total variation {shown(found['total_variation'])}, E[L] = {shown(found['expected_length'])}"]
    if "way" in found:
        within = f", known to within {decimal(found['resolution'])}" if found.get("resolution", "0") != "0" else ""
        out.append(f"read by {found['way']}: {found['effort']}{within}")
    if (first := found["first_violation"]) is not None:
        after = f'after "{first["prefix"]}"' if first["prefix"] else "at the root"
        emitted, should = shown(first["emitted"]), shown(first["should_be"])
        out.append(f"{after} the next token should be {first['token']} with probability {should}; it is {emitted}")
    if "way" in found or found["exact"] is False:
        out += ["", *_beside_target(found["next_tokens"])]
    out += ["", *(["the law of the block:"] if "way" in found else [])]
    out += [f"{' '.join(map(str, block['tokens'])):<16} {shown(block['probability'])}" for block in found["blocks"]]
    return "\n".join(out)
