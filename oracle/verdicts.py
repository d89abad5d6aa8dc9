"""Verdicts on one case, from a law that was read.

* support: nothing is emitted that the target cannot emit;
* exactness: the growth identity at every prefix, that is, lossless;
* acceptance: E[L] against the reference's exact value, and against the length no lossless verifier exceeds.

Each is ``conform``, ``nonconform`` or ``inconclusive``, with the number that decided it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from draftproof.reference.growth import Violation, expected_length, stopped_outside, total_variation, violations
from draftproof.reference.models import spell
from draftproof.reference.rational import fraction, rational

from . import ceilings
from .cases import Block, Case
from .prefix_laws import prefix_laws
from .reading import Reading

BOUNDARY = Fraction(1, 1 << 23)
"""Events of at most this mass (a uniform of exactly 0 or 1 - 2^-24) are notes, unless judged strictly."""

LENGTH_SLACK = Fraction(1, 20)
"""Half-width to which E[L] has to be known, at least."""

DEFAULT_TOLERANCE = {"enumerate": 1e-6, "bracket": 1e-6, "races": 2e-5, "integrate": 2e-5, "sample": 2e-2}
"""Largest total variation that conforms, by way of reading."""


@dataclass(frozen=True)
class Verdict:
    """One verdict on one instance.

    ``number`` decided it (total variation, mass or length), ``limit`` is what it was held against, ``message`` says it in words, ``notes`` lists
    boundary events, ``violation`` the first broken growth equality.
    """

    subject: str
    instance: str
    verdict: str
    outcome: str
    way: str
    number: float | None = None
    limit: float | None = None
    message: str = ""
    effort: str = ""
    notes: tuple[str, ...] = ()
    violation: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in (None, (), {}, "")}


def judge(case: Case, reading: Reading, tolerance: float | None = None, strict: bool = False) -> list[Verdict]:
    """The verdicts a law allows.  ``strict`` counts boundary events."""
    limit = Fraction(default_tolerance(reading) if tolerance is None else tolerance)
    return [_support(case, reading, strict), _exactness(case, reading, limit, strict), _acceptance(case, reading, limit)]


def default_tolerance(reading: Reading) -> float:
    """Of its way; branches that hold races are known to float32's rounding only."""
    return DEFAULT_TOLERANCE["races" if reading.way == "enumerate" and reading.resolution else reading.way]


def _verdict(case: Case, reading: Reading, name: str, outcome: str, number: Fraction, limit: Fraction, message: str, **more: Any) -> Verdict:
    return Verdict(
        case.subject.name, case.instance.name, name, outcome, reading.way, float(number), float(limit), message, effort=reading.effort, **more
    )


def _support(case: Case, reading: Reading, strict: bool) -> Verdict:
    threshold = Fraction(0) if strict else BOUNDARY
    law = {block: rational(mass) for block, mass in reading.law.items()}
    notes, bad = list(reading.edges), list[str]()
    for prefix, mass in sorted(stopped_outside(law, case.target).items(), key=lambda item: (len(item[0]), item[0])):
        (bad if fraction(mass) > threshold else notes).append(f"{impossible(prefix)}, with probability {number(mass)}")
    for message, mass in reading.failures.items():
        (bad if mass > threshold else notes).append(f"with probability {number(mass)} it {message}")
    outcome, message = "conform", "nothing impossible is emitted"
    if bad or (strict and notes):
        found = bad or notes
        more = f" (and {len(found) - 1} more such events)" if len(found) > 1 else ""
        outcome, message = "nonconform", found[0] + more
    if case.subject.lossy:
        outcome, message = "conform", f"lossy, as its author says: {message}"
    return _verdict(case, reading, "support", outcome, _worst(case, reading), threshold, message, notes=tuple(notes))


def _worst(case: Case, reading: Reading) -> Fraction:
    law = {block: rational(mass) for block, mass in reading.law.items()}
    masses = [fraction(mass) for mass in stopped_outside(law, case.target).values()]
    return max([*masses, *reading.failures.values()], default=Fraction(0))


def _exactness(case: Case, reading: Reading, limit: Fraction, strict: bool) -> Verdict:
    law = {block: rational(mass) for block, mass in reading.law.items()}
    distance = fraction(total_variation(law, case.target))
    name, held = "exactness", f"total variation {number(distance)}"
    if case.subject.lossy:
        return _verdict(case, reading, name, "conform", distance, limit, f"lossy, as its author says: {held}")
    if distance + reading.resolution <= limit:
        reached = distance + reading.resolution
        known = f"{held}, known to within {number(reading.resolution)}" if reading.resolution else held
        return _verdict(case, reading, name, "conform", reached, limit, f"lossless: {known}")
    if distance - reading.resolution <= limit:
        message = f"{held} is known to within {number(reading.resolution)} only: not told apart from the tolerance {number(limit)}"
        return _verdict(case, reading, name, "inconclusive", distance, limit, message)
    first, missing = first_violation(law, case, limit), sum(reading.failures.values())
    message = f"{describe(first)}; {held}" if first else held
    if missing:
        message += f"; with probability {number(missing)} it emits nothing"
    violation = None if first is None else as_json(first)
    details = {"prefix_laws": prefix_laws(law, case.target, first.prefix if first else None)}
    return _verdict(case, reading, name, "nonconform", distance, limit, message, violation=violation, details=details)


def first_violation(law: Mapping[Block, Any], case: Case, limit: Fraction) -> Violation | None:
    """The first broken equality that matters: of mass above the tolerance, or the first at all when many small ones add up."""
    return next(violations(law, case.target, rational(limit)), None) or next(violations(law, case.target), None)


def describe(violation: Violation, about: str = "") -> str:
    """A violation in words; ``about`` says that the number is an estimate."""
    should, emitted = apart(violation.should_be, violation.emitted)
    return f"{after(violation.prefix)} the next token should be {violation.token} with probability {should}; it is {about}{emitted}"


def impossible(prefix: tuple[int, ...]) -> str:
    """The last token of ``prefix`` is one that the target cannot emit."""
    return f"{after(prefix[:-1])} it emits {prefix[-1]}, which the target cannot"


def as_json(violation: Violation) -> dict[str, Any]:
    """A violation as it stands in reports."""
    return {
        "prefix": spell(violation.prefix),
        "token": violation.token,
        "emitted": str(violation.emitted),
        "should_be": str(violation.should_be),
    }


def _acceptance(case: Case, reading: Reading, limit: Fraction) -> Verdict:
    length = fraction(expected_length({block: rational(mass) for block, mass in reading.law.items()}))
    slack = (limit + reading.resolution) * (case.depth + 1)
    found = acceptance(case, reading.way, reading.effort, length, length, slack)
    if found.outcome != "conform" or "conditionally_optimal" not in case.subject.claims:
        return found
    often, most = sum(mass for block, mass in reading.law.items() if len(block) > 1), fraction(ceilings.root_optimum(case))
    if often + slack >= most:
        return found
    message = f"E[L] = {number(length)}: it accepts a draft with probability {number(often)}; a conditionally optimal rule does with {number(most)}"
    return replace(found, outcome="nonconform", number=float(often), limit=float(most), message=message)


def acceptance(case: Case, way: str, effort: str, low: Fraction, high: Fraction, slack: Fraction) -> Verdict:
    """E[L] in [low, high] against the reference's exact value and the bound for lossless verifiers; ``slack`` is what the reading may be off by."""
    bound = None if case.ceiling is None else fraction(case.ceiling)
    promised = ceilings.floor(case)
    floor = None if promised is None else fraction(promised)
    exact = case.expected_length
    subject, middle = case.subject, (low + high) / 2
    wanted = floor if exact is None and floor == bound else None if exact is None else fraction(exact)
    details: dict[str, Any] = {
        "expected_length": float(middle),
        "bound": None if bound is None else str(bound),
        "gap": None if bound is None or not ceilings.attained(case) else float(bound - middle),
        "reference": None if exact is None else str(exact),
    }

    def verdict(outcome: str, against: Fraction | None, message: str) -> Verdict:
        given = {key: value for key, value in details.items() if value is not None}
        return Verdict(
            subject.name,
            case.instance.name,
            "acceptance",
            outcome,
            way,
            float(middle),
            None if against is None else float(against),
            message,
            effort,
            details=given,
        )

    said = f"E[L] = {number(middle)}" if low == high else f"E[L] is between {number(low)} and {number(high)}"
    if bound is not None and low - slack > bound and not subject.lossy:
        return verdict("nonconform", bound, f"{said}: above {number(bound)}, which no lossless verifier exceeds, so it is lossy")
    if floor is not None and high + slack < floor:
        return verdict("nonconform", floor, f"{said}: it accepts less than {number(floor)}, which it claims to reach")
    if wanted is None:
        return verdict("conform", bound, f"{said}{_below(case, middle, bound, slack)}; no family is declared, so no reference says what it should be")
    whose = f"what {subject.family} has here" if exact is not None else "which it claims to reach"
    if high + slack < wanted:
        return verdict("nonconform", wanted, f"{said}: it accepts less than {number(wanted)}, {whose}")
    if low - slack > wanted:
        return verdict("nonconform", wanted, f"{said}: it accepts more than {number(wanted)}, {whose}")
    if (high - low) / 2 > max(slack, LENGTH_SLACK):
        return verdict("inconclusive", wanted, f"{said}: not known well enough to compare it with {number(wanted)}, {whose}")
    reached = f"{said}, {whose}" if exact is None else f"{said}, and {number(wanted)} is {whose}"
    return verdict("conform", wanted, reached + _below(case, wanted, bound, slack))


def _below(case: Case, length: Fraction, bound: Fraction | None, slack: Fraction) -> str:
    """How far a length is from what lossless verifiers can have."""
    if bound is None:
        return "; too many draft trees for a ceiling"
    if bound - length <= slack:
        return "; optimal: no lossless verifier has more"
    if not ceilings.attained(case):
        return f"; no lossless verifier exceeds {number(bound)}, a bound that need not be reached: too many draft trees for the ceiling"
    claimed = "conditionally_optimal" in case.subject.claims and case.subject.family in ceilings.CONDITIONALLY_OPTIMAL
    return f"; {'conditionally optimal, and ' if claimed else ''}the ceiling is {number(bound)}, {number(bound - length)} more"


def after(prefix: tuple[int, ...]) -> str:
    """Where in the block: after which tokens."""
    return f'after "{spell(prefix)}"' if prefix else "at the root"


def number(value: Any) -> str:
    """Six digits."""
    return f"{float(value):.6g}"


def apart(*values: Any) -> list[str]:
    """Six digits, or as many more as it takes to tell the values apart."""
    for digits in range(6, 17):
        texts = [f"{float(value):.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts
