"""Verdicts on one case, from a law that was read.

* support: nothing is emitted that the target cannot emit;
* exactness: the growth identity at every prefix, that is, lossless;
* acceptance: E[L] against the reference's exact value, and against the length no lossless verifier exceeds.

Each is ``conform``, ``nonconform`` or ``inconclusive``, with the number that decided it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from draftproof.reference.growth import Violation, expected_length, stopped_outside, total_variation, violations
from draftproof.reference.models import spell
from draftproof.reference.rational import fraction, rational

from .cases import Block, Case
from .reading import Reading

BOUNDARY = Fraction(1, 1 << 23)
"""Events of at most this mass (a uniform of exactly 0 or 1 - 2^-24) are notes, unless judged strictly."""

DEFAULT_TOLERANCE = {"enumerate": 1e-6, "bracket": 1e-6, "integrate": 2e-5, "sample": 2e-2}
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
    limit = Fraction(DEFAULT_TOLERANCE[reading.way] if tolerance is None else tolerance)
    return [_support(case, reading, strict), _exactness(case, reading, limit, strict), _acceptance(case, reading, limit)]


def _verdict(case: Case, reading: Reading, name: str, outcome: str, number: Fraction, limit: Fraction, message: str, **more: Any) -> Verdict:
    return Verdict(
        case.subject.name, case.instance.name, name, outcome, reading.way, float(number), float(limit), message, effort=reading.effort, **more
    )


def _support(case: Case, reading: Reading, strict: bool) -> Verdict:
    threshold = Fraction(0) if strict else BOUNDARY
    law = {block: rational(mass) for block, mass in reading.law.items()}
    notes, bad = list(reading.edges), list[str]()
    for prefix, mass in sorted(stopped_outside(law, case.target).items(), key=lambda item: (len(item[0]), item[0])):
        text = f"{_after(prefix[:-1])}emits {prefix[-1]}, which the target cannot, with mass {_number(mass)}"
        (bad if fraction(mass) > threshold else notes).append(text)
    for message, mass in reading.failures.items():
        (bad if mass > threshold else notes).append(f"fails with mass {_number(mass)}: {message}")
    if bad or (strict and notes):
        found = bad or notes
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return _verdict(case, reading, "support", "nonconform", _worst(case, reading), threshold, found[0] + more, notes=tuple(notes))
    return _verdict(case, reading, "support", "conform", _worst(case, reading), threshold, "nothing impossible is emitted", notes=tuple(notes))


def _worst(case: Case, reading: Reading) -> Fraction:
    law = {block: rational(mass) for block, mass in reading.law.items()}
    masses = [fraction(mass) for mass in stopped_outside(law, case.target).values()]
    return max([*masses, *reading.failures.values()], default=Fraction(0))


def _exactness(case: Case, reading: Reading, limit: Fraction, strict: bool) -> Verdict:
    law = {block: rational(mass) for block, mass in reading.law.items()}
    distance = fraction(total_variation(law, case.target))
    name, held = "exactness", f"total variation {_number(distance)}"
    if case.subject.lossy:
        return _verdict(case, reading, name, "conform", distance, limit, f"lossy, as its author says: {held}")
    if distance + reading.resolution <= limit:
        reached = distance + reading.resolution
        known = f"{held}, known to {_number(reading.resolution)}" if reading.resolution else held
        return _verdict(case, reading, name, "conform", reached, limit, f"lossless: {known}")
    if distance - reading.resolution <= limit:
        message = f"{held} is not separated from {_number(limit)} at resolution {_number(reading.resolution)}"
        return _verdict(case, reading, name, "inconclusive", distance, limit, message)
    first = first_violation(law, case, limit)
    message = "mass is missing: some branches emit no block" if first is None else describe(first)
    if (kept := sum(reading.law.values())) != 1:
        message += f" ({_number(1 - kept)} of the mass emits nothing)"
    violation = None if first is None else as_json(first)
    return _verdict(case, reading, name, "nonconform", distance, limit, f"{message}; {held}", violation=violation)


def first_violation(law: Mapping[Block, Any], case: Case, limit: Fraction) -> Violation | None:
    """The first broken equality that matters: of mass above the tolerance, or the first at all when many small ones add up."""
    return next(violations(law, case.target, rational(limit)), None) or next(violations(law, case.target), None)


def describe(violation: Violation) -> str:
    """A violation in words."""
    after = f'after "{spell(violation.prefix)}"' if violation.prefix else "at the root"
    should, emitted = _number(violation.should_be), _number(violation.emitted)
    return f"{after} the next token should be {violation.token} with probability {should}; it is {emitted}"


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
    return acceptance(case, reading.way, reading.effort, length, length, limit * (case.depth + 1) + reading.resolution * (case.depth + 1))


def acceptance(case: Case, way: str, effort: str, low: Fraction, high: Fraction, slack: Fraction) -> Verdict:
    """E[L] in [low, high] against the reference's exact value and the bound for lossless verifiers; ``slack`` is what the reading may be off by."""
    bound = None if case.length_bound is None else fraction(case.length_bound)
    exact = case.expected_length
    subject, middle = case.subject, (low + high) / 2
    optimal = (case.instance.deterministic and "optimal_on_fixed_trees" in subject.claims) or (
        case.instance.is_chain and "optimal_on_chains" in subject.claims
    )
    wanted = bound if optimal and exact is None else None if exact is None else fraction(exact)
    details: dict[str, Any] = {
        "expected_length": float(middle),
        "bound": None if bound is None else str(bound),
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

    said = f"E[L] = {_number(middle)}"
    if bound is not None and low - slack > bound and not subject.lossy:
        return verdict("nonconform", bound, f"{said} is above {_number(bound)}, which no lossless verifier exceeds: it is lossy")
    if wanted is None:
        return verdict("conform", bound, said if bound is None else f"{said}; no lossless verifier exceeds {_number(bound)}")
    if high + slack < wanted:
        return verdict("nonconform", wanted, f"{said} is below {_number(wanted)}: {_expectation(case)}")
    if low - slack > wanted:
        return verdict("nonconform", wanted, f"{said} is above {_number(wanted)}: {_expectation(case)}")
    if high - low > 2 * slack and way == "sample" and (high - low) / 2 > Fraction(1, 20):
        return verdict("inconclusive", wanted, f"E[L] in [{_number(low)}, {_number(high)}], wanted {_number(wanted)}")
    optimum = ", the most any lossless verifier can have" if bound is not None and abs(wanted - bound) <= slack else ""
    return verdict("conform", wanted, f"{said}, as the reference's {_number(wanted)}{optimum}")


def _expectation(case: Case) -> str:
    return f"what {case.subject.family} accepts" if case.subject.family else "what it claims to reach"


def _after(prefix: tuple[int, ...]) -> str:
    return f'after "{spell(prefix)}" ' if prefix else "at the root "


def _number(value: Any) -> str:
    """A short exact fraction where there is one, else six digits."""
    exact = fraction(value)
    if exact.denominator <= 1000:
        return str(exact)
    return f"{float(exact):.6g}"
