"""A report as plain text: a line per subject and verdict kind, then what went wrong, each thing once, and how to see it again."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from draftproof.reference.exact_json import printable

from .items import NOT_TRIED
from .pattern import described
from .reading import INTEGRATED, counted
from .report import EXIT_CODES, KINDS, LIFTED, Failure, Report, catalogued, sampled_only
from .shrink import VERDICTS as SHRINKABLE
from .subjects import loadable
from .verdicts import Verdict

AGAIN = "see it again: "
SMALLER = "the smallest that still fails: "


def lines(report: Report) -> Iterable[str]:
    """The report as plain text."""
    for subject in report.subjects:
        part = report.of(subject)
        yield f"{part.said:<12} {subject}"
        judged = len({verdict.instance for verdict in part.verdicts})
        if judged and part.settings.get("tier") == "smoke":
            yield f"  {'smoke tier':<12} {judged} instances, one for each kind of fault; --tier standard judges on the whole catalogue"
        for kind in KINDS:
            yield from _kind(part, kind)
        yield from _not_judged(part)
        yield from _errors(part)
        yield from _failures(part)


def _kind(part: Report, kind: str) -> Iterable[str]:
    verdicts = [verdict for verdict in part.verdicts if verdict.verdict == kind]
    if not verdicts:
        return
    counts = {outcome: sum(verdict.outcome == outcome for verdict in verdicts) for outcome in (*EXIT_CODES, "not judged")}
    known = {"conform": sampled_only(verdicts)}
    said = ", ".join(f"{count} {outcome}{known.get(outcome, '')}" for outcome, count in counts.items() if count)
    ways = ", ".join(sorted({verdict.way for verdict in verdicts}))
    settled = [verdict for verdict in verdicts if verdict.outcome != "inconclusive"] or verdicts
    worst = max(settled, key=lambda verdict: verdict.number or 0.0)
    yield f"  {kind:<12} {said}   read by {ways}   {KINDS[kind]} {worst.number:.3g}"
    sampled = [verdict for verdict in verdicts if "sampled because" in verdict.effort]
    if sampled and kind == "exactness":
        yield f"  {'':<11} {len(sampled)} sampled, first {sampled[0].instance}, because: {sampled[0].effort.partition('sampled because ')[2]}"
    slow = [verdict for verdict in verdicts if INTEGRATED in verdict.effort]
    if slow and kind == "exactness":
        yield f"  {'':<12} {len(slow)} integrated, slowly: {slow[0].effort.partition(INTEGRATED)[2]}"
    notes = [(verdict.instance, note) for verdict in verdicts for note in verdict.notes]
    if notes:
        instance, note = notes[0]
        yield f"  {'':<12} {len(notes)} boundary notes, first on {instance}: {note}"


def _not_judged(part: Report) -> Iterable[str]:
    """What a verdict leaves out, and instances that did not suit, each reason once."""
    left_out: dict[str, list[str]] = {}
    for verdict in part.verdicts:
        for what, why in verdict.details.get("not judged", {}).items():
            left_out.setdefault(why, []).append(what)
    for why, names in left_out.items():
        total = sum(verdict.verdict == "invariance" for verdict in part.verdicts)
        often = {name: names.count(name) for name in names}
        said = [name if times == total else f"{name} on {times} of {total}" for name, times in often.items()]
        yield f"  {'':<12} not judged: {', '.join(said)}: {why}"
    for message, times in Counter(item.message for item in part.not_judged).items():
        many = f"{counted(times, 'instance')} " if message in NOT_TRIED else ""
        yield f"  not judged   {many}{message}"


def errors(part: Report) -> Iterable[Sequence[Failure]]:
    """What could not be judged, those that say the same together."""
    for message in dict.fromkeys(error.message for error in part.errors):
        yield [error for error in part.errors if error.message == message]


def _errors(part: Report) -> Iterable[str]:
    for found in errors(part):
        first, others = found[0], len(found) - 1
        more = f" and {others} more instance{'s' * (others > 1)}" if others else ""
        yield f"  error        {f'instance {first.instance}{more}: ' if first.instance else ''}{first.message}"
        if command := see_again(first, part.settings):
            yield f"  {'':<12} {AGAIN}{command}"


def _failures(part: Report) -> Iterable[str]:
    for first, found in findings(part):
        others = len(found) - 1
        more = f" and {others} more instance{'s' * (others > 1)}" if others else ""
        yield ""
        effort = first.effort.partition(INTEGRATED)[0]
        yield f"{first.outcome}   {first.subject}   {first.verdict} on {first.instance}{more}      read by {first.way}: {effort}"
        yield f"  {first.message}"
        yield from (f"  {line}" for line in described(part, found))
        yield from _below(first, see_again(first, part.settings))


def _below(item: Verdict | Failure, command: str | None) -> Iterable[str]:
    """What the instance is for, and the command to paste."""
    if isinstance(item, Verdict) and (said := purpose(item.instance)):
        yield f"  what the instance is for: {said}"
    if command:
        yield f"  {AGAIN}{command}"


def alone(item: Verdict | Failure, command: str | None, smaller: bool = False) -> str:
    """One verdict or error by itself, as a test shows it: first, on one line, what is wrong and how far off it is.

    ``command`` shows it again; ``smaller``: say how to find the smallest instance, where the subject can be named.
    """
    if isinstance(item, Failure):
        told = [f"error: {item.message}", f"  {item.subject} could not be judged on {item.instance}"]
    else:
        told = [f"{item.outcome}: {item.message}", f"  {item.verdict} of {item.subject} on {item.instance}, read by {item.way}: {item.effort}"]
    told += _below(item, command)
    if smaller and isinstance(item, Verdict) and item.outcome == "nonconform" and item.verdict in SHRINKABLE:
        told.append(f"  {SMALLER}{_check(item, '--shrink')}")
    return "\n".join(map(printable, told))


def findings(part: Report) -> Iterable[tuple[Verdict, Sequence[Verdict]]]:
    """Of one subject, by kind, what is nonconform, or else inconclusive: the verdict to read first, and all of them."""
    wrong = [verdict for verdict in part.verdicts if verdict.outcome == "nonconform"]
    for kind in dict.fromkeys([*KINDS, *(verdict.verdict for verdict in part.verdicts)]):
        found = [verdict for verdict in wrong or part.verdicts if verdict.verdict == kind and verdict.outcome in ("nonconform", "inconclusive")]
        if found:
            yield _telling(found), found


def purpose(instance: str) -> str:
    """What an instance of the catalogue was made for, and the kinds of fault; nothing about others."""
    source = catalogued().get(instance.partition(LIFTED)[0])
    if source is None:
        return ""
    kinds = source["kinds"]
    return f"{source['note']} (kind{'s' * (len(kinds) > 1)} {', '.join(kinds)}: draftproof explain {kinds[0]})"


def _telling(found: Sequence[Verdict]) -> Verdict:
    """The first, that is, the smallest instance on which the number is at least half of what it is anywhere."""
    most = max(verdict.number or 0.0 for verdict in found)
    return next(verdict for verdict in found if (verdict.number or 0.0) >= most / 2)


def see_again(item: Verdict | Failure, settings: Mapping[str, Any]) -> str | None:
    """The command that shows the law behind a verdict, or meets an error again, where subject and instance have names that a command line
    understands.
    """
    name, _, lift = item.instance.partition(LIFTED)
    if not loadable(item.subject) or not (name in catalogued() or _is_file(name)):
        return None
    if isinstance(item, Failure):
        return _check(item)
    command = shlex.join(["draftproof", "law", name, "--subject", item.subject])
    if item.verdict == "precision":
        command = shlex.join(["draftproof", "precision", item.subject, "--instance", name, "--vocabulary", "0"])
    elif lift or item.verdict == "invariance":
        command = _check(item)
    if item.way == "sample":
        command += " --way sample" + (f" --seed {settings['seed']}" if settings.get("seed") else "")
    return command


def _check(item: Verdict | Failure, *more: str) -> str:
    name, _, lift = item.instance.partition(LIFTED)
    return shlex.join(["draftproof", "check", item.subject, "--instance", name, *(["--lift", lift] if lift else []), *more])


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name that no file can have, being too long for instance
        return False
