"""Precision: what the floating point of a verifier makes of its law, with no sampling error at all.

For subjects that take their uniforms.  ``sweep``: every uniform through one decision at a time (``sweep``), on small instances.  ``implied law``: the
bonus token at a full vocabulary (``implied``), where the CDF of a float32 row is off by a thousandth and no number of samples that anyone draws
shows it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Any

from draftproof.reference.instances import Instance, parse

from .bonus import Bonus
from .cases import Case
from .catalogue import find, named, suits
from .implied import Implied, ImpliedLaw, NoInverseCDF
from .items import Item, Observe, Plan, Record, require_sense
from .lifts import FULL
from .lines import Line, lines
from .reading import counted, layout_hint
from .report import Failure, NotJudged, Report
from .subjects import Subject, SubjectError, load
from .supervise import Send
from .sweep import Advance, Sweeper, Swept, chunks
from .verdicts import BOUNDARY, Verdict, number

INSTANCES = ("chain-opposed", "tree-siblings-three", "tree-greedy-three", "tree-duplicates", "chain-confidence")
"""Small instances of every way of drafting whose thresholds are no short decimals, which coarse uniforms would hit.  A subject is swept on those that
suit it, ``MOST_INSTANCES`` at most."""
MOST_INSTANCES = 2

HALF = 2.0**-8
"""Rounding to bfloat16, the coarsest, moves a threshold by less, and half a thousandth, as uniforms of three digits do."""

GRACE = 60.0
"""Seconds for what cannot stop by itself."""


@dataclass(frozen=True)
class Settings:
    """How precisely to look.

    ``bits``: 2^bits evenly spaced uniforms are swept through every column, all there are of float32 ones at 24.  ``vocabulary``: of the implied law,
    0 for none; ``tokens``: looked at by mass, and as many by number.  ``tolerance``: largest total variation that conforms.  ``time_limit``: seconds
    for each instance.  ``strict``: boundary events, and differences at a uniform that is itself a threshold, count.

    Raises ValueError for settings that make no sense.
    """

    bits: int = 24
    vocabulary: int = FULL
    tokens: int = 128
    tolerance: float = 1e-6
    seed: int = 0
    time_limit: float = 3600.0
    strict: bool = False

    def __post_init__(self) -> None:
        if not 8 <= self.bits <= 24:
            raise ValueError(f"a sweep takes 2^8 to 2^24 uniforms, not 2^{self.bits}")
        if self.vocabulary and not (4 <= self.vocabulary <= 1 << 22 and self.tokens >= 2):
            asked = f"{self.tokens} tokens of {self.vocabulary}"
            raise ValueError(f"an implied law needs a vocabulary of 4 to 2^22 (0: none) and 2 tokens to look at, not {asked}")
        require_sense(0.5, self.tolerance, self.time_limit)


def check_precision(
    subjects: Sequence[Subject],
    instances: Iterable[Instance | str] | None = None,
    settings: Settings | None = None,
    *,
    observe: Observe | None = None,
    record: Record | None = None,
) -> Report:
    """Is the law of these verifiers, in the floating point they have, within the tolerance of the exact one at every uniform?

    ``instances`` to sweep: names or instances, by default the first ``MOST_INSTANCES`` of ``INSTANCES`` that suit the subject.
    Raises InstanceError for a bad instance file.
    """
    chosen, reached = Settings() if settings is None else settings, (0, 0)

    def begun(_: str, done: int, total: int) -> None:
        nonlocal reached
        reached = done, total

    def progress(what: str) -> None:
        if observe:
            observe(what, *reached)

    given = None if instances is None else [named(one) if isinstance(one, str) else one for one in instances]
    items = list[Item]()
    for one in subjects:
        judge = _Judge(one, chosen, progress)
        suited = [each for each in map(find, INSTANCES) if suits(one, each)][:MOST_INSTANCES] if given is None else given
        items += [Item(one.name, each.name, partial(judge.sweep, each)) for each in suited]
        if chosen.vocabulary:
            items.append(Item(one.name, judge.large, judge.implied))
    return Plan(items, asdict(chosen), chosen.time_limit + GRACE).run(begun, record)


class _Judge:
    """One subject under fixed settings."""

    def __init__(self, subject: Subject, settings: Settings, progress: Callable[[str], None]):
        self.subject, self.settings, self.progress = subject, settings, progress
        self.large = f"bonus token of {settings.vocabulary}"
        """The instance of the implied law."""

    def _not_judged(self, instance: str, why: str) -> NotJudged:
        return NotJudged(self.subject.name, instance, why)

    def _verdict(self, instance: str, outcome: str, way: str, off: float, message: str, effort: str = "", **more: Any) -> Verdict:
        return Verdict(self.subject.name, instance, "precision", outcome, way, off, self.settings.tolerance, message, effort, **more)

    def _advance(self, what: str, done: Callable[[], float], deadline: float) -> Advance:
        """Called now and then: says how much of a line, or of the bisection, is ``done``, and how long the rest takes at that pace."""
        began = time.monotonic()

        def advance() -> None:
            now, part = time.monotonic(), done()
            left = (now - began) * (1 / part - 1) if part else 0.0
            self.progress(f"{self.subject.name} on {what}, {part:.0%}" + (f", {left:.0f} s left of it" if part else ""))
            if now > deadline:
                raise OutOfTime

        return advance

    def sweep(self, instance: Instance) -> Iterator[Verdict | Failure]:
        """A verdict for every column of one instance."""
        subject = self.subject
        if subject.randomness != "uniforms":
            yield self._not_judged(instance.name, "it does not take its uniforms as an argument: a sweep needs uniforms [B, M]")
            return
        if subject.layout != "draftproof" or subject.family is None:
            hint = layout_hint(subject) or "its uniforms have a number or an order of its own, and only our layout is swept"
            yield self._not_judged(instance.name, f"nothing says which uniform decides what: {hint}")
            return
        if not subject.batched:
            yield self._not_judged(instance.name, "it takes one row at a time, and a sweep takes millions")
            return
        case, limit = Case(subject, instance), self.settings.time_limit
        sweeper, bits, deadline = Sweeper(case), self.settings.bits, time.monotonic() + limit
        for line in lines(case, self.settings.seed):
            advance = self._advance(f"{instance.name}, column {line.column}", _counter(chunks(bits)), deadline)
            try:
                yield self._of_line(instance.name, sweeper(line, bits, advance))
            except OutOfTime:
                yield self._verdict(instance.name, "inconclusive", "sweep", 1.0, f"{_place(line)}: not swept to the end within {limit:g} s")

    def _of_line(self, instance: str, swept: Swept) -> Verdict:
        off, within, limit = float(swept.total_variation), float(swept.resolution), self.settings.tolerance
        outcome = "nonconform" if off - within > limit else "conform" if off + within <= limit else "inconclusive"
        message = f"{_place(swept.line)}: total variation {number(off)} along the line" + (f", known to within {number(within)}" if within else "")
        message += f"; {swept.differs} of {1 << swept.bits} grid points differ from the reference"
        message += f", and {swept.near} of {swept.neighbours} neighbours of its thresholds" if swept.neighbours else ""
        if swept.first is not None:
            u, got, wanted = swept.first
            message += f", the first at u = {u:.17g}: it emits {list(got)} where the reference emits {list(wanted)}"
        if self.settings.strict and (swept.edges or swept.ties):
            outcome = "nonconform"
            message = f"{swept.edges[0] if swept.edges else f'{swept.ties} differences at a uniform that is itself a threshold'}; {message}"
        message += f"; what helps: {self._remedy(swept)}" if outcome == "nonconform" else ""
        details = {"column": swept.line.column, "tree": swept.line.row, "tape": swept.line.tape.tolist()}
        details |= {"differs": swept.differs, "near": swept.near, "ties": swept.ties}
        effort = f"{swept.counts.total() + swept.neighbours} uniforms"
        return self._verdict(instance, outcome, "sweep", off, message, effort, notes=tuple(swept.edges), details=details)

    def _remedy(self, swept: Swept) -> str:
        """What to change, by what the column decides and by how much it is off."""
        off, cuts = float(swept.total_variation - swept.resolution), len(swept.line.cuts)
        if off <= self.settings.tolerance:
            return "at a uniform that is itself a threshold, accept where u < threshold and draw the first token with u < CDF"
        if off > cuts * HALF:
            return f"no rounding moves {counted(cuts, 'threshold')} that far: the rule is another, and draftproof check says which token is off"
        if cuts > 1:
            return "a CDF summed and searched in float64, and the uniform as it is, of 24 bits or more"
        return "the ratio, and the uniform it is compared with, in float32 or finer and of 24 bits or more, neither rounded on the way"

    def implied(self) -> Iterator[Verdict | Failure]:
        """The verdict on the bonus token's law at a full vocabulary."""
        subject, limit = self.subject, self.settings.time_limit
        if subject.randomness != "uniforms":
            yield self._not_judged(self.large, "it does not take its uniforms as an argument")
            return
        if subject.top_k or subject.top_p is not None:
            yield self._not_judged(self.large, "it cuts the row itself")
            return
        advance = self._advance(self.large, lambda: law.done, time.monotonic() + limit)
        sampler = Bonus(subject, self.settings.vocabulary, self.settings.seed, advance)
        law = ImpliedLaw(sampler, sampler.weights, sampler.bits)
        try:
            yield self._of_law(law.of(self.settings.tokens, self.settings.seed), sampler.bits)
        except NoInverseCDF as odd:
            message = f"{odd}; the intervals of a sampler that is no inverse CDF cannot be bisected"
            yield self._verdict(self.large, "inconclusive", "implied law", 1.0, message)
        except OutOfTime:
            yield self._verdict(self.large, "inconclusive", "implied law", 1.0, f"the tokens' intervals were not found within {limit:g} s")

    def _of_law(self, found: Implied, bits: int) -> Verdict:
        off, four, limit, notes = found.total_variation, 4 * found.error, self.settings.tolerance, list[str]()
        outcome = "nonconform" if off - four > limit else "conform" if off + four <= limit else "inconclusive"
        message = f"total variation {off:.2g} (standard error {found.error:.1g})"
        message += f", where {bits}-bit uniforms alone make {found.ideal:.2g}" if found.ideal > limit / 10 else ""
        message += f"; the largest relative error of a token is {found.worst:.2g}, of token {found.worst_token}"
        if found.never_example is not None:
            mass = min(found.never_mass, 1.0)  # the estimate may exceed it
            message += f"; about {found.never:.0f} tokens of mass about {mass:.2g} in all, such as {found.never_example}, are never drawn"
            outcome = "nonconform" if found.never_mass > limit else outcome
        if found.none_mass:
            said = f"the first or the last uniforms draw tokens of no mass, with probability {found.none_mass:.2g}"
            if found.none_mass > max(limit, float(BOUNDARY)) or self.settings.strict:
                outcome, message = "nonconform", f"{said}; {message}"
            else:
                notes.append(said)
        if outcome == "nonconform":
            parts = ["a search that ends at tokens with mass"] * (found.none_mass > limit or bool(found.none_mass and self.settings.strict))
            parts += ["uniforms of 53 bits (float64)"] * (bits < 53 and found.ideal > limit)
            if off - four > 2 * found.ideal + found.none_mass or found.never_mass > limit or not parts:  # a float32 CDF, too, leaves tokens out
                parts.append("a CDF summed and searched in float64")
            message += f"; what helps: {' and '.join(parts)}"
        effort = f"{found.looked_at} tokens' intervals of the uniform, {found.points} uniforms"
        return self._verdict(self.large, outcome, "implied law", off, message, effort, notes=tuple(notes), details=asdict(found))


def _counter(total: int) -> Callable[[], float]:
    """The part that is done after each of ``total`` steps."""
    steps = count(1)
    return lambda: min(next(steps) / total, 1.0)


def _place(line: Line) -> str:
    return f"column {line.column}, which decides {' or '.join(str(list(block)) for block in line.blocks[:3])}{' ...' * (len(line.blocks) > 3)}"


def precision_task(send: Send, spec: str, instances: list[dict[str, Any]] | None, settings: dict[str, Any]) -> None:
    """``check_precision`` as it runs in a worker process: sends progress, every finding, and the settings."""
    try:
        given = None if instances is None else [parse(source, name=source["name"]) for source in instances]
        report = check_precision(
            load(spec),
            given,
            Settings(**settings),
            observe=lambda *told: send(("progress", told)),
            record=lambda found: send(("found", found)),
        )
        send(("report", report))
    except (SubjectError, ValueError) as error:
        send(("fatal", str(error)))


class OutOfTime(Exception):
    """The time for an instance is over."""
