"""The league: every verifier that an instance admits, its exact E[L], and how much of the ceiling that is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.instances import Instance, parse
from draftproof.reference.models import MissingRow, Model, random_model, spell
from draftproof.reference.rational import fraction
from draftproof.reference.transport.exact_simplex import ceiling_of
from draftproof.reference.transport.tree import SolverFailed, TooManyTrees, problem_of
from draftproof.reference.trees import Slot
from draftproof.reference.verifiers import FAMILIES, Family

from .cases import Case
from .catalogue import suiting, suits
from .readings.refused import Refused
from .subjects import Subject, SubjectError, load
from .supervise import Send, WorkerLost, supervised
from .tasks import UsageError, case_law

SAMPLED = ("with_replacement", "without_replacement", "greedy", "top_k")
"""Drafting schemes of a generated family with more than one child."""

MOST_REPLAYED = 4096
"""Rules that are neither level by level nor node by node are replayed whole: up to this many ways to draw the tree."""

LONGEST_NAME = 28
"""As long as the longest of ours."""

THE_CEILING = "the ceiling"

REMARKS = {"univer_lookahead": "our order"}


@dataclass(frozen=True)
class Row:
    """One verifier on one instance.

    ``lossless`` is None where that was not decided; ``distance`` is the total variation of one that is not; ``remark``: how it was read, if it was.
    """

    verifier: str
    length: Fraction
    lossless: bool | None
    remark: str = ""
    distance: float = 0.0


@dataclass(frozen=True)
class Top:
    """The certified ceiling of an instance and what is not known of it; or why there is none."""

    ceiling: Fraction | None = None
    gap: Fraction | None = None
    reason: str = ""


@dataclass(frozen=True)
class Standing:
    """All verifiers on one instance, longest blocks first, against its certified ceiling.

    ``left_out``: rules that can only be replayed whole, where there are too many ways to draw the tree.  ``late``: what was not done in time.
    """

    instance: str
    scheme: str
    top: Top
    rows: Sequence[Row]
    left_out: Sequence[str] = ()
    late: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """As ``draftproof league --json`` prints it; the ceiling, its gap and all shares are null where there is no certified ceiling."""
        rows = [{**_shown(row, self.top.ceiling), "exact": str(row.length)} for row in self.rows]
        exact = {name: None if number is None else str(number) for name, number in (("ceiling", self.top.ceiling), ("gap", self.top.gap))}
        missing = {"no_ceiling": self.top.reason} if self.top.ceiling is None else {}
        about = {"instance": self.instance, "scheme": self.scheme, **exact, **missing}
        return {**about, "rows": rows, "left_out": list(self.left_out), "late": list(self.late)}


@dataclass(frozen=True)
class Mean:
    """One verifier over many instances drafted by one scheme: means of E[L] and of the ceiling, over the instances it was run on.

    ``ceiling`` is None where one of them has no certified ceiling; ``lossless`` is False where it was not on one of them, and else None where that
    was not decided on all; ``distance`` is the largest.
    """

    scheme: str
    verifier: str
    length: Fraction
    ceiling: Fraction | None
    lossless: bool | None
    instances: int
    remark: str = ""
    distance: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """As ``draftproof league --json`` prints it."""
        ceiling = None if self.ceiling is None else float(self.ceiling)
        return {"scheme": self.scheme, **_shown(self, self.ceiling), "ceiling": ceiling, "instances": self.instances}


def _shown(row: "Row | Mean", ceiling: Fraction | None) -> dict[str, Any]:
    lossy = {"total_variation": row.distance} if row.lossless is False else {}
    about = {"verifier": row.verifier, "lossless": row.lossless, **lossy, "remark": row.remark}
    return {**about, "expected_length": float(row.length), "share": None if ceiling is None else float(row.length / ceiling)}


Entry = tuple[str, Callable[[], Row | Top | None]]
"""What it is for, and what is to be found: a row, the ceiling, or that a rule would have to be replayed too often."""


def entries(instance: Instance, subjects: Iterable[Subject] = (), seed: int = 0, time_limit: float = 120.0) -> list[Entry]:
    """Every family that admits ``instance``, every subject that suits it, and last the ceiling; each found when it is called.

    They raise MissingRow for an incomplete instance, SubjectError for a subject that misbehaves.
    """
    families = [(family.name, partial(_reference, family, instance)) for family in FAMILIES.values() if family.admits(instance)]
    suited = [(subject.name, partial(_subject, subject, instance, seed, time_limit)) for subject in subjects if suits(subject, instance)]
    return [*families, *suited, (THE_CEILING, partial(top, instance))]


def standing(instance: Instance, subjects: Iterable[Subject] = (), seed: int = 0, time_limit: float = 120.0) -> Standing:
    """All of ``entries``, one after the other."""
    return assembled(instance, [(name, find()) for name, find in entries(instance, subjects, seed, time_limit)])


def assembled(instance: Instance, found: Sequence[tuple[str, Row | Top | None]], late: Sequence[str] = ()) -> Standing:
    """A Standing of what was found."""
    rows = sorted((one for _, one in found if isinstance(one, Row)), key=lambda row: -row.length)
    found_top = next((one for _, one in found if isinstance(one, Top)), Top())
    return Standing(instance.name, instance.scheme_name, found_top, rows, [name for name, one in found if one is None], late)


def top(instance: Instance) -> Top:
    """The certified ceiling.  Raises MissingRow for an incomplete instance."""
    try:
        found = ceiling_of(problem_of(instance.target, instance.topology, instance.scheme))
    except (TooManyTrees, SolverFailed) as error:
        return Top(reason=str(error))
    return Top(fraction(found.ceiling), fraction(found.gap))


def _reference(family: Family, instance: Instance) -> Row | None:
    if _needs_replay(family, instance) and _ways_to_draw(instance) > MOST_REPLAYED:
        return None
    law = block_law(family, instance.target, instance.topology, instance.scheme)
    distance = total_variation(law, instance.target)
    return Row(family.name, fraction(expected_length(law)), distance == 0, REMARKS.get(family.name, ""), float(fraction(distance)))


def _needs_replay(family: Family, instance: Instance) -> bool:
    """Neither level by level nor node by node; joined siblings are drawn all at once."""
    return (family.level is None and family.visit is None) or (not family.reads_declared and instance.scheme_name == "with_replacement")


def _subject(subject: Subject, instance: Instance, seed: int, time_limit: float) -> Row:
    try:
        law = case_law(Case(replace(subject, claims=("lossless",)), instance), None, seed, time_limit)
    except Refused as refusal:
        raise SubjectError(f"{subject.name} on instance {instance.name}: {refusal}") from None
    return Row(subject.name, Fraction(law["expected_length"]), law["exact"], law["way"], float(Fraction(law["total_variation"])))


def _ways_to_draw(instance: Instance) -> int:
    def sampled(slot: Slot) -> int:
        here = min(1, len(slot)) if instance.scheme_name == "greedy" else len(slot)
        return here + sum(map(sampled, slot))

    return 1 if instance.deterministic else int(instance.vocabulary ** sampled(instance.topology))


def shortened(verifier: str) -> str:
    """A verifier's name for tables and pictures: of a long one, the end."""
    name = verifier.rpartition("/")[2]
    return name if len(name) <= LONGEST_NAME else "…" + name[1 - LONGEST_NAME :]


def means(standings: Sequence[Standing]) -> list[Mean]:
    """By scheme and verifier, longest mean first within a scheme."""
    groups: dict[tuple[str, str], list[tuple[Row, Fraction | None]]] = {}
    for one in standings:
        for row in one.rows:
            groups.setdefault((one.scheme, row.verifier), []).append((row, one.top.ceiling))
    found = []
    for (scheme, verifier), results in groups.items():
        decided = [row.lossless for row, _ in results]
        lossless = False if False in decided else None if None in decided else True
        length, tops = _mean([row.length for row, _ in results]), [top for _, top in results if top is not None]
        ceiling = _mean(tops) if len(tops) == len(results) else None
        farthest = max(row.distance for row, _ in results)
        found.append(Mean(scheme, verifier, length, ceiling, lossless, len(results), results[0][0].remark, farthest))
    return sorted(found, key=lambda mean: (mean.scheme, -mean.length, mean.verifier))


def _mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


def generated(vocabulary: int, children: int, depth: int, seed: int, count: int) -> Iterator[Instance]:
    """``count`` random targets and drafts, each drafted by every scheme: a chain for one child, else the four others."""
    for number in range(count):
        for scheme in ("chain",) if children == 1 else SAMPLED:
            yield random_instance(f"random-{number}-{scheme}", seed * 1_000_000 + number, vocabulary, scheme, [children] * depth)


def random_instance(name: str, seed: int, vocabulary: int, scheme: str, children: Sequence[int], zeros: float = 0.0) -> Instance:
    """A random row of the target and of the draft for every prefix; the same seed gives the same rows whatever the scheme."""
    target, draft = random_model(2 * seed, vocabulary, zeros), random_model(2 * seed + 1, vocabulary, zeros)
    rows = {"target": _table(target, vocabulary, len(children) + 1), "draft": _table(draft, vocabulary, len(children))}
    return parse({"name": name, "vocabulary": vocabulary, **rows, "drafting": {"scheme": scheme, "children": list(children)}})


def _table(model: Model, vocabulary: int, depth: int) -> dict[str, list[str]]:
    prefixes = (prefix for length in range(depth) for prefix in product(range(vocabulary), repeat=length))
    return {spell(prefix): [str(model(prefix)[token]) for token in range(vocabulary)] for prefix in prefixes}


def played(instances: Sequence[Instance], subjects: Sequence[str], seed: int, time_limit: float) -> Iterator[Standing]:
    """The Standing of every instance, found in another process; a reference or ceiling that takes longer than ``time_limit`` is passed over.

    Raises UsageError for what cannot be done, and where a subject crashes or does not come back.
    """
    arguments = {"sources": [{**one.source, "name": one.name} for one in instances], "subjects": subjects, "seed": seed, "time_limit": time_limit}
    place, at, found, late = 0, 0, list[tuple[str, Row | Top | None]](), list[str]()
    while place < len(instances):
        name = ""
        try:
            for kind, message in supervised(league_task, {**arguments, "place": place, "at": at}, time_limit):
                if kind == "fatal":
                    raise UsageError(message)
                if kind == "at":
                    name = message
                elif kind == "found":
                    found.append((name, message))
                    at += 1
                else:
                    yield assembled(instances[place], found, late)
                    place, at, found, late = place + 1, 0, [], []
            return
        except WorkerLost as lost:
            if name == THE_CEILING:
                found.append((name, Top(reason=f"its computation {lost}")))
            elif name in FAMILIES:
                late.append(name)
            else:
                raise UsageError(f"{instances[place].name}: {name or 'what comes before the first verifier'} {lost}") from None
            at += 1


def misfit(subject: Subject, instances: Sequence[Instance]) -> str:
    """Why an instance does not suit a subject, and instances of the catalogue that do."""
    if subject.shape == "chain" and not any(instance.is_chain for instance in instances):
        why = "it takes chains, and they are trees"
    else:
        why = f"{subject.family} is not made for {' or '.join(dict.fromkeys(one.scheme_name for one in instances))} drafting"
    fitting = [instance.name for instance in suiting(subject)]
    return f"{why}; {', '.join(fitting[:3])} and {len(fitting) - 3} more of the catalogue suit it" if len(fitting) > 3 else why


def league_task(send: Send, sources: list[dict[str, Any]], subjects: list[str], seed: int, time_limit: float, place: int, at: int) -> None:
    """From entry ``at`` of instance ``place`` on: ("at", name), ("found", what it gives), and ("played", None) after the last of an instance.

    ("fatal", message) when something cannot be done.
    """
    try:
        instances, loaded = [parse(source) for source in sources], list[Subject]()
        for spec in subjects:
            found = load(spec)
            if not any(suits(subject, instance) for subject in found for instance in instances):
                raise UsageError(f"{spec} suits none of these instances: {misfit(found[0], instances)}")
            loaded += found
        for number, instance in enumerate(instances[place:]):
            for name, find in entries(instance, loaded, seed, time_limit)[0 if number else at :]:
                send(("at", name))
                try:
                    send(("found", find()))
                except (MissingRow, ValueError, RuntimeError) as error:
                    raise UsageError(f"{instance.name}: {error}") from None
            send(("played", None))
    except (SubjectError, UsageError) as error:
        send(("fatal", str(error)))
