"""The league: every verifier that an instance admits, its exact E[L], and how much of the ceiling that is."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from draftproof.reference.blocks import block_law
from draftproof.reference.growth import expected_length, total_variation
from draftproof.reference.instances import Instance, parse
from draftproof.reference.models import MissingRow, Model, random_model, spell
from draftproof.reference.rational import fraction
from draftproof.reference.transport.exact_simplex import Ceiling, ceiling_of
from draftproof.reference.transport.tree import problem_of
from draftproof.reference.trees import Slot
from draftproof.reference.verifiers import FAMILIES, Family

from .cases import Case
from .catalogue import suits
from .readings.refused import Refused
from .subjects import Subject, SubjectError, load
from .supervise import Send
from .tasks import UsageError, case_law

SAMPLED = ("with_replacement", "without_replacement", "greedy", "top_k")
"""Drafting schemes of a generated family with more than one child."""

MOST_REPLAYED = 4096
"""Rules that are neither level by level nor node by node are replayed whole: up to this many ways to draw the tree."""

LONGEST_NAME = 28
"""As long as the longest of ours."""

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
class Standing:
    """All verifiers on one instance, longest blocks first, against its certified ceiling.

    ``left_out``: rules that can only be replayed whole, where there are too many ways to draw the tree.
    """

    instance: str
    scheme: str
    ceiling: Fraction
    gap: Fraction
    rows: Sequence[Row]
    left_out: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """As ``draftproof league --json`` prints it."""
        rows = [{**_shown(row, self.ceiling), "exact": str(row.length)} for row in self.rows]
        about = {"instance": self.instance, "scheme": self.scheme, "ceiling": str(self.ceiling), "gap": str(self.gap)}
        return {**about, "rows": rows, "left_out": list(self.left_out)}


@dataclass(frozen=True)
class Mean:
    """One verifier over many instances drafted by one scheme: means of E[L] and of the ceiling, over the instances it was run on.

    ``lossless`` is False where it was not on one of them, and else None where that was not decided on all; ``distance`` is the largest.
    """

    scheme: str
    verifier: str
    length: Fraction
    ceiling: Fraction
    lossless: bool | None
    instances: int
    remark: str = ""
    distance: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """As ``draftproof league --json`` prints it."""
        return {"scheme": self.scheme, **_shown(self, self.ceiling), "ceiling": float(self.ceiling), "instances": self.instances}


def _shown(row: "Row | Mean", ceiling: Fraction) -> dict[str, Any]:
    lossy = {"total_variation": row.distance} if row.lossless is False else {}
    about = {"verifier": row.verifier, "lossless": row.lossless, **lossy, "remark": row.remark}
    return {**about, "expected_length": float(row.length), "share": float(row.length / ceiling)}


def standing(instance: Instance, subjects: Iterable[Subject] = (), seed: int = 0, time_limit: float = 120.0) -> Standing:
    """Every family that admits ``instance`` and every subject that suits it.

    Raises TooManyTrees where the ceiling is out of reach, MissingRow for an incomplete instance, SubjectError for a subject that misbehaves.
    """
    found: Ceiling = ceiling_of(problem_of(instance.target, instance.topology, instance.scheme))
    admitted = [family for family in FAMILIES.values() if family.admits(instance)]
    left_out = [family for family in admitted if _needs_replay(family, instance) and _ways_to_draw(instance) > MOST_REPLAYED]
    references = [_reference(family, instance) for family in admitted if family not in left_out]
    rows = sorted([*references, *_subjects(instance, subjects, seed, time_limit)], key=lambda row: -row.length)
    names = [family.name for family in left_out]
    return Standing(instance.name, instance.scheme_name, fraction(found.ceiling), fraction(found.gap), rows, names)


def _reference(family: Family, instance: Instance) -> Row:
    law = block_law(family, instance.target, instance.topology, instance.scheme)
    distance = total_variation(law, instance.target)
    return Row(family.name, fraction(expected_length(law)), distance == 0, REMARKS.get(family.name, ""), float(fraction(distance)))


def _needs_replay(family: Family, instance: Instance) -> bool:
    """Neither level by level nor node by node; joined siblings are drawn all at once."""
    return (family.level is None and family.visit is None) or (not family.reads_declared and instance.scheme_name == "with_replacement")


def _subjects(instance: Instance, subjects: Iterable[Subject], seed: int, time_limit: float) -> Iterator[Row]:
    for subject in subjects:
        if not suits(subject, instance):
            continue
        try:
            law = case_law(Case(replace(subject, claims=("lossless",)), instance), None, seed, time_limit)
        except Refused as refusal:
            raise SubjectError(f"{subject.name} on instance {instance.name}: {refusal}") from None
        yield Row(subject.name, Fraction(law["expected_length"]), law["exact"], law["way"], float(Fraction(law["total_variation"])))


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
    groups: dict[tuple[str, str], list[tuple[Row, Fraction]]] = {}
    for one in standings:
        for row in one.rows:
            groups.setdefault((one.scheme, row.verifier), []).append((row, one.ceiling))
    found = []
    for (scheme, verifier), results in groups.items():
        decided = [row.lossless for row, _ in results]
        lossless = False if False in decided else None if None in decided else True
        length, ceiling = (sum(values, Fraction(0)) / len(results) for values in ([row.length for row, _ in results], [top for _, top in results]))
        farthest = max(row.distance for row, _ in results)
        found.append(Mean(scheme, verifier, length, ceiling, lossless, len(results), results[0][0].remark, farthest))
    return sorted(found, key=lambda mean: (mean.scheme, -mean.length, mean.verifier))


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


def league_task(send: Send, sources: list[dict[str, Any]], subjects: list[str], seed: int, time_limit: float) -> None:
    """One Standing after the other, as ("standing", Standing); ("fatal", message) when something cannot be done."""
    try:
        instances, loaded = [parse(source) for source in sources], list[Subject]()
        for spec in subjects:
            found = load(spec)
            if not any(suits(subject, instance) for subject in found for instance in instances):
                raise UsageError(f"{spec} suits none of these instances")
            loaded += found
        for instance in instances:
            try:
                send(("standing", standing(instance, loaded, seed, time_limit)))
            except (MissingRow, ValueError, RuntimeError) as error:
                raise UsageError(f"{instance.name}: {error}") from None
    except (SubjectError, UsageError) as error:
        send(("fatal", str(error)))
