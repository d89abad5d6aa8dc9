"""The task behind ``draftproof law``, as it runs in a worker process."""

import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from draftproof.reference.blocks import block_law
from draftproof.reference.growth import BlockLaw, expected_length, extensions, total_variation, violations
from draftproof.reference.instances import Instance, InstanceError
from draftproof.reference.laws import ZERO
from draftproof.reference.models import MissingRow, Model, spell
from draftproof.reference.rational import fraction, rational
from draftproof.reference.verifiers import family

from .cases import Case
from .catalogue import named
from .plan import without_failures
from .reading import read
from .readings.refused import Refused
from .sampling import Budget, sample
from .subjects import SubjectError
from .subjects import load as load_subjects
from .supervise import Send
from .verdicts import as_json, default_tolerance, first_violation


class UsageError(Exception):
    """A command that cannot be carried out as given; the message is for the person who gave it."""


def instance_named(name: str) -> Instance:
    """An instance of the catalogue or in a file.  Raises UsageError."""
    try:
        return named(name)
    except InstanceError as error:
        raise UsageError(str(error)) from None


def law_task(send: Send, name: str, verifier: str | None, spec: str, way: str | None, seed: int, time_limit: float) -> None:
    """The law of a reference or of a subject on one instance, as the object that ``draftproof law --json`` prints."""
    try:
        send(("law", reference_law(name, verifier) if verifier else subject_law(name, spec, way, seed, time_limit)))
    except UsageError as error:
        send(("fatal", str(error)))
    except (SubjectError, Refused, MissingRow, ValueError) as error:
        send(("fatal", f"{spec} on instance {name}: {error}"))


def subject_law(name: str, spec: str, way: str | None, seed: int, time_limit: float) -> dict[str, Any]:
    """Read one subject on one instance.  Raises SubjectError, Refused, UsageError."""
    try:
        subjects = load_subjects(spec)
    except SubjectError as error:
        raise UsageError(str(error)) from None
    if len(subjects) != 1:
        raise UsageError(f"{spec} names {len(subjects)} subjects; give one, e.g. gpu_impl.traversal")
    return case_law(Case(replace(subjects[0], claims=("lossless",)), instance_named(name)), way, seed, time_limit)  # what it claims is no matter


def case_law(case: Case, way: str | None, seed: int, time_limit: float) -> dict[str, Any]:
    """Read the subject of one case.  Raises SubjectError, Refused."""
    if way == "sample":
        return _sampled_law(case, seed, time_limit)
    try:
        reading = without_failures(read(case, way, time.monotonic() + time_limit / 2))
    except Refused as refusal:
        if way is not None:
            raise
        return _sampled_law(case, seed, time_limit, f"; sampled because {refusal}")
    law = {block: rational(mass) for block, mass in reading.law.items()}
    lossless = fraction(total_variation(law, case.target)) + reading.resolution <= default_tolerance(reading)
    first = None if lossless else first_violation(law, case, Fraction(default_tolerance(reading)))
    more = {"way": reading.way, "resolution": str(reading.resolution), "effort": reading.effort}
    return {**described(case.subject.name, law, case.target, lossless, None if first is None else as_json(first)), **more}


def _sampled_law(case: Case, seed: int, time_limit: float, note: str = "") -> dict[str, Any]:
    seen, verdicts = sample(case, Budget(1e-6, time.monotonic() + time_limit / 2), None, seed, note)
    total = sum(seen.blocks.values()) + sum(seen.impossible.values())
    if not total:
        raise Refused("the time limit passed before the first block")
    law = {block: rational(count) / total for block, count in (seen.blocks + seen.impossible).items()}
    outcomes = {verdict.verdict: verdict for verdict in verdicts}
    exact = {"conform": True, "nonconform": False}.get(outcomes["exactness"].outcome)
    effort = outcomes["exactness"].effort + ("" if exact is False else f"; {outcomes['exactness'].message}")
    more = {"way": "sample", "effort": effort}
    return {**described(case.subject.name, law, case.target, exact, outcomes["exactness"].violation), **more}


def reference_law(name: str, verifier: str) -> dict[str, Any]:
    """The exact law of a reference verifier on one instance.  Raises UsageError."""
    instance = instance_named(name)
    try:
        rule = family(verifier)
    except ValueError as error:
        raise UsageError(f"{error}; draftproof explain NAME says what one is") from None
    try:
        law = block_law(rule, instance.target, instance.topology, instance.scheme)
        first = next(violations(law, instance.target), None)
        return described(rule.name, law, instance.target, total_variation(law, instance.target) == 0, None if first is None else as_json(first))
    except (ValueError, MissingRow) as error:
        raise UsageError(f"{name}: {error}") from None


def described(name: str, law: BlockLaw, target: Model, exact: bool | None, first: Mapping[str, Any] | None) -> dict[str, Any]:
    """A block law as ``draftproof law --json`` prints it; ``first`` is the first broken growth equality."""
    return {
        "verifier": name,
        "exact": exact,
        "total_variation": str(total_variation(law, target)),
        "expected_length": str(expected_length(law)),
        "blocks": [
            {"tokens": list(block), "accepted": len(block) - 1, "probability": str(mass)}
            for block, mass in sorted(law.items(), key=lambda item: item[0])
            if mass
        ],
        "first_violation": first,
        "next_tokens": next_tokens(law, target),
    }


def next_tokens(law: BlockLaw, target: Model) -> list[dict[str, Any]]:
    """After each prefix that a block extends, each next token: what it is emitted with, what it should be, exactly; the worst rows first.

    ``off`` = R(s a) - n(s) p(a|s) as in ``reference.growth``: the difference times how often a block gets there.  Raises what ``target`` raises.
    """
    rows = list[tuple[Any, dict[str, Any]]]()
    for prefix, tokens in extensions(law).items():
        reached, row = sum(tokens.values(), ZERO) if prefix else ZERO + 1, target(prefix)
        for token in sorted({*tokens, *row}):
            emitted = tokens.get(token, ZERO)
            off, shown = emitted - reached * row[token], (str(row[token]), str(emitted / reached))
            rows.append((off, {"prefix": spell(prefix), "token": token, "should_be": shown[0], "emitted": shown[1], "off": str(off)}))
    return [row for _, row in sorted(rows, key=lambda one: -abs(one[0]))]
